//! The value of an image at a place, as the CUDA programming guide describes it ("Texture fetching"): the
//! weights of linear filtering have 8 fractional bits. Coordinates are computed in `f64`, exactly; texels are
//! blended in `f32`, one after the other, where the hardware's precision is not published.

use super::texel::{self, Position};
use super::{AddressMode, Comparison, Filter, Image, Sampler, cube};

/// What is read of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Coordinates; those of a face for a cube.
    pub coordinates: [f64; 3],
    /// How many of them count.
    pub axes: usize,
    /// Coordinates from 0 to 1 span the image, whatever the sampler says: faces of a cube.
    pub normalized: bool,
    /// The layer, or layer and face.
    pub slice: u32,
    /// Level of detail.
    pub lod: f64,
    /// Texels that are added to the place.
    pub offset: [i32; 3],
    /// A depth that texels are compared with.
    pub depth: Option<f32>,
}

/// An image that is read for one thread.
pub struct Reader<'i, L> {
    /// The image.
    pub image: &'i Image,
    /// How it is read.
    pub sampler: &'i Sampler,
    /// The bytes at an address, of which there are so many (a texel's).
    pub load: L,
}

impl Request {
    /// A read at these coordinates, of which `axes` count, of the first level, without offset and comparison. Those of a
    /// cube are a direction.
    #[must_use]
    pub fn at(image: &Image, coordinates: [f64; 3], axes: usize, is_cube: bool, layer: u32) -> Request {
        let (face, coordinates) = if is_cube { on_face(coordinates) } else { (0, coordinates) };
        Request {
            coordinates,
            // An image has no coordinate beyond its axes: ptxas reads rows by instructions for two.
            axes: axes.min(image.shape.axes()),
            normalized: is_cube,
            slice: image.layer(layer) * image.faces() + face,
            lod: 0.0,
            offset: [0; 3],
            depth: None,
        }
    }
}

/// The face that a direction meets, and the place on it as coordinates.
#[must_use]
fn on_face(direction: [f64; 3]) -> (u32, [f64; 3]) {
    let (face, [s, t]) = cube::face(direction);
    (face, [s, t, 0.0])
}

/// The place of a read along one axis: the texel before it, and the weight of the one after.
#[derive(Clone, Copy)]
struct Tap {
    texel: i64,
    weight: f32,
}

/// The bits of what was blended. Of several NaNs the host takes the payload of one or the other, as its compiler orders the
/// operands: all become the NaN of single-precision arithmetic.
fn bits_of(blended: f32) -> u32 {
    const NAN: u32 = 0x7fff_ffff;
    if blended.is_nan() { NAN } else { blended.to_bits() }
}

/// A weight of a filter: 8 fractional bits, one included.
fn weight(fraction: f64) -> f32 {
    ((fraction * 256.0 + 0.5).floor() / 256.0) as f32
}

/// The texel that number `at` of an axis of `size` texels means; `None` for the border.
fn wrapped(mode: AddressMode, at: i64, size: u32, normalized: bool) -> Option<u32> {
    let size = i64::from(size);
    let texel = match mode {
        AddressMode::Wrap if normalized => at.rem_euclid(size),
        AddressMode::Mirror if normalized => {
            let place = at.rem_euclid(2 * size);
            if place < size { place } else { 2 * size - 1 - place }
        }
        AddressMode::Border => return (0..size).contains(&at).then_some(at as u32),
        AddressMode::Wrap | AddressMode::Mirror | AddressMode::Clamp => at.clamp(0, size - 1),
    };
    Some(texel as u32)
}

