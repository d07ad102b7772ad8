//! How long the machine passes take on large functions: `time_machine_passes [INSTRUCTIONS]`.
//!
//! The functions are made up: `diamonds` is a chain of loops around branches whose values meet in
//! `phi`s, `straight` one block, `web` one variable that every block may change.

use std::time::Instant;

use cranelift_entity::EntityRef;
use oriole_nvptx::machine::passes::{Context, PASSES, PassOptions};
use oriole_nvptx::machine::{
    Base, Block, BlockId, Forms, Function, Inst, Opcode, Operand, Phi, RegClass, Terminator, VReg,
};
use oriole_ptx::ast::SymbolTable;

struct Builder {
    function: Function,
    forms: Forms,
    at: BlockId,
}

impl Builder {
    fn new() -> Builder {
        let name = SymbolTable::new().intern("large");
        let mut builder = Builder { function: Function::new(name, true), forms: Forms::default(), at: BlockId::new(0) };
        builder.at = builder.block();
        builder
    }

    fn block(&mut self) -> BlockId {
        let block =
            self.function.blocks.push(Block { phis: Vec::new(), insts: Vec::new(), terminator: Terminator::Ret });
        self.function.layout.push(block);
        block
    }

    fn inst(&mut self, form: &str, class: Option<RegClass>, uses: &[Operand]) -> VReg {
        let dst = class.map(|class| self.function.regs.push(class));
        let operands = dst.map(Operand::from).into_iter().chain(uses.iter().cloned()).collect();
        let opcode = Opcode::Form(self.forms.intern(form).expect("a form of PTX"));
        let inst = Inst {
            opcode,
            defs: u16::from(dst.is_some()),
            guard: None,
            operands,
            loc: None.into(),
            source: None.into(),
        };
        self.function.blocks[self.at].insts.push(inst);
        dst.unwrap_or(VReg::new(0))
    }

    fn add(&mut self, a: VReg, b: Operand) -> VReg {
        self.inst("add.s32", Some(RegClass::Int32), &[a.into(), b])
    }

    fn end(&mut self, terminator: Terminator) {
        self.function.blocks[self.at].terminator = terminator;
    }

    fn phi(&mut self, block: BlockId, incoming: &[(BlockId, VReg)]) -> VReg {
        let dst = self.function.regs.push(RegClass::Int32);
        let incoming = incoming.iter().map(|&(from, reg)| (from, reg.into())).collect();
        self.function.blocks[block].phis.push(Phi { dst, incoming });
        dst
    }

    fn first_values(&mut self) -> (VReg, VReg) {
        let address = Operand::address(Base::Absolute, 16);
        let value = self.inst("ld.global.b32", Some(RegClass::Int32), &[address]);
        let pred = self.inst("setp.lt.s32", Some(RegClass::Int1), &[value.into(), Operand::Imm(5)]);
        (value, pred)
    }
}

/// Loops around branches; 12 values live through everything.
fn diamonds(insts: usize) -> Builder {
    let mut b = Builder::new();
    let (mut value, pred) = b.first_values();
    let through: Vec<VReg> = (0..12).map(|n| b.add(value, Operand::Imm(n))).collect();
    for _ in 0..insts / 46 {
        let (before, header, left, right, join) = (b.at, b.block(), b.block(), b.block(), b.block());
        b.end(Terminator::Goto(header));
        let carried = b.phi(header, &[(before, value)]);
        b.at = header;
        b.end(Terminator::Branch { pred, negated: false, then: left, otherwise: right });
        let mut ends = Vec::new();
        for side in [left, right] {
            b.at = side;
            let mut sum = carried;
            for &other in &through {
                sum = b.add(sum, other.into());
                sum = b.inst("mul.lo.s32", Some(RegClass::Int32), &[sum.into(), Operand::Imm(side.index() as i64)]);
            }
            b.end(Terminator::Goto(join));
            ends.push((side, sum));
        }
        value = b.phi(join, &ends);
        b.function.blocks[header].phis[0].incoming.push((join, value.into()));
        let next = b.block();
        b.at = join;
        b.end(Terminator::Branch { pred, negated: true, then: header, otherwise: next });
        b.at = next;
    }
    b.inst("st.global.b32", None, &[Operand::address(Base::Absolute, 0), value.into()]);
    b
}

fn straight(insts: usize) -> Builder {
    let mut b = Builder::new();
    let (mut value, _) = b.first_values();
    for n in 0..insts {
        value = b.add(value, if n % 3 == 0 { Operand::Imm(n as i64) } else { value.into() });
        if n % 5 == 0 {
            b.inst("st.global.b32", None, &[Operand::address(Base::Absolute, 4 * n as i64), value.into()]);
        }
    }
    b
}

/// A variable that is changed, or not, in front of each block.
fn web(insts: usize) -> Builder {
    let mut b = Builder::new();
    let (mut value, pred) = b.first_values();
    for _ in 0..insts / 3 {
        let (before, changed, join) = (b.at, b.block(), b.block());
        b.end(Terminator::Branch { pred, negated: false, then: changed, otherwise: join });
        b.at = changed;
        let other = b.inst("ld.volatile.global.b32", Some(RegClass::Int32), &[Operand::address(Base::Absolute, 0)]);
        b.end(Terminator::Goto(join));
        value = b.phi(join, &[(before, value), (changed, other)]);
        b.at = join;
        b.inst("st.global.b32", None, &[Operand::address(Base::Absolute, 0), value.into()]);
    }
    b
}

/// Makes a function of about so many instructions.
type Shape = fn(usize) -> Builder;

fn main() {
    let insts = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let shapes: [(&str, Shape); 3] = [("diamonds", diamonds), ("straight", straight), ("web", web)];
    let options = PassOptions { verify: false, ..PassOptions::default() };
    for (name, make) in shapes {
        let Builder { mut function, mut forms, .. } = make(insts);
        let count: usize = function.blocks.values().map(|block| block.insts.len() + block.phis.len()).sum();
        let start = Instant::now();
        let mut text = String::new();
        for pass in PASSES.iter().filter(|pass| pass.level <= options.level) {
            let start = Instant::now();
            (pass.run)(&mut Context { function: &mut function, forms: &mut forms, options: &options });
            text += &format!(" {} {:.1}", pass.name, start.elapsed().as_secs_f64() * 1e3);
        }
        let blocks = function.layout.len();
        println!(
            "{name}: {count} instructions, {blocks} blocks left: {:.1} ms;{text}",
            start.elapsed().as_secs_f64() * 1e3
        );
    }
}
