; Integers of $W bits to $T: what is below the upper $H bits only matters as not being zero, so it is put into the last
; bit of those, and one rounding is left.

declare i$W @llvm.ctlz.i$W(i$W, i1)

define $T @oriole.uitofp.i$W.$T(i$W %x) {
entry:
  %up = lshr i$W %x, $H
  %small = icmp eq i$W %up, 0
  br i1 %small, label %narrow, label %wide
narrow:
  %low = trunc i$W %x to i$H
  %exact = uitofp i$H %low to $T
  ret $T %exact
wide:
  %zeros = call i$W @llvm.ctlz.i$W(i$W %x, i1 false)
  %full = shl i$W %x, %zeros
  %top.wide = lshr i$W %full, $H
  %top = trunc i$W %top.wide to i$H
  %rest = trunc i$W %full to i$H
  %some = icmp ne i$H %rest, 0
  %sticky = zext i1 %some to i$H
  %odd = or i$H %top, %sticky
  %m = uitofp i$H %odd to $T
  %n = trunc i$W %zeros to $I
  %e = sub $I $POWER, %n
  %scale.bits = shl $I %e, $M
  %scale = bitcast $I %scale.bits to $T
  %r = fmul $T %m, %scale
  ret $T %r
}

define $T @oriole.sitofp.i$W.$T(i$W %x) alwaysinline {
  %s = ashr i$W %x, $LAST
  %y = xor i$W %x, %s
  %u = sub i$W %y, %s
  %size = call $T @oriole.uitofp.i$W.$T(i$W %u)
  %negative = icmp slt i$W %x, 0
  %minus = fneg $T %size
  %r = select i1 %negative, $T %minus, $T %size
  ret $T %r
}
