; $L values of type $T behind each other.

define void @$NAME($D %to, $T %value, $L %count) alwaysinline {
entry:
  %none = icmp eq $L %count, 0
  br i1 %none, label %done, label %values
values:
  %i = phi $L [ 0, %entry ], [ %i.next, %values ]
  %target = getelementptr $T, $D %to, $L %i
  store $V $T %value, $D %target, align $ALIGN
  %i.next = add $L %i, 1
  %more = icmp ult $L %i.next, %count
  br i1 %more, label %values, label %done
done:
  ret void
}
