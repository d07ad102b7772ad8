//! Vectors of which only some lanes count, arithmetic with a mode of rounding, interleaved vectors, patterns in memory.

use super::{binary, pairs, run};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round, StatusAnd};

/// Lanes of the vectors.
const LANES: usize = 4;
/// Threads: all masks with all lengths from 0 to 5.
const THREADS: u32 = 16 * 6;
/// What lanes have that nothing is stored to.
const UNTOUCHED: u32 = 0xEEEE_EEEE;

/// A kernel of [`THREADS`] threads. `%a` and `%b` are vectors of 32-bit elements, `%m` is the mask `tid & 15`, `%n` the length `tid >> 4`; `body`
/// stores to `%to`, 16 bytes for each thread.
fn kernel(element: &str, declarations: &str, body: &str) -> String {
    format!(
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{declarations}
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr [32 x i8], ptr %in, i32 %tid
  %more = getelementptr i8, ptr %from, i64 16
  %to = getelementptr [16 x i8], ptr %out, i32 %tid
  %a = load <4 x {element}>, ptr %from
  %b = load <4 x {element}>, ptr %more
  %four = trunc i32 %tid to i4
  %m = bitcast i4 %four to <4 x i1>
  %n = lshr i32 %tid, 4
{body}  ret void
}}
"
    )
}

/// Element by element, what the operands of a thread are.
fn operands(rng: &mut fastrand::Rng, value: impl Fn(&mut fastrand::Rng) -> u32) -> Vec<[u32; 2 * LANES]> {
    (0..THREADS).map(|_| std::array::from_fn(|_| value(rng))).collect()
}

/// Runs the kernel; the elements of each thread's 16 bytes.
fn results(text: &str, input: &[[u32; 2 * LANES]]) -> Vec<[u32; LANES]> {
    let bytes: Vec<u8> = input.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let output = run(text, "sm_80", &bytes, &vec![0xEE; 16 * THREADS as usize], THREADS);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    output.chunks_exact(16).map(|own| std::array::from_fn(|lane| word(&own[4 * lane..4 * lane + 4]))).collect()
}

/// Whether a lane counts for a thread.
fn counts(thread: usize, lane: usize) -> bool {
    (thread & 15) >> lane & 1 == 1 && lane < thread >> 4
}

/// `%r`, stored where lanes count, is what the host computes for each of them.
fn check_lanes(element: &str, declarations: &str, body: &str, input: &[[u32; 8]], host: impl Fn(u32, u32) -> u32) {
    let store = format!(
        "  call void @llvm.vp.store.v4{element}.p0(<4 x {element}> %r, ptr align 4 %to, <4 x i1> %m, i32 %n)\n"
    );
    let suffix = if element == "float" { "f32" } else { element };
    let store = store.replace(&format!("v4{element}"), &format!("v4{suffix}"));
    let declare =
        format!("declare void @llvm.vp.store.v4{suffix}.p0(<4 x {element}>, ptr, <4 x i1>, i32)\n{declarations}");
    let text = kernel(element, &declare, &format!("{body}{store}"));
    for (thread, own) in results(&text, input).into_iter().enumerate() {
        for (lane, value) in own.into_iter().enumerate() {
            let [a, b] = [input[thread][lane], input[thread][LANES + lane]];
            let expected = if counts(thread, lane) { host(a, b) } else { UNTOUCHED };
            assert_eq!(value, expected, "{body} thread {thread} lane {lane}: {a:#x} {b:#x}");
        }
    }
}

/// What the host computes for two elements.
type Host = fn(u32, u32) -> u32;

/// `llvm.vp.NAME` of two vectors of integers, for each name.
fn check_integers(operations: &[(&str, Host)], input: &[[u32; 2 * LANES]]) {
    for (name, host) in operations {
        let function = format!("@llvm.vp.{name}.v4i32");
        let declare = format!("declare <4 x i32> {function}(<4 x i32>, <4 x i32>, <4 x i1>, i32)\n");
        let body = format!("  %r = call <4 x i32> {function}(<4 x i32> %a, <4 x i32> %b, <4 x i1> %m, i32 %n)\n");
        check_lanes("i32", &declare, &body, input, host);
    }
}

