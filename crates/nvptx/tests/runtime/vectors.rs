//! Vectors of odd elements, of addresses, under masks; variable arguments.

use super::run;

/// A kernel with one thread that has `%in` and `%out`.
fn kernel(declarations: &str, body: &str) -> String {
    format!("{declarations}\ndefine ptx_kernel void @k(ptr %in, ptr %out) {{\n{body}  ret void\n}}\n")
}

#[test]
fn vectors_of_odd_elements_are_packed_in_memory() {
    // LLVM's format: element 0 in the lowest bits of an integer with all of them.
    for (lanes, bits) in
        [(7u32, 1u32), (8, 1), (4, 1), (3, 5), (5, 3), (16, 1), (9, 7), (2, 33), (1, 12), (128, 1), (10, 12)]
    {
        let whole = lanes * bits;
        let ty = format!("<{lanes} x i{bits}>");
        // Each element is turned around, and the elements as well.
        let mask: Vec<String> = (0..lanes).rev().map(|lane| format!("i32 {lane}")).collect();
        let body = format!(
            "  %v = load {ty}, ptr %in
  %n = xor {ty} %v, splat (i{bits} -1)
  %r = shufflevector {ty} %n, {ty} poison, <{lanes} x i32> <{}>
  store {ty} %r, ptr %out
",
            mask.join(", ")
        );
        let body = body.replace(
            &format!("splat (i{bits} -1)"),
            &format!("<{}>", vec![format!("i{bits} -1"); lanes as usize].join(", ")),
        );
        let input: u128 = 0x0123_4567_89AB_CDEF_0F1E_2D3C_4B5A_6978;
        let part = |value: u128, at: u32| value >> (at * bits) & ((1u128 << bits) - 1);
        let expected =
            (0..lanes).fold(0, |sum, lane| sum | (part(input, lanes - 1 - lane) ^ ((1 << bits) - 1)) << (lane * bits));
        let bytes = whole.div_ceil(8) as usize;
        let result = run(&kernel("", &body), "sm_80", &input.to_le_bytes(), &[0xEE; 17], 1);
        // Bits above the last element are written as zeros.
        assert_eq!(result[..bytes], expected.to_le_bytes()[..bytes], "{ty}");
        assert!(result[bytes..].iter().all(|&byte| byte == 0xEE), "{ty}: more was written");
    }
}

#[test]
fn elements_of_odd_bytes() {
    let body = "  %v = load <5 x i24>, ptr %in, align 1
  %r = add <5 x i24> %v, <i24 1, i24 2, i24 3, i24 4, i24 5>
  store <5 x i24> %r, ptr %out, align 1
";
    let input: Vec<u8> = (0..15).map(|n| n * 17 + 3).collect();
    let mut expected = input.clone();
    for (at, element) in expected.chunks_exact_mut(3).enumerate() {
        let value = u32::from_le_bytes([element[0], element[1], element[2], 0]) + at as u32 + 1;
        element.copy_from_slice(&value.to_le_bytes()[..3]);
    }
    expected.push(0xEE);
    assert_eq!(run(&kernel("", body), "sm_80", &input, &[0xEE; 16], 1), expected);
}

#[test]
fn bit_casts_of_odd_shapes() {
    let cases = [
        ("i24", "<3 x i8>"),
        ("<3 x i16>", "i48"),
        ("<8 x i1>", "i8"),
        ("i48", "<3 x half>"),
        ("<32 x i1>", "float"),
        ("<6 x i2>", "<3 x i4>"),
        ("double", "<64 x i1>"),
        ("<2 x i1>", "i2"),
    ];
    for (from, to) in cases {
        let body = format!(
            "  %v = load {from}, ptr %in, align 8\n  %r = bitcast {from} %v to {to}\n  store {to} %r, ptr %out, align 8\n"
        );
        let input = 0x3FED_CBA9_8765_4321u64.to_le_bytes();
        let result = run(&kernel("", &body), "sm_80", &input, &[0; 8], 1);
        let bits: u32 = [
            ("i24", 24),
            ("<3 x i16>", 48),
            ("<8 x i1>", 8),
            ("i48", 48),
            ("<32 x i1>", 32),
            ("<6 x i2>", 12),
            ("double", 64),
            ("<2 x i1>", 2),
        ]
        .into_iter()
        .find(|(ty, _)| *ty == from)
        .map_or(0, |(_, bits)| bits);
        let expected = u64::from_le_bytes(input) & (u64::MAX >> (64 - bits));
        assert_eq!(
            u64::from_le_bytes(result.try_into().unwrap_or_default()) & (u64::MAX >> (64 - bits)),
            expected,
            "{from} to {to}"
        );
    }
}

