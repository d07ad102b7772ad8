; $F to integers $T that end at their bounds: $LIMIT is 2^width, $HALF and $NEGATIVE are half of that. NaN is 0.

define $T @oriole.fptoui.sat.$T.$F($F %x) alwaysinline {
  %positive = fcmp ogt $F %x, 0.0
  %high = fcmp oge $F %x, $LIMIT
  %inner = select i1 %high, $F 0.0, $F %x
  %safe = select i1 %positive, $F %inner, $F 0.0
  %r = fptoui $F %safe to $T
  %cut = select i1 %high, $T -1, $T %r
  ret $T %cut
}

define $T @oriole.fptosi.sat.$T.$F($F %x) alwaysinline {
  %nan = fcmp uno $F %x, 0.0
  %high = fcmp oge $F %x, $HALF
  %low = fcmp ole $F %x, $NEGATIVE
  %out1 = or i1 %high, %low
  %out = or i1 %out1, %nan
  %safe = select i1 %out, $F 0.0, $F %x
  %r = fptosi $F %safe to $T
  %min = shl $T 1, $LAST
  %max = xor $T %min, -1
  %down = select i1 %low, $T %min, $T %r
  %cut = select i1 %high, $T %max, $T %down
  ret $T %cut
}
