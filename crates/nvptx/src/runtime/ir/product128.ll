; Products of 128 bits that may wrap, from halves of 64.

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

; a*b = low(a)*low(b) + 2^64 * (high(a)*low(b) + low(a)*high(b)): without wrapping, one of the high halves is 0.
define { i128, i1 } @oriole.umul.with.overflow.i128(i128 %a, i128 %b) {
  %al = trunc i128 %a to i64
  %bl = trunc i128 %b to i64
  %as = lshr i128 %a, 64
  %bs = lshr i128 %b, 64
  %ah = trunc i128 %as to i64
  %bh = trunc i128 %bs to i64
  %a.big = icmp ne i64 %ah, 0
  %b.big = icmp ne i64 %bh, 0
  %both.big = and i1 %a.big, %b.big
  %x = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %ah, i64 %bl)
  %y = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %al, i64 %bh)
  %x.value = extractvalue { i64, i1 } %x, 0
  %x.over = extractvalue { i64, i1 } %x, 1
  %y.value = extractvalue { i64, i1 } %y, 0
  %y.over = extractvalue { i64, i1 } %y, 1
  %cross = add i64 %x.value, %y.value
  %al.wide = zext i64 %al to i128
  %bl.wide = zext i64 %bl to i128
  %low = mul i128 %al.wide, %bl.wide
  %cross.wide = zext i64 %cross to i128
  %high = shl i128 %cross.wide, 64
  %product = add i128 %low, %high
  %carry = icmp ult i128 %product, %low
  %any = or i1 %both.big, %x.over
  %any2 = or i1 %any, %y.over
  %over = or i1 %any2, %carry
  %one = insertvalue { i128, i1 } poison, i128 %product, 0
  %both = insertvalue { i128, i1 } %one, i1 %over, 1
  ret { i128, i1 } %both
}

; The product of the magnitudes is at most 2^127 - 1, or 2^127 when the result is negative.
define { i128, i1 } @oriole.smul.with.overflow.i128(i128 %a, i128 %b) {
  %sa = ashr i128 %a, 127
  %sb = ashr i128 %b, 127
  %xa = xor i128 %a, %sa
  %xb = xor i128 %b, %sb
  %ua = sub i128 %xa, %sa
  %ub = sub i128 %xb, %sb
  %pair = call { i128, i1 } @oriole.umul.with.overflow.i128(i128 %ua, i128 %ub)
  %size = extractvalue { i128, i1 } %pair, 0
  %wrapped = extractvalue { i128, i1 } %pair, 1
  %s = xor i128 %sa, %sb
  %x = xor i128 %size, %s
  %product = sub i128 %x, %s
  %max = lshr i128 -1, 1
  %limit = sub i128 %max, %s
  %beyond = icmp ugt i128 %size, %limit
  %over = or i1 %wrapped, %beyond
  %one = insertvalue { i128, i1 } poison, i128 %product, 0
  %both = insertvalue { i128, i1 } %one, i1 %over, 1
  ret { i128, i1 } %both
}