#[test]
fn operations_on_the_lanes_that_count() {
    let mut rng = fastrand::Rng::with_seed(640);
    // Zeros are among them: in lanes that do not count nothing may be divided by them.
    let input = operands(&mut rng, |rng| if rng.u8(..4) == 0 { 0 } else { rng.u32(..) >> rng.u32(..32) });
    let operations: [(&str, Host); 11] = [
        ("add", u32::wrapping_add),
        ("sub", u32::wrapping_sub),
        ("mul", u32::wrapping_mul),
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("umax", u32::max),
        ("umin", u32::min),
        ("smax", |a, b| (a as i32).max(b as i32) as u32),
        ("smin", |a, b| (a as i32).min(b as i32) as u32),
        ("uadd.sat", u32::saturating_add),
    ];
    check_integers(&operations, &input);
}

#[test]
fn quotients_of_the_lanes_that_count() {
    let mut rng = fastrand::Rng::with_seed(641);
    let mut input = operands(&mut rng, |rng| rng.u32(..) >> rng.u32(..32));
    for (thread, own) in input.iter_mut().enumerate() {
        for (lane, divisor) in own[LANES..].iter_mut().enumerate() {
            // A divisor of zero where the lane does not count, and nowhere else; no quotient overflows.
            *divisor = if counts(thread, lane) { (*divisor).clamp(1, u32::MAX - 1) } else { 0 };
        }
    }
    let operations: [(&str, Host); 4] = [
        ("udiv", |a, b| a / b),
        ("urem", |a, b| a % b),
        ("sdiv", |a, b| (a as i32 / b as i32) as u32),
        ("srem", |a, b| (a as i32 % b as i32) as u32),
    ];
    check_integers(&operations, &input);
}

#[test]
fn floats_conversions_comparisons_and_choices() {
    let mut rng = fastrand::Rng::with_seed(642);
    let input = operands(&mut rng, |rng| ((rng.i32(-5000..5000)) as f32 / 16.0).to_bits());
    let f = f32::from_bits;
    let declare = "declare <4 x float> @llvm.vp.fma.v4f32(<4 x float>, <4 x float>, <4 x float>, <4 x i1>, i32)
declare <4 x float> @llvm.vp.fneg.v4f32(<4 x float>, <4 x i1>, i32)
declare <4 x i32> @llvm.vp.fptosi.v4i32.v4f32(<4 x float>, <4 x i1>, i32)
declare <4 x float> @llvm.vp.sitofp.v4f32.v4i32(<4 x i32>, <4 x i1>, i32)
declare <4 x i1> @llvm.vp.fcmp.v4f32(<4 x float>, <4 x float>, metadata, <4 x i1>, i32)
declare <4 x float> @llvm.vp.select.v4f32(<4 x i1>, <4 x float>, <4 x float>, i32)
declare <4 x float> @llvm.vp.merge.v4f32(<4 x i1>, <4 x float>, <4 x float>, i32)
declare <4 x i32> @llvm.vp.abs.v4i32(<4 x i32>, i1, <4 x i1>, i32)
";
    let fma = "  %r = call <4 x float> @llvm.vp.fma.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %a, <4 x i1> %m, i32 %n)\n";
    check_lanes("float", declare, fma, &input, |a, b| f(a).mul_add(f(b), f(a)).to_bits());
    let fneg = "  %r = call <4 x float> @llvm.vp.fneg.v4f32(<4 x float> %b, <4 x i1> %m, i32 %n)\n";
    check_lanes("float", declare, fneg, &input, |_, b| (-f(b)).to_bits());
    let convert = "  %i = call <4 x i32> @llvm.vp.fptosi.v4i32.v4f32(<4 x float> %a, <4 x i1> %m, i32 %n)
  %j = call <4 x i32> @llvm.vp.abs.v4i32(<4 x i32> %i, i1 false, <4 x i1> %m, i32 %n)
  %r = call <4 x float> @llvm.vp.sitofp.v4f32.v4i32(<4 x i32> %j, <4 x i1> %m, i32 %n)\n";
    check_lanes("float", declare, convert, &input, |a, _| f(a).abs().trunc().to_bits());
    let choose = "  %c = call <4 x i1> @llvm.vp.fcmp.v4f32(<4 x float> %a, <4 x float> %b, metadata !\"olt\", <4 x i1> %m, i32 %n)
  %r = call <4 x float> @llvm.vp.select.v4f32(<4 x i1> %c, <4 x float> %a, <4 x float> %b, i32 %n)\n";
    check_lanes("float", declare, choose, &input, |a, b| f(a).min(f(b)).to_bits());
    // Behind the length `merge` takes the second value.
    let merge = "  %r = call <4 x float> @llvm.vp.merge.v4f32(<4 x i1> %m, <4 x float> %a, <4 x float> %b, i32 %n)
  store <4 x float> %r, ptr %to\n";
    for (thread, own) in results(&kernel("float", declare, merge), &input).into_iter().enumerate() {
        let expected =
            std::array::from_fn(|lane| input[thread][if counts(thread, lane) { lane } else { LANES + lane }]);
        assert_eq!(own, expected, "thread {thread}");
    }
}