#[test]
fn vectors_of_addresses() {
    let declaration = "declare <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x i32>)
declare void @llvm.masked.scatter.v4i32.v4p0(<4 x i32>, <4 x ptr>, i32, <4 x i1>)";
    let body = "  %i = load <4 x i64>, ptr %in
  %base = getelementptr i8, ptr %in, i64 32
  %p = getelementptr i32, ptr %base, <4 x i64> %i
  %v = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> %p, i32 4, <4 x i1> <i1 1, i1 0, i1 1, i1 1>, <4 x i32> <i32 70, i32 71, i32 72, i32 73>)
  %q = getelementptr i32, ptr %out, <4 x i64> %i
  %q1 = getelementptr i32, <4 x ptr> %q, i64 1
  call void @llvm.masked.scatter.v4i32.v4p0(<4 x i32> %v, <4 x ptr> %q1, i32 4, <4 x i1> <i1 1, i1 1, i1 0, i1 1>)
";
    let mut input: Vec<u8> = [3u64, 1, 0, 2].into_iter().flat_map(u64::to_le_bytes).collect();
    input.extend([100u32, 101, 102, 103].into_iter().flat_map(u32::to_le_bytes));
    let result = run(&kernel(declaration, body), "sm_80", &input, &[0xFF; 20], 1);
    let words: Vec<u32> =
        result.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap_or_default())).collect();
    assert_eq!(words, [u32::MAX, u32::MAX, 71, 102, 103]);
}

/// The alignment is an argument, or since LLVM 22 an attribute.
#[test]
fn accesses_under_a_mask() {
    for (argument, attribute, ty) in [("i32 16, ", "", "i32, "), ("", "align 16 ", ""), ("", "", "")] {
        let declaration = format!(
            "declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, {ty}<4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, {ty}<4 x i1>)"
        );
        let body = format!(
            "  %m = load <4 x i1>, ptr %in
  %n = xor <4 x i1> %m, <i1 1, i1 0, i1 0, i1 0>
  %from = getelementptr i8, ptr %in, i64 16
  %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr {attribute}%from, {argument}<4 x i1> %m, <4 x i32> <i32 1, i32 2, i32 3, i32 4>)
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v, ptr {attribute}%out, {argument}<4 x i1> %n)
"
        );
        let mut input = vec![0b0110, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        input.extend([10u32, 11, 12, 13].into_iter().flat_map(u32::to_le_bytes));
        let result = run(&kernel(&declaration, &body), "sm_80", &input, &[0xFF; 16], 1);
        let words: Vec<u32> =
            result.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        assert_eq!(words, [1, 11, 12, u32::MAX], "{argument}{attribute}");
    }
}

#[test]
fn overflow_of_vectors() {
    let declaration = "declare { <4 x i8>, <4 x i1> } @llvm.uadd.with.overflow.v4i8(<4 x i8>, <4 x i8>)";
    let body = "  %a = load <4 x i8>, ptr %in
  %q = getelementptr i8, ptr %in, i64 4
  %b = load <4 x i8>, ptr %q
  %p = call { <4 x i8>, <4 x i1> } @llvm.uadd.with.overflow.v4i8(<4 x i8> %a, <4 x i8> %b)
  %s = extractvalue { <4 x i8>, <4 x i1> } %p, 0
  %o = extractvalue { <4 x i8>, <4 x i1> } %p, 1
  store <4 x i8> %s, ptr %out
  %r = getelementptr i8, ptr %out, i64 4
  store <4 x i1> %o, ptr %r
";
    let result = run(&kernel(declaration, body), "sm_80", &[1, 200, 255, 9, 2, 100, 0, 255], &[0; 5], 1);
    assert_eq!(result, [3, 44, 255, 8, 0b1010]);
}

