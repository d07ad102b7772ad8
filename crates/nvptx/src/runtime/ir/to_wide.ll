; `double` to integers of 128 bits, rounded towards zero.

define i128 @oriole.fptoui.i128(double %x) {
  %bits = bitcast double %x to i64
  %up = lshr i64 %bits, 52
  %e = and i64 %up, 2047
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %wide = zext i64 %m to i128
  %left = sub i64 %e, 1075
  %right = sub i64 1075, %e
  %large = icmp sge i64 %left, 0
  %tiny = icmp ugt i64 %right, 127
  %right.cut = select i1 %tiny, i64 127, i64 %right
  %left.kept = select i1 %large, i64 %left, i64 0
  %right.kept = select i1 %large, i64 0, i64 %right.cut
  %l = and i64 %left.kept, 127
  %l.wide = zext i64 %l to i128
  %r.wide = zext i64 %right.kept to i128
  %down = lshr i128 %wide, %r.wide
  %r = shl i128 %down, %l.wide
  ret i128 %r
}

define i128 @oriole.fptosi.i128(double %x) alwaysinline {
  %bits = bitcast double %x to i64
  %sign = ashr i64 %bits, 63
  %s = sext i64 %sign to i128
  %size = call i128 @oriole.fptoui.i128(double %x)
  %y = xor i128 %size, %s
  %r = sub i128 %y, %s
  ret i128 %r
}
