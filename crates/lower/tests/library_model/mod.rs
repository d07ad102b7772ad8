//! An interpreter for the PTX that the library's routines are written in.

use oriole_ptx::ast::{
    CmpOp, Function, Instruction, Module, Opcode, Operand, Rounding, ScalarType, Statement, Sym, Word,
};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use std::collections::HashMap;
use std::path::Path;

/// How the special-function unit errs, in its last place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MufuError {
    /// One unit too small.
    Below,
    /// Cut off.
    Exact,
    /// One unit too large.
    Above,
}

impl MufuError {
    fn apply(self, bits: u32) -> u32 {
        match self {
            MufuError::Below => bits - 1,
            MufuError::Exact => bits,
            MufuError::Above => bits + 1,
        }
    }
}

/// The parsed library.
pub(crate) struct Library(Vec<Module>);

impl Library {
    /// Reads every file of the library.
    pub(crate) fn load() -> Library {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/library");
        let mut modules = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            modules.push(oriole_ptx::load(&text).unwrap());
        }
        Library(modules)
    }

    /// Calls a routine with its arguments' bits; gives those of its result.
    pub(crate) fn call(&self, name: &str, arguments: &[u64], error: MufuError) -> u64 {
        let found = self.0.iter().find_map(|m| m.functions().find(|f| m.text(f.name) == name));
        let function = found.unwrap_or_else(|| panic!("no routine {name}"));
        Run { error, registers: HashMap::new(), types: HashMap::new() }.function(function, arguments)
    }
}

struct Run {
    error: MufuError,
    registers: HashMap<Sym, u64>,
    types: HashMap<Sym, ScalarType>,
}

fn mask(ty: ScalarType) -> u64 {
    if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 }
}

fn round_of(inst: &Instruction) -> Round {
    match inst.rounding() {
        Some(Rounding::Rz | Rounding::Rzi) => Round::TowardZero,
        Some(Rounding::Rm) => Round::TowardNegative,
        Some(Rounding::Rp) => Round::TowardPositive,
        _ => Round::NearestTiesToEven,
    }
}

fn double(bits: u64) -> Double {
    Double::from_bits(u128::from(bits))
}

fn single(bits: u64) -> Single {
    Single::from_bits(u128::from(bits as u32))
}

impl Run {
    fn function(&mut self, function: &Function, arguments: &[u64]) -> u64 {
        assert_eq!(function.params.len(), arguments.len());
        for variable in function.params.iter().chain(&function.rets) {
            self.types.insert(variable.name.unwrap().sym, variable.ty);
        }
        for (parameter, value) in function.params.iter().zip(arguments) {
            self.registers.insert(parameter.name.unwrap().sym, value & mask(parameter.ty));
        }
        let statements = &function.body.as_ref().unwrap().statements;
        let mut labels = HashMap::new();
        for (at, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Label(name) => drop(labels.insert(name.sym, at)),
                Statement::Registers(list) => {
                    self.types.extend(list.names.iter().map(|register| (register.name.sym, list.ty)));
                }
                _ => {}
            }
        }
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            at += 1;
            let Statement::Instruction(inst) = statement else { continue };
            if inst.guard.is_some_and(|g| (self.registers[&g.pred.sym] != 0) == g.negated) {
                continue;
            }
            match inst.opcode {
                Opcode::Ret => break,
                Opcode::Bra => at = labels[&inst.operands[0].name().unwrap().sym],
                _ => self.step(inst),
            }
        }
        self.registers[&function.rets[0].name.unwrap().sym]
    }

    fn value(&self, operand: &Operand, ty: ScalarType) -> u64 {
        match operand {
            Operand::Name(name) => self.registers[&name.sym] & mask(ty),
            Operand::Imm(imm, _) if ty == ScalarType::F64 => imm.to_f64_bits(),
            Operand::Imm(imm, _) if ty == ScalarType::F32 => u64::from(imm.to_f32_bits()),
            Operand::Imm(imm, _) => imm.int_bits().unwrap() & mask(ty),
            other => panic!("operand {other:?}"),
        }
    }

    fn set(&mut self, operand: &Operand, value: u64) {
        let sym = operand.name().unwrap().sym;
        self.registers.insert(sym, value & mask(self.types[&sym]));
    }

    fn step(&mut self, inst: &Instruction) {
        let ty = inst.last_type().unwrap();
        let words = [&inst.operands[0], &inst.operands[1]];
        match words {
            [d, Operand::Vector(parts, _)] => {
                let [low, high] = [0, 1].map(|k| self.value(&parts[k], ScalarType::B32));
                return self.set(d, low | high << 32);
            }
            [Operand::Vector(parts, _), a] => {
                let whole = self.value(a, ty);
                self.set(&parts[0], whole);
                return self.set(&parts[1], whole >> 32);
            }
            _ => {}
        }
        let source = |run: &Self, n: usize| inst.operands.get(n).map_or(0, |o| run.value(o, ty));
        let (a, b) = (source(self, 1), source(self, 2));
        let result = match inst.opcode {
            Opcode::Cvt => self.convert(inst),
            Opcode::Setp => u64::from(compare(inst.cmp().unwrap(), ty, a, b)),
            Opcode::Selp => {
                let p = self.registers[&inst.operands[3].name().unwrap().sym];
                if p != 0 { a } else { b }
            }
            Opcode::Rcp | Opcode::Rsqrt => self.mufu(inst.opcode, ty, a),
            _ if ty == ScalarType::F64 || ty == ScalarType::F32 => {
                float(inst, ty, a, b, if inst.operands.len() > 3 { source(self, 3) } else { 0 })
            }
            _ => integer(inst, ty, a, b),
        };
        self.set(&inst.operands[0], result);
    }

    fn convert(&self, inst: &Instruction) -> u64 {
        let (to, from) = (inst.ty(0).unwrap(), inst.ty(1).unwrap());
        let a = self.value(&inst.operands[1], from);
        match (to, from) {
            (ScalarType::F64, ScalarType::F32) => {
                let wide: Double = single(a).convert(&mut false).value;
                wide.to_bits() as u64
            }
            (ScalarType::F32, ScalarType::U64) => {
                Single::from_u128_r(u128::from(a), round_of(inst)).value.to_bits() as u64
            }
            (ScalarType::U64, ScalarType::F32) => single(a).to_u128_r(64, round_of(inst), &mut false).value as u64,
            _ => a,
        }
    }

    fn mufu(&self, opcode: Opcode, ty: ScalarType, a: u64) -> u64 {
        let function = |x: f64| if opcode == Opcode::Rcp { 1.0 / x } else { 1.0 / x.sqrt() };
        if ty == ScalarType::F32 {
            return u64::from(self.error.apply((function(f64::from(f32::from_bits(a as u32))) as f32).to_bits()));
        }
        // The unit sees and gives upper words only.
        let high = function(f64::from_bits(a & 0xffff_ffff_0000_0000)).to_bits() >> 32;
        u64::from(self.error.apply(high as u32)) << 32
    }
}

