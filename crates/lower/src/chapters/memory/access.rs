//! The shape of an access: element type and count, and how elements go to and from registers.

use crate::error::{Lowered, invalid, unsupported};
use crate::function::{FnLower, bindings, destinations, ops, param_words, sources};
use oriole_isa::MemSize;
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{self, Instruction, ScalarType};
use smallvec::SmallVec;

/// What one access moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Type of an element.
    pub(crate) ty: ScalarType,
    /// Elements.
    pub(crate) count: u32,
}

impl Shape {
    /// The shape of a load or store; `None` where the hardware has no such access.
    pub(crate) fn of(instruction: &Instruction) -> Option<Shape> {
        let shape = Shape { ty: instruction.last_type()?, count: instruction.vector().map_or(1, |v| v.len() as u32) };
        let bytes = shape.bytes();
        (shape.ty != ScalarType::Pred && bytes.is_power_of_two() && bytes <= 16).then_some(shape)
    }

    /// Bytes in all.
    pub(crate) fn bytes(&self) -> u32 {
        self.ty.bytes() * self.count
    }

    /// [`Field::MEM_SIZE`]: narrow integers extend as their type says.
    pub(crate) fn mem_size(&self) -> MemSize {
        let signed = self.ty.is_signed() && self.count == 1;
        match (self.bytes(), signed) {
            (1, false) => MemSize::U8,
            (1, true) => MemSize::S8,
            (2, false) => MemSize::U16,
            (2, true) => MemSize::S16,
            (4, _) => MemSize::B32,
            (8, _) => MemSize::B64,
            _ => MemSize::B128,
        }
    }

    /// The register type that holds all of it.
    fn container(&self) -> RegType {
        match self.bytes() {
            0..=4 => RegType::R,
            8 => RegType::Pair,
            _ => RegType::Quad,
        }
    }
}

/// The elements of a vector operand, checked against the shape.
pub(crate) fn elements(shape: &Shape, operand: &ast::Operand) -> Lowered<SmallVec<[ast::Operand; 4]>> {
    let list: SmallVec<[ast::Operand; 4]> = operand.elements().iter().cloned().collect();
    if list.len() as u32 == shape.count {
        return Ok(list);
    }
    Err(invalid(operand.span(), format!("{} elements are needed, {} given", shape.count, list.len())))
}

// ---- loads ----

/// Where a load puts its data, and what has to be copied from there.
pub(crate) struct Landing {
    /// The register that the load writes.
    register: Operand,
    /// The destinations to distribute to; empty where the load writes the destination itself.
    results: SmallVec<[ast::Operand; 4]>,
}

/// Chooses where a load lands.
pub(crate) fn landing(cx: &mut FnLower<'_, '_>, shape: &Shape, operand: &ast::Operand) -> Lowered<Landing> {
    let results = elements(shape, operand)?;
    if let [single] = results.as_slice() {
        if matches!(single, ast::Operand::Sink(_)) {
            let register = Operand::reg(cx.temp_of(shape.container())?);
            return Ok(Landing { register, results: SmallVec::new() });
        }
        let (reg, _) = bindings::register(cx, single)?;
        if cx.func[reg].reg_type == shape.container() {
            return Ok(Landing { register: Operand::reg(reg), results: SmallVec::new() });
        }
    }
    Ok(Landing { register: Operand::reg(cx.temp_of(shape.container())?), results })
}

impl Landing {
    /// The register that the load writes.
    pub(crate) fn register(&self) -> Operand {
        self.register
    }

    /// Copies the elements to their destinations.
    pub(crate) fn distribute(&mut self, cx: &mut FnLower<'_, '_>, shape: &Shape) -> Lowered {
        let Some(from) = self.register.as_reg() else { return Ok(()) };
        for (index, result) in self.results.iter().enumerate() {
            if !matches!(result, ast::Operand::Sink(_)) {
                take_element(cx, shape, from, index as u32, result)?;
            }
        }
        Ok(())
    }
}

/// Component `k` of a register of any width.
fn component(cx: &FnLower<'_, '_>, reg: VReg, k: u8) -> Operand {
    if cx.func[reg].components == 1 { Operand::reg(reg) } else { Operand::comp(reg, k) }
}

/// Writes element `index` of the loaded data to its destination.
fn take_element(cx: &mut FnLower<'_, '_>, shape: &Shape, from: VReg, index: u32, result: &ast::Operand) -> Lowered {
    let (to, _) = bindings::register(cx, result)?;
    let bytes = shape.ty.bytes();
    let at = index * bytes;
    let first = component(cx, from, (at / 4) as u8);
    let words = (bytes / 4).max(1) as u8;
    match (bytes, cx.func[to].reg_type) {
        (1 | 2 | 4, RegType::R) => extract(cx, Operand::reg(to), first, at % 4, shape),
        (1 | 2 | 4, RegType::Pair | RegType::Quad) => {
            extract(cx, Operand::comp(to, 0), first, at % 4, shape)?;
            destinations::fill(cx, to, 1, shape.ty.is_signed())
        }
        (8, RegType::Pair | RegType::Quad) | (16, RegType::Quad) => {
            for k in 0..words {
                let word = component(cx, from, (at / 4) as u8 + k);
                ops::mov(cx, Operand::comp(to, k), word)?;
            }
            destinations::fill(cx, to, words, shape.ty.is_signed())
        }
        _ => Err(invalid(result.span(), format!("a value of type .{} does not fit this register", shape.ty))),
    }
}

