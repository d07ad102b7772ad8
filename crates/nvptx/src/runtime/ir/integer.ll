; Integers of any width $T of $B bits that PTX has no instruction for.

declare { $T, i1 } @llvm.sadd.with.overflow.$T($T, $T)
declare { $T, i1 } @llvm.ssub.with.overflow.$T($T, $T)

; The amount counts modulo the width; the other part is shifted by one first, so that 0 takes nothing of it.
define $T @oriole.fshl.$T($T %a, $T %b, $T %c) alwaysinline {
  %n = urem $T %c, $B
  %rest = sub $T $LAST, %n
  %high = shl $T %a, %n
  %half = lshr $T %b, 1
  %low = lshr $T %half, %rest
  %r = or $T %high, %low
  ret $T %r
}

define $T @oriole.fshr.$T($T %a, $T %b, $T %c) alwaysinline {
  %n = urem $T %c, $B
  %rest = sub $T $LAST, %n
  %low = lshr $T %b, %n
  %half = shl $T %a, 1
  %high = shl $T %half, %rest
  %r = or $T %high, %low
  ret $T %r
}

define $T @oriole.abs.$T($T %a) alwaysinline {
  %s = ashr $T %a, $LAST
  %x = xor $T %a, %s
  %r = sub $T %x, %s
  ret $T %r
}

define $T @oriole.uadd.sat.$T($T %a, $T %b) alwaysinline {
  %sum = add $T %a, %b
  %over = icmp ult $T %sum, %a
  %r = select i1 %over, $T -1, $T %sum
  ret $T %r
}

define $T @oriole.usub.sat.$T($T %a, $T %b) alwaysinline {
  %difference = sub $T %a, %b
  %under = icmp ult $T %a, %b
  %r = select i1 %under, $T 0, $T %difference
  ret $T %r
}

; What wrapped has the wrong sign: its bound is the one of the other sign.
define $T @oriole.sadd.sat.$T($T %a, $T %b) alwaysinline {
  %pair = call { $T, i1 } @llvm.sadd.with.overflow.$T($T %a, $T %b)
  %sum = extractvalue { $T, i1 } %pair, 0
  %over = extractvalue { $T, i1 } %pair, 1
  %sign = ashr $T %sum, $LAST
  %min = shl $T 1, $LAST
  %bound = xor $T %sign, %min
  %r = select i1 %over, $T %bound, $T %sum
  ret $T %r
}

define $T @oriole.ssub.sat.$T($T %a, $T %b) alwaysinline {
  %pair = call { $T, i1 } @llvm.ssub.with.overflow.$T($T %a, $T %b)
  %difference = extractvalue { $T, i1 } %pair, 0
  %over = extractvalue { $T, i1 } %pair, 1
  %sign = ashr $T %difference, $LAST
  %min = shl $T 1, $LAST
  %bound = xor $T %sign, %min
  %r = select i1 %over, $T %bound, $T %difference
  ret $T %r
}

define $T @oriole.ushl.sat.$T($T %a, $T %b) alwaysinline {
  %up = shl $T %a, %b
  %back = lshr $T %up, %b
  %same = icmp eq $T %back, %a
  %r = select i1 %same, $T %up, $T -1
  ret $T %r
}

define $T @oriole.sshl.sat.$T($T %a, $T %b) alwaysinline {
  %up = shl $T %a, %b
  %back = ashr $T %up, %b
  %same = icmp eq $T %back, %a
  %sign = ashr $T %a, $LAST
  %min = shl $T 1, $LAST
  %max = xor $T %min, -1
  %bound = xor $T %sign, %max
  %r = select i1 %same, $T %up, $T %bound
  ret $T %r
}

define { $T, i1 } @oriole.uadd.with.overflow.$T($T %a, $T %b) alwaysinline {
  %sum = add $T %a, %b
  %over = icmp ult $T %sum, %a
  %one = insertvalue { $T, i1 } poison, $T %sum, 0
  %both = insertvalue { $T, i1 } %one, i1 %over, 1
  ret { $T, i1 } %both
}

define { $T, i1 } @oriole.usub.with.overflow.$T($T %a, $T %b) alwaysinline {
  %difference = sub $T %a, %b
  %under = icmp ult $T %a, %b
  %one = insertvalue { $T, i1 } poison, $T %difference, 0
  %both = insertvalue { $T, i1 } %one, i1 %under, 1
  ret { $T, i1 } %both
}

; A sum wraps when both operands have the sign that it has not.
define { $T, i1 } @oriole.sadd.with.overflow.$T($T %a, $T %b) alwaysinline {
  %sum = add $T %a, %b
  %x = xor $T %a, %sum
  %y = xor $T %b, %sum
  %z = and $T %x, %y
  %over = icmp slt $T %z, 0
  %one = insertvalue { $T, i1 } poison, $T %sum, 0
  %both = insertvalue { $T, i1 } %one, i1 %over, 1
  ret { $T, i1 } %both
}

define { $T, i1 } @oriole.ssub.with.overflow.$T($T %a, $T %b) alwaysinline {
  %difference = sub $T %a, %b
  %x = xor $T %a, %difference
  %y = xor $T %a, %b
  %z = and $T %x, %y
  %over = icmp slt $T %z, 0
  %one = insertvalue { $T, i1 } poison, $T %difference, 0
  %both = insertvalue { $T, i1 } %one, i1 %over, 1
  ret { $T, i1 } %both
}