fn compare(op: CmpOp, ty: ScalarType, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        ScalarType::F64 => double(a).partial_cmp(&double(b)),
        ScalarType::F32 => single(a).partial_cmp(&single(b)),
        _ if ty.is_signed() => Some(signed(a, ty).cmp(&signed(b, ty))),
        _ => Some(a.cmp(&b)),
    };
    match op {
        CmpOp::Nan => order.is_none(),
        CmpOp::Eq => order == Some(Equal),
        CmpOp::Ne => matches!(order, Some(Less | Greater)),
        CmpOp::Lt => order == Some(Less),
        CmpOp::Gt => order == Some(Greater),
        CmpOp::Ge => matches!(order, Some(Greater | Equal)),
        other => panic!("comparison {other:?}"),
    }
}

fn signed(value: u64, ty: ScalarType) -> i64 {
    let shift = 64 - ty.bits();
    ((value << shift) as i64) >> shift
}

fn float(inst: &Instruction, ty: ScalarType, a: u64, b: u64, c: u64) -> u64 {
    let sign = if ty == ScalarType::F64 { 1 << 63 } else { 1 << 31 };
    let round = round_of(inst);
    let result = match inst.opcode {
        Opcode::Abs => return a & !sign,
        Opcode::Neg => return a ^ sign,
        Opcode::Mov => return a,
        Opcode::Mul => double(a).mul_r(double(b), round).value,
        Opcode::Add => double(a).add_r(double(b), round).value,
        Opcode::Fma => double(a).mul_add_r(double(b), double(c), round).value,
        other => panic!("float {other:?}"),
    };
    result.to_bits() as u64
}

fn integer(inst: &Instruction, ty: ScalarType, a: u64, b: u64) -> u64 {
    let count = b as u32;
    match inst.opcode {
        Opcode::Mov => a,
        Opcode::And => a & b,
        Opcode::Or => a | b,
        Opcode::Xor => a ^ b,
        Opcode::Not => a ^ mask(ty),
        Opcode::Add => a.wrapping_add(b),
        Opcode::Sub => a.wrapping_sub(b),
        Opcode::Mul if inst.has(Word::Hi) => ((u128::from(a) * u128::from(b)) >> 64) as u64,
        Opcode::Mul => a.wrapping_mul(b),
        Opcode::Div => a / b,
        Opcode::Shl => a.checked_shl(count).unwrap_or(0),
        Opcode::Shr => a.checked_shr(count).unwrap_or(0),
        Opcode::Max => signed(a, ty).max(signed(b, ty)) as u64,
        Opcode::Min => signed(a, ty).min(signed(b, ty)) as u64,
        Opcode::Abs => signed(a, ty).unsigned_abs(),
        Opcode::Brev => u64::from((a as u32).reverse_bits()),
        Opcode::Bfind => u64::from(31u32.wrapping_sub((a as u32).leading_zeros())),
        other => panic!("integer {other:?}"),
    }
}
