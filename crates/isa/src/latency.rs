//! Latencies: how long after one instruction another may issue that touches the same register.
//!
//! The numbers are in `spec/latency/*.tsv`, a row per pair of classes with its source; `docs/isa/latency.md`
//! says where they come from. The scheduler obeys them and the strict simulator enforces them.

mod class;
mod matrix;
mod name;
mod pace;
mod table;

pub use class::{Queue, Slot};
pub use name::LatencyClass;
pub use pace::{Early, Pace, Release, SlowUnits, pace};
pub use table::{Earlier, LONGEST, Later};

use crate::{Arch, Control, Effects, Field, Guard, Inst, Opcode, Pipe, RegFile, Warpgroup};
use class::Group;
use table::Table;

/// The results come at no fixed time: whoever needs them waits for a scoreboard (or for a later
/// instruction of the same [`Queue`]).
pub fn is_variable(inst: &Inst, arch: Arch) -> bool {
    class::is_variable(inst.opcode, arch)
}

/// [`is_variable`] by the opcode, which decides it.
pub fn is_variable_opcode(opcode: Opcode, arch: Arch) -> bool {
    class::is_variable(opcode, arch)
}

/// Uniform sources are read late too: asynchronous copies and tensor core work of a block, and `SYNCS.EXCH`
/// (ptxas gives every one of them a read scoreboard; docs/isa/latency.md). `UGETNEXTWORKID` has read them when the next instruction issues:
/// ptxas overwrites them there without one (CUTLASS's persistent kernels for sm_100a).
pub fn holds_uniform(inst: &Inst) -> bool {
    let is_late = inst.opcode.info().latency == LatencyClass::Bulk && inst.opcode != Opcode::UGETNEXTWORKID;
    is_late || inst.opcode == Opcode::SYNCSU
}

/// Instructions of one queue finish in the order of issue: a wait for the later one covers the earlier.
pub fn queue(inst: &Inst, arch: Arch) -> Option<Queue> {
    class::queue_of(inst.opcode, is_variable(inst, arch))
}

/// An instruction as the tables see it: what they ask of it, worked out once for all its registers.
#[derive(Clone, Copy)]
pub struct Classified<'a> {
    inst: &'a Inst,
    arch: Arch,
    group: Group,
    variable: bool,
}

impl<'a> Classified<'a> {
    /// The classes of `inst`.
    pub fn new(inst: &'a Inst, arch: Arch) -> Self {
        Classified { inst, arch, group: Group::on(inst, arch), variable: is_variable(inst, arch) }
    }

    /// The instruction.
    #[inline]
    pub fn inst(self) -> &'a Inst {
        self.inst
    }

    /// See [`is_variable`].
    #[inline]
    pub fn is_variable(self) -> bool {
        self.variable
    }

    /// See [`is_plain_arithmetic`].
    pub fn is_plain_arithmetic(self) -> bool {
        is_plain_arithmetic_of(self.inst, self.group)
    }

    /// The register that it reads at `place` is read some time after issue: overwriting it needs a scoreboard
    /// wait (or a later instruction of the same queue). General registers of instructions of variable latency are;
    /// uniform registers only where [`holds_uniform`] says so; predicates never. And those of `BAR`: ptxas gives each of 185 a scoreboard, and waits
    /// for it in the 18 places where the register is overwritten behind.
    pub fn reads_late(self, place: Slot) -> bool {
        self.reads_file_late(class::file_of(self.inst, place))
    }

    /// The same of any register of `file`.
    #[inline]
    pub fn reads_file_late(self, file: RegFile) -> bool {
        match file {
            RegFile::R => self.inst.opcode == Opcode::BAR || self.variable && self.inst.opcode != Opcode::S2R,
            RegFile::UR => holds_uniform(self.inst),
            _ => false,
        }
    }

    /// The register of `file` that it writes as its `def`.
    #[inline]
    pub fn write(self, def: Slot, file: RegFile) -> Write {
        let class = self.writer();
        if self.variable {
            // A scoreboard governs it.
            return Write { to_reads: table::Row::NONE, to_writes: table::Row::NONE, class };
        }
        let producer = self.producer(def, file);
        let row = |table| table::Row::of(table, file, producer, self.arch);
        Write { to_reads: row(Table::ReadAfterWrite), to_writes: row(Table::WriteAfterWrite), class }
    }

    /// The row of a write in a table for judges; of 0 cycles where a scoreboard governs it.
    fn judged(self, table: Table, def: Slot, file: RegFile) -> table::Row {
        if self.variable { table::Row::NONE } else { table::Row::of(table, file, self.producer(def, file), self.arch) }
    }

    /// The register of `file` that it reads at `place`.
    #[inline]
    pub fn read(self, place: Slot, file: RegFile) -> Read {
        Read { to_writes: self.read_row(place, file), class: self.reader(place, file) }
    }

    fn read_row(self, place: Slot, file: RegFile) -> table::Row {
        let info = self.inst.opcode.info();
        if info.effects.contains(Effects::BRANCH) || info.pipe == Pipe::Barrier {
            // What comes after a branch or barrier issues when it has decided.
            return table::Row::NEXT;
        }
        if self.variable && file != RegFile::R {
            // Guards, predicates and uniform registers of queued instructions are free at once.
            return table::Row::NEXT;
        }
        table::Row::of(Table::WriteAfterRead, file, self.war_reader(place), self.arch)
    }

    fn producer(self, def: Slot, file: RegFile) -> Earlier {
        class::producer(self.inst, self.group, def, file)
    }

    fn reader(self, place: Slot, file: RegFile) -> Later {
        class::reader(self.inst, self.group, place, file)
    }

    fn war_reader(self, place: Slot) -> Earlier {
        class::war_reader(self.inst, self.group, place, self.variable)
    }

    fn writer(self) -> Later {
        class::writer(self.inst.opcode, self.group, self.variable)
    }
}

