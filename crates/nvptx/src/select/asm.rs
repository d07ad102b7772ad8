//! Inline assembly: constraints and text taken apart.

use smallvec::SmallVec;

use super::error::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::word_table::{Part, Word};
use crate::ir::{Call, FnFlags, InlineAsm, InstId};
use crate::machine::{Asm, AsmPiece, Opcode, Operand, RegClass, VReg};

/// What one constraint asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Constraint {
    /// `=r` and other results.
    Output(RegClass),
    /// `r`, `l`, `f`, `d`, `h`, `c`, `b`, `q`: a register.
    Register(RegClass),
    /// `n`, `i`, `s`: a constant.
    Immediate,
    /// `0`: the register of that result.
    Tied(u32),
    /// `~{memory}`
    Memory,
    /// another clobber
    Clobber,
}

impl Constraint {
    fn parse(text: &str) -> Result<Constraint, Error> {
        let bad = || Error::new(format!("inline assembly constraints like `{text}`"));
        if let Some(clobber) = text.strip_prefix("~{") {
            return Ok(if clobber.starts_with("memory") { Constraint::Memory } else { Constraint::Clobber });
        }
        if let Some(output) = text.strip_prefix('=') {
            let letters = output.trim_start_matches(['&', '+']);
            return register_class(letters).map(Constraint::Output).ok_or_else(bad);
        }
        if let Ok(number) = text.parse() {
            return Ok(Constraint::Tied(number));
        }
        match text {
            "n" | "i" | "s" | "X" => Ok(Constraint::Immediate),
            _ => register_class(text).map(Constraint::Register).ok_or_else(bad),
        }
    }
}

/// The class that a letter stands for.
fn register_class(letter: &str) -> Option<RegClass> {
    Some(match letter {
        "b" => RegClass::Int1,
        "h" | "c" => RegClass::Int16,
        "r" | "R" => RegClass::Int32,
        "l" | "N" => RegClass::Int64,
        "f" => RegClass::Float32,
        "d" => RegClass::Float64,
        "q" => RegClass::Int128,
        _ => return None,
    })
}

/// True when a register of class `own` may stand where the letter asks for `asked`: those declared with bits only
/// are good for every instruction of their width, those declared as floats are not.
fn fits(own: RegClass, asked: RegClass) -> bool {
    let typed = matches!(own, RegClass::Float32 | RegClass::Float64);
    own == asked || own.info().width == asked.info().width && !typed
}

/// How many operands one piece of inline assembly may have.
const MAX_OPERANDS: usize = 4096;

