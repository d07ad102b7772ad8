//! Bits, fields, logic, shifts and moves against loops over single bits and bytes.

use super::{Bits, function, rows, wide_rows};

fn bit(value: u64, n: u32) -> bool {
    n < 64 && value >> n & 1 == 1
}

/// Makes a word of a function of its bit numbers.
fn made(width: u32, of: impl Fn(u32) -> bool) -> u64 {
    (0..width).filter(|&n| of(n)).fold(0, |word, n| word | 1 << n)
}

#[test]
fn extracted_fields_are_the_manuals() {
    let (unsigned, signed) = (function("bfe.u32 %d, %a, %b, %c"), function("bfe.s32 %d, %a, %b, %c"));
    for [a, position, length] in rows(5000) {
        let (p, l) = (position & 0xff, length & 0xff);
        let sign = l != 0 && bit(a.into(), (p + l - 1).min(31));
        let field = |sign: bool| made(32, |n| if n < l && p + n <= 31 { bit(a.into(), p + n) } else { sign }) as u32;
        assert_eq!(unsigned.of_u32([a, position, length]), field(false));
        assert_eq!(signed.of_u32([a, position, length]), field(sign), "{a:x} {p} {l}");
    }
}

#[test]
fn inserted_fields_are_the_manuals() {
    let (word, double) = (function("bfi.b32 %d, %a, %b, %p, %l"), function("bfi.b64 %d, %a, %b, %p, %l"));
    for [a, b, p, l] in wide_rows(3000) {
        let (p, l) = ((p % 256) as u32, (l % 256) as u32);
        let of = |width| made(width, |n| if n >= p && n - p < l { bit(a, n - p) } else { bit(b, n) });
        let low = |value: u64| Bits::from(value as u32);
        assert_eq!(word.of(&[low(a), low(b), p.into(), l.into()]), of(32).into());
        assert_eq!(double.of(&[a.into(), b.into(), p.into(), l.into()]), of(64).into());
    }
}

#[test]
fn masks_and_extensions_are_the_manuals() {
    let masks = [("clamp", function("bmsk.clamp.b32 %d, %a, %b")), ("wrap", function("bmsk.wrap.b32 %d, %a, %b"))];
    let (clamp, wrap) = (function("szext.clamp.s32 %d, %a, %b"), function("szext.wrap.u32 %d, %a, %b"));
    for [a, b] in rows(3000) {
        for (mode, mask) in &masks {
            let (from, count) = if *mode == "wrap" { (a & 31, b & 31) } else { (a.min(32), b.min(32)) };
            assert_eq!(mask.of_u32([a, b]), made(32, |n| n >= from && n - from < count) as u32, "{mode} {a} {b}");
        }
        let count = b.min(32);
        let sign = count != 0 && bit(a.into(), count - 1);
        assert_eq!(clamp.of_u32([a, b]), made(32, |n| if n < count { bit(a.into(), n) } else { sign }) as u32);
        assert_eq!(wrap.of_u32([a, b]), made(32, |n| n < b % 32 && bit(a.into(), n)) as u32);
    }
}

#[test]
fn counting_and_finding() {
    let find = function("bfind.s32 %d, %a");
    let amount = function("bfind.shiftamt.u64 %d, %a");
    let reverse = function("brev.b32 %d, %a");
    for [a] in rows(500) {
        let signs = |n: &u32| bit(a.into(), *n) != bit(a.into(), 31);
        assert_eq!(find.of_u32([a]), (0..32).rev().find(signs).unwrap_or(u32::MAX));
        assert_eq!(reverse.of_u32([a]), a.reverse_bits());
        assert_eq!(amount.of(&[a.into()]) as u32, if a == 0 { u32::MAX } else { u64::from(a).leading_zeros() });
    }
}

