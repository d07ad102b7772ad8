//! The numbers with which `txq` and `suq` answer: OpenCL's constants for formats, which the PTX manual lists in
//! "Channel Data Type and Channel Order Fields"; address modes and filters in the order in which it lists them.

use super::{AddressMode, Filter, Format, Kind};

/// `channel_data_type`: `CL_SNORM_INT8` and the like.
#[must_use]
pub fn channel_data_type(format: Format) -> u32 {
    let of_size = |first: u32| first + format.bits.trailing_zeros() - 3;
    match format.kind {
        Kind::SignedNormalized => of_size(0x10d0),
        Kind::UnsignedNormalized => of_size(0x10d2),
        Kind::Signed => of_size(0x10d7),
        Kind::Unsigned => of_size(0x10da),
        Kind::Float => of_size(0x10dd) - 1,
    }
}

/// `channel_order`: `CL_R`, `CL_RG`, `CL_RGBA`.
#[must_use]
pub fn channel_order(format: Format) -> u32 {
    match format.channels {
        1 => 0x10b0,
        2 => 0x10b2,
        _ => 0x10b5,
    }
}

/// `addr_mode_0` to `addr_mode_2`; 2 is `clamp_ogl`, which no sampler has here.
#[must_use]
pub fn address_mode(mode: AddressMode) -> u32 {
    match mode {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 3,
        AddressMode::Border => 4,
    }
}

/// `filter_mode`.
#[must_use]
pub fn filter_mode(filter: Filter) -> u32 {
    u32::from(filter == Filter::Linear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_the_constants_of_the_manual() {
        let of = |kind, bits, channels| {
            let format = Format { kind, bits, channels };
            (channel_data_type(format), channel_order(format))
        };
        // CL_UNORM_INT8 and CL_RGBA, CL_HALF_FLOAT and CL_R, CL_FLOAT, CL_SNORM_INT16 and CL_RG, integers.
        assert_eq!(of(Kind::UnsignedNormalized, 8, 4), (0x10d2, 0x10b5));
        assert_eq!(of(Kind::Float, 16, 1), (0x10dd, 0x10b0));
        assert_eq!(of(Kind::Float, 32, 1), (0x10de, 0x10b0));
        assert_eq!(of(Kind::SignedNormalized, 16, 2), (0x10d1, 0x10b2));
        assert_eq!([8, 16, 32].map(|bits| of(Kind::Signed, bits, 1).0), [0x10d7, 0x10d8, 0x10d9]);
        assert_eq!([8, 16, 32].map(|bits| of(Kind::Unsigned, bits, 1).0), [0x10da, 0x10db, 0x10dc]);
    }
}
