//! Runs machine functions of a subset of PTX: the independent side of the tests of passes. It knows
//! the dictionary of registers, the `phi`s and the arithmetic of the subset, and nothing of the passes.

use rustc_hash::FxHashMap;

use oriole_nvptx::machine::{Base, BlockId, Forms, Function, Inst, Opcode, Operand, Reg, Terminator, VReg};

/// What can be seen of a run from outside.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trace {
    /// Stores: width in bits, address, value.
    pub stores: Vec<(u32, u64, u64)>,
    /// How it ended; `None` when it was stopped.
    pub end: Option<&'static str>,
}

impl Trace {
    /// True when both are the same as far as both go.
    pub(crate) fn agrees(&self, other: &Trace) -> bool {
        let common = self.stores.len().min(other.stores.len());
        let both_ended = self.end.is_some() && other.end.is_some();
        self.stores[..common] == other.stores[..common] && (!both_ended || self == other)
    }
}

/// How many blocks a run may enter.
const MAX_BLOCKS: usize = 100;

struct Machine<'a> {
    function: &'a Function,
    forms: &'a Forms,
    input: u64,
    regs: FxHashMap<VReg, u64>,
    memory: FxHashMap<u64, u64>,
    trace: Trace,
}

/// Runs a function; `input` decides what special registers, parameters and memory hold.
///
/// # Errors
///
/// Text, when a register is read that is not written, or something is outside the subset.
pub(crate) fn run(function: &Function, forms: &Forms, input: u64) -> Result<Trace, String> {
    let mut machine = Machine {
        function,
        forms,
        input,
        regs: FxHashMap::default(),
        memory: FxHashMap::default(),
        trace: Trace::default(),
    };
    let mut from: Option<BlockId> = None;
    let mut at = function.layout[0];
    for _ in 0..MAX_BLOCKS {
        let block = &function.blocks[at];
        let mut phis = Vec::new();
        for phi in &block.phis {
            let value = phi.incoming.iter().find(|(pred, _)| Some(*pred) == from).map(|(_, value)| value);
            phis.push((phi.dst, machine.value(value.ok_or(format!("{at}: no value of a phi"))?)?));
        }
        machine.regs.extend(phis);
        for inst in &block.insts {
            machine.inst(inst).map_err(|text| format!("{at}: {text}"))?;
        }
        from = Some(at);
        at = match &block.terminator {
            Terminator::Goto(to) => *to,
            Terminator::Branch { pred, negated, then, otherwise } => {
                if (machine.reg(*pred)? != 0) != *negated {
                    *then
                } else {
                    *otherwise
                }
            }
            Terminator::Table { index, targets } => targets[machine.reg(*index)? as usize],
            Terminator::Ret => return Ok(machine.end("ret")),
            Terminator::Exit => return Ok(machine.end("exit")),
            Terminator::Trap => return Ok(machine.end("trap")),
        };
    }
    Ok(machine.trace)
}

