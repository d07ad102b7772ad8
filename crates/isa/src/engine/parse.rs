//! Text to instructions: the syntax templates read backwards, with backtracking over optional parts.

use super::encode::legal;
use super::float_text::Format;
use super::lexeme::{bank_offset, constant, float, guard, lane_signs, narrow, number_set, register, reuse, small};
use super::print::{FLAGS_OF_IMMEDIATES, float_format, half_format, holds};
use super::scan::{Scan, is_word};
use super::table::{Item, Term, syntax_of};
use crate::{
    Arch, Control, FieldId, Guard, ImmFormat, Inst, Kinds, Opcode, Operand, OperandFlags, OperandSpec, RegFile,
    Setting, Value, special_registers,
};

/// The text is no instruction of the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No opcode of that name on the target.
    #[error("unknown mnemonic '{0}'")]
    Mnemonic(String),
    /// The guard is malformed or of the wrong register file.
    #[error("bad guard predicate in '{0}'")]
    Guard(String),
    /// Modifiers or operands do not follow the instruction's syntax; the text from where reading
    /// came farthest.
    #[error("{mnemonic}: cannot read '{rest}'")]
    Syntax {
        /// The mnemonic.
        mnemonic: &'static str,
        /// What could not be read.
        rest: String,
    },
    /// `SR256` and above.
    #[error("{}", special_registers::OUT_OF_RANGE)]
    SpecialRegister,
}

