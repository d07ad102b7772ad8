; Products of $T, fewer than 128 bits, that may wrap: found in 128 bits, where one of 64 bits cannot.

declare { i128, i1 } @llvm.umul.with.overflow.i128(i128, i128)
declare { i128, i1 } @llvm.smul.with.overflow.i128(i128, i128)

define { $T, i1 } @oriole.umul.with.overflow.$T($T %a, $T %b) alwaysinline {
  %wa = zext $T %a to i128
  %wb = zext $T %b to i128
  %pair = call { i128, i1 } @llvm.umul.with.overflow.i128(i128 %wa, i128 %wb)
  %wide = extractvalue { i128, i1 } %pair, 0
  %wrapped = extractvalue { i128, i1 } %pair, 1
  %product = trunc i128 %wide to $T
  %back = zext $T %product to i128
  %cut = icmp ne i128 %back, %wide
  %over = or i1 %cut, %wrapped
  %one = insertvalue { $T, i1 } poison, $T %product, 0
  %both = insertvalue { $T, i1 } %one, i1 %over, 1
  ret { $T, i1 } %both
}

define { $T, i1 } @oriole.smul.with.overflow.$T($T %a, $T %b) alwaysinline {
  %wa = sext $T %a to i128
  %wb = sext $T %b to i128
  %pair = call { i128, i1 } @llvm.smul.with.overflow.i128(i128 %wa, i128 %wb)
  %wide = extractvalue { i128, i1 } %pair, 0
  %wrapped = extractvalue { i128, i1 } %pair, 1
  %product = trunc i128 %wide to $T
  %back = sext $T %product to i128
  %cut = icmp ne i128 %back, %wide
  %over = or i1 %cut, %wrapped
  %one = insertvalue { $T, i1 } poison, $T %product, 0
  %both = insertvalue { $T, i1 } %one, i1 %over, 1
  ret { $T, i1 } %both
}
