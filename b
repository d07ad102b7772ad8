abs.f32+p
bfe.s32+40_40
cos.approx.f32+imm0
cos.approx.ftz.f32+imm0
cp.async.ca.shared.global.L2::cache_hint 16
cp.async.ca.shared.global.L2::cache_hint 4
cp.async.ca.shared.global.L2::cache_hint 8
cp.async.ca.shared.global.L2::cache_hint.L2::128B 16
cp.async.ca.shared.global.L2::cache_hint.L2::128B 4
cp.async.ca.shared.global.L2::cache_hint.L2::128B 8
cp.async.ca.shared.global.L2::cache_hint.L2::256B 16
cp.async.ca.shared.global.L2::cache_hint.L2::256B 4
cp.async.ca.shared.global.L2::cache_hint.L2::256B 8
cp.async.ca.shared.global.L2::cache_hint.L2::64B 16
cp.async.ca.shared.global.L2::cache_hint.L2::64B 4
cp.async.ca.shared.global.L2::cache_hint.L2::64B 8
cp.async.ca.shared::cta.global.L2::cache_hint 16
cp.async.ca.shared::cta.global.L2::cache_hint 4
cp.async.ca.shared::cta.global.L2::cache_hint 8
cp.async.ca.shared::cta.global.L2::cache_hint.L2::128B 16
cp.async.ca.shared::cta.global.L2::cache_hint.L2::128B 4
cp.async.ca.shared::cta.global.L2::cache_hint.L2::128B 8
cp.async.ca.shared::cta.global.L2::cache_hint.L2::256B 16
cp.async.ca.shared::cta.global.L2::cache_hint.L2::256B 4
cp.async.ca.shared::cta.global.L2::cache_hint.L2::256B 8
cp.async.ca.shared::cta.global.L2::cache_hint.L2::64B 16
cp.async.ca.shared::cta.global.L2::cache_hint.L2::64B 4
cp.async.ca.shared::cta.global.L2::cache_hint.L2::64B 8
cp.async.cg.shared.global.L2::cache_hint 16
cp.async.cg.shared.global.L2::cache_hint.L2::128B 16
cp.async.cg.shared.global.L2::cache_hint.L2::256B 16
cp.async.cg.shared.global.L2::cache_hint.L2::64B 16
cp.async.cg.shared::cta.global.L2::cache_hint 16
cp.async.cg.shared::cta.global.L2::cache_hint.L2::128B 16
cp.async.cg.shared::cta.global.L2::cache_hint.L2::256B 16
cp.async.cg.shared::cta.global.L2::cache_hint.L2::64B 16
cvt.f64.f32+abs
cvt.f64.f32+neg
fns.b32
ld.acquire.cta.shared.b16
ld.acquire.cta.shared.b8
ld.acquire.gpu.shared.b16
ld.acquire.gpu.shared.b8
ld.acquire.sys.shared.b16
ld.acquire.sys.shared.b8
ld.local.b16
ld.local.b8
ld.local.s16
ld.local.s8
ld.local.u16
ld.local.u8
ld.local.v2.b8
ld.relaxed.cta.shared.b16
ld.relaxed.cta.shared.b8
ld.relaxed.gpu.shared.b16
ld.relaxed.gpu.shared.b8
ld.relaxed.sys.shared.b16
ld.relaxed.sys.shared.b8
ld.shared.b16
ld.shared.b8
ld.shared.s16
ld.shared.s8
ld.shared.u16
ld.shared.u8
ld.shared.v2.b8
ld.shared.v2.s8
ld.shared.v2.u8
ld.shared::cta.b16
ld.shared::cta.b8
ld.shared::cta.s16
ld.shared::cta.s8
ld.shared::cta.u16
ld.shared::cta.u8
ld.shared::cta.v2.b8
ld.volatile.shared.b16
ld.volatile.shared.b8
ld.volatile.shared::cta.b16
ld.volatile.shared::cta.b8
ld.weak.local.b16
ld.weak.local.b8
ld.weak.shared.b16
ld.weak.shared.b8
ld.weak.shared::cta.b16
ld.weak.shared::cta.b8
max.s16+neg
min.s16+neg
set.lt.f32.f64+p
set.lt.f32.s32+p
set.lt.f32.u64+p
set.lt.u32.u16+p
sin.approx.f32+imm0
sin.approx.ftz.f32+imm0
szext.clamp.s32+cbank
szext.clamp.u32+cbank
szext.wrap.s32+cbank
szext.wrap.u32+cbank
testp.subnormal.f32+p
