; `cmpxchg` on memory of one thread.

define { $T, i1 } @oriole.cmpxchg.$NAME($P %p, $T %expected, $T %new) alwaysinline {
  %x = load $T, $P %p, align $ALIGN
  %same = icmp eq $T %x, %expected
  %y = select i1 %same, $T %new, $T %x
  store $T %y, $P %p, align $ALIGN
  %one = insertvalue { $T, i1 } poison, $T %x, 0
  %both = insertvalue { $T, i1 } %one, i1 %same, 1
  ret { $T, i1 } %both
}
