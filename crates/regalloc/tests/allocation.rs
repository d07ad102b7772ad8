//! Random functions keep their meaning under allocation: a small interpreter executes them on virtual
//! registers before, and on physical registers and stack slots after. Also: limits, alignment, and a
//! checker that finds what was broken on purpose.

use oriole_isa::{Arch, Field, Mods, Opcode, RegFile, Role, cmp, mem_size, sign};
use oriole_ori::*;
use oriole_regalloc::{AllocOptions, allocate_function, check};
use std::collections::HashMap;

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// A straight-line function over `count` scalars, some pairs and some predicates; every value is used
/// again at the end, so that all are live together.
fn random_function(seed: u64, count: usize) -> Function {
    let mut random = Random(seed);
    let mut func = Function::new("f", FunctionKind::Entry);
    let mut b = FunctionBuilder::new(&mut func);
    let entry = b.new_block().unwrap();
    b.switch_to(entry);
    let mut words = Vec::new();
    for i in 0..count {
        let reg = b.vreg(RegType::R).unwrap();
        let value = Operand::imm(random.below(1 << 30) as u32);
        b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, Operand::reg(reg)), (Role::B, value)]).unwrap();
        words.push(Operand::reg(reg));
        if i % 5 == 0 {
            let pair = b.vreg(RegType::Pair).unwrap();
            for half in [Operand::lo(pair), Operand::hi(pair)] {
                let (x, y) = (words[random.below(words.len())], words[random.below(words.len())]);
                add(&mut b, half, x, y);
                words.push(half);
            }
        }
    }
    let mut predicates = Vec::new();
    for _ in 0..9 {
        let pred = b.vreg(RegType::P).unwrap();
        let (x, y) = (words[random.below(words.len())], words[random.below(words.len())]);
        let mods = Mods::new().with(Field::Cmp, cmp::LT).with(Field::Sign, sign::U32);
        b.emit_roles(Opcode::ISETP, mods, &[(Role::PD, Operand::reg(pred)), (Role::A, x), (Role::B, y)]).unwrap();
        predicates.push(pred);
    }
    for (i, word) in words.clone().into_iter().enumerate() {
        let to = b.vreg(RegType::R).unwrap();
        let pred = Operand::reg(predicates[i % predicates.len()]);
        let other = words[random.below(words.len())];
        let operands = [(Role::D, Operand::reg(to)), (Role::A, word), (Role::B, other), (Role::PA, pred)];
        b.emit_roles(Opcode::SEL, Mods::new(), &operands).unwrap();
        store(&mut b, Operand::reg(to), 4 * i as i32);
    }
    b.exit().unwrap();
    func
}

fn add(b: &mut FunctionBuilder<'_>, to: Operand, x: Operand, y: Operand) {
    b.emit_roles(Opcode::IADD3, Mods::new(), &[(Role::D, to), (Role::A, x), (Role::B, y)]).unwrap();
}

/// `shared[offset] = data`: what the interpreter reports.
fn store(b: &mut FunctionBuilder<'_>, data: Operand, offset: i32) {
    b.emit_roles(Opcode::STS, Mods::new(), &[(Role::Offset, Operand::imm_signed(offset)), (Role::Data, data)]).unwrap();
}

/// A place of the machine: a virtual component, a physical register, or a byte of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Virtual(VReg, u8),
    Physical(RegFile, u16),
    Stack(i64),
}

struct Machine<'f> {
    func: &'f Function,
    physical: bool,
    values: HashMap<Place, u32>,
    output: Vec<(i64, u32)>,
}

