//! Destinations, and the types that operands are handed around in.

use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::scope::Binding;
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{self, Name, ScalarType};

/// A 64-bit source: its halves, and the register pair if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    /// Lower 32 bits.
    pub(crate) lo: Operand,
    /// Upper 32 bits.
    pub(crate) hi: Operand,
    /// The pair that holds both.
    pub(crate) pair: Option<VReg>,
}

impl Wide {
    /// A register pair.
    pub(crate) fn of_pair(pair: VReg) -> Wide {
        Wide { lo: Operand::lo(pair), hi: Operand::hi(pair), pair: Some(pair) }
    }

    /// A constant.
    pub(crate) fn of_bits(bits: u64) -> Wide {
        Wide { lo: Operand::imm(bits as u32), hi: Operand::imm((bits >> 32) as u32), pair: None }
    }

    /// Two 32-bit operands.
    pub(crate) fn of_halves(lo: Operand, hi: Operand) -> Wide {
        Wide { lo, hi, pair: None }
    }

    /// The value, if it is a constant.
    pub(crate) fn bits(self) -> Option<u64> {
        let word = |half: Operand| if half.is_zero() { Some(0) } else { half.as_imm() };
        Some(u64::from(word(self.lo)?) | u64::from(word(self.hi)?) << 32)
    }
}

/// A 64-bit destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WideDst {
    /// The pair to write.
    pub(crate) pair: VReg,
    /// Its lower half.
    pub(crate) lo: Operand,
    /// Its upper half.
    pub(crate) hi: Operand,
}

impl WideDst {
    fn of(pair: VReg) -> WideDst {
        WideDst { pair, lo: Operand::lo(pair), hi: Operand::hi(pair) }
    }

    /// The whole pair as an operand.
    pub(crate) fn whole(self) -> Operand {
        Operand::reg(self.pair)
    }
}

impl FnLower<'_, '_> {
    /// The destination of a value of up to 32 bits; `RZ` for `_`. Use it where the last (or only)
    /// instruction of the lowering writes it: it may be one of the sources too.
    pub(crate) fn dst(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        match operand {
            ast::Operand::Sink(_) => Ok(Operand::rz()),
            _ => self.destination(operand, RegType::R).map(Operand::reg),
        }
    }

    /// The destination of a value of up to 32 bits that is written before all sources are read:
    /// a temporary that is copied back where a source is the same register.
    pub(crate) fn dst_early(&mut self, operand: &ast::Operand, sources: &[Operand]) -> Lowered<Operand> {
        let dst = self.dst(operand)?;
        match dst.as_reg() {
            Some(reg) if sources.iter().any(|s| s.as_reg() == Some(reg)) => {
                self.copied_back(reg, RegType::R).map(Operand::reg)
            }
            _ => Ok(dst),
        }
    }

    /// A 64-bit destination that each instruction may write as it likes: where it is also one of
    /// `sources`, a temporary that is copied back in the end.
    pub(crate) fn dst64(&mut self, operand: &ast::Operand, sources: &[Wide]) -> Lowered<WideDst> {
        let same = |reg: VReg| {
            sources.iter().any(|s| s.pair == Some(reg) || s.lo.as_reg() == Some(reg) || s.hi.as_reg() == Some(reg))
        };
        let dst = self.dst64_direct(operand)?;
        if same(dst.pair) { Ok(WideDst::of(self.copied_back(dst.pair, RegType::Pair)?)) } else { Ok(dst) }
    }

    /// A 64-bit destination where the lowering reads no half of a source after it has written the
    /// same half of the destination (low word first, then high word: additions, logic, moves).
    pub(crate) fn dst64_direct(&mut self, operand: &ast::Operand) -> Lowered<WideDst> {
        match operand {
            ast::Operand::Sink(_) => Ok(WideDst::of(self.temp64()?)),
            _ => self.destination(operand, RegType::Pair).map(WideDst::of),
        }
    }

    /// The destination of a predicate; `PT` for `_`.
    pub(crate) fn dst_pred(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        match operand {
            ast::Operand::Sink(_) => Ok(Operand::pt()),
            _ => self.destination(operand, RegType::P).map(Operand::reg),
        }
    }

    /// The destination of a 128-bit value.
    pub(crate) fn dst128(&mut self, operand: &ast::Operand) -> Lowered<VReg> {
        match operand {
            ast::Operand::Sink(_) => self.temp_of(RegType::Quad),
            _ => self.destination(operand, RegType::Quad),
        }
    }

    /// A temporary that is copied to `reg` when the instruction is done.
    pub(crate) fn copied_back(&mut self, reg: VReg, reg_type: RegType) -> Lowered<VReg> {
        let temp = self.temp_of(reg_type)?;
        self.copies_back.push((reg, temp));
        Ok(temp)
    }

    fn destination(&mut self, operand: &ast::Operand, wanted: RegType) -> Lowered<VReg> {
        let (reg, _) = self.register(operand)?;
        let found = self.func.vregs[reg].reg_type;
        if found == wanted {
            return Ok(reg);
        }
        let message = format!("the destination has {}, the instruction gives {}", noun(found), noun(wanted));
        Err(invalid(operand.span(), message))
    }

    /// The Ori register of a register operand (`%r1`, `%v.x`) and its declared type.
    pub(crate) fn register(&mut self, operand: &ast::Operand) -> Lowered<(VReg, ScalarType)> {
        let (name, element) = match operand {
            ast::Operand::Name(name) => (*name, 0),
            ast::Operand::Part(name, selector) => (*name, selector.element().unwrap_or(0)),
            other => return Err(invalid(other.span(), "a register is needed here")),
        };
        let Some(Binding::Reg(register)) = self.binding(name)? else {
            return Err(invalid(name.span, format!("'{}' is not a register", self.text(name))));
        };
        let reg = register.elements.get(element).copied();
        let ty = register.ty;
        let reg = reg.ok_or_else(|| invalid(operand.span(), "the register has no such element"))?;
        Ok((reg, ty))
    }

    /// What a name stands for in this function; `None` when it is no name of the function.
    pub(crate) fn binding(&mut self, name: Name) -> Lowered<Option<&Binding>> {
        let FnLower { scopes, func, ast, .. } = self;
        let mut failed = None;
        let found = scopes.lookup(name.sym, &ast.symbols, |ty, vector| {
            let elements =
                (0..vector).filter_map(|_| func.new_vreg(reg_type_of(ty)).map_err(|e| failed = Some(e)).ok());
            crate::function::scope::PtxReg { ty, elements: elements.collect() }
        });
        match failed {
            Some(error) => Err(invalid(name.span, error.to_string())),
            None => Ok(found),
        }
    }
}

/// The Ori register type that holds a value of a PTX type.
pub(crate) fn reg_type_of(ty: ScalarType) -> RegType {
    match ty.bits() {
        _ if ty == ScalarType::Pred => RegType::P,
        0..=32 => RegType::R,
        33..=64 => RegType::Pair,
        _ => RegType::Quad,
    }
}

fn noun(reg_type: RegType) -> &'static str {
    match reg_type {
        RegType::P => "a predicate",
        RegType::Pair => "64 bits",
        RegType::Quad => "128 bits",
        _ => "up to 32 bits",
    }
}