impl<E, L: FnMut(u64, u32) -> Result<[u32; 4], E>> Reader<'_, L> {
    /// The filtered value.
    ///
    /// # Errors
    /// Those of loads.
    pub fn sampled(&mut self, request: &Request) -> Result<[u32; 4], E> {
        let last = self.image.levels.saturating_sub(1);
        // A level that is no number is the first.
        let lod = request.lod.max(0.0).min(f64::from(last));
        if self.sampler.mip_filter == Filter::Nearest || !self.blends(request) {
            return self.at_level(request, ((lod + 0.5).floor() as u32).min(last));
        }
        let level = lod.floor() as u32;
        let (near, share) = (self.at_level(request, level)?, weight(lod - lod.floor()));
        if share == 0.0 || level == last {
            return Ok(near);
        }
        let far = self.at_level(request, level + 1)?;
        let blend = |n: usize| f32::from_bits(near[n]) * (1.0 - share) + f32::from_bits(far[n]) * share;
        Ok(std::array::from_fn(|n| bits_of(blend(n))))
    }

    /// One component of the four texels around the place: those of the lower row from right of the left to
    /// the right, then of the upper one back. With offsets of their own, four texels near the upper left one.
    ///
    /// # Errors
    /// Those of loads.
    pub fn gathered(
        &mut self,
        request: &Request,
        component: usize,
        offsets: Option<[[i32; 2]; 4]>,
    ) -> Result<[u32; 4], E> {
        const ORDER: [[i32; 2]; 4] = [[0, 1], [1, 1], [1, 0], [0, 0]];
        let taps = self.taps(request, 0, true);
        let mut values = [0; 4];
        for (value, [right, down]) in values.iter_mut().zip(offsets.unwrap_or(ORDER)) {
            let at = [taps[0].texel + i64::from(right), taps[1].texel + i64::from(down), taps[2].texel];
            *value = self.texel(request, 0, at)?[component];
        }
        Ok(values)
    }

    /// Texels can be blended: they are singles, or the results of comparisons.
    fn blends(&self, request: &Request) -> bool {
        self.image.format.is_float() || request.depth.is_some()
    }

    fn normalized(&self, request: &Request) -> bool {
        request.normalized || self.sampler.normalized
    }

    /// The place along each axis of a level.
    fn taps(&self, request: &Request, level: u32, linear: bool) -> [Tap; 3] {
        let size = self.image.level_size(level);
        let normalized = self.normalized(request);
        std::array::from_fn(|axis| {
            if axis >= request.axes {
                return Tap { texel: 0, weight: 0.0 };
            }
            let scale = if normalized { f64::from(size[axis]) } else { 1.0 };
            let place = request.coordinates[axis] * scale + f64::from(request.offset[axis]);
            let place = if linear { place - 0.5 } else { place };
            let fraction = if place.is_finite() { place - place.floor() } else { 0.0 };
            Tap { texel: place.floor() as i64, weight: if linear { weight(fraction) } else { 0.0 } }
        })
    }

    fn at_level(&mut self, request: &Request, level: u32) -> Result<[u32; 4], E> {
        let linear = self.sampler.filter == Filter::Linear && self.blends(request);
        let taps = self.taps(request, level, linear);
        let texels = taps.map(|tap| tap.texel);
        if !linear {
            return self.texel(request, level, texels);
        }
        let mut sum = [0f32; 4];
        for corner in 0..1 << request.axes {
            let is_far = |axis: usize| corner >> axis & 1 != 0;
            let share = (0..request.axes).fold(1.0, |share, axis| {
                share * if is_far(axis) { taps[axis].weight } else { 1.0 - taps[axis].weight }
            });
            // What has no weight is not read: it may be a NaN.
            if share != 0.0 {
                let at = std::array::from_fn(|axis| texels[axis].saturating_add(i64::from(is_far(axis))));
                for (sum, value) in sum.iter_mut().zip(self.texel(request, level, at)?) {
                    *sum += share * f32::from_bits(value);
                }
            }
        }
        Ok(sum.map(bits_of))
    }

    /// One texel, compared with the depth if there is one.
    fn texel(&mut self, request: &Request, level: u32, at: [i64; 3]) -> Result<[u32; 4], E> {
        let (size, normalized) = (self.image.level_size(level), self.normalized(request));
        let mode = self.sampler.address;
        let mut place = [0; 3];
        let mut outside = false;
        for axis in 0..request.axes {
            match wrapped(mode, at[axis], size[axis], normalized) {
                Some(texel) => place[axis] = texel,
                None => outside = true,
            }
        }
        let components = if outside {
            self.border()
        } else {
            let position = Position { level, slice: request.slice, at: place, sample: 0 };
            texel::read(self.image, position, &mut self.load)?
        };
        let Some(depth) = request.depth else { return Ok(components) };
        let texel = f32::from_bits(components[0]);
        let passes = match self.sampler.comparison {
            Comparison::LessEqual => depth <= texel,
            Comparison::GreaterEqual => depth >= texel,
        };
        Ok([f32::from(u8::from(passes)).to_bits(), 0, 0, 1f32.to_bits()])
    }

    fn border(&self) -> [u32; 4] {
        if self.image.format.is_float() { self.sampler.border.map(f32::to_bits) } else { [0; 4] }
    }
}

/// The level at which a step of one pixel is a step of one texel, from how coordinates change from pixel to
/// pixel along both axes of the screen, and how many texels of the first level one of each coordinate is.
#[must_use]
pub fn lod_of(steps: [[f64; 3]; 2], texels: [f64; 3]) -> f64 {
    let length = |step: &[f64; 3]| step.iter().zip(texels).map(|(step, texels)| (step * texels).powi(2)).sum::<f64>();
    libm::log2(length(&steps[0]).max(length(&steps[1]))) / 2.0
}

/// Texels of the first level to one of each coordinate of a place on the surface of a cube ([`cube::on_surface`]), from
/// -1 to 1. Of steps on a cube the places that directions meet are compared: these are on one face or not.
#[must_use]
pub fn texels_of_cube(image: &Image) -> [f64; 3] {
    [f64::from(image.size[0]) / 2.0; 3]
}

/// Texels of the first level to one of each coordinate: all of them where coordinates are normalised.
#[must_use]
pub fn texels_of(image: &Image, axes: usize, normalized: bool) -> [f64; 3] {
    std::array::from_fn(|axis| match (axis < axes, normalized) {
        (false, _) => 0.0,
        (true, false) => 1.0,
        (true, true) => f64::from(image.size[axis]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_outside_are_led_back() {
        let row =
            |mode, normalized| -> Vec<Option<u32>> { (-5..9).map(|at| wrapped(mode, at, 4, normalized)).collect() };
        let some = |texels: [u32; 14]| texels.map(Some).to_vec();
        assert_eq!(row(AddressMode::Wrap, true), some([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(row(AddressMode::Mirror, true), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        let clamped = some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]);
        assert_eq!(row(AddressMode::Clamp, true), clamped);
        assert_eq!(row(AddressMode::Wrap, false), clamped);
        assert_eq!(row(AddressMode::Border, true).iter().filter(|texel| texel.is_some()).count(), 4);
    }

    #[test]
    fn weights_have_eight_bits() {
        assert_eq!([0.0, 0.001, 0.5, 0.998, 0.999].map(weight), [0.0, 0.0, 0.5, 255.0 / 256.0, 1.0]);
    }
}