#[test]
fn reductions_of_the_lanes_that_count() {
    let mut rng = fastrand::Rng::with_seed(643);
    let input = operands(&mut rng, |rng| rng.u32(..) >> rng.u32(..32));
    let operations: [(&str, Host); 9] = [
        ("add", u32::wrapping_add),
        ("mul", u32::wrapping_mul),
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("umax", u32::max),
        ("umin", u32::min),
        ("smax", |a, b| (a as i32).max(b as i32) as u32),
        ("smin", |a, b| (a as i32).min(b as i32) as u32),
    ];
    for (name, host) in operations {
        reduced("i32", name, "i32", &input, host);
    }
    // Small integers, whose sums and products are exact.
    let floats = operands(&mut rng, |rng| (rng.i32(-9..9) as f32).to_bits());
    let of = |host: fn(f32, f32) -> f32| move |a: u32, b: u32| host(f32::from_bits(a), f32::from_bits(b)).to_bits();
    reduced("float", "fadd", "f32", &floats, of(|a, b| a + b));
    reduced("float", "fmul", "f32", &floats, of(|a, b| a * b));
    for name in ["fmax", "fmaximum"] {
        reduced("float", name, "f32", &floats, of(f32::max));
    }
    for name in ["fmin", "fminimum"] {
        reduced("float", name, "f32", &floats, of(f32::min));
    }
}

/// A reduction that starts from the second vector's first element.
fn reduced(element: &str, name: &str, suffix: &str, input: &[[u32; 8]], host: impl Fn(u32, u32) -> u32) {
    let function = format!("@llvm.vp.reduce.{name}.v4{suffix}");
    let declare = format!("declare {element} {function}({element}, <4 x {element}>, <4 x i1>, i32)\n");
    let body = format!(
        "  %start = extractelement <4 x {element}> %b, i64 0
  %r = call {element} {function}({element} %start, <4 x {element}> %a, <4 x i1> %m, i32 %n)
  store {element} %r, ptr %to\n"
    );
    for (thread, own) in results(&kernel(element, &declare, &body), input).into_iter().enumerate() {
        let lanes = (0..LANES).filter(|&lane| counts(thread, lane));
        let expected = lanes.fold(input[thread][LANES], |sum, lane| host(sum, input[thread][lane]));
        // The sign of a zero is open for products and extrema.
        let is_zero = |bits: u32| element == "float" && bits << 1 == 0;
        assert!(
            own[0] == expected || is_zero(own[0]) && is_zero(expected),
            "{name} thread {thread}: {:#x} {expected:#x}",
            own[0]
        );
    }
}

