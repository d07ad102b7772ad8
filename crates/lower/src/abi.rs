//! The calling convention of device functions; `docs/lower.md` describes it.

use crate::error::{Lowered, invalid};
use oriole_isa::Bank0;
use oriole_ori::ObjectKind;
use oriole_ptx::ast::{self, ScalarType, Space, Variable};

/// First register of arguments and of results.
pub(crate) const FIRST_ARGUMENT: u16 = 4;
/// The register after the last one that may hold arguments or results.
pub(crate) const END_OF_ARGUMENTS: u16 = 16;
/// Local address of the caller's argument area, given where something is passed on the stack.
pub(crate) const STACK_POINTER_ARGUMENT: u16 = 16;
/// The pair that holds the return address, where a call may come from code that this module does not see.
const RETURN_ADDRESS: u16 = 20;

/// Largest alignment of a parameter in bytes.
const LARGEST_ALIGNMENT: u32 = 4096;
/// Most bytes that one call passes on the stack: more than a thread's local memory has.
const LARGEST_AREA: u32 = 1 << 20;

/// Where a parameter or result is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In consecutive registers from this one on.
    Registers(u16),
    /// In the caller's argument area, at this byte offset. The unsized last parameter of a variadic
    /// function is there too.
    Stack(u32),
}

/// One parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Where.
    pub(crate) place: Place,
    /// Bytes; a predicate counts as 4.
    pub(crate) size: u32,
    /// Alignment in bytes.
    pub(crate) align: u32,
}

impl Passed {
    /// 32-bit words that it takes.
    pub(crate) fn words(&self) -> u32 {
        self.size.div_ceil(4)
    }

    /// The register behind it; `None` on the stack.
    fn end(&self) -> Option<u16> {
        match self.place {
            Place::Registers(first) => Some(first + self.words() as u16),
            Place::Stack(_) => None,
        }
    }
}

/// How the parameters and results of one function are handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Convention {
    /// Results, in order.
    pub(crate) rets: Vec<Passed>,
    /// Parameters, in order.
    pub(crate) params: Vec<Passed>,
    /// Bytes of the argument area; 0 when all is in registers.
    pub(crate) stack_bytes: u32,
    /// First register of the pair that holds the return address.
    pub(crate) return_address: u16,
}

impl Convention {
    /// The convention of a function with these results and parameters.
    pub(crate) fn of(rets: &[Variable], params: &[Variable]) -> Lowered<Convention> {
        let mut stack_bytes = 0;
        let params = place(params, &mut stack_bytes)?;
        let rets = place(rets, &mut stack_bytes)?;
        let stack_bytes = stack_bytes.next_multiple_of(16);
        Ok(Convention { rets, params, stack_bytes, return_address: RETURN_ADDRESS })
    }

    /// The same, if all calls of the function are direct ones in this module's code: the return address has the next pair behind
    /// arguments and results then, as what a callee changes its callers lose.
    pub(crate) fn of_local(rets: &[Variable], params: &[Variable]) -> Lowered<Convention> {
        let mut convention = Convention::of(rets, params)?;
        if !convention.uses_stack() {
            let ends = convention.params.iter().chain(&convention.rets).filter_map(Passed::end);
            convention.return_address = ends.max().unwrap_or(FIRST_ARGUMENT).next_multiple_of(2);
        }
        Ok(convention)
    }

    /// Something is handed over in the caller's argument area.
    pub(crate) fn uses_stack(&self) -> bool {
        self.params.iter().chain(&self.rets).any(|passed| matches!(passed.place, Place::Stack(_)))
    }
}

fn place(list: &[Variable], stack: &mut u32) -> Lowered<Vec<Passed>> {
    let mut next = FIRST_ARGUMENT;
    list.iter()
        .map(|variable| {
            let (size, align) = extent(variable)?;
            let first = if align >= 8 { next.next_multiple_of(2) } else { next };
            let end = u32::from(first) + size.div_ceil(4);
            let place = if size > 0 && end <= u32::from(END_OF_ARGUMENTS) {
                next = end as u16;
                Place::Registers(first)
            } else {
                let at = stack.next_multiple_of(align.max(4));
                *stack = at + size.next_multiple_of(4);
                if *stack > LARGEST_AREA {
                    return Err(invalid(
                        variable.span,
                        format!("parameters need more than {LARGEST_AREA} bytes of stack"),
                    ));
                }
                Place::Stack(at)
            };
            Ok(Passed { place, size, align })
        })
        .collect()
}

/// Size and alignment in bytes of a parameter.
pub(crate) fn extent(variable: &Variable) -> Lowered<(u32, u32)> {
    if variable.space == Space::Reg && variable.ty == ScalarType::Pred {
        return Ok((4, 4));
    }
    let size = variable.size().and_then(|size| u32::try_from(size).ok()).filter(|size| *size <= 1 << 20);
    let size = size.ok_or_else(|| invalid(variable.span, "the parameter is too large"))?;
    if variable.alignment() > LARGEST_ALIGNMENT {
        return Err(invalid(variable.span, format!("parameters are aligned to at most {LARGEST_ALIGNMENT} bytes")));
    }
    Ok((size, variable.alignment()))
}

/// Byte offsets of a kernel's parameters, none for textures, samplers and surfaces, and the bytes of all. What is aligned is so in the
/// constant bank, as with ptxas 13.0.88: the hardware wants a tensor map at a multiple of 64, and the first parameter of sm_90 is at 0x210.
pub(crate) fn layout(kernel: &ast::Function, bank0: &Bank0) -> (Vec<Option<u64>>, u64) {
    let small = layout_at(kernel, u64::from(bank0.parameters_of(0)));
    let base = u64::from(bank0.parameters_of(u32::try_from(small.1).unwrap_or(u32::MAX)));
    if base == u64::from(bank0.parameters_of(0)) { small } else { layout_at(kernel, base) }
}

/// The same for parameters that begin at this byte of the bank.
fn layout_at(kernel: &ast::Function, base: u64) -> (Vec<Option<u64>>, u64) {
    let mut end: u64 = 0;
    let mut place = |variable: &Variable| {
        if object_kind(variable.ty).is_some() {
            return None;
        }
        let offset = (base + end).next_multiple_of(u64::from(variable.alignment())) - base;
        // Far beyond what a kernel may have, which is looked at where they are bound.
        end = offset.saturating_add(variable.size().unwrap_or(u64::MAX)).min(u64::from(u32::MAX));
        Some(offset)
    };
    let offsets = kernel.params.iter().map(&mut place).collect();
    (offsets, end)
}

/// What a variable of this type stands for.
pub(crate) fn object_kind(ty: ScalarType) -> Option<ObjectKind> {
    match ty {
        ScalarType::Texref => Some(ObjectKind::Texture),
        ScalarType::Samplerref => Some(ObjectKind::Sampler),
        ScalarType::Surfref => Some(ObjectKind::Surface),
        _ => None,
    }
}
