//! Addresses: which instruction family reaches them, base register and offset.

use crate::chapters::wide;
use crate::error::{Lowered, invalid, unsupported};
use crate::function::operands::Wide;
use crate::function::place::{Place, is_parameter};
use crate::function::scope::Binding;
use crate::function::{FnLower, bindings, frame, generic, ops, place, shared, sources, special, word_ops};
use oriole_isa::{Opcode as Sass, Role};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{self, Address, AddressBase, Name, Space};

/// Constant bank of kernel parameters.
const PARAMETER_BANK: u8 = 0;
/// Constant bank of `.const` variables.
pub(crate) const CONST_BANK: u8 = 3;

/// The memory that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// 64-bit addresses of global memory.
    Global,
    /// 64-bit generic addresses.
    Generic,
    /// 32-bit addresses of the shared segment.
    Shared,
    /// 32-bit addresses of the thread's local memory.
    Local,
    /// A constant bank.
    Constant(u8),
}

impl Target {
    /// Accesses name the descriptor and may need fences: other threads of the grid see them.
    pub(crate) fn is_coherent(self) -> bool {
        matches!(self, Target::Global | Target::Generic)
    }
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addr {
    /// Which memory.
    pub(crate) target: Target,
    /// A pair for global and generic addresses, else one register; `RZ` for none.
    pub(crate) base: Operand,
    /// Bytes added.
    pub(crate) offset: i32,
}

impl Addr {
    /// The 64-bit address with its offset.
    pub(crate) fn whole(self, cx: &mut FnLower<'_, '_>) -> Lowered<Wide> {
        let base = self.base.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
        if self.offset == 0 {
            return Ok(base);
        }
        let sum = cx.temp64()?;
        ops::add64(cx, sum, base, Wide::of_bits(i64::from(self.offset) as u64))?;
        Ok(Wide::of_pair(sum))
    }

