//! The facts of each opcode, against each other and against what is known of single instructions.

use oriole_isa::{Cmp, Fcmp, Field, FieldId, Inst, Kinds, Opcode, Role, Sign, Vote};

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

/// From the meaning of the names: U is true of unordered operands too.
#[test]
fn opposite_float_comparisons_exclude_each_other() {
    let pairs = [
        (Fcmp::F, Fcmp::T),
        (Fcmp::LT, Fcmp::GEU),
        (Fcmp::EQ, Fcmp::NEU),
        (Fcmp::LE, Fcmp::GTU),
        (Fcmp::GT, Fcmp::LEU),
        (Fcmp::NE, Fcmp::EQU),
        (Fcmp::GE, Fcmp::LTU),
        (Fcmp::NUM, Fcmp::NAN),
    ];
    for (one, other) in pairs {
        assert_eq!((one.opposite(), other.opposite()), (other, one), "{one} {other}");
    }
    assert_eq!(2 * pairs.len(), Fcmp::VALUES.len());
}

#[test]
fn fields_give_what_is_set_or_the_default_of_the_opcode() {
    let mut inst = Inst::new(Opcode::ISETP);
    assert_eq!((inst.get(Field::CMP), inst.get(Field::SIGN), inst.get(Field::EX)), (Cmp::F, Sign::S32, false));
    inst.mods = [Field::EX.is(true), Field::CMP.is(Cmp::NE)].into_iter().collect();
    assert_eq!((inst.mods.get(Field::CMP), inst.mods.get(Field::SIGN)), (Some(Cmp::NE), None));
    assert!(inst.get(Field::EX) && inst.has(Field::CMP.is(Cmp::NE)));
    assert_eq!(inst.raw(FieldId::Cmp), Cmp::NE.code());
    assert!(Opcode::ISETP.has_field(Field::BOP) && !Opcode::ISETP.has_field(Field::FCMP));
}

#[test]
fn a_value_prints_as_its_name() {
    assert_eq!(Vote::ANY.to_string(), "ANY");
    assert_eq!(Vote::from_code(9).to_string(), "#9");
    assert_eq!(Field::VOTE.name_of(Vote::ANY), Some("ANY"));
    assert_eq!(Field::VOTE.name_of(Vote::from_code(9)), None);
}
