//! Buffers as arrays: element types and shapes as the command line names them, and NumPy's `.npy` files.

use crate::npy::Header;
use std::fmt;
use std::path::Path;

/// No array has more elements: the limit of buffers in bytes.
const MOST_ELEMENTS: u64 = 4 << 30;

/// What an array consists of.
struct Element {
    /// Its name here, as PTX has it.
    name: &'static str,
    /// Its name in `.npy` files, without the byte order.
    numpy: &'static str,
    /// Bytes.
    size: u64,
}

const ELEMENTS: [Element; 12] = [
    Element { name: "u8", numpy: "u1", size: 1 },
    Element { name: "s8", numpy: "i1", size: 1 },
    Element { name: "u16", numpy: "u2", size: 2 },
    Element { name: "s16", numpy: "i2", size: 2 },
    Element { name: "f16", numpy: "f2", size: 2 },
    // NumPy has none: what `ml_dtypes` writes.
    Element { name: "bf16", numpy: "V2", size: 2 },
    Element { name: "u32", numpy: "u4", size: 4 },
    Element { name: "s32", numpy: "i4", size: 4 },
    Element { name: "f32", numpy: "f4", size: 4 },
    Element { name: "u64", numpy: "u8", size: 8 },
    Element { name: "s64", numpy: "i8", size: 8 },
    Element { name: "f64", numpy: "f8", size: 8 },
];

/// Element type and shape of an array, such as `f32[64,32]`, in which the last index runs fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayType {
    /// Row of [`ELEMENTS`].
    element: usize,
    shape: Vec<u64>,
}

impl ArrayType {
    /// `bytes` bytes.
    pub fn bytes(bytes: u64) -> ArrayType {
        ArrayType { element: 0, shape: vec![bytes] }
    }

    /// Bytes of the whole array; none where that is more than any buffer has.
    pub fn size(&self) -> Option<u64> {
        let size = ELEMENTS[self.element].size;
        let size = self.shape.iter().try_fold(size, |size, dim| size.checked_mul(*dim));
        size.filter(|size| *size <= MOST_ELEMENTS)
    }

    /// Its elements' type, as PTX has it.
    pub fn element(&self) -> &'static str {
        ELEMENTS[self.element].name
    }

    /// Bytes of an element.
    pub fn element_size(&self) -> usize {
        ELEMENTS[self.element].size as usize
    }

    /// Sizes by index, the last of which runs fastest.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Contents of the file at `path` that is to hold the array: as they are, or with a header where it is a `.npy` file.
    pub fn file(&self, path: &Path, contents: Vec<u8>) -> Vec<u8> {
        if !is_npy(path) {
            return contents;
        }
        let Element { numpy, size, .. } = ELEMENTS[self.element];
        // One byte has no order.
        let order = if size == 1 { '|' } else { '<' };
        let mut file =
            Header { descr: format!("{order}{numpy}"), fortran_order: false, shape: self.shape.clone() }.write();
        file.extend(contents);
        file
    }
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        write!(f, "{}[{}]", ELEMENTS[self.element].name, dims.join(","))
    }
}

/// What an array is demanded to be: an element type, and a shape if one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    element: usize,
    shape: Option<Vec<u64>>,
}

impl Demand {
    /// Reads `f32` or `f32[64,32]`; none for what is no type.
    pub fn parse(text: &str) -> Option<Demand> {
        let (name, dims) = match text.strip_suffix(']') {
            Some(text) => text.split_once('[').map(|(name, dims)| (name, Some(dims)))?,
            None => (text, None),
        };
        let element = ELEMENTS.iter().position(|element| element.name == name)?;
        let parse = |dims: &str| dims.split(',').map(|dim| dim.trim().parse().ok()).collect::<Option<Vec<u64>>>();
        let shape = match dims {
            Some(dims) if dims.trim().is_empty() => Some(Vec::new()),
            Some(dims) => Some(parse(dims)?),
            None => None,
        };
        Some(Demand { element, shape })
    }

    /// The array, if the shape is given.
    pub fn array(&self) -> Option<ArrayType> {
        self.shape.clone().map(|shape| ArrayType { element: self.element, shape })
    }

    /// The elements' type, as PTX has it.
    pub fn element(&self) -> &'static str {
        ELEMENTS[self.element].name
    }

    /// The array of so many bytes: of the shape that is given, or else with one index; none if they do not make one.
    pub fn of_size(&self, bytes: u64) -> Option<ArrayType> {
        let size = ELEMENTS[self.element].size;
        match self.array() {
            Some(array) => (array.size() == Some(bytes)).then_some(array),
            None => bytes.is_multiple_of(size).then(|| ArrayType { element: self.element, shape: vec![bytes / size] }),
        }
    }

    fn admits(&self, array: &ArrayType) -> bool {
        self.element == array.element && self.shape.as_ref().is_none_or(|shape| *shape == array.shape)
    }
}

impl From<ArrayType> for Demand {
    /// Demands that type and shape.
    fn from(array: ArrayType) -> Demand {
        Demand { element: array.element, shape: Some(array.shape) }
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.array() {
            Some(array) => array.fmt(f),
            None => f.write_str(ELEMENTS[self.element].name),
        }
    }
}

