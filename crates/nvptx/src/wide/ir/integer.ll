; Integers of $N bits, more than 128: what is longer than a few operations on limbs. Twice the width is $D, the sign
; bit $S.

declare i$N @llvm.ctlz.i$N(i$N, i1)

; By shifting and subtracting, from the highest bit that the quotient can have.
define { i$N, i$N } @oriole.wide.udivrem.i$N(i$N %a, i$N %b) {
entry:
  %both = or i$N %a, %b
  %high = lshr i$N %both, 64
  %small = icmp eq i$N %high, 0
  br i1 %small, label %narrow, label %wide
narrow:
  %an = trunc i$N %a to i64
  %bn = trunc i$N %b to i64
  %qn = udiv i64 %an, %bn
  %rn = urem i64 %an, %bn
  %qw = zext i64 %qn to i$N
  %rw = zext i64 %rn to i$N
  br label %done
wide:
  %less = icmp ult i$N %a, %b
  br i1 %less, label %done, label %align
align:
  %ca = call i$N @llvm.ctlz.i$N(i$N %a, i1 false)
  %cb = call i$N @llvm.ctlz.i$N(i$N %b, i1 false)
  %n = sub i$N %cb, %ca
  %top = shl i$N %b, %n
  %start = trunc i$N %n to i32
  br label %loop
loop:
  %i = phi i32 [ %start, %align ], [ %i.next, %loop ]
  %d = phi i$N [ %top, %align ], [ %d.next, %loop ]
  %r = phi i$N [ %a, %align ], [ %r.next, %loop ]
  %q = phi i$N [ 0, %align ], [ %q.next, %loop ]
  %fits = icmp uge i$N %r, %d
  %rest = sub i$N %r, %d
  %r.next = select i1 %fits, i$N %rest, i$N %r
  %bit = zext i1 %fits to i$N
  %q.up = shl i$N %q, 1
  %q.next = or i$N %q.up, %bit
  %d.next = lshr i$N %d, 1
  %i.next = sub i32 %i, 1
  %more = icmp ne i32 %i, 0
  br i1 %more, label %loop, label %done
done:
  %quotient = phi i$N [ %qw, %narrow ], [ 0, %wide ], [ %q.next, %loop ]
  %remainder = phi i$N [ %rw, %narrow ], [ %a, %wide ], [ %r.next, %loop ]
  %one = insertvalue { i$N, i$N } poison, i$N %quotient, 0
  %two = insertvalue { i$N, i$N } %one, i$N %remainder, 1
  ret { i$N, i$N } %two
}

define i$N @oriole.wide.udiv.i$N(i$N %a, i$N %b) {
  %both = call { i$N, i$N } @oriole.wide.udivrem.i$N(i$N %a, i$N %b)
  %q = extractvalue { i$N, i$N } %both, 0
  ret i$N %q
}

define i$N @oriole.wide.urem.i$N(i$N %a, i$N %b) {
  %both = call { i$N, i$N } @oriole.wide.udivrem.i$N(i$N %a, i$N %b)
  %r = extractvalue { i$N, i$N } %both, 1
  ret i$N %r
}

define i$N @oriole.wide.magnitude.i$N(i$N %a) {
  %sign = ashr i$N %a, $S
  %turned = xor i$N %a, %sign
  %magnitude = sub i$N %turned, %sign
  ret i$N %magnitude
}

define i$N @oriole.wide.sdiv.i$N(i$N %a, i$N %b) {
  %x = call i$N @oriole.wide.magnitude.i$N(i$N %a)
  %y = call i$N @oriole.wide.magnitude.i$N(i$N %b)
  %both = call { i$N, i$N } @oriole.wide.udivrem.i$N(i$N %x, i$N %y)
  %q = extractvalue { i$N, i$N } %both, 0
  %signs = xor i$N %a, %b
  %sign = ashr i$N %signs, $S
  %turned = xor i$N %q, %sign
  %quotient = sub i$N %turned, %sign
  ret i$N %quotient
}

define i$N @oriole.wide.srem.i$N(i$N %a, i$N %b) {
  %x = call i$N @oriole.wide.magnitude.i$N(i$N %a)
  %y = call i$N @oriole.wide.magnitude.i$N(i$N %b)
  %both = call { i$N, i$N } @oriole.wide.udivrem.i$N(i$N %x, i$N %y)
  %r = extractvalue { i$N, i$N } %both, 1
  %sign = ashr i$N %a, $S
  %turned = xor i$N %r, %sign
  %remainder = sub i$N %turned, %sign
  ret i$N %remainder
}

