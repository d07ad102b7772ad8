//! Functions of floats under `afn`, without a library, against the host's arithmetic in `double`. The bounds follow from those that the PTX
//! manual gives for the instructions and from the roundings between them.

use half::{bf16, f16};

use super::binary;

/// 2 to a power.
fn two(power: f64) -> f64 {
    power.exp2()
}

/// A function of one or two numbers: its name, what it is, how far from it a result may lie, and where arguments lie.
struct Function {
    name: &'static str,
    arity: usize,
    exact: fn(f64, f64) -> f64,
    bound: fn(f64, f64) -> f64,
    range: f64,
}

/// Arguments at which anything may happen.
const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    -1e30,
    f32::MIN_POSITIVE,
    1e-42,
];

/// Beside the bound, what the least number and its half are of any result.
const LEAST: f64 = 1.5 * f32::MIN_POSITIVE as f64 / 8_388_608.0;

/// The error of `ex2.approx`, and of the product before it by its size.
fn power_of_two(product: f64) -> f64 {
    two(-22.0) + product.abs() * two(-23.0)
}

/// Powers of 1 and to 0 are exact.
fn power_error(x: f64, y: f64) -> f64 {
    let size = x.abs().log2().abs();
    if size == 0.0 || y == 0.0 {
        return 0.0;
    }
    x.powf(y).abs() * (two(-22.0) + y.abs() * size.max(1.0) * two(-22.0))
}

const FUNCTIONS: [Function; 16] = [
    Function {
        name: "exp",
        arity: 1,
        exact: |x, _| x.exp(),
        bound: |x, _| x.exp() * power_of_two(x * 1.45),
        range: 80.0,
    },
    Function { name: "exp2", arity: 1, exact: |x, _| x.exp2(), bound: |x, _| x.exp2() * two(-22.0), range: 120.0 },
    Function {
        name: "exp10",
        arity: 1,
        exact: |x, _| 10f64.powf(x),
        bound: |x, _| 10f64.powf(x) * power_of_two(x * 3.33),
        range: 38.0,
    },
    Function {
        name: "log",
        arity: 1,
        exact: |x, _| x.ln(),
        bound: |x, _| two(-22.0) + x.ln().abs() * two(-21.0),
        range: 1e4,
    },
    Function {
        name: "log2",
        arity: 1,
        exact: |x, _| x.log2(),
        bound: |x, _| two(-22.0) + x.log2().abs() * two(-22.0),
        range: 1e4,
    },
    Function {
        name: "log10",
        arity: 1,
        exact: |x, _| x.log10(),
        bound: |x, _| two(-22.0) + x.log10().abs() * two(-21.0),
        range: 1e4,
    },
    Function { name: "sqrt", arity: 1, exact: |x, _| x.sqrt(), bound: |x, _| x.sqrt() * two(-22.0), range: 1e9 },
    Function { name: "pow", arity: 2, exact: f64::powf, bound: power_error, range: 12.0 },
    Function { name: "tanh", arity: 1, exact: |x, _| x.tanh(), bound: |x, _| x.tanh().abs() * two(-11.0), range: 5.0 },
    Function {
        name: "sinh",
        arity: 1,
        exact: |x, _| x.sinh(),
        bound: |x, _| x.sinh().abs() * (two(-20.0) + x.abs() * two(-22.0)),
        range: 80.0,
    },
    Function {
        name: "cosh",
        arity: 1,
        exact: |x, _| x.cosh(),
        bound: |x, _| x.cosh() * (two(-21.0) + x.abs() * two(-22.0)),
        range: 80.0,
    },
    Function { name: "atan", arity: 1, exact: |x, _| x.atan(), bound: |x, _| x.atan().abs() * two(-21.0), range: 20.0 },
    Function { name: "asin", arity: 1, exact: |x, _| x.asin(), bound: |x, _| x.asin().abs() * two(-20.0), range: 1.0 },
    Function { name: "acos", arity: 1, exact: |x, _| x.acos(), bound: |x, _| x.acos() * two(-20.0), range: 1.0 },
    Function { name: "atan2", arity: 2, exact: f64::atan2, bound: |y, x| y.atan2(x).abs() * two(-20.0), range: 50.0 },
    Function {
        name: "tan",
        arity: 1,
        exact: |x, _| x.tan(),
        bound: |x, _| two(-20.4) * (1.0 + x.tan().abs()) / x.cos().abs() + x.tan().abs() * two(-22.0),
        range: 1.5,
    },
];

