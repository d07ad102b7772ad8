//! Slot 11: what the directives of a kernel say of every launch is a constant in its code.
//!
//! A launch whose blocks have another shape than `.reqntid`, or whose clusters another than `.reqnctapercluster`, fails: so the
//! words of the constant bank that hold these shapes are known, and so are the places along an extent of one. `.maxntid` bounds
//! the threads of a block, not its extents (128 threads may stand along y under `.maxntid 128, 1, 1`): it says something only where
//! it leaves one thread.

use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, Field, MemSize, Opcode, RegFile, Role, special_registers};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Attributes, Function, FunctionKind, Inst, Operand, OperandKind};
use smallvec::SmallVec;

/// What is counted.
pub(crate) const RULES: &[&str] = &["places of one thread or block", "extents of blocks", "extents of clusters"];
const PLACES: usize = 0;
const BLOCKS: usize = 1;
const CLUSTERS: usize = 2;

/// No target has blocks of as many threads: from here on directives say nothing.
const MOST_THREADS: u32 = 1 << 16;

/// Where a thread stands along each axis.
pub(super) const PLACES_IN_BLOCK: [&str; 3] = ["SR_TID.X", "SR_TID.Y", "SR_TID.Z"];

/// Replace what is read by constants.
pub(crate) fn run(func: &mut Function, context: &Context, _: &mut Analyses) -> Result<Changed, PhaseError> {
    let launch = Launch::of(func, context.arch);
    if launch.is_empty() {
        return Ok(Changed::No);
    }
    let mut changed = false;
    for block in func.layout().to_vec() {
        for at in 0..func.block_insts(block).len() {
            let id = func.block_insts(block)[at];
            let Some((rule, bits)) = launch.read_by(&func[id]).filter(|_| context.tally.is_open()) else { continue };
            let read = &func[id];
            let value = if bits == 0 { Operand::rz() } else { Operand::imm(bits) };
            let mut copy = Inst::copy(RegFile::R, read.operands[0], value).guarded(read.guard());
            copy.loc = read.loc;
            func.edit().replace(id, copy);
            context.tally.count(rule);
            changed = true;
        }
    }
    Ok(Changed::when(changed))
}

/// The largest that a special register can read which is a thread's place along an axis, where the kernel's directives bound it.
pub(crate) fn place_bound(func: &Function, arch: Arch, number: u8) -> Option<u32> {
    let attributes = func.attributes();
    let axis = PLACES_IN_BLOCK
        .iter()
        .position(|name| special_registers::by_number(number, arch).is_some_and(|register| register.name == *name))?;
    let extent = match attributes.reqntid {
        Some(extents) => extents[axis],
        // So many threads may stand along any axis.
        None => attributes.block_threads()?,
    };
    extent.checked_sub(1).filter(|most| *most <= MOST_THREADS && func.kind() == FunctionKind::Entry)
}

/// What is the same in every launch of a kernel.
#[derive(Default)]
struct Launch {
    /// Special registers that read zero.
    zeros: SmallVec<[u8; 4]>,
    /// Words of constant bank 0, by offset, each with its rule.
    words: SmallVec<[(u16, usize, u32); 8]>,
}

impl Launch {
    /// What the directives say.
    fn of(func: &Function, arch: Arch) -> Launch {
        let mut launch = Launch::default();
        if func.kind() == FunctionKind::Entry {
            launch.add_block(func.attributes(), arch);
            launch.add_cluster(func.attributes(), arch);
        }
        launch
    }

    fn add_block(&mut self, attributes: &Attributes, arch: Arch) {
        let only_one = attributes.maxntid.filter(|extents| *extents == [1, 1, 1]);
        let Some(extents) = attributes.reqntid.or(only_one) else { return };
        let axes = PLACES_IN_BLOCK.into_iter().zip(arch.sm().bank0.ntid).zip(extents);
        for ((place, offset), extent) in axes {
            self.words.push((offset, BLOCKS, extent));
            if extent == 1 {
                self.add_zero(place, arch);
            }
        }
    }

    /// Where a launch may have several shapes of clusters, it may have others beside that of the directive.
    fn add_cluster(&mut self, attributes: &Attributes, arch: Arch) {
        let bank = &arch.sm().bank0;
        let Some(cluster) = bank.cluster.as_ref().filter(|_| bank.shape_record.is_none()) else { return };
        let Some(extents) = attributes.cluster.filter(|extents| !extents.contains(&0)) else { return };
        let blocks = extents.iter().fold(1, |product: u32, extent| product.saturating_mul(*extent));
        self.words.extend(cluster.nctaid.into_iter().zip(extents).map(|(offset, extent)| (offset, CLUSTERS, extent)));
        self.words.push((cluster.nctarank, CLUSTERS, blocks));
        if blocks == 1 {
            self.add_zero("SR_CgaCtaId", arch);
        }
    }

    fn add_zero(&mut self, register: &str, arch: Arch) {
        self.zeros.extend(special_registers::by_name(register, arch).map(|register| register.number));
    }

    fn is_empty(&self) -> bool {
        self.zeros.is_empty() && self.words.is_empty()
    }

    /// What the instruction reads, if it does nothing but read what is known, and the rule that says so.
    fn read_by(&self, inst: &Inst) -> Option<(usize, u32)> {
        let source = |role| inst.operand(role).map(Operand::kind);
        let word = match inst.opcode {
            _ if !inst.is_machine() => None,
            Opcode::S2R => {
                let known = matches!(source(Role::A)?, OperandKind::Special(number) if self.zeros.contains(&number));
                return known.then_some((PLACES, 0));
            }
            Opcode::MOV => source(Role::B),
            Opcode::LDC if inst.get(Field::MEM_SIZE) == MemSize::B32 && source(Role::Base)? == OperandKind::Rz => {
                source(Role::Bank)
            }
            _ => None,
        };
        let Some(OperandKind::Const { bank: 0, offset }) = word else { return None };
        self.words.iter().find(|(at, ..)| u32::from(*at) == offset).map(|(_, rule, value)| (*rule, *value))
    }
}
