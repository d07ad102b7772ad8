//! Slot 44, on SSA form: an atomic operation whose result nobody reads is a reduction, and the reductions of a warp on one
//! address become one.
//!
//! Where all active threads name the same address, the memory unit would work on them one after the other. So the threads
//! put their values together, and one of them, the leader, carries the sum: `VOTEU.ANY` is who is active, `UFLO` the
//! highest of them, and a guard on `SR_LANEID` lets it alone through. What varies in the warp is put together by `REDUX`
//! (sm_80 and later); of what the threads agree on, a sum is the value times how many they are, and the least, the
//! greatest, the conjunction and the disjunction are the value itself. The forms are ptxas's (13.0.88, in divergent code
//! too).
//!
//! Leader and count hold as long as the same threads are active: behind whatever may change that, in the same block, they
//! are found anew.

use crate::{Changed, Context, PhaseError};
use oriole_isa::{
    Arch, AtomOp, AtomType, Cmp, Effects, Field, Mods, Mul, Opcode, Redux, RegFile, Role, Sign, Vote, special_registers,
};
use oriole_ori::analysis::{Analyses, Uniformity};
use oriole_ori::{Block, BuildError, Function, Guard, Inst, InstId, LocId, Operand, PackedOption, RegType, VReg};
use rustc_hash::FxHashMap;

/// What is counted.
pub(crate) const RULES: &[&str] = &["results left out", "one for the warp"];
const UNREAD: usize = 0;
const TOGETHER: usize = 1;

/// Operations that a reduction has.
const REDUCTIONS: [AtomOp; 8] =
    [AtomOp::ADD, AtomOp::MIN, AtomOp::MAX, AtomOp::INC, AtomOp::DEC, AtomOp::AND, AtomOp::OR, AtomOp::XOR];

/// Both rules, over all blocks.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let is_atomic = |inst: InstId| matches!(func[inst].opcode, Opcode::ATOMG | Opcode::REDG);
    let atomics: Vec<(Block, InstId)> = func.iter_insts().filter(|(_, inst)| is_atomic(*inst)).collect();
    if atomics.is_empty() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    for (_, inst) in &atomics {
        leave_out_result(func, context, *inst);
    }
    if let Some(lane) = special_registers::by_name("SR_LANEID", context.arch)
        && atomics.iter().any(|(_, inst)| func[*inst].opcode == Opcode::REDG)
    {
        let uniformity = analyses.uniformity(func, context.arch);
        let shared = |(block, inst)| Some((block, (inst, how(func, context.arch, &uniformity, inst)?)));
        let shared: Vec<(Block, (InstId, How))> = atomics.into_iter().filter_map(shared).collect();
        for of_block in shared.chunk_by(|(block, _), (next, _)| block == next) {
            let hows = of_block.iter().map(|(_, how)| *how).collect();
            Warp { func, block: of_block[0].0, lane: lane.number, active: None, loc: None.into() }
                .put(context, &hows)?;
        }
    }
    Ok(Changed::when(context.tally.last().is_some()))
}

/// Make a reduction of an atomic operation whose results nobody reads.
fn leave_out_result(func: &mut Function, context: &Context, id: InstId) {
    let inst = &func[id];
    if !context.tally.is_open() || inst.opcode != Opcode::ATOMG || !REDUCTIONS.contains(&inst.get(Field::ATOM_OP)) {
        return;
    }
    let is_read = |reg: VReg| !func.is_value(reg) || func.def_use().is_none_or(|lists| lists.count(reg) > 0);
    let is_left = |operand: Operand| func.named(operand).into_iter().any(is_read);
    if inst.call.is_some() || inst.defs().any(|(_, operand)| is_left(operand)) {
        return;
    }
    let mut new = Inst::neutral(Opcode::REDG, inst.mods.clone());
    for role in [Role::Base, Role::UBase, Role::Offset, Role::Desc, Role::Data] {
        if let Some(at) = inst.opcode.position(role) {
            new.set_role(role, inst.operands[at]);
        }
    }
    new.set_guard(inst.guard());
    (new.loc, new.flags) = (inst.loc, inst.flags);
    if func.is_legal(&new, context.arch) {
        func.edit().replace(id, new);
        context.tally.count(UNREAD);
    }
}