#[test]
fn accesses_of_the_lanes_that_count() {
    let mut rng = fastrand::Rng::with_seed(644);
    let input = operands(&mut rng, |rng| rng.u32(..));
    let declare = "declare <4 x i32> @llvm.vp.load.v4i32.p0(ptr, <4 x i1>, i32)
declare <4 x i32> @llvm.vp.gather.v4i32.v4p0(<4 x ptr>, <4 x i1>, i32)
declare void @llvm.vp.scatter.v4i32.v4p0(<4 x i32>, <4 x ptr>, <4 x i1>, i32)
declare <4 x i32> @llvm.experimental.vp.strided.load.v4i32.p0.i64(ptr, i64, <4 x i1>, i32)
declare void @llvm.experimental.vp.strided.store.v4i32.p0.i32(<4 x i32>, ptr, i32, <4 x i1>, i32)
";
    let load = "  %r = call <4 x i32> @llvm.vp.load.v4i32.p0(ptr align 4 %more, <4 x i1> %m, i32 %n)\n";
    check_lanes("i32", declare, load, &input, |_, b| b);
    let strided = "  %r = call <4 x i32> @llvm.experimental.vp.strided.load.v4i32.p0.i64(ptr align 4 %from, i64 4, <4 x i1> %m, i32 %n)\n";
    check_lanes("i32", declare, strided, &input, |a, _| a);
    // From the last to the first, and back.
    let turned = "  %there = getelementptr i32, ptr %more, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %r = call <4 x i32> @llvm.vp.gather.v4i32.v4p0(<4 x ptr> align 4 %there, <4 x i1> %m, i32 %n)
  %back = getelementptr i32, ptr %to, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  call void @llvm.vp.scatter.v4i32.v4p0(<4 x i32> %r, <4 x ptr> align 4 %back, <4 x i1> %m, i32 %n)\n";
    let last = "  %end = getelementptr i8, ptr %to, i64 12
  call void @llvm.experimental.vp.strided.store.v4i32.p0.i32(<4 x i32> %a, ptr align 4 %end, i32 -4, <4 x i1> %m, i32 %n)\n";
    for (body, first) in [(turned, LANES), (last, 0)] {
        for (thread, own) in results(&kernel("i32", declare, body), &input).into_iter().enumerate() {
            for (place, value) in own.into_iter().enumerate() {
                let lane = LANES - 1 - place;
                let from = if first == LANES { LANES + place } else { lane };
                let expected = if counts(thread, lane) { input[thread][from] } else { UNTOUCHED };
                assert_eq!(value, expected, "thread {thread} place {place}\n{body}");
            }
        }
    }
}

#[test]
fn active_lanes_are_counted_without_overflow() {
    let list: Vec<(u128, u128)> = [0u32, 1, 2, 5, u32::MAX - 2, u32::MAX - 1, u32::MAX]
        .into_iter()
        .flat_map(|base| [0, 1, 2, 4, 6, 9, u32::MAX - 1, u32::MAX].map(|limit| (base.into(), limit.into())))
        .collect();
    let declare = "declare <8 x i1> @llvm.get.active.lane.mask.v8i1.i32(i32, i32)\n";
    let body =
        "  %v = call <8 x i1> @llvm.get.active.lane.mask.v8i1.i32(i32 %a, i32 %b)\n  %r = bitcast <8 x i1> %v to i8\n";
    let masks = binary(["i32", "i32", "i8"], declare, body, &list, "sm_80");
    for ((base, limit), mask) in list.into_iter().zip(masks) {
        let expected = (0..8).filter(|lane| base + lane < limit).fold(0, |mask, lane| mask | 1 << lane);
        assert_eq!(mask, expected, "{base} {limit}");
    }
}

