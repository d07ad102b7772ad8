//! On SSA form: accesses add a kernel's parameter to what varies themselves, `[R.64+UR]`.
//!
//! The base comes from the constant bank to a pair of uniform registers at the kernel's start, once; the sums go, and what was added
//! serves all arrays that are indexed alike: `IMAD.WIDE` with one base each becomes one product. Such an access has no room for the
//! descriptor of global memory, and needs none.

use super::dead_code::{self, SWEPT};
use super::general::{source, two_summands};
use super::late_arch::{PRODUCTS, SUMS};
use crate::uniform_calls::{changes_uniform, writes_uniform};
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, BaseSize, Field, MemSize, Mods, Mul, Opcode, RegFile, Role, Sign};
use oriole_ori::analysis::{Analyses, DomTree, LoopForest};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{
    Block, BuildError, EntitySet, Function, FunctionKind, Inst, InstFlags, InstId, Operand, OperandKind, RegType,
    Symbol, VReg,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Parameters that get uniform registers, at most: a pair each.
const MOST_BASES: usize = 12;

/// What ptxas 13.0.88 has add a uniform base, on one target or another, where it has no descriptor: on sm_80 and later only loads and stores
/// without cache (`.mmio`), and few others; a base of 32 bits on sm_75 alone.
const ACCESSES: [Opcode; 4] = [Opcode::LDG, Opcode::LD, Opcode::STG, Opcode::ST];

/// A pair of words of a constant bank: the bank, and the offset of the first.
type Place = (u8, u32);

/// What a parameter is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// 64 bits, in two values.
    Wide([VReg; 2]),
    /// 32 bits without a sign.
    Narrow(VReg),
    /// A product of 32-bit values.
    Product { factors: [Operand; 2], is_signed: bool },
}

/// An address that is the sum of a parameter and something else, and which nobody reads but accesses.
struct Sum {
    block: Block,
    /// What computes it, the last instruction last.
    insts: SmallVec<[InstId; 2]>,
    base: Place,
    part: Part,
    /// How often it is executed, about.
    weight: f32,
    accesses: Vec<InstId>,
}

/// Let accesses add what pays.
pub(super) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let wanted = context.knobs.is_set("uniform") && context.knobs.is_set("uniform-bases");
    let may = func.kind() == FunctionKind::Entry && context.arch >= Arch::Sm75 && wanted;
    if !may || !context.tally.is_open() || others_write_uniform(func, &context.leaving_uniform) {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let sums = sums(func, context.arch, &analyses.loops(func));
    let sums = worthwhile(func, sums);
    if sums.is_empty() {
        return Ok(Changed::No);
    }
    context.tally.add(SUMS, sums.len() as u32);
    let bases = load_bases(func, context.arch, &sums)?;
    let products = make_products(func, &analyses.dominators(func), &sums)?;
    context.tally.add(PRODUCTS, products.len() as u32);
    for sum in &sums {
        let part = products.get(&sum.part).map_or(sum.part, |words| Part::Wide(*words));
        let base = func.tuple(&bases[&sum.base]);
        for &access in &sum.accesses {
            if let Some(new) = with_base(func, &func[access].clone(), part, base) {
                func.edit().replace(access, new);
            }
        }
    }
    // With the sums go the loads that only they read.
    dead_code::sweep(func);
    analyses.settle(SWEPT, func);
    Ok(Changed::Yes)
}

/// Whether a uniform register is written that is not a fixed one, or may be by what is called: what lives in one while threads are apart is protected from
/// those who write by slot 86 alone, which may be left out.
fn others_write_uniform(func: &Function, leaving: &EntitySet<Symbol>) -> bool {
    let writes = |inst: InstId| changes_uniform(func, &func[inst], leaving) || writes_uniform(func, inst);
    func.iter_insts().any(|(_, inst)| writes(inst))
}

