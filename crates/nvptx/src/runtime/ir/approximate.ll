; Functions of float by the approximations of PTX, for calls that allow them (`afn`). The errors are those of the
; instructions (PTX manual) and of what is written here; docs/nvptx.md has them.

declare float @llvm.sin.f32(float)
declare float @llvm.cos.f32(float)
declare float @llvm.exp2.f32(float)
declare float @llvm.log2.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
declare float @llvm.copysign.f32(float, float)
declare float @llvm.trunc.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.minnum.f32(float, float)

define float @oriole.afn.tan(float %x) alwaysinline {
  %s = call afn float @llvm.sin.f32(float %x)
  %c = call afn float @llvm.cos.f32(float %x)
  %r = fdiv afn float %s, %c
  ret float %r
}

; 2^(x log2(e))
define float @oriole.afn.exp(float %x) alwaysinline {
  %p = fmul float %x, 0x3FF7154760000000
  %r = call afn float @llvm.exp2.f32(float %p)
  ret float %r
}

; 2^(x log2(10))
define float @oriole.afn.exp10(float %x) alwaysinline {
  %p = fmul float %x, 0x400A934F00000000
  %r = call afn float @llvm.exp2.f32(float %p)
  ret float %r
}

; log2(x) ln(2)
define float @oriole.afn.log(float %x) alwaysinline {
  %l = call afn float @llvm.log2.f32(float %x)
  %r = fmul float %l, 0x3FE62E4300000000
  ret float %r
}

; log2(x) log10(2)
define float @oriole.afn.log10(float %x) alwaysinline {
  %l = call afn float @llvm.log2.f32(float %x)
  %r = fmul float %l, 0x3FD3441360000000
  ret float %r
}

; 2^(y log2|x|), negative for a negative x and an odd y. x^0 and 1^y are 1 whatever the other is.
define float @oriole.afn.pow(float %x, float %y) alwaysinline {
  %size = call float @llvm.fabs.f32(float %x)
  %l = call afn float @llvm.log2.f32(float %size)
  %p = fmul float %l, %y
  %no.power = fcmp oeq float %y, 0.0
  %unit = fcmp oeq float %l, 0.0
  %is.one = or i1 %no.power, %unit
  %q = select i1 %is.one, float 0.0, float %p
  %power = call afn float @llvm.exp2.f32(float %q)
  %half = fmul float %y, 0.5
  %whole.y = call float @llvm.trunc.f32(float %y)
  %whole.half = call float @llvm.trunc.f32(float %half)
  %integer = fcmp oeq float %whole.y, %y
  %even = fcmp oeq float %whole.half, %half
  %not.even = xor i1 %even, true
  %odd = and i1 %integer, %not.even
  %sign = select i1 %odd, float %x, float 1.0
  %signed = call float @llvm.copysign.f32(float %power, float %sign)
  ; A finite negative number has no such power.
  %negative = fcmp olt float %x, 0.0
  %finite = fcmp one float %size, 0x7FF0000000000000
  %fraction = xor i1 %integer, true
  %below = and i1 %negative, %finite
  %none = and i1 %below, %fraction
  %r = select i1 %none, float 0x7FF8000000000000, float %signed
  ret float %r
}

; (1 - t) / (1 + t) with t = e^(-2|x|); a series where that cancels.
define float @oriole.afn.tanh(float %x) alwaysinline {
  %size = call float @llvm.fabs.f32(float %x)
  %p = fmul float %size, 0xC007154760000000
  %t = call afn float @llvm.exp2.f32(float %p)
  %n = fsub float 1.0, %t
  %d = fadd float 1.0, %t
  %q = fdiv afn float %n, %d
  %square = fmul float %size, %size
  %cubic = fmul float %square, 0xBFD5555560000000
  %series = call float @llvm.fma.f32(float %cubic, float %size, float %size)
  %small = fcmp olt float %size, 0x3FB99999A0000000
  %tanh = select i1 %small, float %series, float %q
  %r = call float @llvm.copysign.f32(float %tanh, float %x)
  ret float %r
}

; e^x/2 - e^-x/2; a series where that cancels.
define float @oriole.afn.sinh(float %x) alwaysinline {
  %up = call float @llvm.fma.f32(float %x, float 0x3FF7154760000000, float -1.0)
  %down = call float @llvm.fma.f32(float %x, float 0xBFF7154760000000, float -1.0)
  %a = call afn float @llvm.exp2.f32(float %up)
  %b = call afn float @llvm.exp2.f32(float %down)
  %difference = fsub float %a, %b
  %square = fmul float %x, %x
  %innermost = call float @llvm.fma.f32(float %square, float 0x3F2A01A020000000, float 0x3F81111120000000)
  %inner = call float @llvm.fma.f32(float %square, float %innermost, float 0x3FC5555560000000)
  %outer = fmul float %inner, %square
  %series = call float @llvm.fma.f32(float %outer, float %x, float %x)
  %size = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %size, 5.000000e-01
  %r = select i1 %small, float %series, float %difference
  ret float %r
}

