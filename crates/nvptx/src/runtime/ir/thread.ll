; Atomic operations on memory of one thread: nobody comes between.

$DECLARATION
define $T @oriole.rmw.$NAME($P %p, $T %v) alwaysinline {
  %x = load $T, $P %p, align $SIZE
$OPERATION
  store $T %y, $P %p, align $SIZE
  ret $T %x
}