/// The instruction of a text such as `@P0 IADD3 R1, R2, 0x4, RZ`, with no scheduling bits, or with
/// [`Control::KEEPS`] where an operand has `.reuse`, which needs those in a 128-bit word. A label may be written as
/// a byte address. `resolve` gives the address of a name in `` `(name) ``.
pub fn parse(text: &str, arch: Arch, resolve: &dyn Fn(&str) -> Option<i64>) -> Result<Inst, ParseError> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let mut scan = Scan::new(text);
    let guard = guard(&mut scan).ok_or_else(|| ParseError::Guard(text.to_owned()))?;
    let body = scan;
    let name = scan.while_in(is_word);
    let mut failure = ParseError::Mnemonic(name.to_owned());
    for opcode in Opcode::all_named(name, arch).filter(|opcode| opcode.exists_on(arch)) {
        let (predicate, negated, uniform) = guard;
        if uniform.is_some_and(|u| u != opcode.info().guard_uniform) {
            failure = ParseError::Guard(text.to_owned());
            continue;
        }
        let mut inst = Inst::new(opcode);
        inst.guard = Guard { predicate, negated };
        inst.control = Control::NONE;
        match parse_body(inst, body, arch, resolve) {
            Ok(mut inst) => {
                if !arch.word_format().is_bundled() && keeps_operands(&inst) {
                    inst.control = Control::KEEPS;
                }
                return Ok(inst);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn keeps_operands(inst: &Inst) -> bool {
    inst.operands.iter().any(|operand| operand.flags.contains(OperandFlags::REUSE))
}

/// What follows the guard, by the templates of the opcode.
fn parse_body(
    inst: Inst,
    body: Scan<'_>,
    arch: Arch,
    resolve: &dyn Fn(&str) -> Option<i64>,
) -> Result<Inst, ParseError> {
    let opcode = inst.opcode;
    let mut reader = Reader { arch, resolve, farthest: body.rest(), read: Vec::new(), special_out_of_range: false };
    let mut unencodable = None;
    for syntax in syntax_of(opcode, arch) {
        if let Some(found) = reader.sequence(&[syntax.items], body, inst.clone(), &mut unencodable) {
            return Ok(found);
        }
    }
    if reader.special_out_of_range {
        return Err(ParseError::SpecialRegister);
    }
    // Read, but without an encoding: the caller's `encode` says why.
    unencodable.ok_or(ParseError::Syntax { mnemonic: opcode.name(), rest: reader.farthest.to_owned() })
}

impl Opcode {
    /// The opcode that the target prints as `name`: its own name, or another on that target
    /// (`RED` is what the older ones call `REDG`).
    /// One that the target has goes before one that it lacks.
    pub fn named(name: &str, arch: Arch) -> Option<Opcode> {
        let mut all = Opcode::all_named(name, arch);
        let first = all.next()?;
        if first.exists_on(arch) { Some(first) } else { all.find(|o| o.exists_on(arch)).or(Some(first)) }
    }

    /// The opcode of that name, if there is one, then those that the target prints under it.
    fn all_named(name: &str, arch: Arch) -> impl Iterator<Item = Opcode> {
        let own = Opcode::from_name(name);
        let named = move |item: &Item| matches!(item, Item::Text(text) if text.split(['.', ' ']).next() == Some(name));
        let is_printed = move |opcode: &Opcode| {
            Some(*opcode) != own && syntax_of(*opcode, arch).any(|s| s.items.first().is_some_and(named))
        };
        own.into_iter().chain(Opcode::ALL.into_iter().filter(is_printed))
    }
}

struct Reader<'a> {
    arch: Arch,
    resolve: &'a dyn Fn(&str) -> Option<i64>,
    farthest: &'a str,
    /// Fields whose place in the text has been passed, on the way that is being tried.
    read: Vec<FieldId>,
    special_out_of_range: bool,
}

impl<'a> Reader<'a> {
    /// Read the items of the innermost list, then of the outer ones, to the end of the text.
    fn sequence(
        &mut self,
        lists: &[&'static [Item]],
        mut scan: Scan<'a>,
        inst: Inst,
        unencodable: &mut Option<Inst>,
    ) -> Option<Inst> {
        if scan.rest().len() < self.farthest.len() {
            self.farthest = scan.rest();
        }
        let Some((items, outer)) = lists.split_first() else {
            scan.skip_space();
            if !scan.rest().is_empty() {
                return None;
            }
            if legal(&inst, self.arch).is_ok() {
                return Some(inst);
            }
            unencodable.get_or_insert(inst);
            return None;
        };
        let Some((item, later)) = items.split_first() else { return self.sequence(outer, scan, inst, unencodable) };
        let mut rest: Vec<&'static [Item]> = vec![later];
        rest.extend(outer);
        match item {
            Item::Text(text) => scan.literal(text).then(|| self.sequence(&rest, scan, inst, unencodable))?,
            Item::Field(field) | Item::Word(field) => {
                let mark = matches!(item, Item::Field(_)).then_some('.');
                self.field(*field, mark, scan, &inst, &mut |reader, scan, inst| {
                    reader.sequence(&rest, scan, inst, unencodable)
                })
            }
            Item::Number(index, format) => {
                self.operand((*index, None, Some(*format)), scan, &inst, &mut |reader, scan, inst| {
                    reader.sequence(&rest, scan, inst, unencodable)
                })
            }
            Item::Operand { index, suffix, .. } => {
                self.operand((*index, *suffix, None), scan, &inst, &mut |reader, scan, inst| {
                    reader.sequence(&rest, scan, inst, unencodable)
                })
            }
            Item::Address { parts, .. } => self
                .address(parts, scan, &inst, &mut |reader, scan, inst| reader.sequence(&rest, scan, inst, unencodable)),
            Item::Hidden(index) => {
                let mut inst = inst;
                if scan.literal("hidden[") {
                    let (file, number) = register(&mut scan)?;
                    inst.operands[*index] = Operand::reg(file, number);
                    scan.take(']').then_some(())?;
                } else if inst.operands[*index].value == Value::None {
                    inst.operands[*index] = zero_register(&inst, *index)?;
                }
                self.sequence(&rest, scan, inst, unencodable)
            }
            Item::Next(..) => {
                register(&mut scan)?;
                self.sequence(&rest, scan, inst, unencodable)
            }
            Item::Set(index) => {
                let mut inst = inst;
                inst.operands[*index] = Operand::imm(number_set(&mut scan)?);
                self.sequence(&rest, scan, inst, unencodable)
            }
            Item::Indexed { bank, base, .. } => {
                let inst = indexed(&mut scan, inst, *bank, *base)?;
                self.sequence(&rest, scan, inst, unencodable)
            }
            Item::Group { when, items } => self.group((when, items), &rest, scan, inst, unencodable),
        }
    }

    /// Read the items of a group and what follows, or what follows alone, as the group's condition lets it.
    fn group(
        &mut self,
        (when, items): (&[&[Term]], &'static [Item]),
        rest: &[&'static [Item]],
        scan: Scan<'a>,
        inst: Inst,
        unencodable: &mut Option<Inst>,
    ) -> Option<Inst> {
        let wanted = self.wanted(when, &inst);
        let mut with = vec![items];
        with.extend(rest);
        let found = match wanted {
            Some(false) => None,
            _ => self.sequence(&with, scan, implied(&inst, when), unencodable),
        };
        match wanted {
            Some(true) => found,
            _ => found.or_else(|| self.sequence(rest, scan, inst, unencodable)),
        }
    }

    /// Whether a group is there, as far as the modifiers read so far tell.
    fn wanted(&self, when: &[&[Term]], inst: &Inst) -> Option<bool> {
        let known = |term: &Term| match term {
            Term::Field { field, .. } if self.read.contains(field) => Some(holds(inst, &[&[*term]])),
            _ => None,
        };
        let mut open = false;
        for all in when {
            if all.iter().all(|term| known(term) == Some(true)) {
                return Some(true);
            }
            open |= all.iter().all(|term| known(term) != Some(false));
        }
        if open { None } else { Some(false) }
    }

    /// Each value whose text comes next after the mark, the longest first, then the values without text.
    fn field(
        &mut self,
        field: FieldId,
        mark: Option<char>,
        mut scan: Scan<'a>,
        inst: &Inst,
        next: Next<'_, 'a>,
    ) -> Option<Inst> {
        if mark.is_none() {
            scan.skip_space();
        }
        let mut values: Vec<_> = field.values().iter().collect();
        values.sort_by_key(|v| std::cmp::Reverse(v.text.len()));
        for value in values {
            let mut ahead = scan;
            // Without a mark other text may follow at once: `64x` `128` `x16`.
            let read = match mark {
                Some(mark) => value.text.is_empty() || (ahead.take(mark) && ahead.word_is(value.text)),
                None => ahead.literal(value.text),
            };
            if !read {
                continue;
            }
            let mut inst = inst.clone();
            if value.code == inst.opcode.default_code(field) {
                inst.mods.remove(field);
            } else {
                inst.mods.apply(Setting::raw(field, value.code));
            }
            self.read.push(field);
            let found = next(self, ahead, inst);
            self.read.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// An operand by index and suffix; the format is that of its immediates, if not the signature's.
    fn operand(
        &mut self,
        (index, suffix, format): (usize, Option<FieldId>, Option<ImmFormat>),
        mut scan: Scan<'a>,
        inst: &Inst,
        next: Next<'_, 'a>,
    ) -> Option<Inst> {
        scan.skip_space();
        let spec = &inst.opcode.signature()[index];
        let mut ahead = scan;
        if let Some(value) = self.immediate(spec, format.unwrap_or(spec.imm), &mut ahead, inst) {
            let mut inst = inst.clone();
            inst.operands[index] = Operand { value, flags: OperandFlags::empty() };
            for (flag, name) in FLAGS_OF_IMMEDIATES {
                if ahead.literal(name) {
                    inst.operands[index].flags = inst.operands[index].flags.with(flag);
                }
            }
            // A number may be a code address as well.
            let found = match suffix {
                Some(field) => self.field(field, Some('.'), ahead, &inst, next),
                None => next(self, ahead, inst),
            };
            if found.is_some() || !spec.kinds.contains(Kinds::LABEL) {
                return found;
            }
        }
        let mut flags = OperandFlags::empty();
        for (mark, flag) in [('!', OperandFlags::NOT), ('~', OperandFlags::NOT), ('-', OperandFlags::NEG)] {
            if scan.take(mark) {
                flags = flags.with(flag);
            }
        }
        let bars = scan.take('|');
        if bars {
            flags = flags.with(OperandFlags::ABS);
        }
        let value = self.value(spec, &mut scan)?;
        let mut inst = inst.clone();
        inst.operands[index] = Operand { value, flags };
        self.tail(index, suffix, bars, scan, &inst, next)
    }

    /// What follows the value: suffix, closing bar and `.reuse`, in the orders that occur.
    fn tail(
        &mut self,
        index: usize,
        suffix: Option<FieldId>,
        bars: bool,
        mut scan: Scan<'a>,
        inst: &Inst,
        next: Next<'_, 'a>,
    ) -> Option<Inst> {
        let closed = bars && scan.take('|');
        let early = (closed || !bars) && reuse(&mut scan);
        let mut finish = |reader: &mut Reader<'a>, mut scan: Scan<'a>, mut inst: Inst| {
            if bars && !closed && !scan.take('|') {
                return None;
            }
            if early || reuse(&mut scan) {
                inst.operands[index].flags = inst.operands[index].flags.with(OperandFlags::REUSE);
            }
            next(reader, scan, inst)
        };
        match suffix {
            Some(field) => self.field(field, Some('.'), scan, inst, &mut finish),
            None => finish(self, scan, inst.clone()),
        }
    }

    fn immediate(&self, spec: &OperandSpec, format: ImmFormat, scan: &mut Scan<'a>, inst: &Inst) -> Option<Value> {
        if !spec.kinds.contains(Kinds::IMM) {
            return None;
        }
        let mut ahead = *scan;
        let bits = match format {
            // Of a longer number.
            ImmFormat::Unsigned(20) if spec.imm != format => {
                let low = ahead.integer().filter(|v| (0..1 << 20).contains(v))?;
                u64::from((low << 44 >> 44) as u32)
            }
            ImmFormat::Unsigned(_) if ahead.take('-') => return None,
            ImmFormat::Unsigned(_) => ahead.integer()? as u64,
            ImmFormat::Signed(32) => u64::from(ahead.integer()? as u32),
            ImmFormat::Signed(bits) => narrow(ahead.integer()?, bits) as u64,
            ImmFormat::Swizzle => lane_signs(&mut ahead, self.arch)?,
            ImmFormat::F32 => {
                let (format, shift) = float_format(inst);
                float(&mut ahead, format)? >> shift
            }
            ImmFormat::F64 => float(&mut ahead, Format::F64)?,
            ImmFormat::Half => {
                let format = half_format(inst);
                let high = float(&mut ahead, format)?;
                if !ahead.literal(", ") {
                    return None;
                }
                ahead.skip_space();
                high << 16 | float(&mut ahead, format)?
            }
        };
        *scan = ahead;
        Some(Value::Imm(bits))
    }

    fn value(&mut self, spec: &OperandSpec, scan: &mut Scan<'a>) -> Option<Value> {
        let mut ahead = *scan;
        if let Some((file, number)) = register(&mut ahead)
            && spec.kinds.contains(Kinds::of_file(file))
        {
            *scan = ahead;
            return Some(Value::Reg(file, number));
        }
        if !spec.kinds.is_disjoint(Kinds::CONST.with(Kinds::CONST_BINDLESS))
            && let Some(value) = constant(scan)
        {
            return Some(value);
        }
        if spec.kinds.contains(Kinds::SPECIAL) {
            let mut ahead = *scan;
            let name = ahead.while_in(|c| is_word(c) || c == '.');
            if let Some(number) = special_registers::parse(name, self.arch) {
                *scan = ahead;
                return Some(Value::Special(number));
            }
            let number = name.strip_prefix("SR").filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
            self.special_out_of_range |=
                number.is_some_and(|digits| !digits.is_empty() && digits.parse::<u8>().is_err());
        }
        if spec.kinds.contains(Kinds::LABEL) { self.label(scan) } else { None }
    }

    fn label(&self, scan: &mut Scan<'a>) -> Option<Value> {
        if scan.literal("`(") {
            let name = scan.while_in(|c| c != ')');
            let address = (self.resolve)(name)?;
            return scan.take(')').then_some(Value::Label(self.arch.word_format().target_of(address)));
        }
        scan.integer().map(Value::Label)
    }

    /// Parts of an address in order, each optional, with `+` between.
    fn address(
        &mut self,
        parts: &[(usize, Option<FieldId>)],
        scan: Scan<'a>,
        inst: &Inst,
        next: Next<'_, 'a>,
    ) -> Option<Inst> {
        let Some(((index, suffix), later)) = parts.split_first() else { return next(self, scan, inst.clone()) };
        let with = self.operand((*index, *suffix, None), scan, inst, &mut |reader, mut scan, inst| {
            if later.is_empty() || scan.rest().starts_with(']') {
                return next(reader, scan, inst);
            }
            if !scan.take('+') { None } else { reader.address(later, scan, &inst, next) }
        });
        with.or_else(|| self.address(later, scan, inst, next))
    }
}

/// What to read after an item.
type Next<'n, 'a> = &'n mut dyn FnMut(&mut Reader<'a>, Scan<'a>, Inst) -> Option<Inst>;

/// The instruction with the field values that a group's condition leaves no choice about.
fn implied(inst: &Inst, when: &[&[Term]]) -> Inst {
    let mut inst = inst.clone();
    let [terms] = when else { return inst };
    for term in *terms {
        let Term::Field { field, value, equal } = term else { continue };
        if (inst.raw(*field) == *value) == *equal {
            continue;
        }
        let mut others = field.values().iter().map(|v| v.code).filter(|code| code != value);
        match (equal, others.next(), others.next()) {
            (true, ..) => inst.mods.apply(Setting::raw(*field, *value)),
            (false, Some(other), None) => inst.mods.apply(Setting::raw(*field, other)),
            _ => {}
        }
    }
    inst
}

/// The zero register of the only file that the operand may be in.
fn zero_register(inst: &Inst, index: usize) -> Option<Operand> {
    let kinds = inst.opcode.signature()[index].kinds;
    let file = [RegFile::R, RegFile::UR].into_iter().find(|f| kinds.contains(Kinds::of_file(*f)))?;
    Some(Operand::reg(file, file.zero()?))
}

/// `c[0x0][R2+0x10]`, `c[0x0][RZ]`, `c[0x0][0x10]`, and the same of `cx[UR4]`.
fn indexed(scan: &mut Scan<'_>, mut inst: Inst, bank: usize, base: usize) -> Option<Inst> {
    scan.skip_space();
    let mut ahead = *scan;
    if let Some(value) = constant(&mut ahead) {
        *scan = ahead;
        inst.operands[bank] = Operand { value, flags: OperandFlags::empty() };
        return Some(inst);
    }
    let bindless = scan.literal("cx[");
    if !bindless && !scan.literal("c[") {
        return None;
    }
    let number = if bindless { register(scan).filter(|(f, _)| *f == RegFile::UR)?.1 } else { small(scan)? };
    if !scan.literal("][") {
        return None;
    }
    let (file, register) = register(scan)?;
    let offset = if scan.take('+') { bank_offset(scan)? } else { 0 };
    if !scan.take(']') {
        return None;
    }
    let value = match bindless {
        true => Value::ConstBindless { ureg: number, offset },
        false => Value::Const { bank: u8::try_from(number).ok()?, offset },
    };
    inst.operands[bank] = Operand { value, flags: OperandFlags::empty() };
    inst.operands[base] = Operand::reg(file, register);
    Some(inst)
}