/// The sums that accesses could do without.
fn sums(func: &mut Function, arch: Arch, loops: &LoopForest) -> Vec<Sum> {
    let mut accesses: Vec<([VReg; 2], Vec<InstId>)> = Vec::new();
    let mut known: FxHashMap<[VReg; 2], usize> = FxHashMap::default();
    for (_, id) in func.iter_insts() {
        let Some(words) = address(func, &func[id]) else { continue };
        let at = *known.entry(words).or_insert(accesses.len());
        if at == accesses.len() {
            accesses.push((words, Vec::new()));
        }
        accesses[at].1.push(id);
    }
    accesses.into_iter().filter_map(|(words, users)| sum(func, arch, loops, words, users)).collect()
}

/// The values that an access takes for its 64-bit address, where it names no uniform base.
fn address(func: &Function, inst: &Inst) -> Option<[VReg; 2]> {
    let (base, uniform) = (inst.position(Role::Base)?, source(inst, Role::UBase)?);
    let is_free = inst.is_machine() && ACCESSES.contains(&inst.opcode) && uniform.is_none();
    let is_wide = inst.get(Field::BASE_SIZE) == BaseSize::X64;
    if !is_free || !is_wide {
        return None;
    }
    let [low, high] = *func.tuple_values(inst.operands[base].as_tuple()?) else { return None };
    (low != high && func.is_value(low) && func.is_value(high)).then_some([low, high])
}

fn sum(func: &mut Function, arch: Arch, loops: &LoopForest, words: [VReg; 2], accesses: Vec<InstId>) -> Option<Sum> {
    let lists = func.def_use()?;
    if words.iter().any(|word| lists.count(*word) as usize != accesses.len()) {
        return None;
    }
    let [first, last] = [lists.definition(words[0])?, lists.definition(words[1])?];
    let block = lists.home(last)?;
    let plain = |id: InstId| func[id].is_machine() && func[id].guard().is_none();
    if !plain(first) || !plain(last) {
        return None;
    }
    let (base, part) = if first == last {
        product(func, &func[first]).or_else(|| long_sum(func, &func[first]))?
    } else {
        wide_sum(func, &func[first], &func[last]).or_else(|| shifted(func, &func[first], &func[last]))?
    };
    if matches!(part, Part::Narrow(_)) && arch != Arch::Sm75 {
        return None;
    }
    let insts = if first == last { SmallVec::from_slice(&[last]) } else { SmallVec::from_slice(&[first, last]) };
    let stand_in = if matches!(part, Part::Product { .. }) { Part::Wide(words) } else { part };
    let any = Operand::phys_group(RegFile::UR, 4, 2);
    for access in &accesses {
        let new = with_base(func, &func[*access].clone(), stand_in, any)?;
        if !func.is_legal(&new, arch) {
            return None;
        }
    }
    let weight = 10f32.powi(loops.depth(block).min(8) as i32);
    Some(Sum { block, insts, base, part, weight, accesses })
}

/// The access with a uniform base beside what it is added to.
fn with_base(func: &mut Function, access: &Inst, part: Part, base: Operand) -> Option<Inst> {
    let mut new = access.clone();
    match part {
        Part::Wide(words) => new.set_role(Role::Base, func.tuple(&words)),
        Part::Narrow(word) => {
            new.set_role(Role::Base, Operand::reg(word));
            new.mods.set(Field::BASE_SIZE, BaseSize::U32);
        }
        Part::Product { .. } => return None,
    }
    new.set_role(Role::UBase, base);
    give_up_descriptor(&mut new)?;
    Some(new)
}

/// Has an access name the descriptor that every access of global memory names no longer; `None` where it names another one, which
/// carries a policy.
fn give_up_descriptor(access: &mut Inst) -> Option<()> {
    let Some(at) = access.position(Role::Desc) else { return Some(()) };
    let of_all = |kind| matches!(kind, OperandKind::None | OperandKind::Phys { file: RegFile::UR, .. });
    let has_policy = access.opcode.has_field(Field::POLICY) && access.get(Field::POLICY);
    if has_policy || !of_all(access.operands[at].kind()) {
        return None;
    }
    access.operands[at] = Operand::NONE;
    Some(())
}

