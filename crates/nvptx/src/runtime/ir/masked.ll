; Accesses that a lane of a mask allows.

define $T @oriole.masked.load.$NAME($P %p, i1 %mask, $T %other) alwaysinline {
entry:
  br i1 %mask, label %access, label %done
access:
  %v = load $T, $P %p, align $SIZE
  br label %done
done:
  %r = phi $T [ %other, %entry ], [ %v, %access ]
  ret $T %r
}

define void @oriole.masked.store.$NAME($P %p, i1 %mask, $T %v) alwaysinline {
entry:
  br i1 %mask, label %access, label %done
access:
  store $T %v, $P %p, align $SIZE
  br label %done
done:
  ret void
}
