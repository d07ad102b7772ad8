; -1, 0 or 1 as $R: how two integers $T of more than 64 bits compare.

define $R @oriole.ucmp.$R.$T($T %a, $T %b) alwaysinline {
  %less = icmp ult $T %a, %b
  %more = icmp ugt $T %a, %b
  %up = select i1 %more, $R 1, $R 0
  %r = select i1 %less, $R -1, $R %up
  ret $R %r
}

define $R @oriole.scmp.$R.$T($T %a, $T %b) alwaysinline {
  %less = icmp slt $T %a, %b
  %more = icmp sgt $T %a, %b
  %up = select i1 %more, $R 1, $R 0
  %r = select i1 %less, $R -1, $R %up
  ret $R %r
}