/// How the values of a warp's threads become one.
#[derive(Clone, Copy)]
enum How {
    /// They are the same, and that is the result.
    Same,
    /// They are the same; the result is their sum.
    Times,
    /// By `REDUX`.
    Reduce(Redux),
}

/// How the reductions of a warp become one, if they do.
fn how(func: &Function, arch: Arch, uniformity: &Uniformity, id: InstId) -> Option<How> {
    let inst = &func[id];
    let role = |role| inst.opcode.position(role).map(|at| inst.operands[at]);
    if inst.opcode != Opcode::REDG || inst.guard().is_some() || inst.call.is_some() {
        return None;
    }
    let is_same = |operand: Operand| !func.named(operand).into_iter().any(|value| uniformity.is_varying(value));
    if ![Role::Base, Role::UBase, Role::Desc].into_iter().filter_map(role).all(is_same) {
        return None;
    }
    let data = role(Role::Data)?;
    let narrow = match inst.get(Field::ATOM_TYPE) {
        AtomType::U32 | AtomType::S32 => true,
        AtomType::U64 | AtomType::S64 => false,
        _ => return None,
    };
    let values = func.named(data).len();
    if values != if narrow { 1 } else { 2 } {
        return None;
    }
    let reduce = |op| (narrow && Opcode::REDUX.exists_on(arch)).then_some(How::Reduce(op));
    match (inst.get(Field::ATOM_OP), is_same(data)) {
        (AtomOp::ADD, true) => Some(How::Times),
        (AtomOp::MIN | AtomOp::MAX | AtomOp::AND | AtomOp::OR, true) => Some(How::Same),
        (AtomOp::ADD, false) => reduce(Redux::SUM),
        (AtomOp::MIN, false) => reduce(Redux::MIN),
        (AtomOp::MAX, false) => reduce(Redux::MAX),
        (AtomOp::AND, false) => reduce(Redux::AND),
        (AtomOp::OR, false) => reduce(Redux::OR),
        (AtomOp::XOR, _) => reduce(Redux::XOR),
        _ => None,
    }
}

/// The threads that are active.
#[derive(Clone, Copy)]
struct Active {
    /// A bit each, in a uniform register.
    mask: Operand,
    /// Whether the thread is the one that acts for all.
    leader: VReg,
    /// How many they are, in a uniform register, once it is asked for.
    count: Option<Operand>,
}

/// The walk over a block.
struct Warp<'f> {
    func: &'f mut Function,
    block: Block,
    /// Number of the special register that holds a thread's lane.
    lane: u8,
    /// As found before, if they still are.
    active: Option<Active>,
    /// Of the reduction at hand.
    loc: PackedOption<LocId>,
}