define i$N @oriole.wide.abs.i$N(i$N %a, i1 %poison) {
  %magnitude = call i$N @oriole.wide.magnitude.i$N(i$N %a)
  ret i$N %magnitude
}

define i$N @oriole.wide.expect.i$N(i$N %a, i$N %b) {
  ret i$N %a
}

define i$N @oriole.wide.smin.i$N(i$N %a, i$N %b) {
  %first = icmp slt i$N %a, %b
  %least = select i1 %first, i$N %a, i$N %b
  ret i$N %least
}

define i$N @oriole.wide.smax.i$N(i$N %a, i$N %b) {
  %first = icmp sgt i$N %a, %b
  %most = select i1 %first, i$N %a, i$N %b
  ret i$N %most
}

define i$N @oriole.wide.umin.i$N(i$N %a, i$N %b) {
  %first = icmp ult i$N %a, %b
  %least = select i1 %first, i$N %a, i$N %b
  ret i$N %least
}

define i$N @oriole.wide.umax.i$N(i$N %a, i$N %b) {
  %first = icmp ugt i$N %a, %b
  %most = select i1 %first, i$N %a, i$N %b
  ret i$N %most
}

define { i$N, i1 } @oriole.wide.uadd.with.overflow.i$N(i$N %a, i$N %b) {
  %sum = add i$N %a, %b
  %over = icmp ult i$N %sum, %a
  %one = insertvalue { i$N, i1 } poison, i$N %sum, 0
  %two = insertvalue { i$N, i1 } %one, i1 %over, 1
  ret { i$N, i1 } %two
}

define { i$N, i1 } @oriole.wide.usub.with.overflow.i$N(i$N %a, i$N %b) {
  %difference = sub i$N %a, %b
  %under = icmp ult i$N %a, %b
  %one = insertvalue { i$N, i1 } poison, i$N %difference, 0
  %two = insertvalue { i$N, i1 } %one, i1 %under, 1
  ret { i$N, i1 } %two
}

define { i$N, i1 } @oriole.wide.sadd.with.overflow.i$N(i$N %a, i$N %b) {
  %sum = add i$N %a, %b
  %x = xor i$N %sum, %a
  %y = xor i$N %sum, %b
  %z = and i$N %x, %y
  %over = icmp slt i$N %z, 0
  %one = insertvalue { i$N, i1 } poison, i$N %sum, 0
  %two = insertvalue { i$N, i1 } %one, i1 %over, 1
  ret { i$N, i1 } %two
}

define { i$N, i1 } @oriole.wide.ssub.with.overflow.i$N(i$N %a, i$N %b) {
  %difference = sub i$N %a, %b
  %x = xor i$N %a, %b
  %y = xor i$N %a, %difference
  %z = and i$N %x, %y
  %over = icmp slt i$N %z, 0
  %one = insertvalue { i$N, i1 } poison, i$N %difference, 0
  %two = insertvalue { i$N, i1 } %one, i1 %over, 1
  ret { i$N, i1 } %two
}

define { i$N, i1 } @oriole.wide.umul.with.overflow.i$N(i$N %a, i$N %b) {
  %x = zext i$N %a to i$D
  %y = zext i$N %b to i$D
  %whole = mul i$D %x, %y
  %product = trunc i$D %whole to i$N
  %back = zext i$N %product to i$D
  %over = icmp ne i$D %whole, %back
  %one = insertvalue { i$N, i1 } poison, i$N %product, 0
  %two = insertvalue { i$N, i1 } %one, i1 %over, 1
  ret { i$N, i1 } %two
}

define { i$N, i1 } @oriole.wide.smul.with.overflow.i$N(i$N %a, i$N %b) {
  %x = sext i$N %a to i$D
  %y = sext i$N %b to i$D
  %whole = mul i$D %x, %y
  %product = trunc i$D %whole to i$N
  %back = sext i$N %product to i$D
  %over = icmp ne i$D %whole, %back
  %one = insertvalue { i$N, i1 } poison, i$N %product, 0
  %two = insertvalue { i$N, i1 } %one, i1 %over, 1
  ret { i$N, i1 } %two
}

