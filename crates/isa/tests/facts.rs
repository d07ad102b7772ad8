//! The facts of each opcode, against each other and against what is known of single instructions.

use oriole_isa::{Kinds, Opcode, Role};

/// The places of a signature for which `is` holds.
fn mask(opcode: Opcode, is: impl Fn(usize) -> bool) -> u32 {
    (0..opcode.signature().len()).filter(|&at| is(at)).fold(0, |mask, at| mask | 1 << at)
}

#[test]
fn masks_say_what_the_signatures_say() {
    let predicates = Kinds::P.with(Kinds::UP);
    let barriers = Kinds::B.with(Kinds::SB);
    let registers = Kinds::R.with(Kinds::UR).with(predicates).with(barriers).with(Kinds::CONST_BINDLESS);
    for opcode in Opcode::ALL {
        let signature = opcode.signature();
        let may_be = |wanted: Kinds| mask(opcode, |at| !signature[at].kinds.is_disjoint(wanted));
        assert_eq!(opcode.destinations(), mask(opcode, |at| signature[at].is_def), "{opcode:?}");
        assert_eq!(opcode.predicates(), may_be(predicates), "{opcode:?}");
        assert_eq!(opcode.registers(), may_be(registers), "{opcode:?}");
        assert_eq!(opcode.destinations() | opcode.sources(), mask(opcode, |_| true), "{opcode:?}");
        assert_eq!(opcode.operand_count(), signature.len(), "{opcode:?}");
        assert!(signature.len() < 32, "{opcode:?}");
    }
}

/// `BREAK` takes threads out of the barrier register that it is given: it alone changes an operand.
#[test]
fn only_break_reads_what_it_writes() {
    let changes = |opcode: &Opcode| opcode.destinations() & opcode.sources() != 0;
    let changing: Vec<Opcode> = Opcode::ALL.into_iter().filter(changes).collect();
    assert_eq!(changing, [Opcode::BREAK]);
    let barrier = Opcode::BREAK.position(Role::Bar).map(|at| 1 << at);
    assert_eq!(Some(Opcode::BREAK.destinations()), barrier);
}