impl Machine<'_> {
    fn run(func: &Function, physical: bool) -> Vec<(i64, u32)> {
        let mut machine = Machine { func, physical, values: HashMap::new(), output: Vec::new() };
        for (_, inst) in func.iter_insts() {
            machine.step(&func.insts[inst]);
        }
        machine.output
    }

    fn places(&self, operand: Operand) -> Vec<Place> {
        match operand.kind() {
            OperandKind::Reg(reg, piece) if !self.physical => {
                piece.range(self.func.vregs[reg].components).map(|k| Place::Virtual(reg, k)).collect()
            }
            OperandKind::Reg(..) | OperandKind::Phys { .. } => {
                let (file, first, count) = self.func.physical(operand).expect("allocated");
                (first..first + u16::from(count)).map(|n| Place::Physical(file, n)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn get(&self, operand: Operand) -> u32 {
        let value = match operand.kind() {
            OperandKind::Imm(bits, _) => bits,
            OperandKind::Rz => 0,
            OperandKind::Pt => 1,
            _ => self.values[&self.places(operand)[0]],
        };
        if operand.is_not() { u32::from(value == 0) } else { value }
    }

    fn step(&mut self, inst: &Inst) {
        let at = |role: Role| inst.operands[inst.opcode.position(role).expect("the role is there")];
        let offset = |role: Role| i64::from(at(role).as_imm().expect("a constant offset") as i32);
        match inst.opcode {
            Opcode::MOV => self.set(at(Role::D), self.get(at(Role::B))),
            Opcode::IADD3 => {
                let sum = [Role::A, Role::B, Role::C].iter().fold(0u32, |sum, r| sum.wrapping_add(self.get(at(*r))));
                self.set(at(Role::D), sum);
            }
            Opcode::SEL => {
                let value = if self.get(at(Role::PA)) != 0 { at(Role::A) } else { at(Role::B) };
                self.set(at(Role::D), self.get(value));
            }
            Opcode::ISETP => {
                let (x, y) = (self.get(at(Role::A)), self.get(at(Role::B)));
                let holds = if inst.get(Field::Cmp) == cmp::NE { x != y } else { x < y };
                self.set(at(Role::PD), u32::from(holds));
            }
            Opcode::STS => self.output.push((offset(Role::Offset), self.get(at(Role::Data)))),
            Opcode::STL => {
                for (k, place) in self.places(at(Role::Data)).into_iter().enumerate() {
                    let value = self.values[&place];
                    self.values.insert(Place::Stack(offset(Role::Offset) + 4 * k as i64), value);
                }
            }
            Opcode::LDL => {
                for (k, place) in self.places(at(Role::D)).into_iter().enumerate() {
                    let value = self.values[&Place::Stack(offset(Role::Offset) + 4 * k as i64)];
                    self.values.insert(place, value);
                }
            }
            Opcode::EXIT => {}
            other => panic!("the test makes no {other:?}"),
        }
        assert!(inst.opcode != Opcode::LDL || [mem_size::B32, mem_size::B64].contains(&inst.get(Field::MemSize)));
    }

    fn set(&mut self, operand: Operand, value: u32) {
        if let Some(place) = self.places(operand).first() {
            self.values.insert(*place, value);
        }
    }
}

fn allocate(func: &mut Function, limit: u32) -> oriole_regalloc::Allocation {
    let options = AllocOptions { maxrregcount: Some(limit), verify: true };
    allocate_function(func, Arch::Sm80, &options).expect("allocation succeeds")
}

#[test]
fn meaning_is_kept_with_and_without_spills() {
    for seed in 0..40 {
        let limit = [16, 24, 40, 255][seed as usize % 4];
        let mut func = random_function(seed, 12 + 4 * (seed as usize % 9));
        let want = Machine::run(&func, false);
        let allocation = allocate(&mut func, limit);
        assert_eq!(Machine::run(&func, true), want, "seed {seed}, limit {limit}");
        let over = (limit as u16..255).find(|n| allocation.used.contains(RegFile::R, *n));
        assert_eq!(over, None, "seed {seed}: a register beyond the limit of {limit}");
    }
}

#[test]
fn spills_happen_only_when_the_limit_forces_them() {
    let mut free = random_function(7, 30);
    assert_eq!(allocate(&mut free, 255).spills.stores, 0);
    assert_eq!(free.frame.spill_bytes, 0);
    let mut tight = random_function(7, 30);
    let spills = allocate(&mut tight, 16).spills;
    assert!(spills.stores > 0 && spills.loads > 0 && tight.frame.spill_bytes > 0, "{spills:?}");
}

#[test]
fn pairs_are_even_and_r1_is_left_alone() {
    let mut func = random_function(3, 60);
    let allocation = allocate(&mut func, 255);
    let pairs = func.vregs.values().filter(|v| v.reg_type == RegType::Pair);
    assert!(pairs.clone().count() > 5);
    assert!(pairs.filter_map(|v| v.physical).all(|first| first % 2 == 0));
    assert!(!allocation.used.contains(RegFile::R, 1));
}

#[test]
fn a_limit_below_the_interface_minimum_is_raised_with_a_warning() {
    let mut func = random_function(1, 10);
    let warning = allocate(&mut func, 8).warning;
    assert_eq!(warning.as_deref(), Some("regcount 8 specified below abi_minimum of 16"));
}

#[test]
fn launch_bounds_limit_registers() {
    let mut func = random_function(5, 80);
    func.attributes.maxntid = Some([256, 1, 1]);
    func.attributes.minnctapersm = Some(8);
    // 65536 registers for 8 * 256 threads: 32 each.
    let allocation = allocate(&mut func, 255);
    assert!((32..255).all(|n| !allocation.used.contains(RegFile::R, n)));
}

#[test]
fn the_checker_finds_a_broken_allocation() {
    let mut func = random_function(11, 20);
    allocate(&mut func, 255);
    check(&func).expect("the allocation is right");
    let scalars: Vec<VReg> =
        func.vregs.iter().filter(|(_, d)| d.reg_type == RegType::R && d.physical.is_some()).map(|(v, _)| v).collect();
    let (first, second) = (scalars[0], scalars[1]);
    // Both are live together; now they share a register.
    func.vregs[second].physical = func.vregs[first].physical;
    check(&func).expect_err("two live values share a register");
}
