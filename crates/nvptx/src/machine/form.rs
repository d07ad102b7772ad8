//! Forms: opcodes with their modifiers (`ld.global.v2.f32`), interned.
//!
//! Selection names a form by its PTX text, which is parsed once; passes and
//! emission work with the [`FormId`].

use cranelift_entity::{PrimaryMap, entity_impl};
use oriole_ptx::ast::{Modifier, Opcode, Semantics, Space, Word};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Index of an interned [`Form`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormId(u32);
entity_impl!(FormId, "form");

bitflags::bitflags! {
    /// What an instruction does besides computing its results from its operands. Without any it
    /// may be removed, repeated, moved and merged.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Effects: u8 {
        /// Reads memory that may be written.
        const READS = 1;
        /// Writes memory.
        const WRITES = 1 << 1;
        /// Depends on which threads execute it together.
        const CONVERGENT = 1 << 2;
        /// Must stay where it is, as often as it is: volatile, barriers, traps, clocks.
        const FIXED = 1 << 3;
    }
}

/// An opcode with its modifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    /// The first word.
    pub opcode: Opcode,
    /// The dotted words after it.
    pub modifiers: SmallVec<[Modifier; 5]>,
    /// What it does besides computing.
    pub effects: Effects,
    /// The whole text.
    pub text: Box<str>,
}

/// All forms that a module uses.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    list: PrimaryMap<FormId, Form>,
    index: FxHashMap<Box<str>, FormId>,
}

impl std::ops::Index<FormId> for Forms {
    type Output = Form;

    fn index(&self, id: FormId) -> &Form {
        &self.list[id]
    }
}

impl Forms {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The forms in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &Form> {
        self.list.values()
    }

    /// The id of a form; `None` when PTX has no such opcode or modifier.
    pub fn intern(&mut self, text: &str) -> Option<FormId> {
        if let Some(&id) = self.index.get(text) {
            return Some(id);
        }
        let mut words = text.split('.');
        let opcode = Opcode::from_name(words.next()?)?;
        let modifiers = words.map(Modifier::from_name).collect::<Option<SmallVec<_>>>()?;
        let effects = effects(opcode, &modifiers);
        let id = self.list.push(Form { opcode, modifiers, effects, text: text.into() });
        self.index.insert(text.into(), id);
        Some(id)
    }
}

/// What an instruction does besides computing, by its opcode.
fn effects(opcode: Opcode, modifiers: &[Modifier]) -> Effects {
    use Opcode::*;
    let has = |word: Word| modifiers.contains(&Modifier::Word(word));
    let volatile = modifiers.iter().any(|m| matches!(m, Modifier::Semantics(s) if *s != Semantics::Weak));
    match opcode {
        // The carry flag is no register: what writes and what reads it stay together.
        _ if has(Word::Cc) => Effects::FIXED,
        Addc | Subc | Madc => Effects::FIXED,
        Ld if has(Word::Nc) || modifiers.contains(&Modifier::Space(Space::Param)) => Effects::empty(),
        Ld | Ldu if volatile => Effects::READS | Effects::WRITES | Effects::FIXED,
        Ld | Ldu => Effects::READS,
        St if volatile => Effects::WRITES | Effects::FIXED,
        St => Effects::WRITES,
        Tex | Tld4 | Suld | Txq | Suq => Effects::READS,
        Abs | Add | And | Bfe | Bfi | Bfind | Bmsk | Brev | Clz | Cnot | Copysign | Cos | Cvt | Cvta | Div | Dp2a
        | Dp4a | Ex2 | Fma | Fns | Getctarank | Isspacep | Istypep | Lg2 | Lop3 | Mad | Mad24 | Mapa | Max | Min
        | Mov | Mul | Mul24 | Neg | Not | Or | Popc | Prmt | Rcp | Rem | Rsqrt | Sad | Selp | Set | Setp | Shf
        | Shl | Shr | Sin | Slct | Sqrt | Sub | Szext | Tanh | Testp | Xor | Vabsdiff | Vabsdiff2 | Vabsdiff4
        | Vadd | Vadd2 | Vadd4 | Vavrg2 | Vavrg4 | Vmad | Vmax | Vmax2 | Vmax4 | Vmin | Vmin2 | Vmin4 | Vset
        | Vset2 | Vset4 | Vshl | Vshr | Vsub | Vsub2 | Vsub4 => Effects::empty(),
        Mma | Movmatrix => Effects::CONVERGENT,
        Shfl | Vote | Match | Redux | Elect | Activemask => Effects::CONVERGENT | Effects::FIXED,
        Ldmatrix => Effects::CONVERGENT | Effects::READS,
        _ => Effects::READS | Effects::WRITES | Effects::CONVERGENT | Effects::FIXED,
    }
}