impl Machine<'_> {
    fn end(mut self, how: &'static str) -> Trace {
        self.trace.end = Some(how);
        self.trace
    }

    fn reg(&self, reg: VReg) -> Result<u64, String> {
        self.regs.get(&reg).copied().ok_or(format!("{reg} is read before it is written"))
    }

    fn value(&self, operand: &Operand) -> Result<u64, String> {
        Ok(match operand {
            Operand::Reg(Reg::Virtual(reg)) => self.reg(*reg)?,
            Operand::Reg(Reg::Physical(reg)) => hash(self.input, u64::from(reg.number())),
            Operand::Part(Reg::Physical(reg), part) => {
                let name = format!("{part:?}");
                hash(self.input, u64::from(reg.number()) + 1000 * name.bytes().map(u64::from).sum::<u64>())
            }
            Operand::Not(reg) => u64::from(self.reg(*reg)? == 0),
            Operand::Imm(value) => *value as u64,
            Operand::F32(bits) => u64::from(*bits),
            Operand::F64(bits) => *bits,
            Operand::Symbol(sym, offset) => (0x1_0000 * (1 + sym.index() as u64)).wrapping_add_signed(*offset),
            other => return Err(format!("no value: {other:?}")),
        })
    }

    fn address(&self, operand: &Operand) -> Result<u64, String> {
        let Operand::Address(address) = operand else { return Err(format!("no address: {operand:?}")) };
        let base = match address.base {
            Base::Reg(reg) => self.value(&Operand::Reg(reg))?,
            Base::Symbol(sym) => self.value(&Operand::Symbol(sym, 0))?,
            Base::Absolute => 0,
        };
        Ok(base.wrapping_add_signed(address.offset))
    }

    fn width(&self, reg: &Operand) -> u32 {
        reg.vreg().map_or(0, |reg| self.function.regs[reg].info().width)
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), String> {
        if let Some((guard, negated)) = inst.guard
            && (self.reg(guard)? != 0) == negated
        {
            return Ok(());
        }
        let form = match inst.opcode {
            Opcode::Copy => "mov.b64",
            Opcode::Form(form) => &self.forms[form].text,
            other => return Err(format!("outside the subset: {other:?}")),
        };
        let mut words = form.split('.');
        let name = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        match name {
            "ld" => return self.load(inst, &words),
            "st" => return self.store(inst, &words),
            _ => {}
        }
        let args = inst.uses().iter().map(|operand| self.value(operand)).collect::<Result<Vec<_>, _>>()?;
        let result = compute(name, &words, &args).ok_or(format!("outside the subset: {form} {args:?}"))?;
        self.write(&inst.operands[0], result)
    }

    fn write(&mut self, to: &Operand, value: u64) -> Result<(), String> {
        let width = self.width(to);
        let reg = to.vreg().ok_or("no register to write")?;
        self.regs.insert(reg, if width >= 64 { value } else { value & ((1 << width) - 1) });
        Ok(())
    }

    /// Memory holds units of the width of an access; accesses of different widths do not overlap here.
    fn load(&mut self, inst: &Inst, words: &[&str]) -> Result<(), String> {
        let address = self.address(&inst.operands[1])?;
        let bits = width_of(words[words.len() - 1]);
        let load = |machine: &Machine<'_>, n: u64| {
            let at = address.wrapping_add(n * u64::from(bits / 8));
            let first = hash(machine.input, at) & if words[0] == "param" { 0xFF } else { u64::MAX };
            if words[0] == "param" { first } else { machine.memory.get(&at).copied().unwrap_or(first) }
        };
        match &inst.operands[0] {
            Operand::Vector(items) => {
                for (n, item) in (0..).zip(items) {
                    let value = load(self, n);
                    self.write(item, value)?;
                }
                Ok(())
            }
            single => {
                let value = load(self, 0);
                self.write(single, value)
            }
        }
    }

    fn store(&mut self, inst: &Inst, words: &[&str]) -> Result<(), String> {
        let address = self.address(&inst.operands[0])?;
        let bits = width_of(words[words.len() - 1]);
        let items = match &inst.operands[1] {
            Operand::Vector(items) => items.to_vec(),
            single => vec![single.clone()],
        };
        for (n, item) in (0..).zip(&items) {
            let at = address.wrapping_add(n * u64::from(bits / 8));
            let value = self.value(item)? & mask(bits);
            self.memory.insert(at, value);
            self.trace.stores.push((bits, at, value));
        }
        Ok(())
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The width of a type by its name: `s32`, `b1`, `pred`.
fn width_of(name: &str) -> u32 {
    if name == "pred" { 1 } else { name[1..].parse().unwrap_or(32) }
}

/// Some fixed number for each pair of numbers.
fn hash(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xD1B5_4A32_D192_ED03);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ x >> 32
}

/// The low bits of `value` as a signed or unsigned number.
fn extend(value: u64, ty: &str) -> i128 {
    let bits = width_of(ty);
    let value = value & mask(bits);
    if ty.starts_with('s') && value >> (bits - 1) & 1 == 1 {
        i128::from(value) - (1i128 << bits)
    } else {
        i128::from(value)
    }
}

/// The arithmetic of the subset, on numbers without a width; writing a register cuts them.
fn compute(name: &str, words: &[&str], args: &[u64]) -> Option<u64> {
    let ty = *words.last()?;
    let arg = |n: usize| args.get(n).map(|&value| extend(value, ty));
    let compare = |op: &str| {
        let (a, b) = (arg(0)?, arg(1)?);
        Some(match op {
            "eq" => a == b,
            "ne" => a != b,
            "lt" | "lo" => a < b,
            "le" | "ls" => a <= b,
            "gt" | "hi" => a > b,
            "ge" | "hs" => a >= b,
            _ => return None,
        })
    };
    Some(match (name, words) {
        ("mov", _) => *args.first()?,
        ("add", _) => (arg(0)? + arg(1)?) as u64,
        ("sub", _) => (arg(0)? - arg(1)?) as u64,
        ("mul", ["lo", _]) => arg(0)?.wrapping_mul(arg(1)?) as u64,
        ("mul", ["wide", _]) => (arg(0)? * arg(1)?) as u64,
        ("mad", ["lo", _]) => (arg(0)?.wrapping_mul(arg(1)?)).wrapping_add(arg(2)?) as u64,
        ("mad", ["wide", _]) => (arg(0)? * arg(1)?).wrapping_add(i128::from(args[2])) as u64,
        ("and", _) => args.first()? & args.get(1)?,
        ("or", _) => args.first()? | args.get(1)?,
        ("xor", _) => args.first()? ^ args.get(1)?,
        ("not", ["pred"]) => args.first()? ^ 1,
        ("not", _) => !*args.first()?,
        ("neg", _) => (-arg(0)?) as u64,
        ("shl", _) => ((*args.first()? as u128) << (args.get(1)? & 0xFFFF_FFFF).min(64)) as u64,
        ("shr", _) => (arg(0)? >> (args.get(1)? & 0xFFFF_FFFF).min(64)) as u64,
        ("selp", _) => args[if *args.get(2)? != 0 { 0 } else { 1 }],
        ("setp", [op, _]) => u64::from(compare(op)?),
        ("setp", [op, join @ ("and" | "or" | "xor"), _]) => {
            let (a, b) = (u64::from(compare(op)?), *args.get(2)?);
            match *join {
                "and" => a & b,
                "or" => a | b,
                _ => a ^ b,
            }
        }
        // The first type is that of the result, which the register cuts; narrower ones extend.
        ("cvt", [to, _]) => extend(arg(0)? as u64, to) as u64,
        _ => return None,
    })
}
