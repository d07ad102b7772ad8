//! Integers of more than 64 bits, and of odd widths.

use super::{binary, pairs};

/// The low `bits` bits as a number with a sign.
fn signed(value: u128, bits: u32) -> i128 {
    (value << (128 - bits)) as i128 >> (128 - bits)
}

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

/// One operation `%a OP %b` of a width.
fn operation(op: &str, bits: u32, expected: impl Fn(u128, u128) -> u128, valid: impl Fn(u128, u128) -> bool) {
    let ty = format!("i{bits}");
    let list: Vec<_> = pairs(bits, 60, u64::from(bits)).into_iter().filter(|&(a, b)| valid(a, b)).collect();
    let results = binary([&ty, &ty, &ty], "", &format!("  %r = {op} {ty} %a, %b\n"), &list, "sm_80");
    for ((a, b), r) in list.into_iter().zip(results) {
        assert_eq!(r, expected(a, b) & mask(bits), "{op} {ty} {a:#x}, {b:#x}");
    }
}

#[test]
fn division_of_wide_integers() {
    for bits in [65, 100, 128] {
        let no_overflow = move |a, b| b != 0 && !(a == 1u128 << (bits - 1) && b == mask(bits));
        operation("udiv", bits, |a, b| a / b, |_, b| b != 0);
        operation("urem", bits, |a, b| a % b, |_, b| b != 0);
        operation("sdiv", bits, |a, b| (signed(a, bits) / signed(b, bits)) as u128, no_overflow);
        operation("srem", bits, |a, b| (signed(a, bits) % signed(b, bits)) as u128, no_overflow);
    }
}

/// One intrinsic on `%a` and perhaps `%b`.
fn intrinsic(name: &str, bits: u32, extra: &str, arity: usize, expected: impl Fn(u128, u128) -> u128) {
    let ty = format!("i{bits}");
    let (types, args) = match arity {
        1 => (ty.clone(), format!("{ty} %a")),
        _ => (format!("{ty}, {ty}"), format!("{ty} %a, {ty} %b")),
    };
    let flag = if extra.is_empty() { "" } else { ", i1" };
    let declaration = format!("declare {ty} @llvm.{name}.{ty}({types}{flag})\n");
    let body = format!("  %r = call {ty} @llvm.{name}.{ty}({args}{extra})\n");
    let list = pairs(bits, 60, u64::from(bits) + 1000);
    let results = binary([&ty, &ty, &ty], &declaration, &body, &list, "sm_80");
    for ((a, b), r) in list.into_iter().zip(results) {
        assert_eq!(r, expected(a, b) & mask(bits), "{name}.{ty} {a:#x}, {b:#x}");
    }
}

#[test]
fn bits_of_wide_integers() {
    for bits in [65, 80, 127, 128] {
        let above = 128 - bits;
        intrinsic("ctpop", bits, "", 1, |a, _| a.count_ones().into());
        intrinsic("ctlz", bits, ", i1 false", 1, |a, _| (a.leading_zeros() - above).into());
        intrinsic("cttz", bits, ", i1 false", 1, |a, _| a.trailing_zeros().min(bits).into());
        intrinsic("bitreverse", bits, "", 1, |a, _| a.reverse_bits() >> above);
        if bits % 16 == 0 {
            intrinsic("bswap", bits, "", 1, |a, _| a.swap_bytes() >> above);
        }
        intrinsic("abs", bits, ", i1 false", 1, |a, _| signed(a, bits).wrapping_abs() as u128);
    }
}

#[test]
fn saturating_sums_and_shifts() {
    for bits in [72, 128] {
        let (min, max) = (signed(1 << (bits - 1), bits), (mask(bits) >> 1) as i128);
        intrinsic("uadd.sat", bits, "", 2, |a, b| a.saturating_add(b).min(mask(bits)));
        intrinsic("usub.sat", bits, "", 2, |a, b| a.saturating_sub(b));
        intrinsic("sadd.sat", bits, "", 2, |a, b| {
            signed(a, bits).saturating_add(signed(b, bits)).clamp(min, max) as u128
        });
        intrinsic("ssub.sat", bits, "", 2, |a, b| {
            signed(a, bits).saturating_sub(signed(b, bits)).clamp(min, max) as u128
        });
    }
    let shift = |name: &str, expected: &dyn Fn(u128, u32) -> u128| {
        let declaration = format!("declare i20 @llvm.{name}.i20(i20, i20)\n");
        let body = format!("  %r = call i20 @llvm.{name}.i20(i20 %a, i20 %b)\n");
        let list: Vec<_> = pairs(20, 100, 7).into_iter().map(|(a, b)| (a, b % 20)).collect();
        let results = binary(["i20"; 3], &declaration, &body, &list, "sm_80");
        for ((a, b), r) in list.into_iter().zip(results) {
            assert_eq!(r, expected(a, b as u32) & mask(20), "{name} {a:#x}, {b}");
        }
    };
    shift("ushl.sat", &|a, b| (a << b).min(mask(20)));
    shift("sshl.sat", &|a, b| (signed(a, 20) << b).clamp(-(1 << 19), (1 << 19) - 1) as u128);
}

