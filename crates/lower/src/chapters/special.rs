//! Special registers as operands, and how each is read.

use super::Chapter;
use crate::error::{Lowered, invalid, unsupported};
use crate::function::{FnLower, Wide};
use oriole_isa::Role::{A, B, Bank, Base, C, D};
use oriole_isa::{Arch, Bank0, ClusterBank0, Field, Opcode as Sass, cmp, cs2r_size, ifmt, rnd_int, special_registers};
use oriole_ori::{Inst, InstFlags, Operand, VReg};
use oriole_ptx::ast::{self, Selector, Span, SpecialReg};

/// The chapter has no opcodes: special registers are operands of `mov` and `cvt`.
pub(super) const CHAPTER: Chapter = &[];

/// How a special register is read.
enum Source {
    /// By S2R or CS2R, from the hardware register of that number.
    Hardware(u8),
    /// 32 bits of constant bank 0.
    Bank(u16),
    /// A constant.
    Value(u32),
}

impl FnLower<'_, '_> {
    /// A 32-bit special register as a source.
    pub(crate) fn special32(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        let ast::Operand::Special { reg, part, span } = operand else {
            return Err(invalid(operand.span(), "a special register is needed here"));
        };
        match *reg {
            SpecialReg::Clock64 | SpecialReg::Globaltimer => Ok(self.special64(operand)?.lo),
            SpecialReg::TotalSmemSize => self.total_shared(),
            SpecialReg::ClockHi => Ok(self.clock_pair(special_number("%clock", self.arch(), *span)?)?.hi),
            SpecialReg::Gridid => Ok(self.special64(operand)?.lo),
            SpecialReg::Warpid => self.warp_id(),
            SpecialReg::Clusterid => self.cluster_id(part.unwrap_or(Selector::X), *span),
            SpecialReg::ClusterCtaid => self.block_in_cluster(part.unwrap_or(Selector::X), *span),
            SpecialReg::AggrSmemSize => self.cluster_shared(*span),
            reg => {
                let source = source_of(self.arch(), reg, part.unwrap_or(Selector::X), *span)?;
                self.read_source(source)
            }
        }
    }

    /// A 64-bit special register as a source.
    pub(crate) fn special64(&mut self, operand: &ast::Operand) -> Lowered<Wide> {
        let ast::Operand::Special { reg, span, .. } = operand else {
            return Err(invalid(operand.span(), "a special register is needed here"));
        };
        match reg {
            SpecialReg::Clock64 => self.clock_pair(special_number("%clock", self.arch(), *span)?),
            SpecialReg::Globaltimer => self.clock_pair(special_number("%globaltimer_lo", self.arch(), *span)?),
            SpecialReg::Gridid => {
                let pair = self.temp64()?;
                let at = self.bank0().grid_id;
                self.read_constant64(pair, 0, u32::from(at))?;
                Ok(Wide::of_pair(pair))
            }
            SpecialReg::CurrentGraphExec => self.graph_exec(),
            reg if reg.as_str().ends_with("_64") => {
                let name = format!("%{}", reg.as_str().trim_end_matches("_64"));
                self.clock_pair(special_number(&name, self.arch(), *span)?)
            }
            _ => Ok(Wide::of_halves(self.special32(operand)?, Operand::rz())),
        }
    }

    /// A special register that is a predicate.
    pub(crate) fn special_pred(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        let ast::Operand::Special { reg: SpecialReg::IsExplicitCluster, .. } = operand else {
            return Err(invalid(operand.span(), "a predicate is needed here"));
        };
        self.explicit_cluster()
    }

    /// Whether the launch says that its blocks form clusters.
    pub(crate) fn explicit_cluster(&mut self) -> Lowered<Operand> {
        let Some(cluster) = &self.bank0().cluster else { return Ok(Operand::pt().not()) };
        let word = self.read_source(Source::Bank(cluster.explicit))?;
        let pred = self.temp_pred()?;
        self.is_nonzero(pred, word)?;
        Ok(pred)
    }

    /// `mov.v4.u32 {…}, %tid;`
    pub(crate) fn special_vector(&mut self, items: &[ast::Operand], from: &ast::Operand) -> Lowered {
        let ast::Operand::Special { reg, span, .. } = from else {
            return Err(invalid(from.span(), "a special register is needed here"));
        };
        for (item, part) in items.iter().zip([Selector::X, Selector::Y, Selector::Z, Selector::W]) {
            if matches!(item, ast::Operand::Sink(_)) {
                continue;
            }
            let value = match part {
                Selector::W => Operand::rz(),
                part => self.special32(&ast::Operand::Special { reg: *reg, part: Some(part), span: *span })?,
            };
            let to = self.dst(item)?;
            self.mov(to, value)?;
        }
        Ok(())
    }