/// The place of a word in a constant bank, where the operand is one or a copy.
fn bank_word(func: &Function, operand: Operand) -> Option<Place> {
    if let OperandKind::Const { bank, offset } = operand.plain().kind() {
        return (!operand.has_flags()).then_some((bank, offset));
    }
    let value = operand.as_reg().filter(|_| !operand.has_flags())?;
    let load = &func[func.definition(value)?];
    let place = match load.opcode {
        Opcode::LDC if source(load, Role::Base) == Some(Operand::rz()) => source(load, Role::Bank)?,
        Opcode::MOV => source(load, Role::B)?,
        _ => return None,
    };
    let is_whole = load.is_machine() && load.guard().is_none() && !load.flags.contains(InstFlags::VOLATILE);
    let sized = load.opcode == Opcode::MOV || matches!(load.get(Field::MEM_SIZE), MemSize::B32 | MemSize::B64);
    let OperandKind::Const { bank, offset } = place.kind() else { return None };
    let k = func.named(source(load, Role::D)?).iter().position(|word| *word == value)?;
    (is_whole && sized && !place.has_flags()).then_some((bank, offset + 4 * k as u32))
}

/// Two words of a bank that `ULDC.64` reads.
fn bank_pair(func: &Function, [low, high]: [Operand; 2]) -> Option<Place> {
    let ((bank, offset), (other, next)) = (bank_word(func, low)?, bank_word(func, high)?);
    (bank == other && next == offset + 4 && offset % 8 == 0).then_some((bank, offset))
}

/// `IADD3` and `IADD3.X` of a parameter and a pair, or a word without a sign.
fn wide_sum(func: &Function, low: &Inst, high: &Inst) -> Option<(Place, Part)> {
    let is_sum = low.opcode == Opcode::IADD3 && high.opcode == Opcode::IADD3;
    if !is_sum || low.get(Field::X) || !high.get(Field::X) || !is_carried(low, high)? {
        return None;
    }
    let no_more = source(low, Role::PD2)? == Operand::pt() && source(high, Role::PB)? == Operand::pt().not();
    let ([a, b], [c, d]) = (two_summands(low)?, two_summands(high)?);
    let orders = [([a, c], [b, d]), ([b, d], [a, c]), ([a, d], [b, c]), ([b, c], [a, d])];
    let found = orders.into_iter().find_map(|(base, rest)| Some((bank_pair(func, base)?, pair_part(func, rest)?)));
    found.filter(|_| no_more)
}

/// Whether the high words take the carry of the low ones.
fn is_carried(low: &Inst, high: &Inst) -> Option<bool> {
    Some(source(low, Role::PD)? == source(high, Role::PA)? && source(low, Role::PD)?.as_reg().is_some())
}

fn pair_part(func: &Function, [low, high]: [Operand; 2]) -> Option<Part> {
    let low = low.as_reg().filter(|low| func.is_value(*low))?;
    if high == Operand::rz() {
        return Some(Part::Narrow(low));
    }
    high.as_reg().filter(|high| func.is_value(*high) && *high != low).map(|high| Part::Wide([low, high]))
}

/// `IADD.64`.
fn long_sum(func: &Function, inst: &Inst) -> Option<(Place, Part)> {
    if inst.opcode != Opcode::IADD || !inst.get(Field::LONG) || source(inst, Role::PD)? != Operand::pt() {
        return None;
    }
    let words = |role: Role| {
        let [low, high] = *func.tuple_values(source(inst, role)?.as_tuple()?) else { return None };
        (source(inst, role)?.plain() == source(inst, role)?).then_some([Operand::reg(low), Operand::reg(high)])
    };
    let (a, b) = (words(Role::A)?, words(Role::B)?);
    let plain = source(inst, Role::PA)? == Operand::pt().not();
    let found = [(a, b), (b, a)].into_iter().find_map(|(x, y)| Some((bank_pair(func, x)?, pair_part(func, y)?)));
    found.filter(|_| plain)
}