/// `to` = the element at byte `at` of `word`, extended to 32 bits as its type says.
fn extract(cx: &mut FnLower<'_, '_>, to: Operand, word: Operand, at: u32, shape: &Shape) -> Lowered {
    if shape.count == 1 || shape.ty.bytes() == 4 {
        return ops::mov(cx, to, word);
    }
    ops::prmt(cx, to, word, byte_selector(shape.ty, at), Operand::rz())
}

/// PRMT selector of the value of type `ty` at byte `at`, extended to 32 bits; the other source is RZ.
pub(crate) fn byte_selector(ty: ScalarType, at: u32) -> u32 {
    let sign_byte = at + ty.bytes() - 1;
    let fill = if ty.is_signed() { 8 | sign_byte } else { 4 };
    match ty.bytes() {
        1 => at | fill << 4 | fill << 8 | fill << 12,
        2 => at | (at + 1) << 4 | fill << 8 | fill << 12,
        _ => 0x3210,
    }
}

// ---- stores ----

/// Collects the values of a store in one register.
pub(crate) fn gather(cx: &mut FnLower<'_, '_>, shape: &Shape, operand: &ast::Operand) -> Lowered<Operand> {
    let values = elements(shape, operand)?;
    if let [single] = values.as_slice()
        && let Some(register) = whole(cx, shape, single)?
    {
        return Ok(register);
    }
    let words = value_words(cx, shape, &values)?;
    if words.iter().all(|word| word.is_zero()) {
        return Ok(Operand::rz());
    }
    let container = cx.temp_of(shape.container())?;
    for (k, word) in words.into_iter().enumerate() {
        let to = component(cx, container, k as u8);
        ops::mov(cx, to, word)?;
    }
    Ok(Operand::reg(container))
}

/// A single value that is in a register of the right width already.
fn whole(cx: &mut FnLower<'_, '_>, shape: &Shape, value: &ast::Operand) -> Lowered<Option<Operand>> {
    if bindings::declared_type(cx, value)?.is_none() {
        return Ok(None);
    }
    let (reg, ty) = bindings::register(cx, value)?;
    Ok(match (cx.func[reg].reg_type, shape.container()) {
        (found, wanted) if found == wanted => Some(Operand::reg(reg)),
        (RegType::Pair | RegType::Quad, RegType::R) => Some(Operand::comp(reg, 0)),
        (RegType::Quad, RegType::Pair) => Some(Operand::reg(sources::pair_register(cx, value)?)),
        _ => return Err(unsupported(value.span(), format!("storing a register of type .{ty} as .{}", shape.ty))),
    })
}

/// The 32-bit words that the values make together.
pub(crate) fn value_words(
    cx: &mut FnLower<'_, '_>,
    shape: &Shape,
    values: &[ast::Operand],
) -> Lowered<SmallVec<[Operand; 4]>> {
    let bytes = shape.ty.bytes();
    if bytes >= 4 || values.len() == 1 {
        let mut words = SmallVec::new();
        for value in values {
            words.extend(value_of(cx, shape.ty, value)?);
        }
        return Ok(words);
    }
    let per_word = (4 / bytes) as usize;
    values.chunks(per_word).map(|chunk| pack(cx, shape.ty, chunk)).collect()
}

/// The words of one value: one for narrow types, two or four for wide ones.
fn value_of(cx: &mut FnLower<'_, '_>, ty: ScalarType, value: &ast::Operand) -> Lowered<Vec<Operand>> {
    if let Some(ScalarType::Pred) = bindings::declared_type(cx, value)? {
        return Err(invalid(value.span(), "a predicate cannot be stored"));
    }
    param_words::operand_words(cx, value, ty)
}

/// Narrow values side by side in one word.
fn pack(cx: &mut FnLower<'_, '_>, ty: ScalarType, values: &[ast::Operand]) -> Lowered<Operand> {
    let mut word: Option<Operand> = None;
    for (index, value) in values.iter().enumerate() {
        let part = value_of(cx, ty, value)?.first().copied().unwrap_or(Operand::rz());
        let part = ops::in_reg(cx, part)?;
        word = Some(match word {
            None => part,
            Some(sofar) => {
                let joined = cx.temp()?;
                ops::prmt(cx, joined, sofar, insert_selector(ty, index as u32 * ty.bytes()), part)?;
                joined
            }
        });
    }
    Ok(word.unwrap_or(Operand::rz()))
}

/// PRMT selector that puts the low bytes of the second source at byte `at` of the first.
pub(crate) fn insert_selector(ty: ScalarType, at: u32) -> u32 {
    (0..4).fold(0, |selector, byte| {
        let inside = (at..at + ty.bytes()).contains(&byte);
        let source = if inside { 4 + byte - at } else { byte };
        selector | source << (4 * byte)
    })
}