impl Function {
    /// The call of the function on values of a type.
    fn results(&self, ty: &str, suffix: &str, list: &[(u128, u128)], arch: &str) -> Vec<u128> {
        let name = format!("@llvm.{}.{suffix}", self.name);
        let (params, args) = match self.arity {
            1 => (ty.to_owned(), format!("{ty} %a")),
            _ => (format!("{ty}, {ty}"), format!("{ty} %a, {ty} %b")),
        };
        let declaration = format!("declare {ty} {name}({params})\n");
        binary([ty; 3], &declaration, &format!("  %r = call afn {ty} {name}({args})\n"), list, arch)
    }

    /// Random arguments of all sizes up to the range, of both signs.
    fn arguments(&self, count: usize) -> Vec<f32> {
        let mut rng = fastrand::Rng::with_seed(64);
        let mut one = || {
            let size = if rng.bool() { rng.f64() } else { two(-20.0 * rng.f64()) };
            (size * if rng.bool() { self.range } else { -self.range }) as f32
        };
        (0..count).map(|_| one()).collect()
    }

    /// Judges a result; `slack` is what a narrower type may be off beside.
    fn judge(&self, [x, y]: [f64; 2], found: f64, slack: impl Fn(f64) -> f64, largest: f64) {
        let exact = (self.exact)(x, y);
        let what = || format!("{} {x:?} {y:?}: {found:?}, not {exact:?}", self.name);
        if exact.is_nan() {
            assert!(found.is_nan(), "{}", what());
            return;
        }
        if exact == 0.0 && x != 0.0 || exact.abs() > largest {
            assert!((found - exact).abs() <= LEAST || found.is_infinite() && found * exact > 0.0, "{}", what());
            return;
        }
        if exact == 0.0 || exact.is_infinite() {
            assert!(found == exact && found.is_sign_negative() == exact.is_sign_negative(), "{}", what());
            return;
        }
        let bound = (self.bound)(x, y).abs() + slack(exact) + LEAST;
        if exact.abs() + bound > largest && found.is_infinite() && found * exact > 0.0 {
            return;
        }
        assert!((found - exact).abs() <= bound, "{}: {:e} > {bound:e}", what(), (found - exact).abs());
    }
}

#[test]
fn functions_of_float_are_as_near_as_the_instructions_allow() {
    for function in &FUNCTIONS {
        let mut list: Vec<(f32, f32)> = function.arguments(400).chunks(2).map(|pair| (pair[0], pair[1])).collect();
        // The argument of a tangent must not be large.
        if function.name != "tan" {
            let special = SPECIAL.iter().flat_map(|&x| SPECIAL.map(|y| (x, y)));
            list.extend(special.filter(|(_, y)| function.arity == 2 || *y == 0.0));
        }
        let bits: Vec<(u128, u128)> = list.iter().map(|(x, y)| (x.to_bits().into(), y.to_bits().into())).collect();
        for arch in ["sm_70", "sm_90"] {
            let results = function.results("float", "f32", &bits, arch);
            for (&(x, y), result) in list.iter().zip(results) {
                let found = f32::from_bits(result as u32);
                function.judge([x.into(), y.into()], found.into(), |_| 0.0, f32::MAX.into());
            }
        }
    }
}

#[test]
fn functions_of_halves_round_once_more() {
    for function in &FUNCTIONS {
        let list: Vec<(f32, f32)> =
            function.arguments(200).chunks(2).map(|pair| (pair[0] / 8.0, pair[1] / 8.0)).collect();
        let halves: Vec<_> = list.iter().map(|&(x, y)| [f16::from_f32(x), f16::from_f32(y)]).collect();
        let bits: Vec<(u128, u128)> = halves.iter().map(|[x, y]| (x.to_bits().into(), y.to_bits().into())).collect();
        for arch in ["sm_70", "sm_90"] {
            for (args, result) in halves.iter().zip(function.results("half", "f16", &bits, arch)) {
                // `tanh.approx.f16` and `ex2.approx.f16` err by more than a rounding.
                let slack = |exact: f64| exact.abs() * two(-9.9) + two(-24.0);
                function.judge(args.map(f16::to_f64), f16::from_bits(result as u16).to_f64(), slack, 65504.0);
            }
        }
        let halves: Vec<_> = list.iter().map(|&(x, y)| [bf16::from_f32(x), bf16::from_f32(y)]).collect();
        let bits: Vec<(u128, u128)> = halves.iter().map(|[x, y]| (x.to_bits().into(), y.to_bits().into())).collect();
        for arch in ["sm_80", "sm_90"] {
            for (args, result) in halves.iter().zip(function.results("bfloat", "bf16", &bits, arch)) {
                let slack = |exact: f64| exact.abs() * two(-7.0);
                function.judge(args.map(bf16::to_f64), bf16::from_bits(result as u16).to_f64(), slack, 3e38);
            }
        }
    }
}

