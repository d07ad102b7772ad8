//! Attribute groups and lists.

use super::attribute_list::{AttributeList, Part};

use crate::ir::{Attributes, FnFlags, MemoryEffects, ParamFlags, SUBNORMALS};

use super::LazyModule;
use super::bits::signed;
use super::codes::attribute;
use super::error::Result;
use super::stream::{Block, BlockHead, Fields, Item, Record, text};

/// Single words and what they set. Numbers that are in no table mean nothing to the back end.
const FN_FLAGS: &[(u64, FnFlags)] = &[
    (2, FnFlags::ALWAYS_INLINE),
    (14, FnFlags::NO_INLINE),
    (17, FnFlags::NO_RETURN),
    (18, FnFlags::NO_UNWIND),
    (36, FnFlags::COLD),
    (37, FnFlags::OPT_NONE),
    (43, FnFlags::CONVERGENT),
    (48, FnFlags::NO_RECURSE),
    (53, FnFlags::SPECULATABLE),
    (61, FnFlags::WILL_RETURN),
    // `noipa`.
    (109, FnFlags::NO_INLINE),
];

const PARAM_FLAGS: &[(u64, ParamFlags)] = &[
    (9, ParamFlags::NO_ALIAS),
    (11, ParamFlags::NO_CAPTURE),
    (20, ParamFlags::READ_NONE),
    (21, ParamFlags::READ_ONLY),
    (22, ParamFlags::RETURNED),
    (24, ParamFlags::SIGN_EXT),
    (34, ParamFlags::ZERO_EXT),
    (39, ParamFlags::NON_NULL),
    (52, ParamFlags::WRITE_ONLY),
    (68, ParamFlags::NO_UNDEF),
];

/// Kinds with an operand, and those that meant an effect on memory before `memory(…)`.
mod kind {
    pub(super) const ALIGN: u64 = 1;
    pub(super) const BY_VAL: u64 = 3;
    pub(super) const READ_NONE: u64 = 20;
    pub(super) const READ_ONLY: u64 = 21;
    pub(super) const STACK_ALIGN: u64 = 25;
    pub(super) const SRET: u64 = 29;
    pub(super) const DEREFERENCEABLE: u64 = 41;
    pub(super) const ARGMEM_ONLY: u64 = 45;
    pub(super) const INACCESSIBLEMEM_ONLY: u64 = 49;
    pub(super) const INACCESSIBLEMEM_OR_ARGMEM_ONLY: u64 = 50;
    pub(super) const WRITE_ONLY: u64 = 52;
    pub(super) const MEMORY: u64 = 86;
    pub(super) const RANGE: u64 = 92;
    pub(super) const CAPTURES: u64 = 102;
    pub(super) const DENORMAL_FPENV: u64 = 106;
    /// The last that is known: `noipa` of LLVM 23.
    pub(super) const LAST: u64 = 109;
}

/// The modes of `denormal_fpenv`, two bits each, as the string attributes call them.
const DENORMAL_MODES: [&str; 4] = ["ieee", "preserve-sign", "positive-zero", "dynamic"];

/// Access to one kind of memory: bit 0 reads, bit 1 writes.
const READS: u64 = 1;
const ANY: u64 = 3;

/// The effect of accesses to memory behind arguments, memory without a name, and all other memory.
fn effects(args: u64, inaccessible: u64, other: u64) -> MemoryEffects {
    match (args, inaccessible, other) {
        (0, 0, 0) => MemoryEffects::None,
        (READS, 0, 0) => MemoryEffects::ReadArgs,
        (_, 0, 0) => MemoryEffects::Args,
        (0, _, 0) => MemoryEffects::Inaccessible,
        (args, inaccessible, other) if (args | inaccessible | other) == READS => MemoryEffects::Read,
        _ => MemoryEffects::Any,
    }
}

