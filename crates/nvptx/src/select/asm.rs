//! Inline assembly: constraints and text taken apart.

use smallvec::SmallVec;

use super::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::words::Word;
use crate::ir::{Call, FnFlags, InlineAsm, InstId};
use crate::machine::{Asm, AsmPiece, Opcode, Operand};

/// What one constraint asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Constraint {
    /// `=r` and other results.
    Output,
    /// `r`, `l`, `f`, `d`, `h`, `c`, `b`, `q`: a register.
    Register,
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
            return if is_register(letters) { Ok(Constraint::Output) } else { Err(bad()) };
        }
        if let Ok(number) = text.parse() {
            return Ok(Constraint::Tied(number));
        }
        match text {
            _ if is_register(text) => Ok(Constraint::Register),
            "n" | "i" | "s" | "X" => Ok(Constraint::Immediate),
            _ => Err(bad()),
        }
    }
}

fn is_register(letters: &str) -> bool {
    matches!(letters, "r" | "l" | "f" | "d" | "h" | "c" | "b" | "q" | "R" | "N" | "C")
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
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        for word in words {
            operands.push(self.result(*word)?.into());
        }
        let outputs = constraints.iter().filter(|constraint| **constraint == Constraint::Output).count();
        if outputs != words.len() {
            return Err(Error::new("inline assembly whose results are not as many as its `=` constraints"));
        }
        let mut ties = Vec::new();
        let mut args = call.args.iter();
        for constraint in &constraints {
            if !matches!(constraint, Constraint::Register | Constraint::Immediate | Constraint::Tied(_)) {
                continue;
            }
            let value =
                *args.next().ok_or_else(|| Error::new("inline assembly with fewer operands than constraints"))?;
            let word = self.word(value)?;
            let number = operands.len() as u32;
            operands.push(match constraint {
                Constraint::Immediate => self.bits_src(word)?,
                _ => self.asm_input(word)?,
            });
            if let Constraint::Tied(output) = constraint {
                if *output as usize >= outputs {
                    return Err(Error::new("inline assembly constraints that name a result that there is not"));
                }
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
        self.push(Opcode::Asm(id), words.len() as u16, operands);
        Ok(())
    }

    /// An input in a register of at least 16 bits, or a predicate.
    fn asm_input(&mut self, word: Word) -> Result<Operand, Error> {
        let vt = if word.vt == Vt::I8 { Vt::I16 } else { word.vt };
        Ok(self.reg(self.retyped(word, vt))?.into())
    }
}

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