impl Warp<'_> {
    /// Make one of each of these reductions.
    fn put(&mut self, context: &Context, hows: &FxHashMap<InstId, How>) -> Result<(), BuildError> {
        let old = self.func.edit().take_insts(self.block);
        self.func.edit().set_insts(self.block, Vec::with_capacity(old.len()));
        for id in old {
            if let Some(how) = hows.get(&id).filter(|_| context.tally.is_open()) {
                self.loc = self.func[id].loc;
                self.lead(id, *how)?;
                context.tally.count(TOGETHER);
            }
            let inst = &self.func[id];
            let effects = inst.opcode.info().effects;
            if inst.call.is_some() || effects.intersects(Effects::CONVERGENT.with(Effects::BRANCH)) {
                self.active = None;
            }
            self.func.edit().place_last(self.block, id);
        }
        Ok(())
    }

    /// Put the values together, and let the leader alone carry what comes of it.
    fn lead(&mut self, id: InstId, how: How) -> Result<(), BuildError> {
        let at = Opcode::REDG.position(Role::Data).unwrap_or_default();
        let data = self.func[id].operands[at];
        let signed = self.func[id].get(Field::ATOM_TYPE) == AtomType::S32;
        let together = match how {
            How::Same => data,
            How::Times => self.times(data)?,
            How::Reduce(op) => {
                let all = Operand::reg(self.func.new_vreg(RegType::Ur)?);
                let mods = [Field::REDUX.is(op), Field::REDUX_SIGNED.is(signed)];
                self.emit(Opcode::REDUX, &mods, &[(Role::D, all), (Role::A, data)]);
                let to = Operand::reg(self.func.new_vreg(RegType::R)?);
                self.add(Inst::copy(RegFile::R, to, all));
                to
            }
        };
        let leader = self.active()?.leader;
        self.func.edit().update(id, |inst| {
            inst.operands[at] = together;
            inst.set_guard(Some(Guard { pred: leader, negated: false }));
        });
        Ok(())
    }

    /// The value as often as there are threads: one word, or two.
    fn times(&mut self, data: Operand) -> Result<Operand, BuildError> {
        let count = self.count()?;
        let values = self.func.named(data);
        let (a, b, none) = (Role::A, Role::B, (Role::C, Operand::rz()));
        let [first, second] = values[..] else {
            let low = Operand::reg(self.func.new_vreg(RegType::R)?);
            self.emit(Opcode::IMAD, &[], &[(Role::D, low), (a, data), (b, count), none]);
            return Ok(low);
        };
        let regs = [self.func.new_vreg(RegType::R)?, self.func.new_vreg(RegType::R)?];
        let wide = self.func.tuple(&regs);
        let mods = [Field::MUL.is(Mul::WIDE), Field::SIGN.is(Sign::U32)];
        let roles = [(Role::D, wide), (a, Operand::reg(first)), (b, count), none];
        self.emit(Opcode::IMAD, &mods, &roles);
        let high = self.func.new_vreg(RegType::R)?;
        let roles =
            [(Role::D, Operand::reg(high)), (a, Operand::reg(second)), (b, count), (Role::C, Operand::reg(regs[1]))];
        self.emit(Opcode::IMAD, &[], &roles);
        Ok(self.func.tuple(&[regs[0], high]))
    }

    /// How many threads are active.
    fn count(&mut self) -> Result<Operand, BuildError> {
        let active = self.active()?;
        if let Some(count) = active.count {
            return Ok(count);
        }
        let count = Operand::reg(self.func.new_vreg(RegType::Ur)?);
        self.emit(Opcode::UPOPC, &[], &[(Role::D, count), (Role::B, active.mask)]);
        self.active = Some(Active { count: Some(count), ..active });
        Ok(count)
    }

    /// Who is active here, and who of them leads.
    fn active(&mut self) -> Result<Active, BuildError> {
        if let Some(active) = self.active {
            return Ok(active);
        }
        let mask = Operand::reg(self.func.new_vreg(RegType::Ur)?);
        self.emit(Opcode::VOTEU, &[Field::VOTE.is(Vote::ANY)], &[(Role::D, mask), (Role::PA, Operand::pt())]);
        let highest = Operand::reg(self.func.new_vreg(RegType::Ur)?);
        self.emit(Opcode::UFLO, &[Field::SIGN.is(Sign::U32)], &[(Role::D, highest), (Role::B, mask)]);
        let lane = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.emit(Opcode::S2R, &[], &[(Role::D, lane), (Role::A, Operand::special(self.lane))]);
        let leader = self.func.new_vreg(RegType::P)?;
        let mods = [Field::CMP.is(Cmp::EQ), Field::SIGN.is(Sign::U32)];
        let roles = [(Role::PD, Operand::reg(leader)), (Role::A, lane), (Role::B, highest)];
        self.emit(Opcode::ISETP, &mods, &roles);
        let active = Active { mask, leader, count: None };
        self.active = Some(active);
        Ok(active)
    }

    fn emit(&mut self, opcode: Opcode, mods: &[oriole_isa::Setting], roles: &[(Role, Operand)]) {
        let mut inst = Inst::neutral(opcode, mods.iter().copied().collect::<Mods>());
        roles.iter().for_each(|(role, operand)| inst.set_role(*role, *operand));
        self.add(inst);
    }

    fn add(&mut self, mut inst: Inst) {
        inst.loc = self.loc;
        self.func.edit().append(self.block, inst);
    }
}
