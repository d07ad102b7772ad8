//! Neighbouring loads, and neighbouring stores, of one block become one access of 8 or 16 bytes.
//!
//! Accesses belong together when their addresses are one value plus constants, and their types are one scalar type.
//! Loads move up to the first of them, stores down to the last; nothing in between may touch their bytes.

use cranelift_entity::EntityRef;

use super::{Context, Replacements};
use crate::analysis::alias::{Alias, Location, Private, Written, accessed, alias, constant_offset};
use crate::analysis::effects::effects;
use crate::analysis::known_bits::alignment;
use crate::analysis::{Effects, View};
use crate::ir::{Attachment, BlockId, Body, GepFlags, InstId, Op, Ordering, TypeId, Value};

/// The widths of vector accesses in bytes, widest first.
const WIDTHS: [u64; 2] = [16, 8];
/// Groups that are open at once.
const MAX_GROUPS: usize = 32;
/// Writers that loads move up past, at most.
const MAX_WRITERS: usize = 32;
/// Constant offsets that one address is made of, at most.
const MAX_CHAIN: usize = 16;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let private = Private::new(cx.view(body));
    let mut same = Replacements::default();
    let mut edits = Edits { gone: vec![false; body.inst_count()], before: Vec::new() };
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let runs = Scan { view: cx.view(body), private: &private, open: Vec::new(), runs: Vec::new() }.block(block);
        for run in runs {
            match run.store {
                true => edits.store(body, cx, &run),
                false => edits.load(body, cx, &run, &mut same),
            }
        }
        edits.apply(body, block);
    }
    same.apply(body) || edits.gone.contains(&true)
}

/// One access of a scalar.
#[derive(Clone)]
struct Member {
    inst: InstId,
    /// Place in the block.
    at: usize,
    /// Bytes from the anchor.
    offset: i64,
    location: Location,
    align: u64,
}

/// Accesses of one kind and type whose addresses start from one value.
struct Group {
    anchor: Value,
    pointer: TypeId,
    ty: TypeId,
    size: u64,
    store: bool,
    members: Vec<Member>,
    /// What has written memory since the first member: a load that joins moves up past all of it.
    writers: Vec<InstId>,
}

/// What becomes one access.
struct Run {
    anchor: Value,
    pointer: TypeId,
    ty: TypeId,
    store: bool,
    members: Vec<Member>,
    align: u64,
}

/// Some bytes from a value on.
#[derive(Clone, Copy)]
struct Bytes {
    anchor: Value,
    offset: i64,
    size: i64,
}

impl Bytes {
    /// True when they have the anchor of a member and none of its bytes.
    fn apart(self, group: &Group, member: &Member) -> bool {
        let size = group.size as i64;
        self.anchor == group.anchor
            && (self.offset.saturating_add(self.size) <= member.offset
                || member.offset.saturating_add(size) <= self.offset)
    }
}

struct Scan<'a> {
    view: View<'a>,
    private: &'a Private,
    open: Vec<Group>,
    runs: Vec<Run>,
}