#[test]
fn what_wraps_is_told() {
    for bits in [20, 40, 72, 128] {
        for name in ["uadd", "usub", "sadd", "ssub", "umul", "smul"] {
            let ty = format!("i{bits}");
            let declaration = format!("declare {{ {ty}, i1 }} @llvm.{name}.with.overflow.{ty}({ty}, {ty})\n");
            let call = format!("  %p = call {{ {ty}, i1 }} @llvm.{name}.with.overflow.{ty}({ty} %a, {ty} %b)\n");
            let list = pairs(bits, 40, u64::from(bits));
            let value = format!("{call}  %r = extractvalue {{ {ty}, i1 }} %p, 0\n");
            let flag = format!("{call}  %r = extractvalue {{ {ty}, i1 }} %p, 1\n");
            let values = binary([&ty, &ty, &ty], &declaration, &value, &list, "sm_80");
            let flags = binary([&ty, &ty, "i1"], &declaration, &flag, &list, "sm_80");
            for (((a, b), value), flag) in list.into_iter().zip(values).zip(flags) {
                let (exact, wraps) = wrapped(name, a, b, bits);
                assert_eq!((value, flag), (exact, wraps.into()), "{name}.{ty} {a:#x}, {b:#x}");
            }
        }
    }
}

/// The result, and whether it is another one than in all integers.
fn wrapped(name: &str, a: u128, b: u128, bits: u32) -> (u128, bool) {
    let (x, y) = (signed(a, bits), signed(b, bits));
    let (value, beyond) = match name {
        "uadd" => a.overflowing_add(b),
        "usub" => a.overflowing_sub(b),
        "umul" => a.overflowing_mul(b),
        _ => {
            let (value, beyond) = match name {
                "sadd" => x.overflowing_add(y),
                "ssub" => x.overflowing_sub(y),
                _ => x.overflowing_mul(y),
            };
            return (value as u128 & mask(bits), beyond || signed(value as u128, bits) != value);
        }
    };
    (value & mask(bits), beyond || value & mask(bits) != value)
}

#[test]
fn funnel_shifts_of_any_width() {
    for bits in [7u32, 24, 48, 72, 128] {
        let ty = format!("i{bits}");
        for left in [true, false] {
            let name = if left { "fshl" } else { "fshr" };
            let declaration = format!("declare {ty} @llvm.{name}.{ty}({ty}, {ty}, {ty})\n");
            let body =
                format!("  %c = xor {ty} %a, %b\n  %r = call {ty} @llvm.{name}.{ty}({ty} %a, {ty} %b, {ty} %c)\n");
            let list = pairs(bits, 60, 5);
            let results = binary([&ty, &ty, &ty], &declaration, &body, &list, "sm_80");
            for ((a, b), r) in list.into_iter().zip(results) {
                let n = ((a ^ b) % u128::from(bits)) as u32;
                let over = |value: u128, by: u32| if by >= 128 { 0 } else { value >> by };
                let expected = match left {
                    true => a << n | over(b, bits - n),
                    false => b >> n | if bits - n >= 128 { 0 } else { a << (bits - n) },
                };
                assert_eq!(r, expected & mask(bits), "{name}.{ty} {a:#x}, {b:#x} by {n}");
            }
        }
    }
}

#[test]
fn three_way_comparison() {
    for (name, is_signed) in [("ucmp", false), ("scmp", true)] {
        let declaration = format!("declare i8 @llvm.{name}.i8.i100(i100, i100)\n");
        let body = format!("  %r = call i8 @llvm.{name}.i8.i100(i100 %a, i100 %b)\n");
        let list = pairs(100, 60, 3);
        let results = binary(["i100", "i100", "i8"], &declaration, &body, &list, "sm_80");
        for ((a, b), r) in list.into_iter().zip(results) {
            let order = if is_signed { signed(a, 100).cmp(&signed(b, 100)) } else { a.cmp(&b) };
            assert_eq!(r as u8 as i8, order as i8, "{name} {a:#x}, {b:#x}");
        }
    }
}
