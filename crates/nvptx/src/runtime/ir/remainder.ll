; The remainder of $T is exact: a long division on the significands, whatever the exponents.
; $I: an integer of its width; $M: bits of the significand without the leading one; $E: bits of the exponent.

declare $I @llvm.ctlz.$I($I, i1)

define $T @oriole.frem.$T($T %x, $T %y) {
entry:
  %xi = bitcast $T %x to $I
  %yi = bitcast $T %y to $I
  %sign = and $I %xi, $SIGN
  %ax = and $I %xi, $ABS
  %ay = and $I %yi, $ABS
  %y.zero = icmp eq $I %ay, 0
  %x.big = icmp uge $I %ax, $INF
  %y.nan = icmp ugt $I %ay, $INF
  %bad1 = or i1 %y.zero, %x.big
  %bad = or i1 %bad1, %y.nan
  br i1 %bad, label %invalid, label %valid
invalid:
  %nan = bitcast $I $NAN to $T
  ret $T %nan
valid:
  %less = icmp ult $I %ax, %ay
  br i1 %less, label %same, label %scale
same:
  ret $T %x
scale:
  %mx = call $I @oriole.significand.$T($I %ax)
  %my = call $I @oriole.significand.$T($I %ay)
  %ex = call $I @oriole.exponent.$T($I %ax)
  %ey = call $I @oriole.exponent.$T($I %ay)
  %n = sub $I %ex, %ey
  br label %loop
loop:
  %i = phi $I [ %n, %scale ], [ %i.next, %next ]
  %r = phi $I [ %mx, %scale ], [ %r.next, %next ]
  %fits = icmp uge $I %r, %my
  %rest = sub $I %r, %my
  %left = select i1 %fits, $I %rest, $I %r
  %last = icmp eq $I %i, 0
  br i1 %last, label %end, label %next
next:
  %r.next = shl $I %left, 1
  %i.next = sub $I %i, 1
  br label %loop
end:
  %zero = icmp eq $I %left, 0
  br i1 %zero, label %nothing, label %pack
nothing:
  %signed.zero = bitcast $I %sign to $T
  ret $T %signed.zero
pack:
  %zeros = call $I @llvm.ctlz.$I($I %left, i1 false)
  %shift = sub $I %zeros, $E
  %m = shl $I %left, %shift
  %e = sub $I %ey, %shift
  %normal = icmp sgt $I %e, 0
  %fraction = and $I %m, $MASK
  %e.up = shl $I %e, $M
  %as.normal = or $I %fraction, %e.up
  %missing = sub $I 1, %e
  %down = select i1 %normal, $I 0, $I %missing
  %as.subnormal = lshr $I %m, %down
  %size = select i1 %normal, $I %as.normal, $I %as.subnormal
  %bits = or $I %size, %sign
  %result = bitcast $I %bits to $T
  ret $T %result
}

; The significand of a number that is not 0, with its leading one at bit $M.
define $I @oriole.significand.$T($I %a) alwaysinline {
  %e = lshr $I %a, $M
  %subnormal = icmp eq $I %e, 0
  %zeros = call $I @llvm.ctlz.$I($I %a, i1 false)
  %shift = sub $I %zeros, $E
  %kept = select i1 %subnormal, $I %shift, $I 0
  %low = shl $I %a, %kept
  %fraction = and $I %low, $MASK
  %m = or $I %fraction, $ONE
  ret $I %m
}

; The exponent that goes with it: below 1 for subnormal numbers.
define $I @oriole.exponent.$T($I %a) alwaysinline {
  %e = lshr $I %a, $M
  %subnormal = icmp eq $I %e, 0
  %zeros = call $I @llvm.ctlz.$I($I %a, i1 false)
  %shift = sub $I %zeros, $E
  %below = sub $I 1, %shift
  %r = select i1 %subnormal, $I %below, $I %e
  ret $I %r
}