#[test]
fn interleaved_vectors() {
    let declare = "declare <6 x i16> @llvm.vector.interleave3.v6i16(<2 x i16>, <2 x i16>, <2 x i16>)
declare { <2 x i16>, <2 x i16>, <2 x i16> } @llvm.vector.deinterleave3.v6i16(<6 x i16>)
declare <4 x i16> @llvm.vector.interleave2.v4i16(<2 x i16>, <2 x i16>)
declare { <3 x i16>, <3 x i16> } @llvm.vector.deinterleave2.v6i16(<6 x i16>)
";
    let body = "  %v = load <6 x i16>, ptr %in, align 2
  %three = call { <2 x i16>, <2 x i16>, <2 x i16> } @llvm.vector.deinterleave3.v6i16(<6 x i16> %v)
  %x = extractvalue { <2 x i16>, <2 x i16>, <2 x i16> } %three, 0
  %y = extractvalue { <2 x i16>, <2 x i16>, <2 x i16> } %three, 1
  %z = extractvalue { <2 x i16>, <2 x i16>, <2 x i16> } %three, 2
  %w = call <6 x i16> @llvm.vector.interleave3.v6i16(<2 x i16> %z, <2 x i16> %y, <2 x i16> %x)
  store <6 x i16> %w, ptr %out, align 2
  %two = call { <3 x i16>, <3 x i16> } @llvm.vector.deinterleave2.v6i16(<6 x i16> %v)
  %odd = extractvalue { <3 x i16>, <3 x i16> } %two, 1
  %p = getelementptr i8, ptr %out, i64 12
  store <3 x i16> %odd, ptr %p, align 2
  %u = call <4 x i16> @llvm.vector.interleave2.v4i16(<2 x i16> %x, <2 x i16> %y)
  %q = getelementptr i8, ptr %out, i64 18
  store <4 x i16> %u, ptr %q, align 2
";
    let text = format!("{declare}define ptx_kernel void @k(ptr %in, ptr %out) {{\n{body}  ret void\n}}\n");
    let input: Vec<u8> = [10u16, 11, 12, 13, 14, 15].into_iter().flat_map(u16::to_le_bytes).collect();
    let expected = [12u16, 11, 10, 15, 14, 13, 11, 13, 15, 10, 11, 13, 14].into_iter().flat_map(u16::to_le_bytes);
    assert_eq!(run(&text, "sm_80", &input, &[0xEE; 26], 1), expected.collect::<Vec<_>>());
}

#[test]
fn patterns_in_memory() {
    let text = "declare void @llvm.experimental.memset.pattern.p0.i32.i64(ptr, i32, i64, i1)
define ptx_kernel void @k(ptr %in, ptr %out) {
  %value = load i32, ptr %in
  %p = getelementptr i8, ptr %in, i64 8
  %count = load i64, ptr %p
  call void @llvm.experimental.memset.pattern.p0.i32.i64(ptr align 4 %out, i32 %value, i64 %count, i1 false)
  ret void
}
";
    for count in [0u64, 1, 3, 9] {
        let input = [u64::from(0x1234_5678u32), count].map(u64::to_le_bytes).concat();
        let words = (0..10).map(|at| if at < count { 0x1234_5678 } else { UNTOUCHED });
        let expected: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        assert_eq!(run(text, "sm_80", &input, &[0xEE; 40], 1), expected, "{count}");
    }
}

const MODES: [(&str, Round); 5] = [
    ("round.dynamic", Round::NearestTiesToEven),
    ("round.tonearest", Round::NearestTiesToEven),
    ("round.towardzero", Round::TowardZero),
    ("round.upward", Round::TowardPositive),
    ("round.downward", Round::TowardNegative),
];

/// What an operation of two floats gives.
fn rounded<F: Float>(name: &str, a: u128, b: u128, mode: Round) -> u128 {
    let [a, b] = [a, b].map(F::from_bits);
    let StatusAnd { value, .. } = match name {
        "fadd" => a.add_r(b, mode),
        "fsub" => a.sub_r(b, mode),
        "fmul" => a.mul_r(b, mode),
        "fdiv" => a.div_r(b, mode),
        _ => a.mul_add_r(b, a, mode),
    };
    value.to_bits()
}

/// Results that are no numbers agree in that.
fn same<F: Float>(left: u128, right: u128) -> bool {
    left == right || [left, right].into_iter().all(|bits| F::from_bits(bits).is_nan())
}

