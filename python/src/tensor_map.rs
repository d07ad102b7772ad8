//! Tensor maps, as host code has them made by `cuTensorMapEncodeTiled`.

use crate::errors::value_error;
use oriole_device::tensor_map::{Element, Fill, Shape, Swizzle, TensorMap};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Element types by their numbers in the driver's interface (`CUtensorMapDataType`).
const ELEMENTS: [Element; 13] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::S64,
    Element::F16,
    Element::F32,
    Element::F64,
    Element::Bf16,
    Element::F32Ftz,
    Element::Tf32,
    Element::Tf32Ftz,
];

/// Swizzles likewise (`CUtensorMapSwizzle`).
const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

/// What the driver's encoder is given, as it numbers types, swizzles and fills.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Tiled {
    address: u64,
    element: usize,
    sizes: Vec<u64>,
    /// Bytes; one fewer than sizes.
    strides: Vec<u64>,
    /// Sizes of the box.
    shape: Vec<u32>,
    element_strides: Vec<u32>,
    swizzle: usize,
    nan: bool,
}

/// The bytes of a tiled tensor map; `ValueError` says which of the encoder's rules is broken, or which value is not supported.
#[pyfunction]
pub(crate) fn tensor_map<'py>(py: Python<'py>, tiled: Tiled) -> PyResult<Bound<'py, PyBytes>> {
    let rank = tiled.sizes.len();
    if tiled.strides.len() + 1 != rank || tiled.shape.len() != rank || tiled.element_strides.len() != rank {
        return Err(value_error("sizes, strides and boxes of different numbers of dimensions"));
    }
    let element = ELEMENTS.get(tiled.element).copied();
    let element = element.ok_or_else(|| value_error(format!("no tensor maps of element type {}", tiled.element)))?;
    let swizzle = SWIZZLES.get(tiled.swizzle).copied();
    let swizzle = swizzle.ok_or_else(|| value_error(format!("no tensor maps with swizzle {}", tiled.swizzle)))?;
    let map = TensorMap {
        address: tiled.address,
        element,
        rank,
        dims: filled(&tiled.sizes, 1),
        strides: filled(&tiled.strides, 0),
        shape: Shape::Tile(filled(&tiled.shape, 1)),
        element_strides: filled(&tiled.element_strides, 1),
        swizzle,
        fill: if tiled.nan { Fill::Nan } else { Fill::Zero },
    };
    Ok(PyBytes::new(py, &map.encode().map_err(value_error)?))
}

/// The values, and `rest` from their end on.
fn filled<T: Copy, const N: usize>(values: &[T], rest: T) -> [T; N] {
    std::array::from_fn(|at| values.get(at).copied().unwrap_or(rest))
}