/// See [`Classified::reads_late`].
pub fn reads_late(inst: &Inst, place: Slot, arch: Arch) -> bool {
    Classified::new(inst, arch).reads_late(place)
}

/// A register that an instruction writes, as far as distances go: what they are looked up by, worked out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    to_reads: table::Row,
    to_writes: table::Row,
    class: Later,
}

impl Write {
    /// Cycles from the write (issue to issue) until `read` finds it done; 0 where a scoreboard governs it.
    #[inline]
    pub fn until_read(self, read: Read) -> u8 {
        self.to_reads.to(read.class)
    }

    /// Cycles until every reader finds it done; 0 where a scoreboard governs it.
    #[inline]
    pub fn longest(self) -> u8 {
        self.to_reads.to(Later::Any)
    }

    /// Cycles after which no later access has to wait for it, whichever it is; 0 where a scoreboard governs it.
    #[inline]
    pub fn reach(self) -> u8 {
        self.to_reads.most().max(self.to_writes.most())
    }

    /// Cycles until `second` may write the register too; 0 where a scoreboard governs it.
    #[inline]
    pub fn until_write(self, second: Write) -> u8 {
        self.to_writes.to(second.class)
    }
}

/// A register that an instruction reads, as [`Write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    to_writes: table::Row,
    class: Later,
}

impl Read {
    /// Cycles after which no later write has to wait for it, whichever it is; scoreboards come on top.
    #[inline]
    pub fn reach(self) -> u8 {
        self.to_writes.most()
    }

    /// Cycles until `write` may write the register. For one that is read late this is not enough: see [`reads_late`].
    #[inline]
    pub fn until_write(self, write: Write) -> u8 {
        self.to_writes.to(write.class)
    }
}

/// Cycles from `producer` to `consumer` (issue to issue) for register `def` of the one to be readable at
/// `place` of the other. 0 where `producer` is of variable latency: a scoreboard governs it.
pub fn raw(producer: &Inst, def: Slot, consumer: &Inst, place: Slot, arch: Arch) -> u8 {
    let file = class::file_of(producer, def);
    let read = Classified::new(consumer, arch).read(place, file);
    Classified::new(producer, arch).write(def, file).until_read(read)
}

/// The same for who judges code: fewer cycles where neither ptxas's code nor a published number speaks for more.
pub fn raw_at_least(producer: &Inst, def: Slot, consumer: &Inst, place: Slot, arch: Arch) -> u8 {
    let file = class::file_of(producer, def);
    let reader = Classified::new(consumer, arch).reader(place, file);
    Classified::new(producer, arch).judged(Table::JudgedReadAfterWrite, def, file).to(reader)
}

/// Cycles after which every reader finds register `def` of `producer` written.
pub fn longest(producer: &Inst, def: Slot, arch: Arch) -> u8 {
    Classified::new(producer, arch).write(def, class::file_of(producer, def)).longest()
}

/// Cycles from `first`, which writes a register as its `def`, to `second`, which writes it too. 0 where
/// `first` is of variable latency.
pub fn waw(first: &Inst, def: Slot, second: &Inst, arch: Arch) -> u8 {
    let write = Classified::new(first, arch).write(def, class::file_of(first, def));
    write.to_writes.to(Classified::new(second, arch).writer())
}