/// `IMAD.WIDE` with a parameter for its addend.
fn product(func: &Function, inst: &Inst) -> Option<(Place, Part)> {
    let is_wide = inst.opcode == Opcode::IMAD && inst.get(Field::MUL) == Mul::WIDE && !inst.get(Field::X);
    if !is_wide || source(inst, Role::PD)? != Operand::pt() {
        return None;
    }
    let addend = source(inst, Role::C)?;
    let base = match (addend.kind(), addend.as_tuple()) {
        (OperandKind::Const { bank, offset }, _) if offset % 8 == 0 && !addend.has_flags() => (bank, offset),
        (_, Some(tuple)) if !addend.has_flags() => {
            let [low, high] = *func.tuple_values(tuple) else { return None };
            bank_pair(func, [Operand::reg(low), Operand::reg(high)])?
        }
        _ => return None,
    };
    let factors = [source(inst, Role::A)?, source(inst, Role::B)?];
    let is_signed = inst.get(Field::SIGN) == Sign::S32;
    Some((base, Part::Product { factors, is_signed }))
}

/// `LEA` and `LEA.HI.X` of a word and a parameter.
fn shifted(func: &Function, low: &Inst, high: &Inst) -> Option<(Place, Part)> {
    let is_lea = low.opcode == Opcode::LEA && high.opcode == Opcode::LEA && !low.get(Field::HI) && !low.get(Field::X);
    if !is_lea || !high.get(Field::HI) || !high.get(Field::X) || !is_carried(low, high)? {
        return None;
    }
    let (value, count) = (source(low, Role::A)?, source(low, Role::Shift)?);
    let is_signed = high.get(Field::SX32);
    let extended = is_signed || source(high, Role::C)? == Operand::rz();
    if !extended || source(high, Role::A)? != value || source(high, Role::Shift)? != count || value.has_flags() {
        return None;
    }
    let base = bank_pair(func, [source(low, Role::B)?, source(high, Role::B)?])?;
    let factor = count.as_imm().filter(|count| (1..31).contains(count)).map(|count| Operand::imm(1 << count))?;
    Some((base, Part::Product { factors: [value, factor], is_signed }))
}

/// The sums with which less is executed than without: what goes are their instructions, and loads of parameters that nobody else reads;
/// what comes is a load for each parameter and a product for each kind.
fn worthwhile(func: &Function, mut sums: Vec<Sum>) -> Vec<Sum> {
    let inside: FxHashSet<InstId> = sums.iter().flat_map(|sum| sum.insts.iter().copied()).collect();
    loop {
        let mut readers: FxHashMap<Part, f32> = FxHashMap::default();
        sums.iter().for_each(|sum| *readers.entry(sum.part).or_default() += 1.0);
        let mut gains: FxHashMap<Place, f32> = FxHashMap::default();
        for sum in sums.iter().filter(|sum| is_read_elsewhere(func, sum, &inside)) {
            gains.insert(sum.base, -1.0);
        }
        for sum in &sums {
            let shared = match sum.part {
                Part::Product { .. } => readers[&sum.part].recip(),
                _ => 0.0,
            };
            *gains.entry(sum.base).or_default() += sum.weight * (sum.insts.len() as f32 - shared);
        }
        let mut order: Vec<(Place, f32)> = gains.into_iter().collect();
        order.sort_by(|(a, gain), (b, other)| other.total_cmp(gain).then(a.cmp(b)));
        let pays = |(_, gain): &(Place, f32)| *gain > 0.0;
        let kept: FxHashSet<Place> = order.into_iter().filter(pays).map(|(place, _)| place).take(MOST_BASES).collect();
        let before = sums.len();
        sums.retain(|sum| kept.contains(&sum.base));
        if sums.len() == before {
            return sums;
        }
    }
}

