//! `llvm.nvvm.*` that take more than one instruction, or none of their own.

use crate::ir::{Call, InstId, Value};
use crate::machine::{Operand, VReg};
use crate::select::error::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::word_table::{Part, Word, Words};

impl Lower<'_> {
    /// `llvm.nvvm.NAME` that no table has; false when it is none that is known.
    pub(super) fn nvvm_intrinsic(
        &mut self,
        name: &str,
        call: &Call,
        inst: InstId,
        words: &[Word],
    ) -> Result<bool, Error> {
        let args = call.args.as_slice();
        let ty = self.body[inst].ty;
        match (name, args, words) {
            ("barrier0.popc" | "barrier0.and" | "barrier0.or", &[value], &[result]) => {
                self.reducing_barrier(&name["barrier0.".len()..], value, result)?;
            }
            ("shfl.sync.i32", &[mask, mode, ..], &[_, _]) => self.shuffle(mask, mode, &args[2..], words)?,
            _ if name.starts_with("shfl.") => return self.old_shuffle(&name["shfl.".len()..], args, words),
            ("vote.all" | "vote.any" | "vote.uni" | "vote.ballot", &[predicate], &[result]) => {
                let mask = self.active_mask()?;
                self.ballot(&name["vote.".len()..], predicate, mask, result)?;
            }
            ("vote.sync", &[mask, mode, predicate], &[_, _]) => self.vote(mask, mode, predicate, words)?,
            _ if name.starts_with("ldg.global.") => self.constant_load(".global.nc", call, ty, words)?,
            _ if name.starts_with("ldu.global.") => self.constant_load("u.global", call, ty, words)?,
            (_, &[a, ..], &[result]) => {
                let Some(dst) = self.dst(result) else { return Ok(true) };
                match name.strip_prefix("ptr.") {
                    Some(rest) => return self.pointer_intrinsic(rest, a, result, dst),
                    None => return self.rearrangement(name, args, result, dst),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Halves of 64 bits, rotations of them, and the square root that the options ask for.
    fn rearrangement(&mut self, name: &str, args: &[Value], result: Word, dst: VReg) -> Result<bool, Error> {
        let a = self.word(args[0])?;
        match (name, args) {
            ("d2i.lo" | "d2i.hi", _) => {
                let src: Operand = self.reg(a)?.into();
                let items = if name == "d2i.lo" { [dst.into(), Operand::Sink] } else { [Operand::Sink, dst.into()] };
                self.emit(format_args!("mov.b64"), 1, [Operand::Vector(Box::new(items)), src])?;
            }
            ("swap.lo.hi.b64", _) => {
                let (low, high) = (self.new_reg(Vt::I32), self.new_reg(Vt::I32));
                let src: Operand = self.reg(a)?.into();
                self.emit(format_args!("mov.b64"), 1, [Operand::Vector(Box::new([low.into(), high.into()])), src])?;
                let swapped = Operand::Vector(Box::new([high.into(), low.into()]));
                self.op(format_args!("mov.b64"), dst, [swapped])?;
            }
            ("rotate.b64" | "rotate.right.b64", &[_, amount]) => {
                let amount = self.word(amount)?;
                self.funnel_shift(name == "rotate.b64", 64, [a, a, amount], dst)?;
            }
            ("sqrt.f", _) => self.float_intrinsic("sqrt", &[Words::from_slice(&[a])], result, dst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A barrier that tells how many threads, or whether all or any, came with a number other than 0.
    fn reducing_barrier(&mut self, kind: &str, value: Value, result: Word) -> Result<(), Error> {
        let dst = self.result(result)?;
        let word = self.word(value)?;
        let operands = [self.reg(word)?.into(), Operand::Imm(0)];
        let set = self.value(format_args!("setp.ne.s32"), Vt::Pred, operands)?;
        let barrier = Operand::Imm(0);
        if kind == "popc" {
            return self.op(format_args!("bar.red.popc.u32"), dst, [barrier, set.into()]);
        }
        let told = self.value(format_args!("bar.red.{kind}.pred"), Vt::Pred, [barrier, set.into()])?;
        self.op(format_args!("selp.b32"), dst, [Operand::Imm(1), Operand::Imm(0), told.into()])
    }

    /// `llvm.nvvm.shfl.sync.i32(mask, mode, a, b, c)` of libNVVM, whose mode is a constant.
    fn shuffle(&mut self, mask: Value, mode: Value, args: &[Value], words: &[Word]) -> Result<(), Error> {
        const MODES: [&str; 4] = ["idx", "up", "down", "bfly"];
        let mode = self.mode(mode, &MODES, "shfl.sync")?;
        let results = Operand::Pair(Box::new([self.result(words[0])?.into(), self.result(words[1])?.into()]));
        let mut operands = vec![results];
        for &arg in args.iter().chain([&mask]) {
            operands.push(self.arg(arg)?);
        }
        self.emit(format_args!("shfl.sync.{mode}.b32"), 1, operands)
    }

    /// `llvm.nvvm.shfl.bfly.i32` and the like, without a mask: the threads that are active exchange values.
    fn old_shuffle(&mut self, kind: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        let Some((mode @ ("bfly" | "up" | "down" | "idx"), _)) = kind.split_once('.') else { return Ok(false) };
        let mask = self.active_mask()?;
        let results = match *words {
            [value] => self.result(value)?.into(),
            [value, inside] => Operand::Pair(Box::new([self.result(value)?.into(), self.result(inside)?.into()])),
            _ => return Ok(false),
        };
        let mut operands = vec![results];
        for &arg in args {
            operands.push(self.arg(arg)?);
        }
        operands.push(mask);
        self.emit(format_args!("shfl.sync.{mode}.b32"), 1, operands)?;
        Ok(true)
    }

    /// The threads that execute this together.
    fn active_mask(&mut self) -> Result<Operand, Error> {
        Ok(self.value(format_args!("activemask.b32"), Vt::I32, [])?.into())
    }

    fn ballot(&mut self, mode: &str, predicate: Value, mask: Operand, result: Word) -> Result<(), Error> {
        let word = self.word(predicate)?;
        let operands = [self.reg(word)?.into(), mask];
        let dst = self.result(result)?;
        let t = if mode == "ballot" { "b32" } else { "pred" };
        self.op(format_args!("vote.sync.{mode}.{t}"), dst, operands)
    }

    /// `llvm.nvvm.vote.sync(mask, mode, predicate)` of libNVVM: a ballot, or whether all, any, or all alike
    /// vote for it.
    fn vote(&mut self, mask: Value, mode: Value, predicate: Value, words: &[Word]) -> Result<(), Error> {
        const MODES: [&str; 4] = ["all", "any", "uni", "ballot"];
        let mode = self.mode(mode, &MODES, "vote.sync")?;
        let mask = self.arg(mask)?;
        let (told, other) = if mode == "ballot" { (words[0], words[1]) } else { (words[1], words[0]) };
        self.ballot(mode, predicate, mask, told)?;
        // The other result has no meaning.
        let dst = self.result(other)?;
        self.assign(dst, Word { vt: other.vt, part: Part::Bits(0) })
    }

    /// The name of a constant mode.
    fn mode(&self, mode: Value, names: &[&'static str], of: &str) -> Result<&'static str, Error> {
        let number = mode.constant().and_then(|id| self.ir.constants.as_int(id));
        let name = number.and_then(|number| names.get(usize::try_from(number).ok()?));
        name.copied().ok_or_else(|| Error::new(format!("calls of `llvm.nvvm.{of}` with this mode")))
    }

    /// `ptr.gen.to.global` and the like.
    fn pointer_intrinsic(&mut self, name: &str, arg: Value, result: Word, dst: VReg) -> Result<bool, Error> {
        let Some((from, to)) = name.split_once(".to.") else { return Ok(false) };
        let to = to.split('.').next().unwrap_or(to);
        let space = |name: &str| if name == "constant" { "const".to_owned() } else { name.to_owned() };
        let word = self.word(arg)?;
        let src: Operand = self.reg(word)?.into();
        let t = if result.vt == Vt::I32 { "u32" } else { "u64" };
        match (from, to) {
            ("gen", to) => self.op(format_args!("cvta.to.{}.{t}", space(to)), dst, [src])?,
            (from, "gen") => self.op(format_args!("cvta.{}.{t}", space(from)), dst, [src])?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}
