; Bits of integers $T of 65 to 128 bits ($B), from a low half of 64 bits and a high one of $HIGH; $ABOVE bits of its
; 64 are not there.

declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.bitreverse.i64(i64)
declare i64 @llvm.bswap.i64(i64)

define $T @oriole.ctpop.$T($T %a) alwaysinline {
  %low = trunc $T %a to i64
  %up = lshr $T %a, 64
  %high = trunc $T %up to i64
  %x = call i64 @llvm.ctpop.i64(i64 %low)
  %y = call i64 @llvm.ctpop.i64(i64 %high)
  %sum = add i64 %x, %y
  %r = zext i64 %sum to $T
  ret $T %r
}

define $T @oriole.ctlz.$T($T %a) alwaysinline {
  %low = trunc $T %a to i64
  %up = lshr $T %a, 64
  %high = trunc $T %up to i64
  %x = call i64 @llvm.ctlz.i64(i64 %low, i1 false)
  %y = call i64 @llvm.ctlz.i64(i64 %high, i1 false)
  %in.low = add i64 %x, $HIGH
  %in.high = sub i64 %y, $ABOVE
  %none = icmp eq i64 %high, 0
  %count = select i1 %none, i64 %in.low, i64 %in.high
  %r = zext i64 %count to $T
  ret $T %r
}

; A bit above the width stops the count of a zero there.
define $T @oriole.cttz.$T($T %a) alwaysinline {
  %low = trunc $T %a to i64
  %up = lshr $T %a, 64
  %high = trunc $T %up to i64
  %stopped = or i64 %high, $STOP
  %x = call i64 @llvm.cttz.i64(i64 %low, i1 false)
  %y = call i64 @llvm.cttz.i64(i64 %stopped, i1 false)
  %in.high = add i64 %y, 64
  %none = icmp eq i64 %low, 0
  %count = select i1 %none, i64 %in.high, i64 %x
  %r = zext i64 %count to $T
  ret $T %r
}

define $T @oriole.bitreverse.$T($T %a) alwaysinline {
  %low = trunc $T %a to i64
  %up = lshr $T %a, 64
  %high = trunc $T %up to i64
  %x = call i64 @llvm.bitreverse.i64(i64 %low)
  %y = call i64 @llvm.bitreverse.i64(i64 %high)
  %x.wide = zext i64 %x to $T
  %y.down = lshr i64 %y, $ABOVE
  %y.wide = zext i64 %y.down to $T
  %x.up = shl $T %x.wide, $HIGH
  %r = or $T %x.up, %y.wide
  ret $T %r
}

define $T @oriole.bswap.$T($T %a) alwaysinline {
  %low = trunc $T %a to i64
  %up = lshr $T %a, 64
  %high = trunc $T %up to i64
  %x = call i64 @llvm.bswap.i64(i64 %low)
  %y = call i64 @llvm.bswap.i64(i64 %high)
  %x.wide = zext i64 %x to $T
  %y.down = lshr i64 %y, $ABOVE
  %y.wide = zext i64 %y.down to $T
  %x.up = shl $T %x.wide, $HIGH
  %r = or $T %x.up, %y.wide
  ret $T %r
}
