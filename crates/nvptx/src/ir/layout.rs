//! Sizes and alignments: `target datalayout`.

use super::types::{AddressSpace, Type, TypeId, Types};

/// What a data layout says that matters to NVPTX.
///
/// All NVPTX targets are little-endian, with natural alignment of integers up to 64 bits. What
/// differs is the width of pointers and the alignment of `i128` and of vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataLayout {
    /// Widths in bits of pointers by address space, where they are not those of space 0.
    pub pointer_bits: Vec<(AddressSpace, u32)>,
    /// Width in bits of pointers of all other spaces.
    pub default_pointer_bits: u32,
    /// Alignment in bytes of `i128`.
    pub i128_align: u32,
    /// Alignment in bytes of vectors of a size in bits, where it is not their size.
    pub vector_align: Vec<(u32, u32)>,
}

impl Default for DataLayout {
    /// That of `nvptx64-nvidia-cuda`: `e-i64:64-i128:128-v16:16-v32:32-n16:32:64`.
    fn default() -> DataLayout {
        DataLayout { pointer_bits: Vec::new(), default_pointer_bits: 64, i128_align: 16, vector_align: Vec::new() }
    }
}

impl DataLayout {
    /// Reads a layout string. Parts that mean nothing to NVPTX are passed over.
    ///
    /// # Errors
    ///
    /// The part that cannot be read, or that no NVPTX target has.
    pub fn parse(text: &str) -> Result<DataLayout, String> {
        let mut layout = DataLayout { i128_align: 8, ..DataLayout::default() };
        for part in text.split('-').filter(|part| !part.is_empty()) {
            let bad = || format!("`{part}` in the data layout cannot be read");
            let mut fields = part.split(':');
            let key = fields.next().unwrap_or_default();
            let mut number = || fields.next().and_then(|field| field.parse::<u32>().ok());
            match key.split_at(key.chars().next().map_or(0, char::len_utf8)) {
                ("E", "") => return Err("NVPTX is little-endian, but the data layout says `E`".to_owned()),
                ("p", space) => {
                    let bits = number().filter(|&bits| bits == 32 || bits == 64).ok_or_else(bad)?;
                    match space {
                        "" | "0" => layout.default_pointer_bits = bits,
                        space => layout.pointer_bits.push((AddressSpace(space.parse().map_err(|_| bad())?), bits)),
                    }
                }
                ("i", "128") => layout.i128_align = (number().ok_or_else(bad)? / 8).max(1),
                ("v", size) if !size.is_empty() => {
                    let size = size.parse().map_err(|_| bad())?;
                    layout.vector_align.push((size, (number().ok_or_else(bad)? / 8).max(1)));
                }
                _ => {}
            }
        }
        Ok(layout)
    }

    /// The layout as LLVM writes it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from("e");
        if self.default_pointer_bits != 64 {
            text += &format!("-p:{0}:{0}", self.default_pointer_bits);
        }
        for (space, bits) in &self.pointer_bits {
            text += &format!("-p{}:{bits}:{bits}", space.0);
        }
        text += &format!("-i64:64-i128:{}", self.i128_align * 8);
        for (size, align) in &self.vector_align {
            text += &format!("-v{size}:{}", align * 8);
        }
        text + "-n16:32:64"
    }

    /// Width in bits of a pointer of `space`. Those to tensor memory have 32 also where the layout does not say so: it did not before LLVM 20.
    #[must_use]
    pub fn pointer_bits(&self, space: AddressSpace) -> u32 {
        let own = self.pointer_bits.iter().find(|(other, _)| *other == space);
        let otherwise = if space == AddressSpace::TENSOR { 32 } else { self.default_pointer_bits };
        own.map_or(otherwise, |&(_, bits)| bits)
    }

    /// Width in bits of a value, without padding; 0 for what has no size.
    #[must_use]
    pub fn bits(&self, types: &Types, ty: TypeId) -> u64 {
        match &types[ty] {
            Type::Int(bits) => u64::from(*bits),
            Type::Half | Type::BFloat => 16,
            Type::Float => 32,
            Type::Double => 64,
            Type::OtherFloat(_) => 128,
            Type::Pointer(space) => u64::from(self.pointer_bits(*space)),
            Type::Vector(element, len) => self.bits(types, *element).saturating_mul(u64::from(*len)),
            Type::Array(..) | Type::Struct { .. } => self.size(types, ty).saturating_mul(8),
            _ => 0,
        }
    }

    /// Bytes that a store of the type writes: without the padding behind it.
    #[must_use]
    pub fn store_size(&self, types: &Types, ty: TypeId) -> u64 {
        self.bits(types, ty).div_ceil(8)
    }

    /// Bytes from one element of an array of the type to the next. Saturates: sizes beyond 2^64 are 2^64 - 1.
    #[must_use]
    pub fn size(&self, types: &Types, ty: TypeId) -> u64 {
        match &types[ty] {
            Type::Array(element, len) => self.size(types, *element).saturating_mul(*len),
            Type::Struct { fields, packed } => self.struct_size(types, fields, *packed),
            _ => round_up(self.store_size(types, ty), self.align(types, ty)),
        }
    }

    /// ABI alignment in bytes.
    #[must_use]
    pub fn align(&self, types: &Types, ty: TypeId) -> u32 {
        match &types[ty] {
            Type::Int(65..) => self.i128_align,
            Type::Int(bits) => bits.div_ceil(8).next_power_of_two().max(1),
            Type::Vector(..) => {
                let bits = self.bits(types, ty).clamp(1, 1 << 20) as u32;
                let own = self.vector_align.iter().find(|(size, _)| *size == bits);
                own.map_or_else(|| bits.div_ceil(8).next_power_of_two(), |&(_, align)| align)
            }
            Type::Array(element, _) => self.align(types, *element),
            Type::Struct { packed: true, .. } => 1,
            Type::Struct { fields, .. } => fields.iter().map(|&field| self.align(types, field)).max().unwrap_or(1),
            _ => (self.bits(types, ty) as u32 / 8).max(1),
        }
    }

    /// Where a field of a structure starts, in bytes.
    #[must_use]
    pub fn field_offset(&self, types: &Types, fields: &[TypeId], packed: bool, index: usize) -> u64 {
        let mut offset = 0u64;
        for (at, &field) in fields.iter().enumerate() {
            let align = if packed { 1 } else { self.align(types, field) };
            offset = round_up(offset, align);
            if at == index {
                break;
            }
            offset = offset.saturating_add(self.size(types, field));
        }
        offset
    }

    /// Where element `index` of a vector, array or structure starts, in bytes.
    #[must_use]
    pub fn element_offset(&self, types: &Types, ty: TypeId, index: u64) -> u64 {
        match &types[ty] {
            Type::Struct { fields, packed } => self.field_offset(types, fields, *packed, index as usize),
            Type::Array(element, _) => self.size(types, *element).saturating_mul(index),
            Type::Vector(element, _) => self.bits(types, *element).saturating_mul(index) / 8,
            _ => 0,
        }
    }

    fn struct_size(&self, types: &Types, fields: &[TypeId], packed: bool) -> u64 {
        let end = self.field_offset(types, fields, packed, fields.len());
        let align = if packed { 1 } else { fields.iter().map(|&field| self.align(types, field)).max().unwrap_or(1) };
        round_up(end, align)
    }
}

fn round_up(value: u64, align: u32) -> u64 {
    value.checked_next_multiple_of(u64::from(align.max(1))).unwrap_or(u64::MAX)
}