impl LazyModule<'_> {
    /// Reads the block of attribute groups.
    pub(super) fn read_attribute_groups(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Record if record.code == attribute::GROUP => {
                    let mut fields = record.fields();
                    let id = fields.next("group id")?;
                    let index = fields.next("index of what it speaks of")?;
                    let part = self.group(fields, index == 0xFFFF_FFFF)?;
                    self.groups.insert(id, (index, part));
                }
                _ => {}
            }
        }
    }

    /// Reads the block of attribute lists.
    pub(super) fn read_attribute_lists(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Record => {
                    let mut list = AttributeList::default();
                    match record.code {
                        attribute::ENTRY => {
                            for &id in &record.ops {
                                let group = self.groups.get(&id);
                                let (index, part) =
                                    group.ok_or_else(|| record.fault(format!("attribute group {id} is missing")))?;
                                self.budget.spend(part.bytes(), &record)?;
                                list.add(*index, part);
                            }
                        }
                        attribute::ENTRY_OLD => {
                            for pair in record.ops.chunks_exact(2) {
                                list.add(pair[0], &packed(pair[1], pair[0] == 0xFFFF_FFFF));
                            }
                        }
                        _ => continue,
                    }
                    list.merge_params();
                    self.attributes.push(list);
                }
                Item::Block(_) => {}
            }
        }
    }

    /// The number of an attribute.
    fn kind(&mut self, fields: &mut Fields) -> Result<u64> {
        let kind = fields.next("attribute")?;
        if kind > kind::LAST {
            self.module.warn(format!("attribute {kind} is not known: if it has a meaning, it is lost"));
        }
        Ok(kind)
    }

    /// The attributes of one group.
    fn group(&mut self, mut fields: Fields, of_function: bool) -> Result<Part> {
        const ENUM: u64 = 0;
        const INTEGER: u64 = 1;
        const STRING: u64 = 3;
        const STRING_WITH_VALUE: u64 = 4;
        const TYPE_LESS: u64 = 5;
        const TYPE: u64 = 6;
        const RANGE: u64 = 7;
        const RANGE_LIST: u64 = 8;

        let mut part = Part::default();
        // Words of the time before `memory(…)`: which memory, and which accesses.
        let mut words = Words::default();
        while let Some(form) = fields.opt() {
            match form {
                ENUM => {
                    let kind = self.kind(&mut fields)?;
                    words.add(kind);
                    set_word(&mut part, kind, of_function);
                }
                INTEGER => {
                    let kind = self.kind(&mut fields)?;
                    set_integer(&mut part.attributes, kind, fields.next("value of an attribute")?);
                }
                STRING | STRING_WITH_VALUE => {
                    let key = characters(&mut fields)?;
                    let value = if form == STRING_WITH_VALUE { characters(&mut fields)? } else { String::new() };
                    if key == "nvvm.grid_constant" {
                        part.attributes.param |= ParamFlags::GRID_CONSTANT;
                    } else {
                        part.attributes.strings.push((key.into(), value.into()));
                    }
                }
                TYPE_LESS => set_word(&mut part, self.kind(&mut fields)?, of_function),
                TYPE => {
                    let kind = self.kind(&mut fields)?;
                    let ty = self.table.index(fields.next("type of an attribute")?, fields.record)?;
                    match kind {
                        kind::BY_VAL => part.attributes.by_val = Some(self.table.id(ty)),
                        kind::SRET => part.attributes.sret = Some(self.table.id(ty)),
                        _ => {}
                    }
                }
                RANGE => {
                    let kind = fields.next("attribute")?;
                    let bits = fields.next_u32("width of a range")?;
                    let range = range(&mut fields, bits)?;
                    if kind == kind::RANGE {
                        part.attributes.range = range;
                    }
                }
                RANGE_LIST => {
                    fields.next("attribute")?;
                    let count = fields.next("number of ranges")?;
                    let bits = fields.next_u32("width of a range")?;
                    for _ in 0..count {
                        range(&mut fields, bits)?;
                    }
                }
                form => return Err(fields.record.fault(format!("an attribute of form {form}"))),
            }
        }
        if of_function && let Some(memory) = words.effects() {
            part.attributes.memory = memory;
        }
        Ok(part)
    }
}

/// `readnone`, `argmemonly` and the like of a function.
#[derive(Default)]
struct Words {
    access: Option<u64>,
    only: Option<(bool, bool)>,
}

impl Words {
    fn add(&mut self, kind: u64) {
        match kind {
            kind::READ_NONE => self.access = Some(0),
            kind::READ_ONLY => self.access = Some(READS),
            kind::WRITE_ONLY => self.access = Some(ANY - READS),
            kind::ARGMEM_ONLY => self.only = Some((true, false)),
            kind::INACCESSIBLEMEM_ONLY => self.only = Some((false, true)),
            kind::INACCESSIBLEMEM_OR_ARGMEM_ONLY => self.only = Some((true, true)),
            _ => {}
        }
    }

    fn effects(&self) -> Option<MemoryEffects> {
        if self.access.is_none() && self.only.is_none() {
            return None;
        }
        let access = self.access.unwrap_or(ANY);
        let (args, inaccessible) = self.only.unwrap_or((true, true));
        let at = |touched: bool| if touched { access } else { 0 };
        Some(effects(at(args), at(inaccessible), at(self.only.is_none())))
    }
}