    /// The same place by an offset that `fits` the instruction: 0 where its own does not.
    pub(crate) fn with_offset(self, cx: &mut FnLower<'_, '_>, fits: impl Fn(i32) -> bool) -> Lowered<Addr> {
        if fits(self.offset) {
            return Ok(self);
        }
        let whole = self.whole(cx)?;
        Ok(Addr { base: ops::in_pair(cx, whole)?, offset: 0, ..self })
    }
}

/// Resolves `[…]` of an instruction on `space` (`None`: generic).
pub(crate) fn resolve(cx: &mut FnLower<'_, '_>, space: Option<Space>, address: &Address) -> Lowered<Addr> {
    let target = target_of(cx, space, address)?;
    if target == Target::Generic && space == Some(Space::SharedCluster) {
        return in_cluster(cx, address);
    }
    match address.base {
        AddressBase::Absolute => absolute(cx, target, address.offset),
        AddressBase::Element(name, selector) => {
            let register = ast::Operand::Part(name, selector);
            through_register(cx, target, &register, address.offset)
        }
        AddressBase::Item(array, index) => item(cx, target, (array, index), address.offset),
        AddressBase::Name(name) => match bindings::binding(cx, name)? {
            Some(Binding::Reg(_)) => through_register(cx, target, &ast::Operand::Name(name), address.offset),
            _ => through_name(cx, target, name, address.offset),
        },
    }
}

/// Resolves `[…]` on a shared space or generic: to the 32-bit address in the shared memory of the cluster.
pub(crate) fn resolve_shared(cx: &mut FnLower<'_, '_>, space: Option<Space>, address: &Address) -> Lowered<Addr> {
    let addr = resolve(cx, space.map(|_| Space::Shared), address)?;
    match (addr.target, addr.base.as_reg()) {
        (Target::Generic, Some(pair)) => {
            let inside = generic::from_generic(cx, Space::Shared, Wide::of_pair(pair))?;
            Ok(Addr { target: Target::Shared, base: inside.lo, offset: addr.offset })
        }
        (Target::Generic, None) => Ok(Addr { target: Target::Shared, ..addr }),
        _ => Ok(addr),
    }
}

/// The memory that an access of `space` goes to.
pub(crate) fn target_of(cx: &FnLower<'_, '_>, space: Option<Space>, address: &Address) -> Lowered<Target> {
    Ok(match space {
        None => Target::Generic,
        Some(Space::Global) => Target::Global,
        Some(Space::Shared | Space::SharedCta) => Target::Shared,
        // On targets before clusters a block is its own cluster.
        Some(Space::SharedCluster) if !shared::has_clusters(cx) => Target::Shared,
        Some(Space::SharedCluster) => Target::Generic,
        Some(Space::Local) => Target::Local,
        Some(Space::Const) => Target::Constant(CONST_BANK),
        space if is_parameter(space) && cx.is_kernel_code() => Target::Constant(PARAMETER_BANK),
        space if is_parameter(space) => Target::Local,
        Some(space) => return Err(unsupported(address.span, format!("an access of .{space} space"))),
    })
}

/// The shared memory of the blocks of a cluster is reached by generic addresses: the window's upper
/// word and the 32-bit address, whose byte 3 is the number of the block.
fn in_cluster(cx: &mut FnLower<'_, '_>, address: &Address) -> Lowered<Addr> {
    let shared = resolve(cx, Some(Space::Shared), address)?;
    let pair = cx.temp64()?;
    ops::mov(cx, Operand::lo(pair), shared.base)?;
    let window = special::hardware_register(cx, "SR_SWINHI")?;
    ops::mov(cx, Operand::hi(pair), window)?;
    Ok(Addr { target: Target::Generic, base: Operand::reg(pair), offset: shared.offset })
}

fn absolute(cx: &mut FnLower<'_, '_>, target: Target, offset: i64) -> Lowered<Addr> {
    match target {
        Target::Global | Target::Generic => {
            let pair = cx.temp64()?;
            ops::mov64(cx, pair, Wide::of_bits(offset as u64))?;
            Ok(Addr { target, base: Operand::reg(pair), offset: 0 })
        }
        _ => place32(cx, target, Operand::rz(), offset),
    }
}

fn through_register(cx: &mut FnLower<'_, '_>, target: Target, register: &ast::Operand, offset: i64) -> Lowered<Addr> {
    let (reg, ty) = bindings::register(cx, register)?;
    let kind = cx.func[reg].reg_type;
    match (target, kind) {
        (Target::Global | Target::Generic, RegType::Pair) => wide(cx, target, Wide::of_pair(reg), offset),
        (Target::Global | Target::Generic, RegType::R) => {
            let low = word_ops::extended(cx, Operand::reg(reg), ty.bits(), false)?;
            wide(cx, target, Wide::of_halves(low, Operand::rz()), offset)
        }
        (_, RegType::Pair) => place32(cx, target, Operand::lo(reg), offset),
        (_, RegType::R) => {
            let base = word_ops::extended(cx, Operand::reg(reg), ty.bits(), false)?;
            place32(cx, target, base, offset)
        }
        _ => Err(invalid(register.span(), format!("a register of type .{ty} holds no address"))),
    }
}

fn through_name(cx: &mut FnLower<'_, '_>, target: Target, name: Name, offset: i64) -> Lowered<Addr> {
    let place = place::of(cx, name)?;
    match (target, place) {
        (Target::Global | Target::Generic, Place::Symbol(symbol)) => {
            let address = place::symbol_address(cx, symbol, 0)?;
            wide(cx, target, address, offset)
        }
        (Target::Generic, _) => {
            let address = generic::generic_address(cx, name)?;
            wide(cx, target, address, offset)
        }
        (Target::Shared, Place::Shared(at)) => {
            let window = shared::shared_window(cx)?;
            place32(cx, target, window, offset.wrapping_add(i64::from(at)))
        }
        (Target::Shared, Place::LinkedShared(symbol)) => {
            let base = place::linked_shared(cx, symbol)?;
            place32(cx, target, base, offset.wrapping_add(i64::from(cx.arch().sm().shared_base)))
        }
        (Target::Constant(CONST_BANK), Place::LinkedConst(symbol)) => {
            let base = place::linked_offset(cx, symbol)?;
            place32(cx, target, base, offset)
        }
        (Target::Local, Place::Frame(at)) => {
            let stack = frame::base(cx);
            place32(cx, target, stack, offset.wrapping_add(i64::from(at)))
        }
        (Target::Local, Place::Incoming(at)) => {
            let stack = frame::incoming_stack(cx)?;
            place32(cx, target, stack, offset.wrapping_add(i64::from(at)))
        }
        (Target::Constant(PARAMETER_BANK), Place::KernelParam(at))
        | (Target::Constant(CONST_BANK), Place::Const(at)) => {
            place32(cx, target, Operand::rz(), offset.wrapping_add(i64::from(at)))
        }
        _ => Err(invalid(name.span, format!("'{}' is not in the space that the instruction names", cx.text(name)))),
    }
}

/// `array[index+elements]`: the sum has the width of the index.
fn item(
    cx: &mut FnLower<'_, '_>,
    target: Target,
    (array, index): (Name, Option<Name>),
    elements: i64,
) -> Lowered<Addr> {
    let bytes = bindings::element_bytes(cx, array)?;
    let Some(index) = index else {
        return through_name(cx, target, array, elements.wrapping_mul(i64::from(bytes)));
    };
    let addr = through_name(cx, target, array, 0)?;
    let sum = ast::Operand::Offset { name: index, offset: elements, element: false };
    let (register, _) = bindings::register(cx, &ast::Operand::Name(index))?;
    let whole = cx.func[register].reg_type == RegType::Pair;
    let base = match target {
        Target::Global | Target::Generic => {
            let index =
                if whole { sources::src64(cx, &sum)? } else { Wide::of_halves(sources::src(cx, &sum)?, Operand::rz()) };
            let base = addr.base.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
            let (place, to) = wide::temp_wide(cx)?;
            wide::wide_mad_lo(cx, to, index, Wide::of_bits(u64::from(bytes)), Some(base))?;
            ops::in_pair(cx, place)?
        }
        _ => {
            let (index, place) = (sources::src(cx, &sum)?, cx.temp()?);
            ops::multiply_add(cx, place, index, Operand::imm(bytes), addr.base)?;
            place
        }
    };
    Ok(Addr { base, ..addr })
}

/// A 64-bit address; the offset is folded in where it fits.
fn wide(cx: &mut FnLower<'_, '_>, target: Target, base: Wide, offset: i64) -> Lowered<Addr> {
    if let Some(offset) = fitting(cx, target, offset) {
        return Ok(Addr { target, base: ops::in_pair(cx, base)?, offset });
    }
    let sum = cx.temp64()?;
    ops::add64(cx, sum, base, Wide::of_bits(offset as u64))?;
    Ok(Addr { target, base: Operand::reg(sum), offset: 0 })
}

/// A 32-bit address; the offset is folded in where it fits.
fn place32(cx: &mut FnLower<'_, '_>, target: Target, base: Operand, offset: i64) -> Lowered<Addr> {
    if let Some(offset) = fitting(cx, target, offset) {
        return Ok(Addr { target, base, offset });
    }
    let sum = cx.temp()?;
    ops::add(cx, sum, base, Operand::imm(offset as u32))?;
    Ok(Addr { target, base: sum, offset: 0 })
}

/// The offset, where loads hold it. What holds less gets the rest of it added to its base when it is emitted.
pub(crate) fn fitting(cx: &FnLower<'_, '_>, target: Target, offset: i64) -> Option<i32> {
    let (load, role) = match target {
        Target::Global => (Sass::LDG, Role::Offset),
        Target::Generic => (Sass::LD, Role::Offset),
        Target::Shared => (Sass::LDS, Role::Offset),
        Target::Local => (Sass::LDL, Role::Offset),
        Target::Constant(_) => (Sass::LDC, Role::Bank),
    };
    let held = load.numbers(role, cx.arch())?;
    i32::try_from(offset).ok().filter(|_| held.contains(&offset))
}
