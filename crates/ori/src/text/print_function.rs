//! Printing functions.

use super::{FILES, FLAGS, KINDS, NAMING_ARCH, PARTS, callee_text, clobbers_text};
use crate::entity::{Block, InstId, VReg};
use crate::function::{Attributes, Function, Literals};
use crate::inst::{Inst, InstFlags, InstKind};
use crate::operand::{ImmKind, Operand, OperandKind, Piece};
use crate::published::opcodes;
use crate::reg::{VRegData, VRegFlags};
use oriole_isa::{Control, Opcode, special_registers};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print(f, self, &|_| None)
    }
}

/// A function as text with comments.
struct Commented<'f, C>(&'f Function, C);

impl<C: Fn(InstId) -> Option<String>> Display for Commented<'_, C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print(f, self.0, &self.1)
    }
}

/// A function as text with a comment behind those of its instructions for which `comment` has one.
pub fn commented(func: &Function, comment: impl Fn(InstId) -> Option<String>) -> impl Display {
    Commented(func, comment)
}

fn print(f: &mut Formatter<'_>, func: &Function, comment: &dyn Fn(InstId) -> Option<String>) -> fmt::Result {
    writeln!(f, ".function {} {}", KINDS.of(func.kind()), func.name())?;
    for p in func.params() {
        let hidden = if p.hidden { " hidden" } else { "" };
        writeln!(f, "  .param {} offset={} size={} align={}{hidden}", p.name, p.offset, p.size, p.align)?;
    }
    attributes(f, func.attributes())?;
    let frame = func.frame();
    let dynamic = if frame.dynamic { " dynamic" } else { "" };
    writeln!(f, "  .frame local={} spill={} align={}{dynamic}", frame.local_bytes, frame.spill_bytes, frame.align)?;
    for table in func.jump_tables() {
        let targets: String = table.targets.iter().map(|target| format!(" {target}")).collect();
        writeln!(f, "  .jumptable offset={}{targets}", table.offset)?;
    }
    let literals = func.literals();
    if *literals != Literals::default() {
        let values: String = literals.values.iter().map(|value| format!(" {value:#x}")).collect();
        writeln!(f, "  .literals base={}{values}", literals.base)?;
    }
    for (reg, data) in func.regs() {
        writeln!(f, "  .reg {}", declaration(reg, data))?;
    }
    if let Some(first) = func.first_value() {
        writeln!(f, "  .values {}", first.as_u32())?;
    }
    if !func.live_in().is_empty() {
        let names: Vec<_> = func.live_in().iter().map(|r| reg_name(func, *r)).collect();
        writeln!(f, "  .livein {}", names.join(" "))?;
    }
    for (reference, entry) in func.symbol_refs().iter() {
        writeln!(f, "  .symref {reference} {} {:+} {}", entry.symbol, entry.addend, PARTS.of(entry.part))?;
    }
    for (id, call) in func.call_sites().iter() {
        let list = |ops: &[Operand]| ops.iter().map(|o| operand_text(func, *o)).collect::<Vec<_>>().join(", ");
        let (callee, clobbers) = (callee_text(call.callee), clobbers_text(&call.clobbers));
        writeln!(f, "  .call {id} {callee} ({}) -> ({}) {clobbers}", list(&call.args), list(&call.results))?;
    }
    for &block in func.layout() {
        print_block(f, func, block, comment)?;
    }
    writeln!(f, ".end")
}

fn attributes(f: &mut Formatter<'_>, a: &Attributes) -> fmt::Result {
    for (name, dims) in [("maxntid", a.maxntid), ("reqntid", a.reqntid), ("cluster", a.cluster)] {
        if let Some([x, y, z]) = dims {
            writeln!(f, "  .{name} {x} {y} {z}")?;
        }
    }
    let barriers = (a.barriers != 0).then_some(a.barriers);
    let shared_bytes = (a.shared_bytes != 0).then_some(a.shared_bytes);
    let numbers = [
        ("minnctapersm", a.minnctapersm),
        ("maxnreg", a.maxnreg),
        ("minperctamemory", a.min_per_cta_memory),
        ("maxclusterrank", a.max_cluster_rank),
        ("barriers", barriers),
        ("shared_bytes", shared_bytes),
        ("tensor_blocks", a.tensor_blocks),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            writeln!(f, "  .{name} {number}")?;
        }
    }
    for language in &a.languages {
        writeln!(f, "  .language {language}")?;
    }
    let flags = [
        ("explicitcluster", a.explicit_cluster),
        ("noreturn", a.noreturn),
        ("tensor_memory", a.tensor_memory),
        ("tensor_book", a.tensor_book),
        ("replaces_tensor_map", a.replaces_tensor_map),
    ];
    for (name, on) in flags {
        if on {
            writeln!(f, "  .{name}")?;
        }
    }
    for block in &a.no_unroll {
        writeln!(f, "  .nounroll {block}")?;
    }
    Ok(())
}