/// The loop of the manual.
fn nth_set(mask: u32, base: i64, offset: i64) -> u32 {
    if offset == 0 {
        return if (0..32).contains(&base) && bit(mask.into(), base as u32) { base as u32 } else { u32::MAX };
    }
    let (mut position, mut count) = (base, offset.abs() - 1);
    while (0..32).contains(&position) {
        if bit(mask.into(), position as u32) {
            if count == 0 {
                return position as u32;
            }
            count -= 1;
        }
        position += offset.signum();
    }
    u32::MAX
}

#[test]
fn nth_set_bits() {
    let fns = function("fns.b32 %d, %a, %b, %c");
    for [mask, base, offset] in rows(3000) {
        for (base, offset) in [(base as i32, offset as i32), (base as i32 % 40, offset as i32 % 12)] {
            let expected = nth_set(mask, base.into(), offset.into());
            assert_eq!(fns.of_u32([mask, base as u32, offset as u32]), expected, "{mask:x} {base} {offset}");
        }
    }
}

#[test]
fn truth_tables() {
    for table in 0..=255u8 {
        let lop3 = function(&format!("lop3.b32 %d, %a, %b, %c, {table}"));
        // Each row of the table is one bit of these words.
        let d = lop3.of(&[0xf0, 0xcc, 0xaa, table.into()]);
        assert_eq!(d & 0xff, table.into());
    }
    let both = function("lop3.and.b32 %d|%p, %a, %b, %c, 0x80, %q");
    assert_eq!(both.results(&[7, 6, 3, 0x80, 1], false).values.as_slice(), [2, 1]);
    assert_eq!(both.results(&[7, 6, 3, 0x80, 0], false).values.as_slice(), [2, 0]);
}

#[test]
fn shifts_stop_at_the_width() {
    let left = function("shl.b16 %d, %a, %b");
    let right = function("shr.s32 %d, %a, %b");
    let (clamp, wrap) = (function("shf.l.clamp.b32 %d, %a, %b, %c"), function("shf.r.wrap.b32 %d, %a, %b, %c"));
    for [a, b, c] in rows(1000) {
        let half = a as u16;
        assert_eq!(left.of(&[half.into(), c.into()]) as u16, half.checked_shl(c).unwrap_or(0));
        assert_eq!(right.of_u32([a, c]) as i32, a as i32 >> c.min(31));
        let funnel = match c.min(32) {
            0 => b,
            32 => a,
            n => b << n | a >> (32 - n),
        };
        assert_eq!(clamp.of_u32([a, b, c]), funnel);
        assert_eq!(wrap.of_u32([a, b, c]), if c % 32 == 0 { a } else { a >> (c % 32) | b << (32 - c % 32) });
    }
}

#[test]
fn bytes_are_chosen() {
    let prmt = function("prmt.b32 %d, %a, %b, %c");
    let forward = function("prmt.b32.f4e %d, %a, %b, %c");
    for [a, b, c] in rows(1000) {
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        let of = |nibble: u32| {
            let byte = bytes[nibble as usize & 7];
            if nibble & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
        };
        assert_eq!(prmt.of_u32([a, b, c]).to_le_bytes(), [0, 4, 8, 12].map(|shift| of(c >> shift & 15)));
        let first = (c & 3) as usize;
        assert_eq!(forward.of_u32([a, b, c]).to_le_bytes(), bytes[first..first + 4]);
    }
}

#[test]
fn packing_and_unpacking() {
    let pack = function("mov.b64 %d, {%a, %b, %c, %e}");
    assert_eq!(pack.of(&[0x1111, 0x2222, 0x3333, 0x4444]), 0x4444_3333_2222_1111);
    let unpack = function("mov.b128 {%a, %b}, %d");
    let whole = 0x0123_4567_89ab_cdef_1122_3344_5566_7788;
    assert_eq!(unpack.results(&[whole], false).values.as_slice(), [0x1122_3344_5566_7788, 0x0123_4567_89ab_cdef]);
    let sign = function("slct.b32.f32 %d, %a, %b, %c");
    let chosen = |c: f32| sign.of(&[1, 2, c.to_bits().into()]);
    assert_eq!([chosen(-0.0), chosen(1.0), chosen(-1.0), chosen(f32::NAN)], [1, 1, 2, 2]);
}
