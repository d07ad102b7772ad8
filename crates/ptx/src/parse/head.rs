//! The head of an instruction: its opcode with its modifiers.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Failed, Parse, Parser};
use crate::ast::{Modifier, Opcode, Space, Span};
use crate::diag::Diagnostic;
use crate::lexer::Token;
use crate::suggest::closest;

/// How many heads are remembered: a text repeats few of them many times.
const MOST_HEADS: usize = 1024;

/// By byte: whether opcodes and modifiers may have it in them.
static STANDS_IN_HEAD: [bool; 256] = {
    let mut stands = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        stands[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'$' | b'.' | b':');
        byte += 1;
    }
    stands
};

/// An opcode with its modifiers.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) opcode: Opcode,
    pub(super) modifiers: SmallVec<[Modifier; 5]>,
}

/// Heads by their text, for those that have no spaces in them.
pub(super) type Heads<'s> = FxHashMap<&'s str, Head>;

impl<'s> Parser<'s> {
    /// Takes the head of an instruction, of which the first word is at hand. Nothing but that word is taken where it is
    /// a label.
    pub(super) fn head(&mut self) -> Parse<Option<Head>> {
        let (word, at) = (self.slice(), self.span);
        let text = self.text_of_head();
        if text.len() > word.len()
            && let Some(Head { opcode, modifiers }) = self.heads.get(text)
        {
            let head = Head { opcode: *opcode, modifiers: SmallVec::from_slice(modifiers) };
            self.bump_by(text.len() - word.len());
            return self.with_modifiers(head).map(Some);
        }
        self.bump();
        if self.token == Token::Colon {
            return Ok(None);
        }
        let Some(opcode) = Opcode::from_name(word) else { return Err(self.unknown_opcode(word, at)) };
        let head = self.with_modifiers(Head { opcode, modifiers: SmallVec::new() })?;
        // The tokens are those of the text, and would be wherever it stands: none of its characters is left over, and
        // what may follow it belongs to no token that starts in it.
        if self.since(at).range().len() == text.len() && self.heads.len() < MOST_HEADS {
            self.heads.insert(text, head.clone());
        }
        Ok(Some(head))
    }

    /// The text from the word at hand on to the first character that stands in no opcode or modifier.
    fn text_of_head(&self) -> &'s str {
        let rest = self.lexer.remainder().bytes().take_while(|byte| STANDS_IN_HEAD[usize::from(*byte)]).count();
        let word = self.lexer.span();
        &self.text[word.start..word.end + rest]
    }

    /// Takes the modifiers that follow, dots included.
    fn with_modifiers(&mut self, mut head: Head) -> Parse<Head> {
        while self.token == Token::Dot {
            let text = &self.slice()[1..];
            let modifier = Modifier::from_name(text).unwrap_or_else(|| Modifier::Other(self.intern_text(text)));
            head.modifiers.push(modifier);
            self.bump();
            if modifier == Modifier::Space(Space::Const) {
                self.constant_bank()?;
            }
        }
        Ok(head)
    }

    /// Reports a word that stands where an instruction should, and is none.
    #[cold]
    fn unknown_opcode(&mut self, text: &str, at: Span) -> Failed {
        let shown = super::shorten(text);
        let unknown = Diagnostic::new(at, format!("unknown instruction `{shown}`")).label("not a PTX instruction");
        let diagnostic = match closest(text, Opcode::ALL.iter().map(|op| op.as_str())) {
            _ if text.starts_with('%') && self.token == Token::Ident => {
                Diagnostic::new(at, format!("`{shown}` is no instruction, and a guard starts with `@`"))
                    .help(format!("write `@{shown}`"))
            }
            _ if self.token == Token::Equals => Diagnostic::new(self.span, "PTX has no assignment with `=`")
                .help("write the result as the first operand: `add.s32 %r1, %r2, %r3;`"),
            Some(near) => unknown.help(format!("did you mean `{near}`?")),
            None if self.after_line_break() => {
                self.lost_declarations = true;
                unknown.help(format!("a label is written `{shown}:`"))
            }
            None => unknown,
        };
        self.error(diagnostic);
        Failed
    }
}