fn declaration(reg: VReg, data: &VRegData) -> String {
    let mut text = format!("%{}{}", data.reg_type, reg.as_u32());
    if data.reg_type.is_group() {
        let _ = write!(text, " group={}/{}", data.components, data.align);
    }
    if let Some(number) = data.physical {
        let _ = write!(text, " physical={number}");
    }
    for (flag, name) in [(VRegFlags::FIXED, " fixed"), (VRegFlags::SPILLED, " spilled")] {
        text.push_str(if data.flags.contains(flag) { name } else { "" });
    }
    if let Some(slot) = data.spill_slot {
        let _ = write!(text, " slot={slot}");
    }
    if data.home != 0 {
        let _ = write!(text, " home={}", data.home);
    }
    text
}

/// The column of comments, where the instruction leaves it free.
const COMMENTS: usize = 60;

fn print_block(
    f: &mut Formatter<'_>,
    func: &Function,
    block: Block,
    comment: &dyn Fn(InstId) -> Option<String>,
) -> fmt::Result {
    write!(f, "{block}:")?;
    let succs: Vec<_> = func.succs(block).iter().map(Block::to_string).collect();
    if !succs.is_empty() {
        write!(f, " -> {}", succs.join(", "))?;
    }
    writeln!(f)?;
    let mnemonic = opcodes::spelling(f.alternate());
    for &inst in func.block_insts(block) {
        let text = spelled(func, inst, mnemonic);
        match comment(inst) {
            Some(comment) => writeln!(f, "    {text:COMMENTS$} // {comment}")?,
            None => writeln!(f, "    {text}")?,
        }
    }
    Ok(())
}

/// A register as the text form has it, such as `%R17` or `%D5`.
pub fn reg_name(func: &Function, reg: VReg) -> String {
    // Operands may name registers that the verifier has yet to refuse.
    let prefix = func.regs().get(reg).map_or("?", |data| data.reg_type.prefix());
    format!("%{prefix}{}", reg.as_u32())
}

/// One instruction as the text form has it.
pub fn inst_text(func: &Function, inst: InstId) -> String {
    spelled(func, inst, Opcode::name)
}

/// One instruction, its mnemonic as `mnemonic` spells it.
pub(crate) fn spelled(func: &Function, inst: InstId, mnemonic: fn(Opcode) -> &'static str) -> String {
    let inst = &func[inst];
    let mut text = String::new();
    if let Some(guard) = inst.guard() {
        let _ = write!(text, "@{}{} ", if guard.negated { "!" } else { "" }, reg_name(func, guard.pred));
    }
    // What is no machine instruction prints as a MOV with a note, as published.
    text.push_str(mnemonic(if inst.is_machine() { inst.opcode } else { Opcode::MOV }));
    let mods: Vec<String> = inst.mods.iter().map(mod_text).collect();
    if !mods.is_empty() {
        let _ = write!(text, "{{{}}}", mods.join(","));
    }
    let operands: Vec<String> = inst.operands.iter().map(|o| operand_text(func, *o)).collect();
    if !operands.is_empty() {
        let _ = write!(text, " {}", operands.join(", "));
    }
    text + &notes(func, inst)
}

fn mod_text(setting: oriole_isa::Setting) -> String {
    let (field, code) = (setting.field(), setting.code());
    match field.value(code) {
        Some(row) => format!("{}={}", field.name(), row.name),
        None => format!("{}=#{code}", field.name()),
    }
}