#[test]
fn constrained_operations_round_as_they_say() {
    for (ty, suffix, bits) in [("float", "f32", 32), ("double", "f64", 64)] {
        let list = pairs(bits, 60, 645);
        for (mode, round) in MODES {
            for name in ["fadd", "fsub", "fmul", "fdiv", "fma"] {
                let function = format!("@llvm.experimental.constrained.{name}.{suffix}");
                let third = if name == "fma" { format!(", {ty} %a") } else { String::new() };
                let declare =
                    format!("declare {ty} {function}({ty}, {ty}{}, metadata, metadata)\n", third.replace(" %a", ""));
                let body = format!(
                    "  %r = call {ty} {function}({ty} %a, {ty} %b{third}, metadata !\"{mode}\", metadata !\"fpexcept.strict\") strictfp\n"
                );
                let results = binary([ty, ty, ty], &declare, &body, &list, "sm_80");
                for (&(a, b), result) in list.iter().zip(results) {
                    let (expected, is_same) = match bits {
                        32 => (rounded::<Single>(name, a, b, round), same::<Single> as fn(u128, u128) -> bool),
                        _ => (rounded::<Double>(name, a, b, round), same::<Double> as fn(u128, u128) -> bool),
                    };
                    assert!(
                        is_same(result, expected),
                        "{name} {mode} {ty} {a:#x} {b:#x}: {result:#x}, not {expected:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn constrained_conversions_and_comparisons() {
    let list = pairs(64, 60, 646);
    for (mode, round) in MODES {
        let declare = "declare float @llvm.experimental.constrained.sitofp.f32.i64(i64, metadata, metadata)
declare float @llvm.experimental.constrained.fptrunc.f32.f64(double, metadata, metadata)
";
        let convert = format!(
            "  %r = call float @llvm.experimental.constrained.sitofp.f32.i64(i64 %a, metadata !\"{mode}\", metadata !\"fpexcept.ignore\")\n"
        );
        for (&(a, _), result) in list.iter().zip(binary(["i64", "i64", "float"], declare, &convert, &list, "sm_80")) {
            let expected = Single::from_i128_r(i128::from(a as i64), round).value.to_bits();
            assert_eq!(result, expected, "sitofp {mode} {a:#x}");
        }
        let narrow = format!(
            "  %r = call float @llvm.experimental.constrained.fptrunc.f32.f64(double %a, metadata !\"{mode}\", metadata !\"fpexcept.ignore\")\n"
        );
        for (&(a, _), result) in list.iter().zip(binary(["double", "i64", "float"], declare, &narrow, &list, "sm_80")) {
            let mut loses = false;
            let value: StatusAnd<Single> = Double::from_bits(a).convert_r(round, &mut loses);
            assert!(same::<Single>(result, value.value.to_bits()), "fptrunc {mode} {a:#x}: {result:#x}");
        }
    }
    let declare = "declare i32 @llvm.experimental.constrained.fptosi.i32.f32(float, metadata)
declare i1 @llvm.experimental.constrained.fcmps.f32(float, float, metadata, metadata)
";
    let body = "  %i = call i32 @llvm.experimental.constrained.fptosi.i32.f32(float %a, metadata !\"fpexcept.strict\")
  %c = call i1 @llvm.experimental.constrained.fcmps.f32(float %a, float %b, metadata !\"ult\", metadata !\"fpexcept.strict\")
  %r = select i1 %c, i32 %i, i32 -7\n";
    let list: Vec<(u128, u128)> = [(1.5f32, 2.5f32), (-3.75, -4.0), (100.0, f32::NAN), (7.0, 7.0), (-0.5, 0.0)]
        .map(|(a, b)| (a.to_bits().into(), b.to_bits().into()))
        .into();
    let results = binary(["float", "float", "i32"], declare, body, &list, "sm_80");
    assert_eq!(results, [1, 0xFFFF_FFF9, 100, 0xFFFF_FFF9, 0]);
}

/// Each lane rounds so.
#[test]
fn constrained_vectors() {
    let declare =
        "declare <2 x float> @llvm.experimental.constrained.fdiv.v2f32(<2 x float>, <2 x float>, metadata, metadata)\n";
    let body = "  %r = call <2 x float> @llvm.experimental.constrained.fdiv.v2f32(<2 x float> %a, <2 x float> %b, metadata !\"round.upward\", metadata !\"fpexcept.strict\")\n";
    let two = |low: f32, high: f32| u128::from(high.to_bits()) << 32 | u128::from(low.to_bits());
    let list = [(two(1.0, -1.0), two(3.0, 3.0)), (two(2.0, 5.0), two(7.0, -7.0))];
    let types = ["<2 x float>", "<2 x float>", "<2 x float>"];
    for (&(a, b), result) in list.iter().zip(binary(types, declare, body, &list, "sm_80")) {
        for shift in [0, 32] {
            let [a, b, result] = [a, b, result].map(|vector| vector >> shift & 0xFFFF_FFFF);
            assert_eq!(result, rounded::<Single>("fdiv", a, b, Round::TowardPositive));
        }
    }
}
