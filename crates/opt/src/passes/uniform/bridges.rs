//! Bridges to the uniform datapath and back: what is the same in all threads although each computes it for itself (a value of one lane, by
//! `SHFL`) goes there by one `R2UR` right behind it, where that saves more of them further on; what general
//! registers are wanted for, too, is brought back by `MOV` where it is made.

use super::choice::{Solver, is_single, single};
use super::form::Forms;
use oriole_isa::{Opcode, RegFile, Role};
use oriole_ori::{EntitySet, InstId, Operand, VReg};

/// What `R2UR`s read: the registers on the way there, and those of them that no instruction of the uniform datapath can give.
struct Reach {
    inside: Vec<VReg>,
    leaves: Vec<VReg>,
}

impl Solver<'_> {
    /// Let candidates that were given up go there over bridges, if that saves more than it costs: with bridges back where they
    /// help, else without.
    pub(super) fn build_bridges(&mut self) {
        let waiting = self.waiting();
        if waiting.is_empty() {
            return;
        }
        let reach = self.reach(&waiting);
        let pays = !reach.inside.is_empty() && self.try_bridges(&waiting, &reach, true);
        if !pays && !reach.leaves.is_empty() {
            self.try_bridges(&waiting, &reach, false);
        }
    }

    /// Whether it pays; else all is as before.
    fn try_bridges(&mut self, waiting: &[(usize, VReg)], Reach { inside, leaves }: &Reach, back: bool) -> bool {
        leaves.iter().for_each(|reg| {
            self.both.insert(*reg);
            self.bridged.insert(*reg);
        });
        if back {
            for reg in inside.iter().filter(|reg| is_single(self.func, **reg)) {
                self.both.insert(*reg);
            }
        }
        let all: Vec<VReg> = inside.iter().chain(leaves).copied().collect();
        all.iter().for_each(|reg| self.take_up(*reg));
        self.run();
        loop {
            let named = |reg: &VReg| self.names[*reg].is_some();
            let idle = |reg: &VReg| named(reg) && !self.is_read_there(*reg) && self.may_return(*reg);
            let idle: Vec<VReg> = all.iter().copied().filter(idle).collect();
            if idle.is_empty() {
                break;
            }
            idle.into_iter().for_each(|reg| self.give_up(reg));
            self.run();
        }
        for reg in inside {
            if self.both.contains(*reg) && self.names[*reg].is_some() {
                self.both.remove(*reg);
                if !self.sites_of(*reg).all(|site| self.has_form(site)) {
                    self.both.insert(*reg);
                }
            }
        }
        let saved =
            waiting.iter().filter(|(_, reg)| self.names[*reg].is_some()).map(|(site, _)| self.sites[*site].weight);
        let crossing = all.iter().filter(|reg| self.names[**reg].is_some() && self.both.contains(**reg));
        let spent = crossing.flat_map(|reg| self.writers(*reg)).map(|site| self.sites[site].weight);
        let pays = saved.sum::<f32>() > spent.sum();
        if !pays {
            all.iter().for_each(|reg| {
                self.give_up(*reg);
                self.both.remove(*reg);
                self.bridged.remove(*reg);
            });
            self.run();
        }
        pays
    }

    /// The `R2UR`s that are left and want no more than a value, each with what it reads.
    fn waiting(&self) -> Vec<(usize, VReg)> {
        let source = |site: usize| {
            let inst = &self.func[self.sites[site].inst];
            let operand = |role| inst.operand(role);
            let is_plain = inst.is_machine() && inst.opcode == Opcode::R2UR && inst.guard().is_none();
            let reg = operand(Role::A).filter(|_| is_plain && operand(Role::PD) == Some(Operand::pt()))?.as_reg()?;
            self.is_given_up(reg).then_some((site, reg))
        };
        (0..self.sites.len()).filter_map(source).collect()
    }

    fn reach(&self, waiting: &[(usize, VReg)]) -> Reach {
        let (mut seen, mut reach) = (EntitySet::new(), Reach { inside: Vec::new(), leaves: Vec::new() });
        let mut work: Vec<VReg> = waiting.iter().map(|(_, reg)| *reg).collect();
        while let Some(reg) = work.pop() {
            if !seen.insert(reg) || !self.is_given_up(reg) {
                continue;
            }
            if self.definitions(reg).all(|inst| self.has_twin(inst)) {
                reach.inside.push(reg);
                self.definitions(reg).for_each(|inst| self.func.for_each_use(inst, |read| work.push(read.reg)));
                self.chosen_by(reg, &mut work);
            } else if self.may_bridge(reg) {
                reach.leaves.push(reg);
            }
        }
        reach
    }

    /// What instructions make that read a predicate. A predicate is in one file, so they have to go where it goes: a stage's number and
    /// phase both change where the ring of stages ends.
    fn chosen_by(&self, reg: VReg, work: &mut Vec<VReg>) {
        if self.func[reg].file() != RegFile::P {
            return;
        }
        for site in self.sites_of(reg).filter(|site| self.sites[*site].writes) {
            let inst = self.sites[site].inst;
            self.func.for_each_def(inst, |made| {
                if self.definitions(made.reg).all(|inst| self.has_twin(inst)) {
                    work.push(made.reg);
                }
            });
        }
    }

    /// A candidate that stays in general registers as things stand.
    fn is_given_up(&self, reg: VReg) -> bool {
        self.stand_ins[reg].is_some() && self.names[reg].is_none()
    }

    /// Whether it goes to the uniform datapath if all candidates do.
    fn has_twin(&self, inst: InstId) -> bool {
        let none = EntitySet::new();
        let forms = Forms { names: &self.stand_ins, both: &none, bridged: &none, ..self.forms() };
        forms.twin(&self.func[inst]).is_some()
    }

    /// A register that one instruction writes, in full.
    fn may_bridge(&self, reg: VReg) -> bool {
        let only = single(self.definitions(reg));
        is_single(self.func, reg)
            && only.is_some_and(|inst| self.func[inst].is_machine() && !self.func[inst].writes_partly())
    }

    /// Whether what writes a register of both files has a form in general registers.
    fn may_return(&self, reg: VReg) -> bool {
        !self.both.contains(reg) || self.definitions(reg).all(|inst| self.reads_well(inst))
    }

    /// Whether something on the uniform datapath reads the register.
    fn is_read_there(&self, reg: VReg) -> bool {
        let reads = |site: &usize| {
            let mut reads = false;
            let inst = self.sites[*site].inst;
            self.func.for_each_use(inst, |read| reads |= read.reg == reg);
            reads && (self.func[inst].opcode == Opcode::R2UR || self.twin_is_there(inst))
        };
        self.sites_of(reg).any(|site| reads(&site))
    }
}