#[test]
fn vectors_put_together() {
    let declaration = "declare <4 x i32> @llvm.vector.insert.v4i32.v2i32(<4 x i32>, <2 x i32>, i64)
declare <2 x i32> @llvm.vector.extract.v2i32.v4i32(<4 x i32>, i64)
declare <4 x i32> @llvm.vector.reverse.v4i32(<4 x i32>)
declare i128 @llvm.vector.reduce.umax.v2i128(<2 x i128>)
declare i128 @llvm.vector.reduce.add.v2i128(<2 x i128>)";
    let body = "  %a = load <4 x i32>, ptr %in
  %x = call <2 x i32> @llvm.vector.extract.v2i32.v4i32(<4 x i32> %a, i64 2)
  %b = call <4 x i32> @llvm.vector.insert.v4i32.v2i32(<4 x i32> %a, <2 x i32> %x, i64 0)
  %c = call <4 x i32> @llvm.vector.reverse.v4i32(<4 x i32> %b)
  store <4 x i32> %c, ptr %out
  %w = load <2 x i128>, ptr %in
  %m = call i128 @llvm.vector.reduce.umax.v2i128(<2 x i128> %w)
  %s = call i128 @llvm.vector.reduce.add.v2i128(<2 x i128> %w)
  %p = getelementptr i8, ptr %out, i64 16
  store i128 %m, ptr %p
  %q = getelementptr i8, ptr %out, i64 32
  store i128 %s, ptr %q
";
    let input: Vec<u8> = (1u32..=8).flat_map(u32::to_le_bytes).collect();
    let wide = |at: usize| u128::from_le_bytes(input[at..at + 16].try_into().unwrap_or_default());
    let mut expected: Vec<u8> = [4u32, 3, 4, 3].into_iter().flat_map(u32::to_le_bytes).collect();
    expected.extend(wide(16).to_le_bytes());
    expected.extend((wide(0) + wide(16)).to_le_bytes());
    assert_eq!(run(&kernel(declaration, body), "sm_80", &input, &[0; 48], 1), expected);
}

#[test]
fn variable_arguments() {
    let text = "declare void @llvm.va_start(ptr)
declare void @llvm.va_end(ptr)
declare void @llvm.va_copy(ptr, ptr)
define internal i64 @sum(i32 %n, ...) noinline {
  %list = alloca ptr
  %again = alloca ptr
  call void @llvm.va_start(ptr %list)
  call void @llvm.va_copy(ptr %again, ptr %list)
  %a = va_arg ptr %list, i32
  %b = va_arg ptr %list, double
  %c = va_arg ptr %list, i64
  %first = va_arg ptr %again, i32
  call void @llvm.va_end(ptr %list)
  %x = sext i32 %a to i64
  %y = fptosi double %b to i64
  %z = sext i32 %first to i64
  %s1 = add i64 %x, %y
  %s2 = add i64 %s1, %c
  %s3 = mul i64 %s2, %z
  ret i64 %s3
}
define ptx_kernel void @k(ptr %in, ptr %out) {
  %v = load i32, ptr %in
  %r = call i64 (i32, ...) @sum(i32 3, i32 %v, double 40.0, i64 1000000000000)
  store i64 %r, ptr %out
  ret void
}
";
    let result = run(text, "sm_80", &(-7i32).to_le_bytes(), &[0; 8], 1);
    assert_eq!(i64::from_le_bytes(result.try_into().unwrap_or_default()), (1_000_000_000_033) * -7);
}

