//! Texture and surface instructions against a sampler that is written differently: it works out every texel's
//! share of the value, in `f64`, over the whole image.

use crate::kernel_tests::Run;

/// A kernel that reads coordinates (8 bytes of each thread) and has a texture instruction write R8 to R11.
fn kernel(instruction: &str) -> String {
    format!(
        "S2R R0, SR_TID.X
         MOV R2, c[0x0][0x160]
         MOV R3, c[0x0][0x164]
         IMAD.WIDE R2, R0, 0x10, R2
         LDG.E.128 R4, [R2.64]
         MOV R12, 0x1
         MOV R13, R6
         {instruction}
         STG.E.128 [R2.64], R8
         EXIT"
    )
}

/// What each of 32 threads reads of an image of these texels at its coordinates (x, y, level).
fn read(instruction: &str, spec: &str, texels: &[u8], coordinates: &[[f32; 3]]) -> Vec<[u32; 4]> {
    let words: Vec<u32> =
        coordinates.iter().flat_map(|[x, y, level]| [x.to_bits(), y.to_bits(), level.to_bits(), 0]).collect();
    let output = Run::with_texture(&kernel(instruction), spec, texels, &words);
    output.chunks(4).map(|words| [words[0], words[1], words[2], words[3]]).collect()
}

/// A stream of small numbers.
fn noise(count: usize, seed: u32) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Coordinates around and beyond an image of `width` by `height` texels.
fn places(width: f32, height: f32) -> Vec<[f32; 3]> {
    (0..32).map(|i| i as f32).map(|i| [(i * 0.37 - 2.3) * width / 8.0, (7.9 - i * 0.61) * height / 8.0, 0.0]).collect()
}

/// How far a filter reaches from a place to the middle of a texel, as its share: linear, in steps of 1/256.
fn tent(place: f64, texel: i64) -> f64 {
    let before = (place - 0.5).floor();
    let far = ((place - 0.5 - before) * 256.0).round() / 256.0;
    match texel as f64 - before {
        0.0 => 1.0 - far,
        1.0 => far,
        _ => 0.0,
    }
}

/// The value of a repeating, mirrored, clamped or bordered image of bytes as numbers from 0 to 1.
fn expected(bytes: &[u8], [w, h]: [i64; 2], mode: &str, x: f64, y: f64) -> f64 {
    let within = |at: i64, size: i64| match mode {
        "wrap" => Some(((at % size) + size) % size),
        "mirror" => {
            let turn = ((at % (2 * size)) + 2 * size) % (2 * size);
            Some(turn.min(2 * size - 1 - turn))
        }
        "clamp" => Some(at.max(0).min(size - 1)),
        _ => Some(at).filter(|at| *at >= 0 && *at < size),
    };
    let mut sum = 0.0;
    for row in -3 * h..4 * h {
        for column in -3 * w..4 * w {
            let share = tent(x, column) * tent(y, row);
            if let (true, Some(column), Some(row)) = (share > 0.0, within(column, w), within(row, h)) {
                sum += share * f64::from(bytes[(row * w + column) as usize]) / 255.0;
            }
        }
    }
    sum
}

#[test]
fn linear_filtering_weighs_four_texels() {
    let (w, h) = (8i64, 5i64);
    let texels = noise((w * h) as usize, 3);
    for mode in ["wrap", "mirror", "clamp", "border"] {
        for normalized in [true, false] {
            let mode_used = if !normalized && mode != "border" { "clamp" } else { mode };
            let options = if normalized { format!("linear,{mode},normalized") } else { format!("linear,{mode}") };
            let spec = format!("2d:{w}x{h}:un8x1:{options}:zero");
            let at = places(if normalized { 1.0 } else { w as f32 }, if normalized { 1.0 } else { h as f32 });
            let got = read("TEX.SCR.B.LL R10, R8, R4, R12, 2D", &spec, &texels, &at);
            for (got, [x, y, _]) in got.iter().zip(&at) {
                let scale = if normalized { (w as f64, h as f64) } else { (1.0, 1.0) };
                let want = expected(&texels, [w, h], mode_used, f64::from(*x) * scale.0, f64::from(*y) * scale.1);
                let value = f64::from(f32::from_bits(got[0]));
                assert!((value - want).abs() < 1e-6, "{options} at {x} {y}: {value}, not {want}");
                if mode != "border" {
                    assert_eq!(got[3], 1f32.to_bits(), "alpha of a texel without");
                }
            }
        }
    }
}

#[test]
fn a_row_has_no_border_above_it() {
    // ptxas reads rows by instructions for two axes, with 0 on the second one.
    let texels = noise(8, 5);
    let at: Vec<[f32; 3]> = (0..32).map(|i| [i as f32 * 0.5 - 4.0, 0.0, 0.0]).collect();
    let got = read("TEX.SCR.B.LL R10, R8, R4, R12, 2D", "1d:8:un8x1:linear,border:zero", &texels, &at);
    for (got, [x, _, _]) in got.iter().zip(&at) {
        let shares = (0..8).map(|texel| tent(f64::from(*x), texel) * f64::from(texels[texel as usize]) / 255.0);
        let (value, want) = (f64::from(f32::from_bits(got[0])), shares.sum::<f64>());
        assert!((value - want).abs() < 1e-6, "at {x}: {value}, not {want}");
    }
}