impl Lower<'_> {
    /// A call of inline assembly.
    pub(super) fn inline_asm(
        &mut self,
        _inst: InstId,
        call: &Call,
        asm: &InlineAsm,
        words: &[Word],
    ) -> Result<(), Error> {
        let constraints: Vec<Constraint> = match asm.constraints.is_empty() {
            true => Vec::new(),
            false => asm.constraints.split(',').map(|text| Constraint::parse(text.trim())).collect::<Result<_, _>>()?,
        };
        if constraints.len() > MAX_OPERANDS {
            return Err(Error::new(format!("inline assembly of more than {MAX_OPERANDS} operands")));
        }
        let outputs: Vec<RegClass> = constraints
            .iter()
            .filter_map(|constraint| if let Constraint::Output(class) = constraint { Some(*class) } else { None })
            .collect();
        let (mut operands, after) = self.asm_outputs(&outputs, words)?;
        let defs = operands.len() as u16;
        let mut ties = Vec::new();
        let mut args = call.args.iter();
        for constraint in &constraints {
            let class = match constraint {
                Constraint::Register(class) => Some(*class),
                Constraint::Tied(output) => {
                    let class = outputs.get(*output as usize);
                    Some(*class.ok_or_else(|| Error::new("constraints that name a result that there is not"))?)
                }
                Constraint::Immediate => None,
                _ => continue,
            };
            let value =
                *args.next().ok_or_else(|| Error::new("inline assembly with fewer operands than constraints"))?;
            let number = operands.len() as u32;
            let words = self.words_of(value)?;
            operands.push(match class {
                None => self.bits_src(words[0])?,
                Some(class) => self.asm_input(&words, class)?.into(),
            });
            if let Constraint::Tied(output) = constraint {
                ties.push((*output, number));
            }
        }
        let pieces = pieces(&asm.text, operands.len() as u32)?;
        // Where the text names the input itself, it does not matter where the result lives.
        let named = |number: u32| pieces.contains(&AsmPiece::Operand(number));
        ties.retain(|(_, input)| !named(*input));
        let memory = constraints.contains(&Constraint::Memory) || asm.side_effects;
        let made = Asm {
            pieces,
            ties,
            side_effects: asm.side_effects,
            convergent: call.attributes.function.contains(FnFlags::CONVERGENT),
            memory,
        };
        let id = self.out.asms.push(made);
        self.push(Opcode::Asm(id), defs, operands);
        for (to, from) in after {
            self.move_output(&to, from)?;
        }
        Ok(())
    }

    /// Moves what assembly has written to the words of the result: to another class or width, or in parts.
    fn move_output(&mut self, to: &[VReg], from: VReg) -> Result<(), Error> {
        self.demand(Part::Reg(from));
        let class = self.out.regs[from];
        match (to, class) {
            (&[low, high], RegClass::Int16) => {
                self.split_bytes(Word { vt: Vt::I16, part: Part::Reg(from) }, &[(0, low), (1, high)])
            }
            (&[low, high], _) => {
                let halves = Operand::Vector(Box::new([low.into(), high.into()]));
                self.emit(format_args!("mov.b128"), 1, [halves, from.into()])
            }
            (&[to], _) if self.out.regs[to].info().width == class.info().width => {
                self.copy(to, from);
                Ok(())
            }
            (&[to], _) => {
                let (wide, narrow) = (integer_type(class)?, integer_type(self.out.regs[to])?);
                self.op(format_args!("cvt.{narrow}.{wide}"), to, [from.into()])
            }
            _ => Ok(()),
        }
    }

    /// The registers that the text writes, and the copies from them to the words of the result where the class
    /// is not that of the word.
    fn asm_outputs(&mut self, classes: &[RegClass], words: &[Word]) -> Result<(Operands, Vec<Moved>), Error> {
        let mut operands = Operands::new();
        let mut after = Vec::new();
        let mut rest = words.iter();
        let missing = || Error::new("inline assembly whose results are not as many as its `=` constraints");
        for &class in classes {
            let word = *rest.next().ok_or_else(missing)?;
            let own = self.result(word)?;
            if class == RegClass::Int128 && word.vt == Vt::I64 {
                let high = self.result(*rest.next().ok_or_else(missing)?)?;
                let whole = self.new_class(class);
                operands.push(whole.into());
                after.push((SmallVec::from_slice(&[own, high]), whole));
                continue;
            }
            let bytes = word.vt == Vt::I8 && words.len() == 2 * classes.len();
            if fits(word.vt.class(), class) && !bytes {
                operands.push(own.into());
                continue;
            }
            let written = self.new_class(class);
            operands.push(written.into());
            if class == RegClass::Int16 && word.vt == Vt::I8 {
                let high = self.result(*rest.next().ok_or_else(missing)?)?;
                after.push((SmallVec::from_slice(&[own, high]), written));
            } else if self.is_demanded(own) {
                after.push((SmallVec::from_slice(&[own]), written));
            }
        }
        if rest.next().is_some() { Err(missing()) } else { Ok((operands, after)) }
    }

    /// An input in a register of the class that the letter asks for, or one that is as good.
    fn asm_input(&mut self, words: &[Word], class: RegClass) -> Result<VReg, Error> {
        if let ([low, high], RegClass::Int128) = (words, class) {
            let halves = [self.reg(*low)?.into(), self.reg(*high)?.into()];
            let whole = self.new_class(class);
            self.op(format_args!("mov.b128"), whole, [Operand::Vector(Box::new(halves))])?;
            return Ok(whole);
        }
        if let ([Word { vt: Vt::I8, .. }, _], RegClass::Int16) = (words, class) {
            let whole = self.new_class(class);
            self.join_bytes(whole, Vt::I16, words)?;
            return Ok(whole);
        }
        let &[word] = words else { return Err(Error::new("inline assembly operands of more than one register")) };
        if word.vt.bits() != class.info().width {
            let (wanted, own) = (integer_type(class)?, integer_type(word.vt.class())?);
            let src = self.src(word)?;
            let resized = self.new_class(class);
            self.demand(Part::Reg(resized));
            self.op(format_args!("cvt.{wanted}.{own}"), resized, [src])?;
            return Ok(resized);
        }
        if let (Part::Bits(_), false) = (word.part, word.vt.class() == class) {
            let vt = match class {
                RegClass::Int16 => Vt::I16,
                RegClass::Int32 => Vt::I32,
                RegClass::Int64 => Vt::I64,
                RegClass::Float32 => Vt::F32,
                _ => Vt::F64,
            };
            return self.reg(self.retyped(word, vt));
        }
        let reg = self.reg(word)?;
        if fits(word.vt.class(), class) {
            return Ok(reg);
        }
        let copied = self.new_class(class);
        self.copy(copied, reg);
        Ok(copied)
    }
}

