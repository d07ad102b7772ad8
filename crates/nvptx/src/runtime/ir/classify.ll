; The parts of a $T: an integer $I of its width, $M bits of the significand without the leading one, $E of the exponent.

declare $I @llvm.ctlz.$I($I, i1)

; One bit for the class of the number, in the order of the mask: signalling and quiet NaN, -inf, -normal, -subnormal, -0,
; and the positive ones back.
define i1 @oriole.is.fpclass.$T($T %x, i32 %mask) alwaysinline {
  %bits = bitcast $T %x to $I
  %a = and $I %bits, $ABS
  %negative = icmp slt $I %bits, 0
  %half = select i1 %negative, i32 60, i32 960
  %zero = icmp eq $I %a, 0
  %normal = icmp uge $I %a, $ONE
  %inf = icmp eq $I %a, $INF
  %nan = icmp ugt $I %a, $INF
  %quiet = icmp uge $I %a, $NAN
  %c1 = select i1 %zero, i32 96, i32 144
  %c2 = select i1 %normal, i32 264, i32 %c1
  %c3 = select i1 %inf, i32 516, i32 %c2
  %signed = and i32 %c3, %half
  %which = select i1 %quiet, i32 2, i32 1
  %class = select i1 %nan, i32 %which, i32 %signed
  %hit = and i32 %class, %mask
  %r = icmp ne i32 %hit, 0
  ret i1 %r
}

; A fraction of at least 1/2 and below 1, and the power of two that it is multiplied with.
define { $T, i32 } @oriole.frexp.$T($T %x) alwaysinline {
  %bits = bitcast $T %x to $I
  %sign = and $I %bits, $SIGN
  %a = and $I %bits, $ABS
  %zero = icmp eq $I %a, 0
  %big = icmp uge $I %a, $INF
  %as.is = or i1 %zero, %big
  %e = lshr $I %a, $M
  %subnormal = icmp eq $I %e, 0
  %zeros = call $I @llvm.ctlz.$I($I %a, i1 false)
  %shift = sub $I %zeros, $E
  %kept = select i1 %subnormal, $I %shift, $I 0
  %below = sub $I 1, %shift
  %e.true = select i1 %subnormal, $I %below, $I %e
  %m = shl $I %a, %kept
  %fraction = and $I %m, $MASK
  %half = or $I %fraction, $HALF
  %signed = or $I %half, %sign
  %y = bitcast $I %signed to $T
  %power = sub $I %e.true, $BIAS
  %wide = sext $I %power to i128
  %cut = trunc i128 %wide to i32
  %value = select i1 %as.is, $T %x, $T %y
  %exponent = select i1 %as.is, i32 0, i32 %cut
  %one = insertvalue { $T, i32 } poison, $T %value, 0
  %both = insertvalue { $T, i32 } %one, i32 %exponent, 1
  ret { $T, i32 } %both
}
