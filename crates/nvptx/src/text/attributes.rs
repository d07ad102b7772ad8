//! Attributes. What the back end has no use for is passed over.

use rustc_hash::FxHashMap;

use crate::ir::{Attributes, FnFlags, MemoryEffects, ParamFlags, SUBNORMALS, TypeId};

use super::lexer::Kind;
use super::names::Pointee;
use super::parser::{Parsed, Parser, error, span};
use super::words::Word;

bitflags::bitflags! {
    /// What may be done to one part of memory.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Access: u8 {
        const READ = 1;
        const WRITE = 2;
    }
}

/// `"nvvm.grid_constant"`, the string that makes [`ParamFlags::GRID_CONSTANT`].
pub(super) const GRID_CONSTANT: &str = "nvvm.grid_constant";

/// What `denormal_fpenv` calls the modes, and what the string attributes did.
const DENORMAL_MODES: [(&str, &str); 4] =
    [("ieee", "ieee"), ("preservesign", "preserve-sign"), ("positivezero", "positive-zero"), ("dynamic", "dynamic")];

/// Attributes that change nothing here: they are hints, they are about the code of other targets, or they allow what is never done. Source: the
/// LLVM language reference, "Parameter Attributes" and "Function Attributes".
const IDLE_ATTRIBUTES: &[&str] = &[
    "allocalign",
    "allockind",
    "allocptr",
    "allocsize",
    "builtin",
    "coro_elide_safe",
    "coro_only_destroy_when_complete",
    "dead_on_return",
    "dead_on_unwind",
    "dereferenceable_or_null",
    "disable_sanitizer_instrumentation",
    "elementtype",
    "flatten",
    "fn_ret_thunk_extern",
    "hot",
    "hybrid_patchable",
    "immarg",
    "initializes",
    "inlinehint",
    "inreg",
    "jumptable",
    "minsize",
    "mustprogress",
    "naked",
    "nest",
    "nobuiltin",
    "nocallback",
    "nocf_check",
    "nocreateundeforpoison",
    "nodivergencesource",
    "noduplicate",
    "noext",
    "nofpclass",
    "nofree",
    "noimplicitfloat",
    "nomerge",
    "nonlazybind",
    "nooutline",
    "noprofile",
    "noredzone",
    "nosanitize_bounds",
    "nosanitize_coverage",
    "nosync",
    "null_pointer_is_valid",
    "optdebug",
    "optforfuzzing",
    "optsize",
    "preallocated",
    "presplitcoroutine",
    "returns_twice",
    "safestack",
    "sanitize_address",
    "sanitize_alloc_token",
    "sanitize_hwaddress",
    "sanitize_memory",
    "sanitize_memtag",
    "sanitize_numerical_stability",
    "sanitize_realtime",
    "sanitize_realtime_blocking",
    "sanitize_thread",
    "sanitize_type",
    "shadowcallstack",
    "skipprofile",
    "speculative_load_hardening",
    "ssp",
    "sspreq",
    "sspstrong",
    "strictfp",
    "swiftasync",
    "swifterror",
    "swiftself",
    "uwtable",
    "vscale_range",
    "writable",
];

impl<'a> Parser<'a> {
    /// Attributes of a parameter, argument or result. `pointee` is what a typed pointer points to,
    /// for `byval` and `sret` without a type.
    pub(super) fn param_attributes(&mut self, pointee: Option<Pointee<'a>>) -> Parsed<Attributes> {
        let mut attributes = Attributes::default();
        loop {
            match self.token.kind {
                Kind::Word if self.token.word.is_attribute() => {
                    self.attribute(&mut attributes, pointee.as_ref())?;
                }
                Kind::Text => self.string_attribute(&mut attributes)?,
                _ => return Ok(attributes),
            }
        }
    }

    /// A `range` must be one of the type that its value has.
    pub(super) fn check_range(&self, attributes: &Attributes, ty: TypeId) -> Parsed<()> {
        let fits = attributes.range.is_none() || self.range_type == Some(self.module.types.scalar(ty));
        if fits { Ok(()) } else { Err(self.error("the attribute `range` before this has another type than its value")) }
    }