impl Scan<'_> {
    fn block(mut self, block: BlockId) -> Vec<Run> {
        for (at, &inst) in self.view.body[block].insts.iter().enumerate() {
            let what = effects(self.view, inst);
            if !what.intersects(Effects::READS | Effects::WRITES | Effects::ORDERED | Effects::MAY_NOT_RETURN) {
                continue;
            }
            self.close_touched(inst, what);
            if let Some((group, member)) = self.member(inst, at) {
                self.join(group, member);
            }
        }
        while let Some(group) = self.open.pop() {
            self.close(&group);
        }
        self.runs
    }

    /// The access, if it is one that can be part of a wider one.
    fn member(&self, inst: InstId, at: usize) -> Option<(Group, Member)> {
        let view = self.view;
        let (ptr, ty, align, store) = match view.body[inst].op {
            Op::Load { ptr, align, volatile: false, ordering: Ordering::NotAtomic, .. } => {
                (ptr, view.body[inst].ty, align, false)
            }
            Op::Store { ptr, value, align, volatile: false, ordering: Ordering::NotAtomic, .. } => {
                (ptr, view.ty(value), align, true)
            }
            _ => return None,
        };
        let types = &view.module.types;
        let is_scalar = types.int_bits(ty).is_some() || types.is_float(ty);
        let size = view.module.layout.size(types, ty);
        if !is_scalar || view.module.layout.bits(types, ty) != size * 8 || !matches!(size, 2 | 4 | 8) {
            return None;
        }
        let (anchor, offset) = anchored(view, ptr)?;
        let location = accessed(view, inst)?;
        let align = u64::from(align).max(alignment(view, ptr));
        let group = Group { anchor, pointer: view.ty(ptr), ty, size, store, members: Vec::new(), writers: Vec::new() };
        Some((group, Member { inst, at, offset, location, align }))
    }

    fn join(&mut self, group: Group, member: Member) {
        let same = |own: &Group| {
            own.anchor == group.anchor && own.ty == group.ty && own.store == group.store && own.pointer == group.pointer
        };
        if let Some(at) = self.open.iter().position(same) {
            if !self.moves_past_writer(at, &member) {
                self.open[at].members.push(member);
                return;
            }
            let own = self.open.remove(at);
            self.close(&own);
        }
        if self.open.len() == MAX_GROUPS {
            let oldest = self.open.remove(0);
            self.close(&oldest);
        }
        self.open.push(Group { members: vec![member], ..group });
    }

    /// True when something wrote the bytes of a load since the first member of the open group `at`.
    fn moves_past_writer(&self, at: usize, member: &Member) -> bool {
        let group = &self.open[at];
        if self.view.body.attachment(member.inst, Attachment::InvariantLoad).is_some() {
            return false;
        }
        group.writers.iter().any(|&writer| {
            let apart = self.bytes(writer).is_some_and(|bytes| bytes.apart(group, member));
            !apart && Written::by(self.view, writer).may_touch(self.view, self.private, &member.location)
        })
    }

    /// Ends the groups whose members must not move past an instruction.
    fn close_touched(&mut self, inst: InstId, what: Effects) {
        let (view, private) = (self.view, self.private);
        let written = Written::by(view, inst);
        let read = accessed(view, inst).filter(|_| matches!(view.body[inst].op, Op::Load { .. }));
        let is_plain = matches!(view.body[inst].op, Op::Load { .. } | Op::Store { .. });
        let own = self.bytes(inst);
        let mut at = 0;
        while at < self.open.len() {
            let group = &self.open[at];
            let touched = group.members.iter().any(|member| {
                if own.is_some_and(|own| own.apart(group, member)) {
                    return false;
                }
                let is_constant =
                    !group.store && view.body.attachment(member.inst, Attachment::InvariantLoad).is_some();
                let overwritten = !is_constant && written.may_touch(view, private, &member.location);
                let seen = group.store
                    && match &read {
                        Some(read) => alias(view, read, &member.location) != Alias::No,
                        None => {
                            !is_plain && what.intersects(Effects::READS | Effects::ORDERED | Effects::MAY_NOT_RETURN)
                        }
                    };
                overwritten || seen
            });
            let writes = !group.store && what.intersects(Effects::WRITES | Effects::ORDERED);
            if touched || writes && group.writers.len() == MAX_WRITERS {
                let group = self.open.remove(at);
                self.close(&group);
            } else {
                if writes {
                    self.open[at].writers.push(inst);
                }
                at += 1;
            }
        }
    }

    /// The bytes of a load or store, from the value that its address is made from.
    fn bytes(&self, inst: InstId) -> Option<Bytes> {
        let (Op::Load { ptr, .. } | Op::Store { ptr, .. }) = self.view.body[inst].op else { return None };
        let (anchor, offset) = anchored(self.view, ptr)?;
        let size = i64::try_from(accessed(self.view, inst)?.size?).ok()?;
        Some(Bytes { anchor, offset, size })
    }

    /// Finds what of a group lies side by side.
    fn close(&mut self, group: &Group) {
        let mut members = group.members.clone();
        members.sort_by_key(|member| (member.offset, member.at));
        members.dedup_by_key(|member| member.offset);
        // An offset that is stored twice is a matter of order.
        if group.store && members.len() != group.members.len() {
            return;
        }
        let mut at = 0;
        while at < members.len() {
            let taken = WIDTHS.iter().find_map(|&width| run_from(group, &members[at..], width));
            at += taken.as_ref().map_or(1, |run| run.members.len());
            self.runs.extend(taken);
        }
    }
}

/// The members that fill `width` bytes from the first on, if that is aligned.
fn run_from(group: &Group, members: &[Member], width: u64) -> Option<Run> {
    let count = usize::try_from(width / group.size).ok().filter(|count| (2..=4).contains(count))?;
    let members = members.get(..count)?;
    let first = &members[0];
    let step = group.size as i64;
    let follow = (0..).zip(members).all(|(k, member)| Some(member.offset) == first.offset.checked_add(k * step));
    // Only the first member lies at the start of the bytes.
    let aligned = first.align >= width;
    (follow && aligned).then(|| Run {
        anchor: group.anchor,
        pointer: group.pointer,
        ty: group.ty,
        store: group.store,
        members: members.to_vec(),
        align: width,
    })
}