; e^x/2 + e^-x/2
define float @oriole.afn.cosh(float %x) alwaysinline {
  %up = call float @llvm.fma.f32(float %x, float 0x3FF7154760000000, float -1.0)
  %down = call float @llvm.fma.f32(float %x, float 0xBFF7154760000000, float -1.0)
  %a = call afn float @llvm.exp2.f32(float %up)
  %b = call afn float @llvm.exp2.f32(float %down)
  %r = fadd float %a, %b
  ret float %r
}

; The arc whose tangent x is, up to 1. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.49: error
; at most 2e-8 |x|.
define float @oriole.afn.arc(float %x) alwaysinline {
  %s = fmul float %x, %x
  %p8 = call float @llvm.fma.f32(float %s, float 0x3F677AE940000000, float 0xBF908DC040000000)
  %p7 = call float @llvm.fma.f32(float %p8, float %s, float 0x3FA5F83FC0000000)
  %p6 = call float @llvm.fma.f32(float %p7, float %s, float 0xBFB3462E80000000)
  %p5 = call float @llvm.fma.f32(float %p6, float %s, float 0x3FBB47B060000000)
  %p4 = call float @llvm.fma.f32(float %p5, float %s, float 0xBFC22FF8E0000000)
  %p3 = call float @llvm.fma.f32(float %p4, float %s, float 0x3FC9977CA0000000)
  %p2 = call float @llvm.fma.f32(float %p3, float %s, float 0xBFD5554D80000000)
  %p1 = fmul float %p2, %s
  %r = call float @llvm.fma.f32(float %p1, float %x, float %x)
  ret float %r
}

define float @oriole.afn.atan(float %x) alwaysinline {
  %size = call float @llvm.fabs.f32(float %x)
  %large = fcmp ogt float %size, 1.0
  %inverse = fdiv afn float 1.0, %size
  %t = select i1 %large, float %inverse, float %size
  %arc = call float @oriole.afn.arc(float %t)
  %rest = fsub float 0x3FF921FB60000000, %arc
  %angle = select i1 %large, float %rest, float %arc
  %r = call float @llvm.copysign.f32(float %angle, float %x)
  ret float %r
}

; The arc of x / sqrt((1 - x) (1 + x)).
define float @oriole.afn.asin(float %x) alwaysinline {
  %a = fsub float 1.0, %x
  %b = fadd float 1.0, %x
  %square = fmul float %a, %b
  %root = call afn float @llvm.sqrt.f32(float %square)
  %t = fdiv afn float %x, %root
  %r = call float @oriole.afn.atan(float %t)
  ret float %r
}

; Twice the arc of sqrt((1 - x) / (1 + x)). `arcp` alone is `div.full`, whose divisor may be of any size: that the square
; is negative for |x| > 1 is to show.
define float @oriole.afn.acos(float %x) alwaysinline {
  %a = fsub float 1.0, %x
  %b = fadd float 1.0, %x
  %square = fdiv arcp float %a, %b
  %t = call afn float @llvm.sqrt.f32(float %square)
  %half = call float @oriole.afn.atan(float %t)
  %r = fmul float %half, 2.0
  ret float %r
}

; The arc of the smaller size over the larger one, from the axis of the larger one.
define float @oriole.afn.atan2(float %y, float %x) alwaysinline {
  %ax = call float @llvm.fabs.f32(float %x)
  %ay = call float @llvm.fabs.f32(float %y)
  %large = call float @llvm.maxnum.f32(float %ax, float %ay)
  %small = call float @llvm.minnum.f32(float %ax, float %ay)
  ; `arcp` alone is `div.full`, whose divisor may be of any size.
  %quotient = fdiv arcp float %small, %large
  %zeros = fcmp oeq float %large, 0.0
  %t1 = select i1 %zeros, float 0.0, float %quotient
  %infinities = fcmp oeq float %small, 0x7FF0000000000000
  %t = select i1 %infinities, float 1.0, float %t1
  %arc = call float @oriole.afn.arc(float %t)
  %steep = fcmp ogt float %ay, %ax
  %rest = fsub float 0x3FF921FB60000000, %arc
  %first = select i1 %steep, float %rest, float %arc
  %bits = bitcast float %x to i32
  %left = icmp slt i32 %bits, 0
  %second = fsub float 0x400921FB60000000, %first
  %angle = select i1 %left, float %second, float %first
  %signed = call float @llvm.copysign.f32(float %angle, float %y)
  %unknown = fcmp uno float %x, %y
  %r = select i1 %unknown, float 0x7FF8000000000000, float %signed
  ret float %r
}
