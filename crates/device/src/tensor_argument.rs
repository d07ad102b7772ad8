//! The `ARG` of a tensor map: `tensormap:TYPE:DIMS:STRIDES:BOX[:OPTION]…=BUFFER`.

use crate::tensor_map::{Element, Fill, MAX_RANK, Shape, Swizzle, TensorMap};

/// Reads what stands before the `=`, after `tensormap:`. The address stays zero. An error says what is
/// wrong.
pub(crate) fn parse(text: &str) -> Result<TensorMap, String> {
    let mut parts = text.split(':');
    let mut next = |what: &str| parts.next().ok_or_else(|| format!("a tensor map needs its {what}"));
    let name = next("TYPE")?;
    let element = Element::named(name).ok_or_else(|| format!("'{name}' is no type of a tensor's elements"))?;
    let sizes = list::<u64>(next("DIMS")?)?;
    let rank = sizes.len();
    if rank > MAX_RANK {
        return Err(format!("a tensor has at most {MAX_RANK} dimensions"));
    }
    let strides = match next("STRIDES")? {
        "-" => packed_strides(element, &sizes)?,
        text => list::<u64>(text)?,
    };
    if strides.len() + 1 != rank {
        return Err(format!("{rank} dimensions need {} strides (or '-'), not {}", rank - 1, strides.len()));
    }
    let shape = shape(next("BOX")?, rank)?;
    let mut map = TensorMap {
        address: 0,
        element,
        rank,
        dims: filled(&sizes, 1),
        strides: filled(&strides, 0),
        shape,
        element_strides: [1; MAX_RANK],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
    };
    for option in parts {
        match option {
            "swizzle32" => map.swizzle = Swizzle::B32,
            "swizzle64" => map.swizzle = Swizzle::B64,
            "swizzle128" => map.swizzle = Swizzle::B128,
            "nan" => map.fill = Fill::Nan,
            _ if option.starts_with(|c: char| c.is_ascii_digit()) => {
                map.element_strides = filled(&of_rank(list(option)?, rank, "element strides")?, 1);
            }
            _ => return Err(format!("'{option}' is no option of a tensor map")),
        }
    }
    map.check().map_err(|error| error.to_string())?;
    Ok(map)
}

fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',')
        .map(|number| number.parse().map_err(|_| format!("'{number}' is no number for a tensor map")))
        .collect()
}

fn filled<T: Copy, const N: usize>(values: &[T], rest: T) -> [T; N] {
    std::array::from_fn(|i| values.get(i).copied().unwrap_or(rest))
}

fn of_rank<T>(values: Vec<T>, rank: usize, what: &str) -> Result<Vec<T>, String> {
    match values.len() {
        given if given == rank => Ok(values),
        given => Err(format!("{given} {what} for {rank} dimensions")),
    }
}

/// Strides of rows that follow each other, each dimension's a multiple of 16.
fn packed_strides(element: Element, sizes: &[u64]) -> Result<Vec<u64>, String> {
    let too_large = || "the tensor is too large".to_owned();
    let mut stride = u64::from(element.bytes());
    let mut strides = Vec::new();
    for &size in &sizes[..sizes.len() - 1] {
        stride =
            stride.checked_mul(size).and_then(|stride| stride.checked_next_multiple_of(16)).ok_or_else(too_large)?;
        strides.push(stride);
    }
    Ok(strides)
}

/// `SIZES`, or `LOWER/UPPER/CHANNELS/PIXELS` for im2col.
fn shape(text: &str, rank: usize) -> Result<Shape, String> {
    let parts: Vec<&str> = text.split('/').collect();
    match parts[..] {
        [sizes] => Ok(Shape::Tile(filled(&of_rank(list(sizes)?, rank, "sizes of a box")?, 1))),
        [lower, upper, channels, pixels] => {
            let corner = |text| of_rank(list(text)?, rank.saturating_sub(2), "coordinates of a corner of pixels");
            let number = |text| list::<u32>(text).map(|numbers| numbers[0]);
            Ok(Shape::Im2col {
                lower: filled(&corner(lower)?, 0),
                upper: filled(&corner(upper)?, 0),
                channels: number(channels)?,
                pixels: number(pixels)?,
            })
        }
        _ => Err(format!("'{text}' is no box: SIZES or LOWER/UPPER/CHANNELS/PIXELS")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiled_and_im2col_maps() {
        let map = parse("f16:100,50:-:64,8:1,2:swizzle128:nan").expect("a proper map");
        assert_eq!((map.element, map.rank, map.dims), (Element::F16, 2, [100, 50, 1, 1, 1]));
        assert_eq!((map.strides[0], map.shape), (208, Shape::Tile([64, 8, 1, 1, 1])), "rows start at multiples of 16");
        assert_eq!((map.element_strides[1], map.swizzle, map.fill), (2, Swizzle::B128, Fill::Nan));
        let map = parse("f32:64,9,7,2:256,2304,16128:-1,-1/-1,-2/16/128").expect("a proper map");
        let shape = Shape::Im2col { lower: [-1, -1, 0], upper: [-1, -2, 0], channels: 16, pixels: 128 };
        assert_eq!((map.shape, map.strides), (shape, [256, 2304, 16128, 0]));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, part) in [
            ("f33:4:-:4", "no type"),
            ("f32:4,x:-:4", "'x' is no number"),
            ("f32:4,4:16,64:4,4", "need 1 strides"),
            ("f32:4,4:-:4", "1 sizes of a box"),
            ("f32:4,4:-", "needs its BOX"),
            ("f32:4,4:-:4,4:zigzag", "no option"),
            ("f32:4,4:-:3,4", "no multiple of 16"),
            ("f32:4,4,4:-:0/0/4", "is no box"),
            ("u8:1,1,1,1,1,1:-:16", "at most 5"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