/// Whether somebody else reads a parameter's words, from registers or from the bank: then its load to uniform registers takes the
/// place of no other.
fn is_read_elsewhere(func: &Function, sum: &Sum, inside: &FxHashSet<InstId>) -> bool {
    let (bank, offset) = sum.base;
    let mut elsewhere = true;
    for &inst in &sum.insts {
        func.for_each_use(inst, |read| {
            let place = bank_word(func, Operand::reg(read.reg));
            if place == Some((bank, offset)) || place == Some((bank, offset + 4)) {
                let mut users = func.def_use().into_iter().flat_map(|lists| lists.users(read.reg));
                elsewhere = users.any(|user| !inside.contains(&user));
            }
        });
    }
    elsewhere
}

/// Load each parameter at the start.
fn load_bases(func: &mut Function, arch: Arch, sums: &[Sum]) -> Result<FxHashMap<Place, [VReg; 2]>, BuildError> {
    let mut bases = FxHashMap::default();
    let Some(entry) = func.entry() else { return Ok(bases) };
    let opcode = if arch <= Arch::Sm90 { Opcode::ULDC } else { Opcode::LDCU };
    let mut loads = Vec::new();
    for sum in sums {
        if bases.contains_key(&sum.base) {
            continue;
        }
        let words = [func.new_vreg(RegType::Ur)?, func.new_vreg(RegType::Ur)?];
        bases.insert(sum.base, words);
        let mods: Mods = std::iter::once(Field::MEM_SIZE.is(MemSize::B64)).collect();
        let mut load = Inst::neutral(opcode, mods);
        load.set_role(Role::D, func.tuple(&words));
        load.set_role(Role::Bank, Operand::cbank(sum.base.0, sum.base.1));
        load.loc = func[sum.insts[0]].loc;
        loads.push(func.edit().add(load));
    }
    func.edit().place(entry, 0, &loads);
    Ok(bases)
}

/// Make each product once, where it dominates all its sums.
fn make_products(
    func: &mut Function,
    dominators: &DomTree,
    sums: &[Sum],
) -> Result<FxHashMap<Part, [VReg; 2]>, BuildError> {
    let mut products: FxHashMap<Part, [VReg; 2]> = FxHashMap::default();
    for sum in sums {
        let Part::Product { factors: [a, b], is_signed } = sum.part else { continue };
        if products.contains_key(&sum.part) {
            continue;
        }
        let same: Vec<&Sum> = sums.iter().filter(|other| other.part == sum.part).collect();
        let words = [func.new_vreg(RegType::R)?, func.new_vreg(RegType::R)?];
        let sign = if is_signed { Sign::S32 } else { Sign::U32 };
        let mut inst =
            Inst::neutral(Opcode::IMAD, [Field::MUL.is(Mul::WIDE), Field::SIGN.is(sign)].into_iter().collect());
        let to = func.tuple(&words);
        for (role, operand) in [(Role::D, to), (Role::A, a), (Role::B, b), (Role::C, Operand::rz())] {
            inst.set_role(role, operand);
        }
        inst.loc = func[sum.insts[0]].loc;
        let inst = func.edit().add(inst);
        let (block, at) = common_place(func, dominators, &same);
        func.edit().place(block, at, &[inst]);
        products.insert(sum.part, words);
    }
    Ok(products)
}

/// Ahead of all of some sums: the lowest block that dominates theirs, and where in it.
fn common_place(func: &Function, dominators: &DomTree, sums: &[&Sum]) -> (Block, usize) {
    let mut block = sums[0].block;
    while !sums.iter().all(|sum| dominators.dominates(block, sum.block)) {
        let Some(above) = dominators.idom(block) else { break };
        block = above;
    }
    let insts = func.block_insts(block);
    let is_place = |inst: &InstId| is_terminator(&func[*inst]) || sums.iter().any(|sum| sum.insts.contains(inst));
    (block, insts.iter().position(is_place).unwrap_or(insts.len()))
}
