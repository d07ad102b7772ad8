//! Arithmetic on either of two pipes: moves, sums and shifts that become multiplications give the same, and they become such only
//! where the unit for integers is busy.

use crate::order::{self, inst};
use fastrand::Rng;
use oriole_isa::{Arch, Bop, Cmp, Field, Mods, Opcode, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{Block, BuildError, Function, FunctionKind, Guard, Inst, Operand, VReg};
use oriole_orieval::{bank, from_environment, run};
use oriole_sched::{Options, OrderSeed, schedule};

/// Registers that the instructions name, from R0 on.
const REGISTERS: u16 = 12;

fn register(number: u16) -> Operand {
    order::register(number, 1)
}

/// One of the instructions for which there is a product, or one that is near them.
fn arithmetic(rng: &mut Rng) -> Inst {
    let [d, a, b] = [(); 3].map(|()| register(rng.u16(..REGISTERS)));
    let negative = |rng: &mut Rng, operand: Operand| if rng.u8(..3) == 0 { operand.neg() } else { operand };
    let word = |rng: &mut Rng| Operand::imm(rng.u32(..) >> rng.u32(..32));
    let shift = |hi: bool, dir: ShiftDir| {
        [Field::HI.is(hi), Field::SHIFT_DIR.is(dir), Field::SHIFT_TYPE.is(ShiftType::U32)].into_iter().collect()
    };
    match rng.u8(..8) {
        0 => inst(Opcode::MOV, Mods::new(), &[(Role::D, d), (Role::B, a)]),
        1 => inst(Opcode::MOV, Mods::new(), &[(Role::D, d), (Role::B, word(rng))]),
        2 => {
            // Two negative ones in one sum are not encoded.
            let (a, b) = if rng.bool() { (negative(rng, a), b) } else { (a, negative(rng, b)) };
            inst(Opcode::IADD3, Mods::new(), &[(Role::D, d), (Role::A, a), (Role::B, b)])
        }
        3 => inst(Opcode::IADD3, Mods::new(), &[(Role::D, d), (Role::A, a), (Role::B, word(rng))]),
        4 => inst(Opcode::IADD3, Mods::new(), &[(Role::D, d), (Role::A, negative(rng, a)), (Role::B, Operand::rz())]),
        5 => {
            let mods = shift(rng.u8(..4) == 0, if rng.u8(..4) == 0 { ShiftDir::R } else { ShiftDir::L });
            let places = [(Role::D, d), (Role::A, a), (Role::B, Operand::imm(rng.u32(..32))), (Role::C, Operand::rz())];
            inst(Opcode::SHF, mods, &places)
        }
        6 => {
            let places = [(Role::D, d), (Role::A, a), (Role::B, b), (Role::Shift, Operand::imm(rng.u32(..32)))];
            inst(Opcode::LEA, Mods::new(), &places)
        }
        _ => inst(
            Opcode::LOP3,
            Mods::new(),
            &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::Lut, Operand::imm(0x3c))],
        ),
    }
}

/// A row of them on what the parameters give, some under a guard, and stores of all registers.
fn row(rng: &mut Rng, count: usize) -> Result<Function, BuildError> {
    let mut func = Function::new("row", FunctionKind::Entry);
    let block = func.edit().new_block()?;
    let push = |func: &mut Function, block: Block, inst: Inst| {
        func.edit().append(block, inst);
    };
    for number in 0..REGISTERS {
        let parameter = Operand::cbank(0, oriole_orieval::PARAMETERS + 4 * u32::from(number) % 16);
        push(&mut func, block, inst(Opcode::MOV, Mods::new(), &[(Role::D, register(number)), (Role::B, parameter)]));
    }
    let guard = predicate(&mut func)?;
    let mods = [Field::CMP.is(Cmp::LT), Field::SIGN.is(Sign::U32), Field::BOP.is(Bop::AND)].into_iter().collect();
    let test = [(Role::PD, Operand::reg(guard)), (Role::A, register(0)), (Role::B, register(1))];
    push(&mut func, block, inst(Opcode::ISETP, mods, &test));
    for _ in 0..count {
        let mut inst = arithmetic(rng);
        if rng.u8(..4) == 0 {
            inst.set_guard(Some(Guard { pred: guard, negated: rng.bool() }));
        }
        push(&mut func, block, inst);
    }
    for number in 0..REGISTERS {
        let place = [(Role::Offset, Operand::imm(4 * u32::from(number))), (Role::Data, register(number))];
        push(&mut func, block, inst(Opcode::STS, Mods::new(), &place));
    }
    push(&mut func, block, Inst::new(Opcode::EXIT, Mods::new(), &[Operand::pt()]));
    Ok(func)
}

/// P0.
fn predicate(func: &mut Function) -> Result<VReg, BuildError> {
    let reg = func.new_vreg(oriole_ori::RegType::P)?;
    func.edit().update_reg(reg, |data| data.physical = Some(0));
    Ok(reg)
}

fn count(func: &Function, opcode: Opcode) -> usize {
    func.iter_insts().filter(|(_, id)| func[*id].opcode == opcode).count()
}

#[test]
fn products_give_what_moves_sums_and_shifts_gave() {
    let options = Options { reorder: true, constant_lines: 0, seed: OrderSeed::default() };
    let start = from_environment("ORIOLE_SEED", 34);
    let mut products = 0;
    for seed in start..start + 300 {
        let mut rng = Rng::with_seed(seed);
        let func = row(&mut rng, 30).expect("it is well formed");
        for arch in [Arch::Sm75, Arch::Sm80, Arch::Sm90] {
            let mut ordered = func.clone();
            schedule(&mut ordered, arch, &options).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{func}"));
            products += count(&ordered, Opcode::IMAD);
            for _ in 0..3 {
                let words: Vec<u32> = (0..4).map(|_| rng.u32(..) >> rng.u32(..32)).collect();
                let [want, found] = [&func, &ordered].map(|func| run(func, 0, &bank(&words)));
                assert!(
                    want.is_ok() && found == want,
                    "seed {seed}, {arch}: {found:?} for {want:?}\n{func}\n{ordered}"
                );
            }
        }
    }
    assert!(products > 5_000, "{products} products");
}

/// Moves in a row: every other one on sm_80, where the unit for integers takes one each other cycle. Between products none.
#[test]
fn only_what_would_wait_is_moved() {
    let options = Options { reorder: true, constant_lines: 0, seed: OrderSeed::default() };
    let moves = |between: bool| {
        let mut func = Function::new("moves", FunctionKind::Entry);
        let block = func.edit().new_block().expect("a block");
        for number in 0..10 {
            let operands = [(Role::D, register(number)), (Role::B, Operand::imm(u32::from(number)))];
            func.edit().append(block, inst(Opcode::MOV, Mods::new(), &operands));
            if between {
                let places = [(Role::D, 10 + number), (Role::A, 20), (Role::B, 20), (Role::C, 20)];
                let operands = places.map(|(role, number)| (role, register(number)));
                func.edit().append(block, inst(Opcode::FFMA, Mods::new(), &operands));
            }
        }
        func.edit().append(block, Inst::new(Opcode::EXIT, Mods::new(), &[Operand::pt()]));
        schedule(&mut func, Arch::Sm80, &options).expect("it can be scheduled");
        (count(&func, Opcode::MOV), count(&func, Opcode::IMAD))
    };
    assert_eq!(moves(false), (5, 5));
    assert_eq!(moves(true), (10, 0));
}
