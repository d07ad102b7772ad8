; Division of 128 bits: by shifting and subtracting, from the highest bit that the quotient can have.

declare i128 @llvm.ctlz.i128(i128, i1)

define { i128, i128 } @oriole.udivrem.i128(i128 %a, i128 %b) {
entry:
  %ah = lshr i128 %a, 64
  %bh = lshr i128 %b, 64
  %high = or i128 %ah, %bh
  %small = icmp eq i128 %high, 0
  br i1 %small, label %narrow, label %wide
narrow:
  %an = trunc i128 %a to i64
  %bn = trunc i128 %b to i64
  %qn = udiv i64 %an, %bn
  %rn = urem i64 %an, %bn
  %qw = zext i64 %qn to i128
  %rw = zext i64 %rn to i128
  br label %done
wide:
  %less = icmp ult i128 %a, %b
  br i1 %less, label %done, label %align
align:
  %ca = call i128 @llvm.ctlz.i128(i128 %a, i1 false)
  %cb = call i128 @llvm.ctlz.i128(i128 %b, i1 false)
  %n = sub i128 %cb, %ca
  %top = shl i128 %b, %n
  %start = trunc i128 %n to i32
  br label %loop
loop:
  %i = phi i32 [ %start, %align ], [ %i.next, %loop ]
  %d = phi i128 [ %top, %align ], [ %d.next, %loop ]
  %r = phi i128 [ %a, %align ], [ %r.next, %loop ]
  %q = phi i128 [ 0, %align ], [ %q.next, %loop ]
  %fits = icmp uge i128 %r, %d
  %rest = sub i128 %r, %d
  %r.next = select i1 %fits, i128 %rest, i128 %r
  %bit = zext i1 %fits to i128
  %q.up = shl i128 %q, 1
  %q.next = or i128 %q.up, %bit
  %d.next = lshr i128 %d, 1
  %i.next = sub i32 %i, 1
  %more = icmp ne i32 %i, 0
  br i1 %more, label %loop, label %done
done:
  %quotient = phi i128 [ %qw, %narrow ], [ 0, %wide ], [ %q.next, %loop ]
  %remainder = phi i128 [ %rw, %narrow ], [ %a, %wide ], [ %r.next, %loop ]
  %one = insertvalue { i128, i128 } poison, i128 %quotient, 0
  %both = insertvalue { i128, i128 } %one, i128 %remainder, 1
  ret { i128, i128 } %both
}

define i128 @oriole.udiv.i128(i128 %a, i128 %b) alwaysinline {
  %both = call { i128, i128 } @oriole.udivrem.i128(i128 %a, i128 %b)
  %q = extractvalue { i128, i128 } %both, 0
  ret i128 %q
}

define i128 @oriole.urem.i128(i128 %a, i128 %b) alwaysinline {
  %both = call { i128, i128 } @oriole.udivrem.i128(i128 %a, i128 %b)
  %r = extractvalue { i128, i128 } %both, 1
  ret i128 %r
}

; The quotient has the sign of both together, the remainder that of the dividend.
define i128 @oriole.sdiv.i128(i128 %a, i128 %b) alwaysinline {
  %sa = ashr i128 %a, 127
  %sb = ashr i128 %b, 127
  %xa = xor i128 %a, %sa
  %xb = xor i128 %b, %sb
  %ua = sub i128 %xa, %sa
  %ub = sub i128 %xb, %sb
  %both = call { i128, i128 } @oriole.udivrem.i128(i128 %ua, i128 %ub)
  %q = extractvalue { i128, i128 } %both, 0
  %s = xor i128 %sa, %sb
  %x = xor i128 %q, %s
  %signed = sub i128 %x, %s
  ret i128 %signed
}

define i128 @oriole.srem.i128(i128 %a, i128 %b) alwaysinline {
  %sa = ashr i128 %a, 127
  %sb = ashr i128 %b, 127
  %xa = xor i128 %a, %sa
  %xb = xor i128 %b, %sb
  %ua = sub i128 %xa, %sa
  %ub = sub i128 %xb, %sb
  %both = call { i128, i128 } @oriole.udivrem.i128(i128 %ua, i128 %ub)
  %r = extractvalue { i128, i128 } %both, 1
  %x = xor i128 %r, %sa
  %signed = sub i128 %x, %sa
  ret i128 %signed
}