    fn bank0(&self) -> &'static Bank0 {
        &self.arch().sm().bank0
    }

    fn read_source(&mut self, source: Source) -> Lowered<Operand> {
        let temp = self.temp()?;
        match source {
            Source::Hardware(number) => self.s2r(temp, number)?,
            Source::Bank(offset) => self.read_bank0(temp, offset)?,
            Source::Value(bits) => return Ok(if bits == 0 { Operand::rz() } else { Operand::imm(bits) }),
        }
        Ok(temp)
    }

    /// `to` = the 32 bits at `offset` of constant bank 0, of the block's shape of clusters.
    fn read_bank0(&mut self, to: Operand, offset: u16) -> Lowered {
        let record = self.bank0().shape_record.as_ref().filter(|record| record.contains(&offset));
        let Some(record) = record else { return self.read_constant(to, 0, u32::from(offset)) };
        let (shape, below) = (self.hardware_register("SR_CgaSize")?, self.temp()?);
        let step = Operand::imm_signed(-i32::from(record.end - record.start));
        self.emit(Sass::IMAD, &[], &[(D, below), (A, shape), (B, step), (C, Operand::rz())])?;
        self.emit(Sass::LDC, &[], &[(D, to), (Base, below), (Bank, Operand::cbank(0, u32::from(offset)))])?;
        Ok(())
    }

    /// The number of the special register that SASS calls `name`.
    pub(crate) fn hardware_number(&self, name: &str) -> Lowered<u8> {
        let register = special_registers::by_name(name, self.arch());
        register.map(|r| r.number).ok_or_else(|| unsupported(self.span(), format!("what needs {name}")))
    }

    /// A fresh register with the value of the special register that SASS calls `name`.
    pub(crate) fn hardware_register(&mut self, name: &str) -> Lowered<Operand> {
        let number = self.hardware_number(name)?;
        let value = self.temp()?;
        self.s2r(value, number)?;
        Ok(value)
    }

    /// `to` = the special register of that number.
    pub(crate) fn s2r(&mut self, to: Operand, number: u8) -> Lowered {
        let register = special_registers::by_number(number, self.arch());
        if register.is_some_and(|r| r.coupled) {
            let mut inst = Inst::neutral(Sass::CS2R, [(Field::Cs2rSize, cs2r_size::X32)].into_iter().collect());
            inst.set_role(D, to);
            inst.set_role(A, Operand::special(number));
            inst.flags |= InstFlags::VOLATILE;
            self.emit_inst(inst)?;
            return Ok(());
        }
        self.emit(Sass::S2R, &[], &[(D, to), (A, Operand::special(number))])?;
        Ok(())
    }

    /// Two consecutive special registers, read at once.
    fn clock_pair(&mut self, number: u8) -> Lowered<Wide> {
        let pair: VReg = self.temp64()?;
        let mut inst = Inst::neutral(Sass::CS2R, [(Field::Cs2rSize, cs2r_size::X64)].into_iter().collect());
        inst.set_role(D, Operand::reg(pair));
        inst.set_role(A, Operand::special(number));
        inst.flags |= InstFlags::VOLATILE;
        self.emit_inst(inst)?;
        Ok(Wide::of_pair(pair))
    }

    /// `%warpid`: bits 8–14 of the virtual identity.
    fn warp_id(&mut self) -> Lowered<Operand> {
        let identity = self.hardware_register("SR_VIRTID")?;
        let warp = self.temp()?;
        self.prmt(warp, identity, 0x4441, Operand::rz())?;
        let masked = self.temp()?;
        self.lop3(masked, warp, Operand::imm(0x7f), Operand::rz(), crate::function::lut::AND)?;
        Ok(masked)
    }

    /// `%total_smem_size`: what the block has, less what the system takes.
    fn total_shared(&mut self) -> Lowered<Operand> {
        let all = self.hardware_register("SR_SMEMSZ")?;
        let Some(reserved) = self.bank0().reserved_shared_size else { return Ok(all) };
        let reserved = self.read_source(Source::Bank(reserved))?;
        let rest = self.temp()?;
        self.add(rest, all, reserved.neg())?;
        Ok(rest)
    }

    /// What clusters add to the launch's constants.
    fn cluster(&self, span: Span) -> Lowered<&'static ClusterBank0> {
        let missing = || unsupported(span, format!("a register of clusters on {}", self.arch()));
        self.bank0().cluster.as_ref().ok_or_else(missing)
    }

    /// `%clusterid`: the block's number times the reciprocal of the cluster's size, truncated.
    fn cluster_id(&mut self, part: Selector, span: Span) -> Lowered<Operand> {
        let reciprocal = self.cluster(span)?.nctaid_reciprocal[axis_of(part)];
        let block = self.read_source(source_of(self.arch(), SpecialReg::Ctaid, part, span)?)?;
        let (number, quotient, id) = (self.temp()?, self.temp()?, self.temp()?);
        self.emit(Sass::I2FP, &[(Field::SrcInt, ifmt::U32)], &[(D, number), (B, block)])?;
        let factor = self.read_source(Source::Bank(reciprocal))?;
        self.emit(Sass::FMUL, &[], &[(D, quotient), (A, number), (B, factor)])?;
        let fields = [(Field::DstInt, ifmt::U32), (Field::RndInt, rnd_int::TRUNC), (Field::Ntz, 1)];
        self.emit(Sass::F2I, &fields, &[(D, id), (B, quotient)])?;
        Ok(id)
    }

    /// `%cluster_ctaid`: the block's number less that of its cluster's first block.
    fn block_in_cluster(&mut self, part: Selector, span: Span) -> Lowered<Operand> {
        let size = self.cluster(span)?.nctaid[axis_of(part)];
        let cluster = self.cluster_id(part, span)?;
        let block = self.read_source(source_of(self.arch(), SpecialReg::Ctaid, part, span)?)?;
        let size = self.read_source(Source::Bank(size))?;
        let (first, place) = (self.temp()?, self.temp()?);
        self.emit(Sass::IMAD, &[], &[(D, first), (A, cluster), (B, size), (C, Operand::rz())])?;
        self.add(place, block, first.neg())?;
        Ok(place)
    }

    /// `%aggr_smem_size`: the block's shared memory, at most what the launch says.
    fn cluster_shared(&mut self, span: Span) -> Lowered<Operand> {
        let limit = self.cluster(span)?.aggregate_shared_limit;
        let own = self.hardware_register("SR_SMEMSZ")?;
        let limit = self.read_source(Source::Bank(limit))?;
        let (below, least) = (self.temp_pred()?, self.temp()?);
        self.isetp(below, cmp::LT, false, own, limit)?;
        self.sel(least, below, own, limit)?;
        Ok(least)
    }

    fn graph_exec(&mut self) -> Lowered<Wide> {
        let Some(cluster) = &self.bank0().cluster else { return Ok(Wide::of_bits(0)) };
        let pair = self.temp64()?;
        self.read_constant64(pair, 0, u32::from(cluster.graph_exec))?;
        Ok(Wide::of_pair(pair))
    }
}

