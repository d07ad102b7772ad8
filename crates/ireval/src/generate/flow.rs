//! Statements, and those that branch.

use super::function::Maker;
use super::options::Kinds;
use oriole_nvptx::ir::{BinaryOp, BlockId, InstFlags, IntPredicate, Op, TypeId, Value};
use smallvec::{SmallVec, smallvec};

/// Statements of a branch or loop body at most.
const BODY_STATEMENTS: u32 = 4;

/// Rounds of a loop at most: a power of two.
const MAX_ROUNDS: u128 = 8;

const NONE: InstFlags = InstFlags::empty();

impl Maker {
    /// Statements until the budget is spent.
    pub(super) fn statements(&mut self) {
        while self.budget > 0 {
            self.statement(0);
        }
    }

    fn statement(&mut self, depth: u32) {
        self.budget = self.budget.saturating_sub(1);
        match self.random.u32(..20) {
            0..3 => self.memory_statement(),
            3..6 if self.has(Kinds::INTRINSICS) => self.intrinsic_statement(),
            6 if self.has(Kinds::ASM) => self.asm_statement(),
            7..9 if self.has(Kinds::CALLS) => self.call_statement(),
            9..12 if self.has(Kinds::FLOW) && depth < 3 => match self.random.u32(..5) {
                0..2 => self.diamond(depth),
                2..4 => self.counted_loop(depth),
                _ => self.switch(depth),
            },
            _ => self.arithmetic_statement(),
        }
    }

    fn some_statements(&mut self, depth: u32) {
        for _ in 0..self.random.u32(1..=BODY_STATEMENTS).min(self.budget) {
            self.statement(depth + 1);
        }
    }

    fn go(&mut self, to: BlockId) {
        self.push(Op::Br(to));
    }

    pub(super) fn enter(&mut self, block: BlockId) {
        self.body.layout.push(block);
        self.block = block;
    }

    /// Types of values that a join passes on.
    fn carried_types(&mut self) -> Vec<TypeId> {
        (0..self.random.u32(..4))
            .map(|_| if self.chance(6) { self.aggregate_type(0) } else { self.value_type() })
            .collect()
    }

    /// Makes the block of a branch: what is defined there is gone behind it, but for values of the types asked for. The
    /// block where it ends, and the values.
    fn arm(&mut self, block: BlockId, types: &[TypeId], depth: u32, join: BlockId) -> (BlockId, Vec<Value>) {
        let outside = self.pool.len();
        self.enter(block);
        self.some_statements(depth);
        let values = types.iter().map(|&ty| self.value(ty)).collect();
        self.pool.truncate(outside);
        let end = self.block;
        self.go(join);
        (end, values)
    }

    /// Joins the ends of branches.
    fn join(&mut self, block: BlockId, types: &[TypeId], ends: &[(BlockId, Vec<Value>)]) {
        self.enter(block);
        for (at, &ty) in types.iter().enumerate() {
            let incoming = ends.iter().map(|(end, values)| (*end, values[at])).collect();
            self.define(Op::Phi(incoming), ty);
        }
    }

    fn diamond(&mut self, depth: u32) {
        let condition = self.value(TypeId::I1);
        let types = self.carried_types();
        let [yes, no, join] = [(); 3].map(|()| self.body.make_block());
        if self.chance(3) {
            // One side only: the other leads on.
            let before = types.iter().map(|&ty| self.value(ty)).collect();
            let from = self.block;
            let targets = if self.chance(2) { [yes, join] } else { [join, yes] };
            self.push(Op::CondBr(condition, targets));
            let end = self.arm(yes, &types, depth, join);
            return self.join(join, &types, &[(from, before), end]);
        }
        self.push(Op::CondBr(condition, [yes, no]));
        let first = self.arm(yes, &types, depth, join);
        if self.ret != TypeId::VOID && self.chance(6) {
            let outside = self.pool.len();
            self.enter(no);
            self.some_statements(depth);
            self.return_value();
            self.pool.truncate(outside);
            return self.join(join, &types, &[first]);
        }
        let second = self.arm(no, &types, depth, join);
        self.join(join, &types, &[first, second]);
    }

    fn switch(&mut self, depth: u32) {
        let ty = self.choose(&[TypeId::I32, TypeId::I8, TypeId::I64, TypeId::I16]);
        let value = self.value(ty);
        let mask = self.choose(&[3, 7, 7]);
        let bound = self.int_splat(ty, mask).into();
        let value = self.binary(BinaryOp::And, ty, value, bound);
        let types = self.carried_types();
        let join = self.body.make_block();
        let count = self.random.u32(1..6);
        let arms: Vec<BlockId> = (0..count).map(|_| self.body.make_block()).collect();
        let default = self.body.make_block();
        let step = if self.chance(4) { 40 } else { 1 };
        let all: Vec<u128> = (0..=mask).map(|case| if case > 2 { case * step } else { case }).collect();
        // With all values as cases, the default is never reached.
        let total = step == 1 && self.chance(2);
        let cases = all.into_iter().filter(|_| total || self.random.bool()).collect::<Vec<_>>();
        let cases =
            cases.into_iter().map(|case| (case & 0x7f, arms[self.random.usize(..arms.len())])).collect::<Vec<_>>();
        let used: Vec<BlockId> = arms.into_iter().filter(|arm| cases.iter().any(|(_, block)| block == arm)).collect();
        self.push(Op::Switch { value, default, cases });
        let mut ends: Vec<_> = used.into_iter().map(|arm| self.arm(arm, &types, depth, join)).collect();
        if total && !ends.is_empty() {
            self.enter(default);
            self.push(Op::Unreachable);
        } else {
            ends.push(self.arm(default, &types, depth, join));
        }
        self.join(join, &types, &ends);
    }