define i$N @oriole.wide.uadd.sat.i$N(i$N %a, i$N %b) {
  %sum = add i$N %a, %b
  %over = icmp ult i$N %sum, %a
  %result = select i1 %over, i$N -1, i$N %sum
  ret i$N %result
}

define i$N @oriole.wide.usub.sat.i$N(i$N %a, i$N %b) {
  %difference = sub i$N %a, %b
  %under = icmp ult i$N %a, %b
  %result = select i1 %under, i$N 0, i$N %difference
  ret i$N %result
}

; The least number for a negative %a, else the greatest.
define i$N @oriole.wide.limit.i$N(i$N %a) {
  %sign = ashr i$N %a, $S
  %least = shl i$N 1, $S
  %greatest = xor i$N %least, -1
  %limit = xor i$N %sign, %greatest
  ret i$N %limit
}

define i$N @oriole.wide.sadd.sat.i$N(i$N %a, i$N %b) {
  %both = call { i$N, i1 } @oriole.wide.sadd.with.overflow.i$N(i$N %a, i$N %b)
  %sum = extractvalue { i$N, i1 } %both, 0
  %over = extractvalue { i$N, i1 } %both, 1
  %limit = call i$N @oriole.wide.limit.i$N(i$N %a)
  %result = select i1 %over, i$N %limit, i$N %sum
  ret i$N %result
}

define i$N @oriole.wide.ssub.sat.i$N(i$N %a, i$N %b) {
  %both = call { i$N, i1 } @oriole.wide.ssub.with.overflow.i$N(i$N %a, i$N %b)
  %difference = extractvalue { i$N, i1 } %both, 0
  %over = extractvalue { i$N, i1 } %both, 1
  %limit = call i$N @oriole.wide.limit.i$N(i$N %a)
  %result = select i1 %over, i$N %limit, i$N %difference
  ret i$N %result
}

define i$N @oriole.wide.ushl.sat.i$N(i$N %a, i$N %b) {
  %up = shl i$N %a, %b
  %back = lshr i$N %up, %b
  %over = icmp ne i$N %back, %a
  %result = select i1 %over, i$N -1, i$N %up
  ret i$N %result
}

define i$N @oriole.wide.sshl.sat.i$N(i$N %a, i$N %b) {
  %up = shl i$N %a, %b
  %back = ashr i$N %up, %b
  %over = icmp ne i$N %back, %a
  %limit = call i$N @oriole.wide.limit.i$N(i$N %a)
  %result = select i1 %over, i$N %limit, i$N %up
  ret i$N %result
}

define i$N @oriole.wide.fshl.i$N(i$N %a, i$N %b, i$N %c) {
  %n = urem i$N %c, $N
  %up = shl i$N %a, %n
  %rest = sub i$N $S, %n
  %down = lshr i$N %b, 1
  %over = lshr i$N %down, %rest
  %result = or i$N %up, %over
  ret i$N %result
}

define i$N @oriole.wide.fshr.i$N(i$N %a, i$N %b, i$N %c) {
  %n = urem i$N %c, $N
  %down = lshr i$N %b, %n
  %rest = sub i$N $S, %n
  %up = shl i$N %a, 1
  %over = shl i$N %up, %rest
  %result = or i$N %down, %over
  ret i$N %result
}

define i8 @oriole.wide.ucmp.i8.i$N(i$N %a, i$N %b) {
  %more = icmp ugt i$N %a, %b
  %less = icmp ult i$N %a, %b
  %x = zext i1 %more to i8
  %y = zext i1 %less to i8
  %order = sub i8 %x, %y
  ret i8 %order
}

define i8 @oriole.wide.scmp.i8.i$N(i$N %a, i$N %b) {
  %more = icmp sgt i$N %a, %b
  %less = icmp slt i$N %a, %b
  %x = zext i1 %more to i8
  %y = zext i1 %less to i8
  %order = sub i8 %x, %y
  ret i8 %order
}

define i32 @oriole.wide.ucmp.i32.i$N(i$N %a, i$N %b) {
  %order = call i8 @oriole.wide.ucmp.i8.i$N(i$N %a, i$N %b)
  %wide = sext i8 %order to i32
  ret i32 %wide
}

define i32 @oriole.wide.scmp.i32.i$N(i$N %a, i$N %b) {
  %order = call i8 @oriole.wide.scmp.i8.i$N(i$N %a, i$N %b)
  %wide = sext i8 %order to i32
  ret i32 %wide
}
