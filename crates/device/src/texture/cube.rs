//! The face of a cube and the place on it that a direction meets.

/// The number of the face (+x, -x, +y, -y, +z, -z) and the place on it, from 0 to 1 on both axes, as the
/// graphics interfaces define them.
#[must_use]
pub fn face([x, y, z]: [f64; 3]) -> (u32, [f64; 2]) {
    let size = [x.abs(), y.abs(), z.abs()];
    let (face, s, t, most) = if size[0] >= size[1] && size[0] >= size[2] {
        if x >= 0.0 { (0, -z, -y, size[0]) } else { (1, z, -y, size[0]) }
    } else if size[1] >= size[2] {
        if y >= 0.0 { (2, x, z, size[1]) } else { (3, x, -z, size[1]) }
    } else if z >= 0.0 {
        (4, x, -y, size[2])
    } else {
        (5, -x, -y, size[2])
    };
    let place = |v: f64| if most > 0.0 { (v / most + 1.0) / 2.0 } else { 0.5 };
    (face, [place(s), place(t)])
}

/// The place on the surface of the cube from -1 to 1 that a direction meets.
#[must_use]
pub fn on_surface(direction: [f64; 3]) -> [f64; 3] {
    let most = direction.iter().fold(0.0f64, |most, along| most.max(along.abs()));
    if most > 0.0 { direction.map(|along| along / most) } else { direction }
}