    /// The number of rounds: from 1 to `MAX_ROUNDS`, known or not.
    fn rounds(&mut self, ty: TypeId) -> Value {
        if self.chance(2) {
            let rounds = self.random.u128(1..=MAX_ROUNDS);
            return self.int_splat(ty, rounds).into();
        }
        let value = self.value(ty);
        let mask = self.int_splat(ty, MAX_ROUNDS - 1).into();
        let one = self.int_splat(ty, 1).into();
        let value = self.binary(BinaryOp::And, ty, value, mask);
        self.binary(BinaryOp::Add, ty, value, one)
    }

    /// A loop that runs at least once, with a counter and values carried around; it may be left early.
    fn counted_loop(&mut self, depth: u32) {
        let counter = self.choose(&[TypeId::I32, TypeId::I32, TypeId::I64, TypeId::I16]);
        let rounds = self.rounds(counter);
        let types = self.carried_types();
        let initial: Vec<Value> = types.iter().map(|&ty| self.value(ty)).collect();
        let [head, exit] = [(); 2].map(|()| self.body.make_block());
        let (outside, before) = (self.pool.len(), self.block);
        self.go(head);
        self.enter(head);
        let down = self.chance(3);
        let zero = self.int_splat(counter, 0).into();
        let count = self.phi(if down { rounds } else { zero }, before, counter);
        let carried: Vec<Value> = types.iter().zip(initial).map(|(&ty, value)| self.phi(value, before, ty)).collect();
        self.some_statements(depth);
        let mut ends = Vec::new();
        let mut kept = self.pool.len();
        if self.chance(3) {
            let condition = self.value(TypeId::I1);
            ends.push((self.block, types.iter().map(|&ty| self.value(ty)).collect()));
            kept = self.pool.len();
            let go_on = self.body.make_block();
            self.push(Op::CondBr(condition, [exit, go_on]));
            self.enter(go_on);
            self.some_statements(depth);
        }
        let next: Vec<Value> = types.iter().map(|&ty| self.value(ty)).collect();
        let one = self.int_splat(counter, 1).into();
        let stepped = self.binary(if down { BinaryOp::Sub } else { BinaryOp::Add }, counter, count, one);
        let again = self.loop_condition(down, counter, stepped, rounds);
        let latch = self.block;
        self.push(Op::CondBr(again, [head, exit]));
        for (phi, value) in std::iter::once((count, stepped)).chain(carried.into_iter().zip(next.iter().copied())) {
            self.add_incoming(phi, latch, value);
        }
        ends.push((latch, next));
        // What the first part of a loop defines is there behind it.
        let length = if self.chance(2) { kept } else { outside };
        self.pool.truncate(length);
        self.join(exit, &types, &ends);
    }

    fn loop_condition(&mut self, down: bool, ty: TypeId, stepped: Value, rounds: Value) -> Value {
        let zero = self.int_splat(ty, 0).into();
        let (predicate, operands) = match (down, self.random.u32(..3)) {
            (true, 0) => (IntPredicate::Sgt, [stepped, zero]),
            (true, _) => (IntPredicate::Ne, [stepped, zero]),
            (false, 0) => (IntPredicate::Ult, [stepped, rounds]),
            (false, 1) => (IntPredicate::Slt, [stepped, rounds]),
            (false, _) => (IntPredicate::Ne, [stepped, rounds]),
        };
        self.emit(Op::ICmp(predicate, NONE, operands), TypeId::I1)
    }

    /// A phi at the start of a loop, with the value from before it.
    fn phi(&mut self, value: Value, from: BlockId, ty: TypeId) -> Value {
        let incoming: SmallVec<[(BlockId, Value); 2]> = smallvec![(from, value)];
        self.define(Op::Phi(incoming), ty)
    }

    fn add_incoming(&mut self, phi: Value, from: BlockId, value: Value) {
        if let Some(inst) = self.body.def_inst(phi)
            && let Op::Phi(incoming) = &mut self.body[inst].op
        {
            incoming.push((from, value));
        }
    }

    /// `ret` of some value of the function's type.
    pub(super) fn return_value(&mut self) {
        let ret = self.ret;
        let value = (ret != TypeId::VOID).then(|| self.value(ret));
        self.push(Op::Ret(value));
    }
}
