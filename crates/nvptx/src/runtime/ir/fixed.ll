; Products and quotients of fixed-point numbers $T of $B bits, at most 64, of which the last %scale are behind the point.
; Products are rounded down, quotients towards zero.

define $T @oriole.smul.fix.$T($T %a, $T %b, i32 %scale) alwaysinline {
  %wa = sext $T %a to i128
  %wb = sext $T %b to i128
  %s = zext i32 %scale to i128
  %product = mul i128 %wa, %wb
  %down = ashr i128 %product, %s
  %r = trunc i128 %down to $T
  ret $T %r
}

define $T @oriole.umul.fix.$T($T %a, $T %b, i32 %scale) alwaysinline {
  %wa = zext $T %a to i128
  %wb = zext $T %b to i128
  %s = zext i32 %scale to i128
  %product = mul i128 %wa, %wb
  %down = lshr i128 %product, %s
  %r = trunc i128 %down to $T
  ret $T %r
}

define $T @oriole.smul.fix.sat.$T($T %a, $T %b, i32 %scale) alwaysinline {
  %wa = sext $T %a to i128
  %wb = sext $T %b to i128
  %s = zext i32 %scale to i128
  %product = mul i128 %wa, %wb
  %down = ashr i128 %product, %s
  %up = shl i128 1, $LAST
  %max = sub i128 %up, 1
  %min = sub i128 0, %up
  %high = icmp sgt i128 %down, %max
  %cut = select i1 %high, i128 %max, i128 %down
  %low = icmp slt i128 %cut, %min
  %value = select i1 %low, i128 %min, i128 %cut
  %r = trunc i128 %value to $T
  ret $T %r
}

define $T @oriole.umul.fix.sat.$T($T %a, $T %b, i32 %scale) alwaysinline {
  %wa = zext $T %a to i128
  %wb = zext $T %b to i128
  %s = zext i32 %scale to i128
  %product = mul i128 %wa, %wb
  %down = lshr i128 %product, %s
  %up = shl i128 1, $B
  %high = icmp uge i128 %down, %up
  %max = sub i128 %up, 1
  %value = select i1 %high, i128 %max, i128 %down
  %r = trunc i128 %value to $T
  ret $T %r
}

define $T @oriole.sdiv.fix.$T($T %a, $T %b, i32 %scale) alwaysinline {
  %wa = sext $T %a to i128
  %wb = sext $T %b to i128
  %s = zext i32 %scale to i128
  %up = shl i128 %wa, %s
  %quotient = sdiv i128 %up, %wb
  %r = trunc i128 %quotient to $T
  ret $T %r
}

define $T @oriole.udiv.fix.$T($T %a, $T %b, i32 %scale) alwaysinline {
  %wa = zext $T %a to i128
  %wb = zext $T %b to i128
  %s = zext i32 %scale to i128
  %up = shl i128 %wa, %s
  %quotient = udiv i128 %up, %wb
  %r = trunc i128 %quotient to $T
  ret $T %r
}
