; `cmpxchg` on a $T within the aligned 32 bits that hold it.

define { $T, i1 } @oriole.cmpxchg.$NAME($P %p, $T %expected, $T %new) alwaysinline {
entry:
  %address = ptrtoint $P %p to i64
  %offset = and i64 %address, 3
  %back = sub i64 0, %offset
  %q = getelementptr i8, $P %p, i64 %back
  %number = trunc i64 %offset to i32
  %shift = mul i32 %number, 8
  %mask = shl i32 $PART, %shift
  %others = xor i32 %mask, -1
  %e.wide = zext $T %expected to i32
  %n.wide = zext $T %new to i32
  %e = shl i32 %e.wide, %shift
  %n = shl i32 %n.wide, %shift
  %first = load atomic i32, $P %q $SCOPE monotonic, align 4
  br label %loop
loop:
  %old = phi i32 [ %first, %entry ], [ %seen, %failed ]
  %rest = and i32 %old, %others
  %want = or i32 %rest, %e
  %put = or i32 %rest, %n
  %pair = cmpxchg $P %q, i32 %want, i32 %put $SCOPE $ORDER $FAILURE, align 4
  %seen = extractvalue { i32, i1 } %pair, 0
  %ok = extractvalue { i32, i1 } %pair, 1
  br i1 %ok, label %done, label %failed
failed:
  ; When what is around has not changed, the part itself is another.
  %seen.rest = and i32 %seen, %others
  %same = icmp eq i32 %seen.rest, %rest
  br i1 %same, label %done, label %loop
done:
  %down = lshr i32 %seen, %shift
  %part = trunc i32 %down to $T
  %one = insertvalue { $T, i1 } poison, $T %part, 0
  %both = insertvalue { $T, i1 } %one, i1 %ok, 1
  ret { $T, i1 } %both
}
