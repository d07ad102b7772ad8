; `atomicrmw` on $T (an integer $I of its width) that PTX has no instruction for: a loop of `cmpxchg`.

$DECLARATION
define $T @oriole.rmw.$NAME($P %p, $T %v) alwaysinline {
entry:
  %first = load atomic $I, $P %p $SCOPE monotonic, align $SIZE
  br label %loop
loop:
  %old = phi $I [ %first, %entry ], [ %seen, %loop ]
  %x = bitcast $I %old to $T
$OPERATION
  %new = bitcast $T %y to $I
  %pair = cmpxchg $P %p, $I %old, $I %new $SCOPE $ORDER $FAILURE, align $SIZE
  %seen = extractvalue { $I, i1 } %pair, 0
  %ok = extractvalue { $I, i1 } %pair, 1
  br i1 %ok, label %done, label %loop
done:
  ret $T %x
}