/// What follows the operands: flags, call site, control word, source location.
fn notes(func: &Function, inst: &Inst) -> String {
    let mut text = String::new();
    match inst.kind {
        InstKind::Machine => {}
        InstKind::Phi => text.push_str(" ;phi"),
        InstKind::Undef => text.push_str(" ;undef"),
        InstKind::Hold => text.push_str(" ;hold"),
    }
    for flag in inst.flags.iter() {
        let _ = write!(text, " ;{}", FLAGS.of(InstFlags::from_bits_retain(flag.bits())));
    }
    if let Some(call) = inst.call.expand() {
        let _ = write!(text, " ;{call}");
    }
    let c = inst.control;
    if c != Control::NONE {
        let (wait, rd, wr, stay) = (c.wait_mask, c.read_scoreboard, c.write_scoreboard, u8::from(c.stay));
        let _ = write!(text, " ;control={wait:#x}:{rd}:{wr}:{stay}:{}", c.stall);
    }
    if let Some(loc) = inst.loc.expand().and_then(|loc| func.source_locs().get(loc)) {
        let _ = write!(text, " ;at={}:{}:{}", loc.file, loc.line, loc.column);
    }
    text
}

/// One operand as the text form has it.
pub fn operand_text(func: &Function, operand: Operand) -> String {
    let kind = operand.kind();
    let mut text = String::new();
    if operand.is_neg() {
        text.push('-');
    }
    if operand.is_not() {
        text.push(if is_predicate(func, kind) { '!' } else { '~' });
    }
    let plain = kind_text(func, kind);
    if operand.is_abs() {
        let _ = write!(text, "|{plain}|");
    } else {
        text.push_str(&plain);
    }
    if operand.is_reuse() {
        text.push_str(".reuse");
    }
    text
}

fn is_predicate(func: &Function, kind: OperandKind) -> bool {
    match kind {
        OperandKind::Pt | OperandKind::Upt | OperandKind::Guard { .. } => true,
        OperandKind::Reg(reg, _) => func.regs().get(reg).is_some_and(|data| data.reg_type.is_predicate()),
        _ => false,
    }
}

fn kind_text(func: &Function, kind: OperandKind) -> String {
    match kind {
        OperandKind::None => "_".to_owned(),
        OperandKind::Reg(reg, piece) => reg_name(func, reg) + &piece_text(piece),
        OperandKind::Tuple(tuple) => {
            let names: Vec<_> = func.tuple_values(tuple).iter().map(|reg| reg_name(func, *reg)).collect();
            format!("<{}>", names.join(" "))
        }
        OperandKind::Undef => "undef".to_owned(),
        OperandKind::Imm(bits, ImmKind::Bits) => format!("{bits:#x}"),
        OperandKind::Imm(bits, ImmKind::Signed) => format!("s:{}", bits as i32),
        OperandKind::Imm(bits, ImmKind::High) => format!("h:{bits:#x}"),
        OperandKind::Phys { file, number, count: 1 } => format!("{}{number}", FILES.of(file)),
        OperandKind::Phys { file, number, count } => format!("{}{number}:{count}", FILES.of(file)),
        OperandKind::Block(block) => block.to_string(),
        OperandKind::Const { bank, offset } => format!("c[{bank}][{offset:#x}]"),
        OperandKind::ConstBindless { handle, offset } => format!("cx[{}][{offset:#x}]", reg_name(func, handle)),
        OperandKind::Symbol(reference) => reference.to_string(),
        OperandKind::Rz => "RZ".to_owned(),
        OperandKind::Urz => "URZ".to_owned(),
        OperandKind::Pt => "PT".to_owned(),
        OperandKind::Upt => "UPT".to_owned(),
        OperandKind::Special(number) => special_registers::print(number, NAMING_ARCH),
        OperandKind::Scoreboard(number) => format!("SB{number}"),
        OperandKind::Guard { pred, negated } => {
            format!("@{}{}", if negated { "!" } else { "" }, reg_name(func, pred))
        }
    }
}

fn piece_text(piece: Piece) -> String {
    match piece {
        Piece::WHOLE => String::new(),
        Piece { first, count: 1 } => format!(".{first}"),
        Piece { first, count } => format!(".{first}:{count}"),
    }
}