/// The unsigned type of an integer class.
fn integer_type(class: RegClass) -> Result<&'static str, Error> {
    match class {
        RegClass::Int16 => Ok("u16"),
        RegClass::Int32 => Ok("u32"),
        RegClass::Int64 => Ok("u64"),
        _ => Err(Error::new("inline assembly operands of another width than their constraint")),
    }
}

type Operands = SmallVec<[Operand; 4]>;
/// Registers that get what one register of assembly holds: one, or the two halves.
type Moved = (SmallVec<[VReg; 2]>, VReg);

/// The text taken apart at `$0`, `${0}`, `${0:x}`, `${:uid}`; `$$` is a dollar sign, and of `$(a$|b$)` the first
/// alternative counts.
fn pieces(text: &str, operands: u32) -> Result<Vec<AsmPiece>, Error> {
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    let mut alternative: Option<u32> = None;
    let bad = |at: &str| {
        let shown: String = at.chars().take(12).collect();
        Error::new(format!("inline assembly texts with `{shown}`"))
    };
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        if alternative.is_none_or(|number| number == 0) {
            plain.push_str(before);
        }
        let next = after.chars().next().ok_or_else(|| bad(&rest[at..]))?;
        rest = match (next, alternative) {
            ('(', None) => {
                alternative = Some(0);
                &after[1..]
            }
            ('|', Some(number)) => {
                alternative = Some(number + 1);
                &after[1..]
            }
            (')', Some(_)) => {
                alternative = None;
                &after[1..]
            }
            ('$', _) => {
                plain.push('$');
                &after[1..]
            }
            ('{', _) => {
                let end = after.find('}').ok_or_else(|| bad(&rest[at..]))?;
                let inner = &after[1..end];
                let (number, modifier) = inner.split_once(':').unwrap_or((inner, ""));
                flush(&mut plain, &mut out);
                out.push(match (number, modifier) {
                    ("", "uid") => AsmPiece::Unique,
                    _ => AsmPiece::Operand(number.parse().ok().filter(|n| *n < operands).ok_or_else(|| bad(inner))?),
                });
                &after[end + 1..]
            }
            _ => {
                let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let number = after[..digits].parse().ok().filter(|n| *n < operands);
                flush(&mut plain, &mut out);
                out.push(AsmPiece::Operand(number.ok_or_else(|| bad(&rest[at..]))?));
                &after[digits..]
            }
        };
    }
    plain.push_str(rest);
    flush(&mut plain, &mut out);
    Ok(out)
}

fn flush(plain: &mut String, out: &mut Vec<AsmPiece>) {
    if !plain.is_empty() {
        out.push(AsmPiece::Text(std::mem::take(plain).into()));
    }
}