/// The same for who judges code: fewer cycles where few pairs of the classes have been seen in ptxas's code. A guarded `second` may come at once but
/// behind products of matrices: ptxas has it so in 57 of 112 such pairs, whatever their classes, where it keeps others apart.
pub fn waw_at_least(first: &Inst, def: Slot, second: &Inst, arch: Arch) -> u8 {
    let row = Classified::new(first, arch).judged(Table::JudgedWriteAfterWrite, def, class::file_of(first, def));
    let cycles = row.to(Classified::new(second, arch).writer());
    let is_product = matches!(Group::of(first), Group::Matrix | Group::Dmma);
    if second.guard != Guard::ALWAYS && !is_product { cycles.min(1) } else { cycles }
}

/// Cycles from `reader`, which reads a register at `place`, to `writer`, which writes it. For registers that
/// are read late this is not enough: see [`reads_late`].
pub fn war(reader: &Inst, place: Slot, writer: &Inst, arch: Arch) -> u8 {
    let row = Classified::new(reader, arch).read_row(place, class::file_of(reader, place));
    row.to(Classified::new(writer, arch).writer())
}

/// The same for who judges code: fewer cycles where few pairs of the classes have been seen in ptxas's code.
pub fn war_at_least(reader: &Inst, place: Slot, writer: &Inst, arch: Arch) -> u8 {
    let (earlier, file) = (Classified::new(reader, arch), class::file_of(reader, place));
    let kept = earlier.read_row(place, file);
    let judged = table::Row::of(Table::JudgedWriteAfterRead, file, earlier.war_reader(place), arch);
    let writer = Classified::new(writer, arch).writer();
    judged.to(writer).min(kept.to(writer))
}

/// The row of a table that a pair of instructions goes by, as `raw.tsv`, `waw.tsv` and `war.tsv` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The register's file.
    pub file: RegFile,
    /// Class of the earlier instruction.
    pub first: Earlier,
    /// Class of the later one.
    pub second: Later,
}

/// The row of [`raw`].
pub fn raw_row(producer: &Inst, def: Slot, consumer: &Inst, place: Slot, arch: Arch) -> Row {
    let file = class::file_of(producer, def);
    let first = class::producer(producer, Group::on(producer, arch), def, file);
    Row { file, first, second: class::reader(consumer, Group::on(consumer, arch), place, file) }
}

/// The row of [`waw`].
pub fn waw_row(first: &Inst, def: Slot, second: &Inst, arch: Arch) -> Row {
    let second = Classified::new(second, arch).writer();
    let file = class::file_of(first, def);
    Row { file, first: Classified::new(first, arch).producer(def, file), second }
}

/// The row of [`war`].
pub fn war_row(reader: &Inst, place: Slot, writer: &Inst, arch: Arch) -> Row {
    let first = Classified::new(reader, arch).war_reader(place);
    Row { file: class::file_of(reader, place), first, second: Classified::new(writer, arch).writer() }
}

include!(concat!(env!("OUT_DIR"), "/latency_stalls.rs"));

/// Cycles from a `CALL` to the first instruction that it leads to, at least. ptxas 13.0.88 writes guarded ones in place of jumps, for sm_80 to
/// sm_89, with a stall of one cycle, and relies on seven from there on (an `ISETP`, such a call, and the predicate's reader).
const CALL_TO_TARGET: u8 = 7;

/// Cycles from an instruction to the next, of threads that `jump` by it or go on.
pub fn cycles_to_next(inst: &Inst, jump: bool) -> u8 {
    let cycles = inst.control.cycles();
    if jump && inst.opcode == Opcode::CALL { cycles.max(CALL_TO_TARGET) } else { cycles }
}

/// Fewest cycles between `inst` and the instruction after it, `None` where that may be any, whatever registers they
/// touch (`spec/latency/stalls.tsv`).
pub fn stall_after(inst: &Inst, next: Option<&Inst>, arch: Arch) -> u8 {
    // As ptxas's code of a kernel of Triton has it on sm_90; what the arrival is for comes four cycles behind the product anyway.
    if inst.opcode.is_warpgroup_product() && next.is_some_and(arrives) {
        return 1;
    }
    stall_between((inst.opcode, is_long(inst)), next.map(|next| (next.opcode, is_plain_arithmetic(next))), arch)
}