/// The value that an address is made from by adding constants, and their sum.
fn anchored(view: View<'_>, pointer: Value) -> Option<(Value, i64)> {
    let (mut at, mut offset) = (pointer, 0i64);
    for _ in 0..MAX_CHAIN {
        let Some(Op::Gep { source, base, indices, .. }) = view.op(at) else { break };
        let same_type = view.ty(*base) == view.ty(at);
        let bytes = constant_offset(view, *source, indices.iter().map(|&index| view.signed(index)));
        let Some(bytes) = bytes.filter(|_| same_type) else { break };
        offset = offset.checked_add(bytes)?;
        at = *base;
    }
    Some((at, offset))
}

/// What goes from a block and what comes into it.
struct Edits {
    gone: Vec<bool>,
    /// Before which instruction what stands.
    before: Vec<(InstId, Vec<InstId>)>,
}

impl Edits {
    /// One load in the place of the first, and its elements.
    fn load(&mut self, body: &mut Body, cx: &mut Context<'_>, run: &Run, same: &mut Replacements) {
        let Some(first) = run.members.iter().min_by_key(|member| member.at).map(|member| member.inst) else { return };
        let vector = cx.module.types.vector(run.ty, run.members.len() as u32);
        let mut made = Vec::new();
        let ptr = address(body, cx, run, first, &mut made);
        let load = cx.make(body, Op::load(ptr, run.align as u32), vector, first);
        made.push(load);
        let invariant = |member: &Member| body.attachment(member.inst, Attachment::InvariantLoad);
        if let Some(node) =
            run.members.iter().map(invariant).collect::<Option<Vec<_>>>().and_then(|nodes| nodes.first().copied())
        {
            body.attachments.entry(load).or_default().push((Attachment::InvariantLoad, node));
        }
        let whole: Value = body.result(load).into();
        for (number, member) in (0u128..).zip(&run.members) {
            let index = cx.int(TypeId::I32, number);
            let part = cx.make(body, Op::ExtractElement([whole, index]), run.ty, member.inst);
            made.push(part);
            same.set(body.result(member.inst), body.result(part).into());
            self.gone[member.inst.index()] = true;
        }
        self.before.push((first, made));
    }

    /// One store in the place of the last.
    fn store(&mut self, body: &mut Body, cx: &mut Context<'_>, run: &Run) {
        let Some(last) = run.members.iter().max_by_key(|member| member.at).map(|member| member.inst) else { return };
        let vector = cx.module.types.vector(run.ty, run.members.len() as u32);
        let mut made = Vec::new();
        let ptr = address(body, cx, run, last, &mut made);
        let mut whole = cx.poison(vector);
        for (number, member) in (0u128..).zip(&run.members) {
            let Op::Store { value, .. } = body[member.inst].op else { return };
            let index = cx.int(TypeId::I32, number);
            let next = cx.make(body, Op::InsertElement([whole, value, index]), vector, member.inst);
            made.push(next);
            whole = body.result(next).into();
            self.gone[member.inst.index()] = true;
        }
        made.push(cx.make(body, Op::store(whole, ptr, run.align as u32), TypeId::VOID, last));
        self.before.push((last, made));
    }

    fn apply(&mut self, body: &mut Body, block: BlockId) {
        if self.before.is_empty() {
            return;
        }
        self.before.sort_by_key(|(inst, _)| *inst);
        let old = std::mem::take(&mut body[block].insts);
        let mut out = Vec::with_capacity(old.len());
        for inst in old {
            let from = self.before.partition_point(|(at, _)| *at < inst);
            out.extend(self.before[from..].iter().take_while(|(at, _)| *at == inst).flat_map(|(_, made)| made));
            if !self.gone.get(inst.index()).is_some_and(|gone| *gone) {
                out.push(inst);
            }
        }
        body[block].insts = out;
        self.before.clear();
    }
}

/// The address of a run's first byte.
fn address(body: &mut Body, cx: &mut Context<'_>, run: &Run, like: InstId, made: &mut Vec<InstId>) -> Value {
    let offset = run.members[0].offset;
    if offset == 0 {
        return run.anchor;
    }
    let gep = cx.bytes_behind(run.anchor, offset, GepFlags::empty());
    let gep = cx.make(body, gep, run.pointer, like);
    made.push(gep);
    body.result(gep).into()
}