#[test]
fn levels_are_blended_and_gathered_texels_go_round() {
    let texels = noise(16 + 4 + 1, 9);
    let spec = "2d:4x4:un8x1:mip,levels=3:zero";
    let at: Vec<[f32; 3]> = (0..32).map(|i| [1.5, 2.5, i as f32 * 0.1 - 0.5]).collect();
    let got = read("TEX.SCR.B.LL R10, R8, R4, R12, 2D", spec, &texels, &at);
    // The nearest texels of the three levels, by hand.
    let levels = [texels[2 * 4 + 1], texels[16 + 2 + 1], texels[20]].map(|byte| f64::from(byte) / 255.0);
    for (got, [_, _, lod]) in got.iter().zip(&at) {
        let lod = f64::from(*lod).clamp(0.0, 2.0);
        let far = ((lod - lod.floor()) * 256.0).round() / 256.0;
        let (near, next) = (levels[lod as usize], levels[(lod as usize + 1).min(2)]);
        let want = near * (1.0 - far) + next * far;
        assert!((f64::from(f32::from_bits(got[0])) - want).abs() < 1e-6, "level {lod}");
    }
    let got = read("TLD4.SCR.R.B R10, R8, R4, R12, 2D", "2d:4x4:u8x1:zero", &texels[..16], &[[2.0, 2.0, 0.0]; 32]);
    let corner = |x: usize, y: usize| u32::from(texels[4 * y + x]);
    assert_eq!(got[0], [corner(1, 2), corner(2, 2), corner(2, 1), corner(1, 1)]);
}

#[test]
fn texels_of_every_format_are_numbers() {
    let bytes: Vec<u8> = [0x80, 0x01, 0xff, 0x7f].into_iter().cycle().take(16).collect();
    let texel = |spec: &str| {
        let size = if spec.contains("16x1") { 2 } else { 4 };
        read("TLD.SCR.B.LZ R10, R8, R4, R12, 2D", spec, &bytes[..size], &[[0.0; 3]; 32])[0]
    };
    let one = 1f32.to_bits();
    assert_eq!(texel("2d:1x1:u8x4:zero"), [0x80, 1, 0xff, 0x7f]);
    assert_eq!(texel("2d:1x1:s8x4:zero"), [-128i32 as u32, 1, u32::MAX, 127]);
    assert_eq!(texel("2d:1x1:s16x2:zero"), [0x180, 0x7fff, 0, 1]);
    assert_eq!(texel("2d:1x1:f32x1:zero"), [0x7fff_0180, 0, 0, one]);
    let floats = |values: [f32; 4]| values.map(f32::to_bits);
    assert_eq!(texel("2d:1x1:un8x4:zero"), floats([128.0 / 255.0, 1.0 / 255.0, 1.0, 127.0 / 255.0]));
    assert_eq!(texel("2d:1x1:sn8x4:zero"), floats([-1.0, 1.0 / 127.0, -1.0 / 127.0, 1.0]));
    // 0x0180 is 384 steps of 2^-24.
    assert_eq!(texel("2d:1x1:f16x1:zero"), [(384.0 / 16_777_216.0f32).to_bits(), 0, 0, one]);
}

#[test]
fn directions_meet_the_faces_of_a_cube() {
    // Each texel of the 1x1 faces is the number of its face.
    let text = "TEX.B.LL R10, R8, R16, R12, CUBE";
    for (face, axis) in (0u8..6).map(|face| (face, usize::from(face / 2))) {
        let sign = if face % 2 == 0 { 1f32 } else { -1.0 };
        let mut direction = [0.25f32, -0.5, 0.125];
        direction[axis] = sign;
        let set = format!(
            "MOV R16, {:#x}\nMOV R17, {:#x}\nMOV R18, {:#x}\n{text}",
            direction[0].to_bits(),
            direction[1].to_bits(),
            direction[2].to_bits()
        );
        let got = read(&set, "cube:1:u8x1:zero", &[0, 1, 2, 3, 4, 5], &[[0.0; 3]; 32]);
        assert_eq!(got[7][0], u32::from(face), "{direction:?}");
    }
}

#[test]
fn surfaces_are_read_and_written_by_byte_and_by_texel() {
    let texels: Vec<u8> = (0..64).collect();
    // Lane n reads the word at byte 4 n, of a row of 32 bytes: only the first eight are inside.
    let load = |clamp: &str| {
        let text = format!("SHF.L.U32 R4, R0, 0x2, RZ\nMOV R5, 0x1\nSULD.D.BA.2D.STRONG.SM{clamp} R8, [R4], R12");
        read(&text, "2d:32x2:u8x1:zero", &texels, &[[0.0; 3]; 32])
    };
    let word = |at: usize| u32::from_le_bytes([texels[at], texels[at + 1], texels[at + 2], texels[at + 3]]);
    for (clamp, outside) in [(".IGN", 0), ("", word(32 + 28))] {
        let got = load(clamp);
        for (lane, got) in got.iter().enumerate() {
            assert_eq!(got[0], if lane < 8 { word(32 + 4 * lane) } else { outside }, "{clamp} lane {lane}");
        }
    }
}
