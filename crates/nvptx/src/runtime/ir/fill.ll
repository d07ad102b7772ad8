; Fills of $L bytes: $C, of $SIZE bytes, is what the alignment allows at once; the rest goes byte by byte.

define void @oriole.fill.$NAME($D %to, i8 %value, $L %length) alwaysinline {
entry:
  %wide = zext i8 %value to i128
  %each = mul i128 %wide, 1334440654591915542993625911497130241
  %chunk = trunc i128 %each to $C
  %rest = urem $L %length, $SIZE
  %whole = sub $L %length, %rest
  %none = icmp eq $L %whole, 0
  br i1 %none, label %tail, label %chunks
chunks:
  %i = phi $L [ 0, %entry ], [ %i.next, %chunks ]
  %target = getelementptr i8, $D %to, $L %i
  store $V $C %chunk, $D %target, align $SIZE
  %i.next = add $L %i, $SIZE
  %more = icmp ult $L %i.next, %whole
  br i1 %more, label %chunks, label %tail
tail:
  %short = icmp eq $L %rest, 0
  br i1 %short, label %done, label %bytes
bytes:
  %j = phi $L [ %whole, %tail ], [ %j.next, %bytes ]
  %byte.to = getelementptr i8, $D %to, $L %j
  store $V i8 %value, $D %byte.to
  %j.next = add $L %j, 1
  %again = icmp ult $L %j.next, %length
  br i1 %again, label %bytes, label %done
done:
  ret void
}