/// Whether the file's name says that it is NumPy's.
pub fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// The array of a `.npy` file: little-endian, the last index fastest, whatever the file's orders are.
pub fn read(file: &[u8], demand: Option<&Demand>) -> Result<(ArrayType, Vec<u8>), String> {
    let (header, rest) = Header::read(file).map_err(|error| format!("no .npy file: {error}"))?;
    let (element, big_endian) = element_of(&header.descr)?;
    let array = ArrayType { element, shape: header.shape };
    if let Some(demand) = demand.filter(|demand| !demand.admits(&array)) {
        return Err(format!("the file is {array}, not {demand}"));
    }
    if array.size() != Some(rest.len() as u64) {
        return Err(format!("the file is {array} and has {} bytes of elements", rest.len()));
    }
    let size = ELEMENTS[element].size as usize;
    let mut bytes = if header.fortran_order { last_index_fastest(rest, size, &array.shape) } else { rest.to_vec() };
    if big_endian {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok((array, bytes))
}

/// The row of [`ELEMENTS`], and whether the highest byte comes first.
fn element_of(descr: &str) -> Result<(usize, bool), String> {
    let unknown = || format!("elements of type {descr} are not taken");
    let name = descr.strip_prefix(['<', '>', '|', '=']).ok_or_else(unknown)?;
    // A truth value is a byte.
    let name = if name == "b1" { "u1" } else { name };
    let element = ELEMENTS.iter().position(|element| element.numpy == name).ok_or_else(unknown)?;
    Ok((element, descr.starts_with('>')))
}

/// Elements of `size` bytes of which the first index runs fastest, put so that the last one does.
fn last_index_fastest(bytes: &[u8], size: usize, shape: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    // Where the next element is, and how far one step of each index goes, in elements.
    let (mut at, mut index) = (0, vec![0; shape.len()]);
    let mut steps = Vec::with_capacity(shape.len());
    shape.iter().fold(1, |step: u64, dim| {
        steps.push(step);
        step * dim
    });
    for _ in 0..bytes.len() / size {
        let start = at as usize * size;
        out.extend_from_slice(&bytes[start..start + size]);
        for dim in (0..shape.len()).rev() {
            index[dim] += 1;
            at += steps[dim];
            if index[dim] < shape[dim] {
                break;
            }
            at -= steps[dim] * shape[dim];
            index[dim] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as NumPy's format description has it (version 1.0).
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn header(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn orders_of_bytes_and_indices() {
        let c = file(&header("<u2", "False", "(2, 3)"), &[0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
        let fortran = file(&header("<u2", "True", "(2, 3)"), &[0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5, 0]);
        let big = file(&header(">u2", "False", "(2, 3)"), &[0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5]);
        let (array, bytes) = read(&c, None).expect("right");
        assert_eq!((array.to_string().as_str(), array.size()), ("u16[2,3]", Some(12)));
        assert_eq!(bytes, [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
        for other in [fortran, big] {
            assert_eq!(read(&other, None), Ok((array.clone(), bytes.clone())));
        }
        // Three indices, sizes 2, 1 and 3: element (i, 0, k) is at i + 2k.
        let three = file(&header("|u1", "True", "(2, 1, 3)"), &[0, 10, 1, 11, 2, 12]);
        assert_eq!(read(&three, None).expect("right").1, [0, 1, 2, 10, 11, 12]);
        let one = file(&header("<f4", "False", "()"), &1.5f32.to_le_bytes());
        assert_eq!(read(&one, None).expect("right").1, 1.5f32.to_le_bytes());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (element, row) in ELEMENTS.iter().enumerate() {
            let array = ArrayType { element, shape: vec![3, 2] };
            let contents: Vec<u8> = (0..6 * row.size as u8).collect();
            let written = array.file(Path::new("a.npy"), contents.clone());
            assert_eq!(read(&written, None), Ok((array.clone(), contents.clone())));
            assert_eq!(array.file(Path::new("a.bin"), contents.clone()), contents);
        }
    }

    #[test]
    fn demands() {
        let array = file(&header("<f4", "False", "(2,)"), &[0; 8]);
        for (demand, admitted) in
            [("f32", true), ("f32[2]", true), ("f32[1,2]", false), ("f32[3]", false), ("u32", false), ("f64[1]", false)]
        {
            let demand = Demand::parse(demand).expect("a type");
            assert_eq!(read(&array, Some(&demand)).is_ok(), admitted, "{demand}");
        }
        let sized = |demand: &str, bytes| Demand::parse(demand).and_then(|demand| demand.of_size(bytes));
        assert_eq!(sized("f32", 8).map(|array| array.to_string()), Some("f32[2]".to_owned()));
        assert_eq!(sized("u16[2,3]", 12).map(|array| array.shape().to_vec()), Some(vec![2, 3]));
        assert_eq!((sized("f32", 7), sized("u16[2,3]", 13)), (None, None));
        for text in ["", "f33", "f32[", "f32[a]", "f32]", "f32[1,,2]", "16", "bin"] {
            assert_eq!(Demand::parse(text), None, "{text}");
        }
    }

    #[test]
    fn wrong_files_are_refused() {
        let right = file(&header("<u4", "False", "(2,)"), &[0; 8]);
        for length in 0..right.len() {
            assert!(read(&right[..length], None).is_err(), "{length}");
        }
        for at in 0..right.len() - 8 {
            for byte in [0, b'(', b'9', 0xff] {
                let mut wrong = right.clone();
                wrong[at] = byte;
                let _ = read(&wrong, None);
            }
        }
        for header in [
            header("<u4", "False", "(9223372036854775808, 9, 0)"),
            header("<u4", "False", "(99999999999999999999999,)"),
            header("<c8", "False", "(1,)"),
            header("|O", "False", "(1,)"),
            header("<u4", "False", &"(".repeat(3000)),
            "[('a', '<u4')]".to_owned(),
        ] {
            assert!(read(&file(&header, &[0; 8]), None).is_err(), "{header}");
        }
    }
}
