; Atomic operations on memory of one thread: nobody comes between.

$DECLARATION
define $T @oriole.rmw.$NAME($P %p, $T %v) alwaysinline {
  %x = load $T, $P %p, align $ALIGN
$OPERATION
  store $T %y, $P %p, align $ALIGN
  ret $T %x
}