#[test]
fn functions_of_vectors_are_those_of_their_elements() {
    for function in &FUNCTIONS {
        let all = function.arguments(80);
        let pack = |pair: &[f32]| u128::from(pair[0].to_bits()) | u128::from(pair[1].to_bits()) << 32;
        let list: Vec<(u128, u128)> = all.chunks(4).map(|four| (pack(&four[..2]), pack(&four[2..]))).collect();
        let results = function.results("<2 x float>", "v2f32", &list, "sm_80");
        for ((a, b), result) in list.into_iter().zip(results) {
            for lane in [0, 32] {
                let [x, y, found] = [a, b, result].map(|bits| f64::from(f32::from_bits((bits >> lane) as u32)));
                function.judge([x, y], found, |_| 0.0, f32::MAX.into());
            }
        }
    }
}

#[test]
fn pairs_of_results() {
    let list: Vec<(u128, u128)> =
        SPECIAL.into_iter().chain([2.75, -7.125, 1e-3, 8_388_609.0]).map(|x| (x.to_bits().into(), 0)).collect();
    let declaration = "declare { float, float } @llvm.modf.f32(float)\n";
    for (index, exact) in [(0, f32::fract as fn(f32) -> f32), (1, f32::trunc)] {
        let body = format!(
            "  %p = call {{ float, float }} @llvm.modf.f32(float %a)\n  %r = extractvalue {{ float, float }} %p, {index}\n"
        );
        for ((x, _), result) in list.iter().zip(binary(["float"; 3], declaration, &body, &list, "sm_80")) {
            let (x, found) = (f32::from_bits(*x as u32), f32::from_bits(result as u32));
            // As C has it: both parts have the sign of the number, and of an infinity no fraction is left.
            let exact = if x.is_infinite() && index == 0 { 0.0 } else { exact(x) }.copysign(x);
            assert!(found.to_bits() == exact.to_bits() || found.is_nan() && x.is_nan(), "{x} {index}: {found}");
        }
    }
    let declaration = "declare { <2 x half>, <2 x half> } @llvm.sincos.v2f16(<2 x half>)\n";
    let body = "  %p = call afn { <2 x half>, <2 x half> } @llvm.sincos.v2f16(<2 x half> %a)\n  \
                %s = extractvalue { <2 x half>, <2 x half> } %p, 0\n  %c = extractvalue { <2 x half>, <2 x half> } %p, 1\n  \
                %r = shufflevector <2 x half> %s, <2 x half> %c, <2 x i32> <i32 0, i32 3>\n";
    let pack = |x: f32, y: f32| u128::from(f16::from_f32(x).to_bits()) | u128::from(f16::from_f32(y).to_bits()) << 16;
    let list: Vec<(u128, u128)> = (0..100).map(|at| (pack(at as f32 / 40.0, at as f32 / -50.0), 0)).collect();
    for ((xy, _), result) in list.iter().zip(binary(["<2 x half>"; 3], declaration, body, &list, "sm_80")) {
        let [x, y, sine, cosine] =
            [*xy, *xy >> 16, result, result >> 16].map(|bits| f16::from_bits(bits as u16).to_f64());
        assert!(
            (sine - x.sin()).abs() < two(-11.0) && (cosine - y.cos()).abs() < two(-11.0),
            "{x} {y}: {sine} {cosine}"
        );
    }
}

/// Sine and cosine have their bound from -pi to pi.
#[test]
fn sines_and_cosines() {
    for (name, exact) in [("sin", f64::sin as fn(f64) -> f64), ("cos", f64::cos)] {
        let list: Vec<(u128, u128)> = (-300..=300).map(|at| ((at as f32 / 96.0).to_bits().into(), 0)).collect();
        let declaration = format!("declare float @llvm.{name}.f32(float)\n");
        let body = format!("  %r = call fast float @llvm.{name}.f32(float %a)\n");
        for ((x, _), result) in list.iter().zip(binary(["float"; 3], &declaration, &body, &list, "sm_80")) {
            let (x, found) = (f32::from_bits(*x as u32).into(), f32::from_bits(result as u32));
            assert!((f64::from(found) - exact(x)).abs() <= two(-20.5), "{name} {x}: {found}");
        }
    }
}
