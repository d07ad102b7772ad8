; Copies of $L bytes: $C, of $SIZE bytes, is what the alignments allow at once; the rest goes byte by byte.

define void @oriole.copy.up.$NAME($D %to, $S %from, $L %length) alwaysinline {
entry:
  %rest = urem $L %length, $SIZE
  %whole = sub $L %length, %rest
  %none = icmp eq $L %whole, 0
  br i1 %none, label %tail, label %chunks
chunks:
  %i = phi $L [ 0, %entry ], [ %i.next, %chunks ]
  %source = getelementptr i8, $S %from, $L %i
  %target = getelementptr i8, $D %to, $L %i
  %chunk = load $V $C, $S %source, align $SIZE
  store $V $C %chunk, $D %target, align $SIZE
  %i.next = add $L %i, $SIZE
  %more = icmp ult $L %i.next, %whole
  br i1 %more, label %chunks, label %tail
tail:
  %short = icmp eq $L %rest, 0
  br i1 %short, label %done, label %bytes
bytes:
  %j = phi $L [ %whole, %tail ], [ %j.next, %bytes ]
  %byte.from = getelementptr i8, $S %from, $L %j
  %byte.to = getelementptr i8, $D %to, $L %j
  %byte = load $V i8, $S %byte.from
  store $V i8 %byte, $D %byte.to
  %j.next = add $L %j, 1
  %again = icmp ult $L %j.next, %length
  br i1 %again, label %bytes, label %done
done:
  ret void
}

define void @oriole.copy.down.$NAME($D %to, $S %from, $L %length) alwaysinline {
entry:
  %rest = urem $L %length, $SIZE
  %whole = sub $L %length, %rest
  %short = icmp eq $L %rest, 0
  br i1 %short, label %head, label %bytes
bytes:
  %j = phi $L [ %length, %entry ], [ %j.next, %bytes ]
  %j.next = sub $L %j, 1
  %byte.from = getelementptr i8, $S %from, $L %j.next
  %byte.to = getelementptr i8, $D %to, $L %j.next
  %byte = load $V i8, $S %byte.from
  store $V i8 %byte, $D %byte.to
  %again = icmp ugt $L %j.next, %whole
  br i1 %again, label %bytes, label %head
head:
  %none = icmp eq $L %whole, 0
  br i1 %none, label %done, label %chunks
chunks:
  %i = phi $L [ %whole, %head ], [ %i.next, %chunks ]
  %i.next = sub $L %i, $SIZE
  %source = getelementptr i8, $S %from, $L %i.next
  %target = getelementptr i8, $D %to, $L %i.next
  %chunk = load $V $C, $S %source, align $SIZE
  store $V $C %chunk, $D %target, align $SIZE
  %more = icmp ne $L %i.next, 0
  br i1 %more, label %chunks, label %done
done:
  ret void
}

; Upwards unless the target begins within the source.
define void @oriole.move.$NAME($D %to, $S %from, $L %length) {
  %a = ptrtoint $S %from to i64
  %b = ptrtoint $D %to to i64
  %forwards = icmp ule i64 %b, %a
  br i1 %forwards, label %up, label %down
up:
  call void @oriole.copy.up.$NAME($D %to, $S %from, $L %length)
  ret void
down:
  call void @oriole.copy.down.$NAME($D %to, $S %from, $L %length)
  ret void
}