    /// Adds attributes of a function or call, with groups, until something else stands here. A word
    /// that the reader does not know is an attribute only in the line that has begun, and `align`
    /// of a function is no attribute.
    pub(super) fn function_attributes(&mut self, attributes: &mut Attributes) -> Parsed<()> {
        loop {
            match self.token.kind {
                Kind::Word if self.token.word == Word::Unknown && self.token.new_line => break,
                Kind::Word if self.token.word == Word::Align => break,
                Kind::Word if self.token.word.is_attribute() => self.attribute(attributes, None)?,
                Kind::Text => self.string_attribute(attributes)?,
                Kind::AttributeGroup => self.use_group(attributes)?,
                _ => break,
            }
        }
        older_memory_words(attributes);
        Ok(())
    }

    /// `"key"` or `"key"="value"`
    fn string_attribute(&mut self, attributes: &mut Attributes) -> Parsed<()> {
        let key = self.string()?;
        let value = if self.eat(Kind::Equal) { self.string()? } else { "".into() };
        if key == GRID_CONSTANT {
            attributes.param |= ParamFlags::GRID_CONSTANT;
        } else {
            attributes.strings.push((key.into(), value.into()));
        }
        Ok(())
    }

    /// One attribute that is a word, with its operands.
    fn attribute(&mut self, attributes: &mut Attributes, pointee: Option<&Pointee<'a>>) -> Parsed<()> {
        let token = self.bump();
        let word = token.word;
        match word {
            Word::Align => attributes.align = self.alignment_operand()?,
            Word::AlignStack => attributes.stack_align = self.alignment_operand()?,
            Word::Dereferenceable => {
                self.expect(Kind::OpenParen)?;
                attributes.dereferenceable = self.unsigned()?;
                self.expect(Kind::CloseParen)?;
            }
            Word::ByVal => attributes.by_val = Some(self.type_operand(word, pointee)?),
            Word::SRet => attributes.sret = Some(self.type_operand(word, pointee)?),
            Word::InAlloca => return Err(self.error("`inalloca` is not supported: no GPU passes arguments so")),
            Word::Range => attributes.range = Some(self.range_operand()?),
            Word::Memory => attributes.memory = self.memory_operand()?,
            Word::Captures => {
                let from = self.token.start;
                self.skip_brackets()?;
                let operand: String = self.source()[from as usize..self.previous_end()].split_whitespace().collect();
                if operand == "(none)" {
                    attributes.param |= ParamFlags::NO_CAPTURE;
                }
            }
            Word::ArgMemOnly => {
                attributes.memory = match attributes.memory {
                    MemoryEffects::Read => MemoryEffects::ReadArgs,
                    _ => MemoryEffects::Args,
                }
            }
            Word::InaccessibleMemOnly => attributes.memory = MemoryEffects::Inaccessible,
            Word::InaccessibleMemOrArgMemOnly => {}
            Word::NoIpa => attributes.function |= FnFlags::NO_INLINE,
            Word::DenormalFpEnv => self.denormal_operand(attributes)?,
            _ => match (function_flag(word), param_flag(word)) {
                (Some(flag), _) => attributes.function |= flag,
                (_, Some(flag)) => attributes.param |= flag,
                _ => {
                    let name = self.text(token);
                    if !IDLE_ATTRIBUTES.contains(&name) {
                        self.module
                            .warn(format!("the attribute `{name}` is not known: if it has a meaning, it is lost"));
                    }
                    self.unknown_operand()?;
                }
            },
        }
        Ok(())
    }

    /// `(preservesign|ieee, float: dynamic)`: what becomes of subnormal results and operands of all types, and of `float`. LLVM before 23 has two
    /// string attributes for it.
    fn denormal_operand(&mut self, attributes: &mut Attributes) -> Parsed<()> {
        self.expect(Kind::OpenParen)?;
        self.list(Kind::CloseParen, |p| {
            let all = !(p.at(Kind::Label) && p.text(p.token) == "float:");
            if !all {
                p.bump();
            }
            let results = p.denormal_mode()?;
            let operands = if p.eat(Kind::Bar) { p.denormal_mode()? } else { results };
            let key = SUBNORMALS[usize::from(all)];
            attributes.strings.push((key.into(), format!("{results},{operands}").into()));
            Ok(())
        })?;
        Ok(())
    }