/// The number of the hardware register that is exactly the PTX register `name`.
fn special_number(name: &str, arch: Arch, span: Span) -> Lowered<u8> {
    let register = special_registers::by_ptx_name(name, arch);
    register.map(|r| r.number).ok_or_else(|| unsupported(span, format!("the special register {name}")))
}

/// The index of a component.
fn axis_of(part: Selector) -> usize {
    match part {
        Selector::Y => 1,
        Selector::Z => 2,
        _ => 0,
    }
}

/// How a 32-bit special register is read.
fn source_of(arch: Arch, reg: SpecialReg, part: Selector, span: Span) -> Lowered<Source> {
    let bank = &arch.sm().bank0;
    let axis = axis_of(part);
    let in_cluster = |offset: Option<u16>, without: u32| offset.map_or(Source::Value(without), Source::Bank);
    let cluster = bank.cluster.as_ref();
    Ok(match reg {
        SpecialReg::Ntid => Source::Bank(bank.ntid[axis]),
        SpecialReg::Nctaid => Source::Bank(bank.nctaid[axis]),
        SpecialReg::DynamicSmemSize => Source::Bank(bank.dynamic_shared_size),
        SpecialReg::Nsmid => Source::Bank(bank.nsmid),
        SpecialReg::Envreg0 => Source::Bank(bank.envreg[0]),
        SpecialReg::Envreg1 => Source::Bank(bank.envreg[1]),
        SpecialReg::Envreg2 => Source::Bank(bank.envreg[2]),
        reg if reg.as_str().starts_with("envreg") => Source::Value(0),
        SpecialReg::Nwarpid => Source::Value(arch.sm().max_warps),
        SpecialReg::ClusterNctaid => in_cluster(cluster.map(|c| c.nctaid[axis]), 1),
        SpecialReg::Nclusterid => in_cluster(cluster.map(|c| c.nclusterid[axis]), 1),
        SpecialReg::ClusterNctarank => in_cluster(cluster.map(|c| c.nctarank), 1),
        SpecialReg::ClusterCtarank if cluster.is_none() => Source::Value(0),
        SpecialReg::ReservedSmemOffset0 => Source::Value(arch.sm().reserved_shared_begin),
        SpecialReg::ReservedSmemOffsetBegin | SpecialReg::ReservedSmemOffset1 => Source::Value(0),
        SpecialReg::ReservedSmemOffsetEnd => match bank.reserved_shared_size {
            Some(size) => Source::Bank(size),
            None => Source::Value(0),
        },
        SpecialReg::ReservedSmemOffsetCap => Source::Value(arch.sm().shared_base),
        SpecialReg::Tid | SpecialReg::Ctaid => {
            let suffix = ["x", "y", "z"][axis];
            Source::Hardware(special_number(&format!("%{}.{suffix}", reg.as_str()), arch, span)?)
        }
        reg => Source::Hardware(special_number(&format!("%{}", reg.as_str()), arch, span)?),
    })
}