fn set_word(part: &mut Part, kind: u64, of_function: bool) {
    match kind {
        kind::BY_VAL => part.untyped_by_val = true,
        kind::SRET => part.untyped_sret = true,
        _ if of_function => {
            let flag = FN_FLAGS.iter().find(|(number, _)| *number == kind);
            part.attributes.function |= flag.map_or(FnFlags::empty(), |(_, flag)| *flag);
        }
        _ => {
            let flag = PARAM_FLAGS.iter().find(|(number, _)| *number == kind);
            part.attributes.param |= flag.map_or(ParamFlags::empty(), |(_, flag)| *flag);
        }
    }
}

fn set_integer(attributes: &mut Attributes, kind: u64, value: u64) {
    let bytes = u32::try_from(value).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(0);
    match kind {
        kind::ALIGN => attributes.align = bytes,
        kind::STACK_ALIGN => attributes.stack_align = bytes,
        kind::DEREFERENCEABLE => attributes.dereferenceable = value,
        kind::CAPTURES if value == 0 => attributes.param |= ParamFlags::NO_CAPTURE,
        // Two bits each: results and operands of all types, then of `float`.
        kind::DENORMAL_FPENV => {
            let mode = |at: u32| DENORMAL_MODES[(value >> at & 3) as usize];
            let modes = |at| format!("{},{}", mode(at), mode(at + 2));
            let ([of_float, of_all], [float, all]) = (SUBNORMALS, [4, 0].map(modes));
            let is_same = float == all;
            if is_same || value & 0xF != 0 {
                attributes.strings.push((of_all.into(), all.into()));
            }
            if !is_same {
                attributes.strings.push((of_float.into(), float.into()));
            }
        }
        kind::MEMORY => {
            // Two bits per kind of memory: arguments, inaccessible, and from bit 4 on all other memory, which
            // later versions (a number in the top byte) divide further.
            let others = (value & 0x00FF_FFFF_FFFF_FFFF) >> 4;
            let other = (0..26).fold(0, |access, at| access | others >> (2 * at)) & ANY;
            attributes.memory = effects(value & ANY, value >> 2 & ANY, other);
        }
        _ => {}
    }
}

/// Characters up to a 0.
fn characters(fields: &mut Fields) -> Result<String> {
    let mut chars = Vec::new();
    loop {
        match fields.next("end of a string")? {
            0 => return Ok(text(&chars)),
            char => chars.push(char),
        }
    }
}

/// The two bounds of a range of `bits` bits; `None` when they are wider than the IR holds.
fn range(fields: &mut Fields, bits: u32) -> Result<Option<(u128, u128)>> {
    if bits <= 64 {
        let mask = if bits == 64 { u128::from(u64::MAX) } else { (1 << bits) - 1 };
        let mut bound = || fields.next("bound of a range").map(|value| signed(value) as i128 as u128 & mask);
        return Ok(Some((bound()?, bound()?)));
    }
    // The number of words of each bound in one operand.
    let words = fields.next("number of words")?;
    let mut bound = |count: u64| -> Result<Option<u128>> {
        let mut value = Some(0u128);
        for at in 0..count {
            let word = signed(fields.next("bound of a range")?) as u64;
            value = if at < 2 { value.map(|value| value | u128::from(word) << (64 * at)) } else { None };
        }
        Ok(value)
    };
    let lower = bound(words & 0xFFFF_FFFF)?;
    let upper = bound(words >> 32)?;
    Ok(lower.zip(upper).filter(|_| bits <= 128))
}

/// The attributes of LLVM before 3.3: bits of one number, with the alignment at 16.
fn packed(bits: u64, of_function: bool) -> Part {
    /// Bits of the number (above the alignment moved down by 11) and attribute kinds of today.
    const KINDS: &[(u32, u64)] = &[
        (0, 34),  // zeroext
        (1, 24),  // signext
        (2, 17),  // noreturn
        (4, 29),  // sret
        (5, 18),  // nounwind
        (6, 9),   // noalias
        (7, 3),   // byval
        (9, 20),  // readnone
        (10, 21), // readonly
        (11, 14), // noinline
        (12, 2),  // alwaysinline
        (21, 11), // nocapture
    ];
    let mut part = Part::default();
    let mut words = Words::default();
    let log2 = bits >> 16 & 0xFFFF;
    part.attributes.align = u32::try_from(log2).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(0);
    let flags = (bits & (0xF_FFFF << 32)) >> 11 | bits & 0xFFFF;
    for &(bit, kind) in KINDS {
        if flags >> bit & 1 == 1 {
            words.add(kind);
            set_word(&mut part, kind, of_function);
        }
    }
    if of_function && let Some(memory) = words.effects() {
        part.attributes.memory = memory;
    }
    part
}