/// The same by opcodes; of the first instruction also whether it [`is_long`], of the next one whether it [`is_plain_arithmetic`]. What may come
/// sooner does not end the stall for what comes behind it.
pub fn stall_between((opcode, is_long): (Opcode, bool), next: Option<(Opcode, bool)>, arch: Arch) -> u8 {
    match next {
        _ if is_long && arch >= Arch::Sm120 => LONG_STALL,
        Some((_, true)) if opcode == Opcode::BAR && arch >= Arch::Sm75 => 1,
        Some((next, _)) if opcode == Opcode::BSSY && arch >= Arch::Sm90 => match next {
            Opcode::BRA => BSSY_TO_BRANCH,
            Opcode::BSYNC => BSSY_TO_WAIT,
            _ => 1,
        },
        Some((Opcode::UCGABAR_ARV, _)) if opcode == Opcode::CGAERRBAR => ERROR_BARRIER_TO_ARRIVAL,
        Some((Opcode::WARPGROUP, _)) if opcode.is_warpgroup_product() => PRODUCT_TO_WAIT,
        Some((Opcode::WARPGROUP, _)) if opcode == Opcode::WARPGROUP => WAIT_TO_ARRIVAL,
        Some((next, _)) if is_of_warpgroup(opcode) && !is_of_warpgroup(next) => 1,
        _ => STALLS[arch as usize][opcode as usize],
    }
}

/// Whether it is an integer instruction on pairs of general registers by a modifier: `IADD.64`, `ISETP.S64`, `IMNMX.S64`.
pub fn is_long(inst: &Inst) -> bool {
    inst.get(Field::LONG)
}

/// Fewest cycles from an instruction that [`is_long`] to any other, from sm_120 on: the least of ptxas 13.0.88 in 530 random modules for sm_120a and
/// sm_121a (1,302 `IADD.64`, 209 `IMNMX.S64`, 726 `ISETP` of `S64` or `U64`), as behind `MOV.64` and `SEL.64`.
const LONG_STALL: u8 = 2;

/// Fewest cycles from `BSSY` to a branch and to the wait at its barrier, from sm_90 on: the least of ptxas 13.0.88 (2,708 branches; 8 in
/// 2 of 60 waits). Before sm_90 it leaves 1.
const BSSY_TO_BRANCH: u8 = 4;
const BSSY_TO_WAIT: u8 = 8;

/// Fewest cycles from `CGAERRBAR` to an arrival at the barrier of the cluster: ptxas 13.0.88 has 8 in all 1,159 places of 2,900 random modules, and 6
/// in all 2,629 before `CCTL`.
const ERROR_BARRIER_TO_ARRIVAL: u8 = 8;

/// Fewest cycles from a product of a warpgroup to `WARPGROUP.DEPBAR`, which waits for it: ptxas 13.0.88 has 3 in 27 of 115 places.
/// With one, an H200 reads the old sums.
const PRODUCT_TO_WAIT: u8 = 3;

/// Fewest cycles from `WARPGROUP.DEPBAR` to `WARPGROUP.ARRIVE`, behind which the next product stands: the least of ptxas 13.0.88 (12 places in
/// two GEMMs of CUTLASS for sm_90a).
const WAIT_TO_ARRIVAL: u8 = 2;

fn arrives(inst: &Inst) -> bool {
    inst.opcode == Opcode::WARPGROUP && inst.get(Field::WARPGROUP) == Warpgroup::ARRIVE
}

fn is_of_warpgroup(opcode: Opcode) -> bool {
    opcode == Opcode::WARPGROUP || opcode.is_warpgroup_product()
}

/// Fewest cycles from an instruction that sets a scoreboard to one that waits for it.
pub const SET_TO_WAIT: u8 = 2;

/// Whether an instruction goes to an arithmetic pipe, rather than into a queue or elsewhere.
pub fn is_plain_arithmetic(inst: &Inst) -> bool {
    is_plain_arithmetic_of(inst, Group::of(inst))
}

fn is_plain_arithmetic_of(inst: &Inst, group: Group) -> bool {
    let queued =
        matches!(group, Group::Sfu | Group::Shuffle | Group::Sync | Group::Memory | Group::Branch | Group::Barrier);
    !queued && !inst.opcode.info().effects.contains(Effects::BRANCH)
}

/// Whether the control word names a scoreboard.
pub fn sets_scoreboard(control: Control) -> bool {
    control.write_scoreboard != Control::NO_SCOREBOARD || control.read_scoreboard != Control::NO_SCOREBOARD
}
