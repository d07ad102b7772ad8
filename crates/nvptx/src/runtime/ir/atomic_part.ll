; `atomicrmw` and `cmpxchg` on a $T (an integer $I of its width) within the aligned 32 bits that hold it.

$DECLARATION
define $T @oriole.rmw.$NAME($P %p, $T %v) alwaysinline {
entry:
  %address = ptrtoint $P %p to i64
  %offset = and i64 %address, 3
  %back = sub i64 0, %offset
  %q = getelementptr i8, $P %p, i64 %back
  %number = trunc i64 %offset to i32
  %shift = mul i32 %number, 8
  %mask = shl i32 $PART, %shift
  %others = xor i32 %mask, -1
  %first = load atomic i32, $P %q $SCOPE monotonic, align 4
  br label %loop
loop:
  %old = phi i32 [ %first, %entry ], [ %seen, %loop ]
  %down = lshr i32 %old, %shift
  %part = trunc i32 %down to $I
  %x = bitcast $I %part to $T
$OPERATION
  %bits = bitcast $T %y to $I
  %wide = zext $I %bits to i32
  %placed = shl i32 %wide, %shift
  %rest = and i32 %old, %others
  %new = or i32 %rest, %placed
  %pair = cmpxchg $P %q, i32 %old, i32 %new $SCOPE $ORDER $FAILURE, align 4
  %seen = extractvalue { i32, i1 } %pair, 0
  %ok = extractvalue { i32, i1 } %pair, 1
  br i1 %ok, label %done, label %loop
done:
  ret $T %x
}
