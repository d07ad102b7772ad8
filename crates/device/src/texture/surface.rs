//! The place of an access to a surface.

use super::Image;
use crate::FaultKind;

/// What an access outside of the surface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Nothing; a load gives zero.
    Ignored,
    /// It is to the nearest place inside.
    Nearest,
    /// It is a fault.
    Fault,
}

/// An access as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Coordinates.
    pub at: [i32; 3],
    /// How many of them count.
    pub axes: usize,
    /// The layer; 0 where there are none.
    pub layer: i32,
    /// The first coordinate counts bytes; otherwise texels.
    pub bytes: bool,
    /// What an access outside does.
    pub outside: Outside,
}

impl Target {
    /// The address of `size` bytes of the surface; none where the access is ignored.
    ///
    /// # Errors
    /// The place is outside, and that is a fault.
    pub fn place(&self, image: &Image, size: u32) -> Result<Option<u64>, FaultKind> {
        let [x, y, z] = self.at;
        let texel = i64::from(image.format.bytes());
        // The first coordinate of the access and the end of a row, in bytes.
        let (row, size) = (i64::from(image.size[0]) * texel, i64::from(size));
        let x = i64::from(x) * if self.bytes { 1 } else { texel };
        let mut inside = x >= 0 && x + size <= row;
        let x = if inside { x } else { x.clamp(0, (row - size).max(0)) / size * size };
        let mut along = |value: i32, count: u32| {
            inside &= u32::try_from(value).is_ok_and(|value| value < count);
            (value.max(0) as u32).min(count.saturating_sub(1))
        };
        let [_, height, depth] = image.size;
        let y = if self.axes > 1 { along(y, height) } else { 0 };
        let z = if self.axes > 2 { along(z, depth) } else { 0 };
        let slice = along(self.layer, image.slices());
        match self.outside {
            Outside::Ignored if !inside => Ok(None),
            Outside::Fault if !inside => {
                let at = &self.at[..self.axes.min(3)];
                let rule = format!("access to a surface of {:?} texels at {at:?}, which is outside", image.size);
                Err(FaultKind::Misuse(rule))
            }
            _ => Ok(image.texel(0, slice, [0, y, z], 0).map(|start| start + x as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ObjectSpec;
    use super::*;

    #[test]
    fn what_is_outside_is_ignored_or_led_back_or_a_fault() {
        let mut image = ObjectSpec::parse("2d:4x2:u32x1:layers=2:zero").expect("a spec").image;
        image.address = 0x1000;
        let place = |at, layer, outside| Target { at, axes: 2, layer, bytes: true, outside }.place(&image, 4).ok();
        assert_eq!(place([12, 1, 0], 1, Outside::Fault), Some(Some(0x1000 + 32 + 16 + 12)));
        for (at, layer, nearest) in [
            ([16, 0, 0], 0, 12),
            ([-1, 1, 0], 0, 16),
            ([13, 0, 0], 0, 12),
            ([0, 2, 0], 0, 16),
            ([4, -3, 0], 0, 4),
            ([0, 0, 0], 7, 32),
            ([0, 0, 0], -1, 0),
        ] {
            assert_eq!(place(at, layer, Outside::Fault), None, "{at:?}");
            assert_eq!(place(at, layer, Outside::Ignored), Some(None), "{at:?}");
            assert_eq!(place(at, layer, Outside::Nearest), Some(Some(0x1000 + nearest)), "{at:?}");
        }
        let texels = Target { at: [3, 1, 0], axes: 2, layer: 0, bytes: false, outside: Outside::Fault };
        assert_eq!(texels.place(&image, 4).ok(), Some(Some(0x1000 + 28)));
    }
}
