; Powers of $T.

; x * 2^n with one rounding: steps down keep the significand's bits above the subnormal numbers.
define $T @oriole.ldexp.$T($T %x, i32 %n) {
entry:
  %large = icmp sgt i32 %n, $MAX
  br i1 %large, label %up, label %not.up
up:
  %u1 = fmul $T %x, $TOP
  %un1 = sub i32 %n, $MAX
  %larger = icmp sgt i32 %un1, $MAX
  br i1 %larger, label %up2, label %last
up2:
  %u2 = fmul $T %u1, $TOP
  %un2 = sub i32 %un1, $MAX
  %huge = icmp sgt i32 %un2, $MAX
  %un3 = select i1 %huge, i32 $MAX, i32 %un2
  br label %last
not.up:
  %small = icmp slt i32 %n, $MIN
  br i1 %small, label %down, label %last
down:
  %d1 = fmul $T %x, $BOTTOM
  %dn1 = add i32 %n, $STEP
  %smaller = icmp slt i32 %dn1, $MIN
  br i1 %smaller, label %down2, label %last
down2:
  %d2 = fmul $T %d1, $BOTTOM
  %dn2 = add i32 %dn1, $STEP
  %tiny = icmp slt i32 %dn2, $MIN
  %dn3 = select i1 %tiny, i32 $MIN, i32 %dn2
  br label %last
last:
  %y = phi $T [ %u1, %up ], [ %u2, %up2 ], [ %x, %not.up ], [ %d1, %down ], [ %d2, %down2 ]
  %k = phi i32 [ %un1, %up ], [ %un3, %up2 ], [ %n, %not.up ], [ %dn1, %down ], [ %dn3, %down2 ]
  %biased = add i32 %k, $MAX
  %wide = zext i32 %biased to i128
  %place = shl i128 %wide, $M
  %bits = trunc i128 %place to $I
  %scale = bitcast $I %bits to $T
  %r = fmul $T %y, %scale
  ret $T %r
}

; x^n by squaring; for a negative n its reciprocal.
define $T @oriole.powi.$T($T %x, i32 %n) {
entry:
  br label %loop
loop:
  %a = phi $T [ %x, %entry ], [ %a.next, %next ]
  %r = phi $T [ 1.0, %entry ], [ %r.next, %next ]
  %k = phi i32 [ %n, %entry ], [ %k.next, %next ]
  %low = and i32 %k, 1
  %odd = icmp ne i32 %low, 0
  %product = fmul $T %r, %a
  %r.next = select i1 %odd, $T %product, $T %r
  %k.next = sdiv i32 %k, 2
  %end = icmp eq i32 %k.next, 0
  br i1 %end, label %done, label %next
next:
  %a.next = fmul $T %a, %a
  br label %loop
done:
  %inverse = fdiv $T 1.0, %r.next
  %negative = icmp slt i32 %n, 0
  %result = select i1 %negative, $T %inverse, $T %r.next
  ret $T %result
}