    /// What becomes of subnormals, as the older string attributes call it.
    fn denormal_mode(&mut self) -> Parsed<&'static str> {
        let known = DENORMAL_MODES.iter().find(|(name, _)| *name == self.text(self.token));
        let Some((_, older)) = known else {
            return Err(self.expected("`ieee`, `preservesign`, `positivezero` or `dynamic`"));
        };
        self.bump();
        Ok(older)
    }

    /// What may stand behind a word that is not known: `(…)` or `=5`.
    fn unknown_operand(&mut self) -> Parsed<()> {
        if self.at(Kind::OpenParen) {
            return self.skip_brackets();
        }
        if self.eat(Kind::Equal) {
            self.bump();
        }
        Ok(())
    }

    /// `(T)` of `byval` and the like; in older text it is what the pointer points to.
    fn type_operand(&mut self, word: Word, pointee: Option<&Pointee<'a>>) -> Parsed<TypeId> {
        if self.eat(Kind::OpenParen) {
            let ty = self.ty()?;
            self.expect(Kind::CloseParen)?;
            return Ok(ty);
        }
        match pointee {
            Some(pointee) => self.pointee_type(pointee.clone()),
            None => Err(self.error(format!("`{}` needs a type: `{0}(T)`", word.as_str()))),
        }
    }

    /// `(i32 0, 5)`: the bounds, zero-extended.
    fn range_operand(&mut self) -> Parsed<(u128, u128)> {
        self.expect(Kind::OpenParen)?;
        let start = self.token;
        let ty = self.ty()?;
        let Some(bits) = self.module.types.int_bits(ty) else {
            return Err(error(span(start), "a range is one of integers"));
        };
        self.range_type = Some(ty);
        let low = self.integer(bits)?;
        self.expect(Kind::Comma)?;
        let high = self.integer(bits)?;
        self.expect(Kind::CloseParen)?;
        Ok((low, high))
    }

    /// `(argmem: read, inaccessiblemem: write)`
    fn memory_operand(&mut self) -> Parsed<MemoryEffects> {
        self.expect(Kind::OpenParen)?;
        let mut others = Access::empty();
        let (mut args, mut inaccessible) = (None, None);
        self.list(Kind::CloseParen, |p| {
            let place = p.at(Kind::Label).then(|| p.text(p.token));
            if place.is_some() {
                p.bump();
            }
            let access = match p.text(p.token) {
                "none" => Access::empty(),
                "read" => Access::READ,
                "write" => Access::WRITE,
                "readwrite" => Access::all(),
                _ => return Err(p.expected("`none`, `read`, `write` or `readwrite`")),
            };
            p.bump();
            match place {
                None => others = access,
                Some("argmem:") => args = Some(access),
                Some("inaccessiblemem:") => inaccessible = Some(access),
                Some(_) => others |= access,
            }
            Ok(())
        })?;
        Ok(memory_effects(args.unwrap_or(others), inaccessible.unwrap_or(others), others))
    }

    /// Adds what `#5` stands for.
    fn use_group(&mut self, attributes: &mut Attributes) -> Parsed<()> {
        let token = self.bump();
        if self.groups.is_none() {
            self.groups = Some(FxHashMap::default());
            self.find_groups()?;
        }
        // As for LLVM, a group that is defined nowhere is empty.
        if let Some(group) = self.groups.as_ref().and_then(|groups| groups.get(&token.number)) {
            attributes.merge(group);
        }
        Ok(())
    }

    /// Reads all groups; they stand behind the functions that use them.
    fn find_groups(&mut self) -> Parsed<()> {
        let text = self.source();
        let mut from = 0;
        while let Some(found) = text[from..].find("\nattributes #") {
            from += found + 1;
            self.elsewhere(from as u32, |p| {
                p.bump();
                let number = p.expect(Kind::AttributeGroup)?.number;
                p.expect(Kind::Equal)?;
                p.expect(Kind::OpenBrace)?;
                let mut group = Attributes::default();
                while !p.eat(Kind::CloseBrace) {
                    match p.token.kind {
                        Kind::Word => p.attribute(&mut group, None)?,
                        Kind::Text => p.string_attribute(&mut group)?,
                        _ => return Err(p.expected("an attribute or `}`")),
                    }
                }
                older_memory_words(&mut group);
                if let Some(groups) = &mut p.groups {
                    groups.entry(number).or_default().merge(&group);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// `readnone`, `readonly` and `argmemonly` of a function, as LLVM wrote them before version 16.
fn older_memory_words(attributes: &mut Attributes) {
    if attributes.param.contains(ParamFlags::READ_NONE) {
        attributes.memory = MemoryEffects::None;
    } else if attributes.param.contains(ParamFlags::READ_ONLY) {
        attributes.memory = match attributes.memory {
            MemoryEffects::Args => MemoryEffects::ReadArgs,
            MemoryEffects::Any => MemoryEffects::Read,
            same => same,
        };
    }
    attributes.param -= ParamFlags::READ_NONE | ParamFlags::READ_ONLY | ParamFlags::WRITE_ONLY;
}

fn memory_effects(args: Access, inaccessible: Access, others: Access) -> MemoryEffects {
    let none = Access::empty();
    match (args, inaccessible, others) {
        (a, i, o) if (a | i | o) == none => MemoryEffects::None,
        (Access::READ, i, o) if (i | o) == none => MemoryEffects::ReadArgs,
        (_, i, o) if (i | o) == none => MemoryEffects::Args,
        (a, _, o) if (a | o) == none => MemoryEffects::Inaccessible,
        (a, i, o) if (a | i | o) == Access::READ => MemoryEffects::Read,
        _ => MemoryEffects::Any,
    }
}

/// The words that are flags of functions.
pub(super) const FUNCTION_FLAGS: &[(Word, FnFlags)] = &[
    (Word::Convergent, FnFlags::CONVERGENT),
    (Word::NoInline, FnFlags::NO_INLINE),
    (Word::AlwaysInline, FnFlags::ALWAYS_INLINE),
    (Word::NoReturn, FnFlags::NO_RETURN),
    (Word::WillReturn, FnFlags::WILL_RETURN),
    (Word::NoUnwind, FnFlags::NO_UNWIND),
    (Word::OptNone, FnFlags::OPT_NONE),
    (Word::Speculatable, FnFlags::SPECULATABLE),
    (Word::NoRecurse, FnFlags::NO_RECURSE),
    (Word::Cold, FnFlags::COLD),
];

/// The words that are flags of parameters and results.
pub(super) const PARAM_FLAGS: &[(Word, ParamFlags)] = &[
    (Word::SignExt, ParamFlags::SIGN_EXT),
    (Word::ZeroExt, ParamFlags::ZERO_EXT),
    (Word::NoAlias, ParamFlags::NO_ALIAS),
    (Word::NoCapture, ParamFlags::NO_CAPTURE),
    (Word::ReadOnly, ParamFlags::READ_ONLY),
    (Word::WriteOnly, ParamFlags::WRITE_ONLY),
    (Word::ReadNone, ParamFlags::READ_NONE),
    (Word::NonNull, ParamFlags::NON_NULL),
    (Word::NoUndef, ParamFlags::NO_UNDEF),
    (Word::Returned, ParamFlags::RETURNED),
];

fn function_flag(word: Word) -> Option<FnFlags> {
    FUNCTION_FLAGS.iter().find(|(name, _)| *name == word).map(|&(_, flag)| flag)
}

fn param_flag(word: Word) -> Option<ParamFlags> {
    PARAM_FLAGS.iter().find(|(name, _)| *name == word).map(|&(_, flag)| flag)
}