#[test]
fn rounding_to_integers() {
    let declaration = "declare i64 @llvm.lrint.i64.f64(double)
declare i64 @llvm.llround.i64.f64(double)
declare i32 @llvm.lround.i32.f32(float)
declare i32 @llvm.lrint.i32.f16(half)";
    let body = "  %d = load double, ptr %in
  %f = fptrunc double %d to float
  %h = fptrunc double %d to half
  %a = call i64 @llvm.lrint.i64.f64(double %d)
  %b = call i64 @llvm.llround.i64.f64(double %d)
  %c = call i32 @llvm.lround.i32.f32(float %f)
  %e = call i32 @llvm.lrint.i32.f16(half %h)
  %c1 = sext i32 %c to i64
  %e1 = sext i32 %e to i64
  %p1 = getelementptr i64, ptr %out, i64 1
  %p2 = getelementptr i64, ptr %out, i64 2
  %p3 = getelementptr i64, ptr %out, i64 3
  store i64 %a, ptr %out
  store i64 %b, ptr %p1
  store i64 %c1, ptr %p2
  store i64 %e1, ptr %p3
";
    for x in [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 7.25, -7.75, 1023.5] {
        let result = run(&kernel(declaration, body), "sm_80", &f64::to_le_bytes(x), &[0; 32], 1);
        let numbers: Vec<i64> =
            result.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        let (even, away) = (x.round_ties_even() as i64, x.round() as i64);
        assert_eq!(numbers, [even, away, away, even], "{x}");
    }
}

#[test]
fn fixed_point_numbers() {
    let declaration = "declare i16 @llvm.smul.fix.i16(i16, i16, i32)
declare i16 @llvm.umul.fix.i16(i16, i16, i32)
declare i16 @llvm.smul.fix.sat.i16(i16, i16, i32)
declare i16 @llvm.umul.fix.sat.i16(i16, i16, i32)
declare i16 @llvm.sdiv.fix.i16(i16, i16, i32)
declare i16 @llvm.udiv.fix.i16(i16, i16, i32)";
    let mut body =
        "  %a = load i16, ptr %in\n  %p = getelementptr i16, ptr %in, i64 1\n  %b = load i16, ptr %p\n".to_owned();
    for (at, name) in
        ["smul.fix", "umul.fix", "smul.fix.sat", "umul.fix.sat", "sdiv.fix", "udiv.fix"].into_iter().enumerate()
    {
        body += &format!(
            "  %r{at} = call i16 @llvm.{name}.i16(i16 %a, i16 %b, i32 4)\n  %q{at} = getelementptr i16, ptr %out, i64 {at}\n  store i16 %r{at}, ptr %q{at}\n"
        );
    }
    for (a, b) in [(16u16, 16u16), (0x7FFF, 0x7FFF), (0x8000, 0x7FFF), (0xFFFF, 3), (0xFFF0, 0x20), (1000, 500)] {
        let input: Vec<u8> = [a, b].into_iter().flat_map(u16::to_le_bytes).collect();
        let result = run(&kernel(declaration, &body), "sm_80", &input, &[0; 12], 1);
        let results: Vec<u16> =
            result.chunks_exact(2).map(|b| u16::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        let signed = (i64::from(a as i16) * i64::from(b as i16)) >> 4;
        let unsigned = (u64::from(a) * u64::from(b)) >> 4;
        let expected = [
            signed as u16,
            unsigned as u16,
            signed.clamp(i16::MIN.into(), i16::MAX.into()) as u16,
            unsigned.min(u16::MAX.into()) as u16,
            ((i64::from(a as i16) << 4) / i64::from(b as i16)) as u16,
            ((u64::from(a) << 4) / u64::from(b)) as u16,
        ];
        assert_eq!(results, expected, "{a:#x} * {b:#x}");
    }
}

#[test]
fn masked_addresses_and_halves_as_integers() {
    let declaration = "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare float @llvm.convert.from.fp16.f32(i16)
declare i16 @llvm.convert.to.fp16.f32(float)";
    let body = "  %p = getelementptr i8, ptr %in, i64 7
  %q = call ptr @llvm.ptrmask.p0.i64(ptr %p, i64 -4)
  %v = load i16, ptr %q
  %f = call float @llvm.convert.from.fp16.f32(i16 %v)
  %g = fmul float %f, 3.0
  %h = call i16 @llvm.convert.to.fp16.f32(float %g)
  store i16 %h, ptr %out
";
    let mut input = vec![0; 4];
    input.extend(half::f16::from_f32(1.5).to_bits().to_le_bytes());
    input.extend([0; 2]);
    let result = run(&kernel(declaration, body), "sm_80", &input, &[0; 2], 1);
    assert_eq!(result, half::f16::from_f32(4.5).to_bits().to_le_bytes());
}
