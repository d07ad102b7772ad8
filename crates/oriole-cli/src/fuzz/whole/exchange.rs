//! Threads together: of a warp, under the mask of those that are there, and of the block.

use super::super::lines::reduction_type;
use super::super::program::{REDUCTIONS, Reg};
use super::super::templates::Class;
use super::emit::Emitter;
use super::tree::{BlockOp, WarpOp};

/// Cells of shared memory for the reductions of a block.
pub(super) const CELLS: u32 = 8;

impl Emitter<'_> {
    pub(super) fn warp(&mut self, op: WarpOp, to: Reg, from: Reg) {
        let Some(mask) = self.here.mask.clone().filter(|_| !self.here.dead) else { return };
        let from = self.read(from);
        let ty = from.class.ty();
        match op {
            WarpOp::Butterfly(bits) => {
                self.line(format_args!("mov.u32 %sw0, %laneid; xor.b32 %sw0, %sw0, {};", bits & 31));
                let shuffle = format!("shfl.sync.bfly.b32 %sw1, {from}, {}, 31, {mask};", bits & 31);
                self.take_from_member(&shuffle, to, from, &mask);
            }
            WarpOp::Shift(mode, lanes) => {
                let (sign, clamp) = if mode == "up" { ("sub", 0) } else { ("add", 31) };
                self.line(format_args!("mov.u32 %sw0, %laneid; {sign}.u32 %sw0, %sw0, {};", lanes & 31));
                let shuffle = format!("shfl.sync.{mode}.b32 %sw1, {from}, {}, {clamp}, {mask};", lanes & 31);
                self.take_from_member(&shuffle, to, from, &mask);
            }
            WarpOp::First => {
                self.line(format_args!("mov.b32 %sw0, {mask}; brev.b32 %sw0, %sw0; clz.b32 %sw0, %sw0;"));
                self.line(format_args!("shfl.sync.idx.b32 {to}, {from}, %sw0, 31, {mask};"));
            }
            WarpOp::Ballot => self.line(format_args!("vote.sync.ballot.b32 {to}, {from}, {mask};")),
            WarpOp::Vote(mode) => self.line(format_args!("vote.sync.{mode}.pred {to}, {from}, {mask};")),
            WarpOp::MatchAny => self.line(format_args!("match.any.sync.{ty} {to}, {from}, {mask};")),
            WarpOp::MatchAll => self.line(format_args!("match.all.sync.{ty} {to}|%sp, {from}, {mask};")),
            WarpOp::Reduce(op) => self.line(format_args!("redux.sync.{op} {to}, {from}, {mask};")),
            WarpOp::Memory(bits) => {
                let name = self.tree.name.clone();
                self.line("mov.u32 %sw2, %tid.x;");
                self.line(format_args!("mov.u64 %sd1, {name}_warp; mad.wide.u32 %sd0, %sw2, 4, %sd1;"));
                self.line(format_args!("st.shared.b32 [%sd0], {from};"));
                self.line(format_args!("bar.warp.sync {mask};"));
                self.line(format_args!(
                    "xor.b32 %sw2, %sw2, {0}; mov.u32 %sw0, %laneid; xor.b32 %sw0, %sw0, {0};",
                    bits & 31
                ));
                let load = "mad.wide.u32 %sd0, %sw2, 4, %sd1; ld.shared.b32 %sw1, [%sd0];";
                self.line(load);
                self.line(format_args!("bar.warp.sync {mask};"));
                self.take_from_member("", to, from, &mask);
            }
        }
        self.written(to, false);
    }

    /// What `shuffle` leaves in `%sw1`, if the lane `%sw0` takes part; otherwise the thread's own value.
    fn take_from_member(&mut self, shuffle: &str, to: Reg, from: Reg, mask: &str) {
        if !shuffle.is_empty() {
            self.line(shuffle);
        }
        self.line(format_args!("mov.b32 %sw2, {mask}; shr.u32 %sw2, %sw2, %sw0; and.b32 %sw2, %sw2, 1;"));
        self.line(format_args!("setp.ne.u32 %sp, %sw2, 0; selp.b32 {to}, %sw1, {from}, %sp;"));
    }

    pub(super) fn block(&mut self, op: BlockOp, to: Reg, from: Reg) {
        if !self.here.uniform || !self.is_kernel() {
            return;
        }
        let from = self.read(from);
        let (name, threads) = (self.tree.name.clone(), self.tree.threads);
        match op {
            BlockOp::Exchange(distance) => {
                let (bytes, ty) = (from.class.bytes(), from.class.ty());
                self.offer(from);
                self.line("bar.sync 0;");
                self.line(format_args!("add.u32 %sw1, %sw1, {}; rem.u32 %sw1, %sw1, {threads};", distance % threads));
                self.line(format_args!("mad.wide.u32 %sd0, %sw1, {bytes}, %sd1;"));
                self.line(format_args!("ld.shared.{ty} {to}, [%sd0];"));
                self.line("barrier.sync 0;");
            }
            BlockOp::Reduce(op) => {
                let ty = reduction_type(op, false);
                self.line(format_args!("mov.u64 %sd1, {name}_cells; and.b32 %sw0, {from}, {};", CELLS - 1));
                self.line("mad.wide.u32 %sd0, %sw0, 4, %sd1;");
                self.line(format_args!("red.shared.{op}.{ty} [%sd0], {from};"));
                self.line(format_args!("barrier.sync 1, {threads};"));
                self.line(format_args!("ld.shared.u32 {to}, [%sd0];"));
                self.line("bar.sync 0;");
            }
            BlockOp::Cluster(_) if !self.tree.cluster => return,
            BlockOp::Cluster(distance) => {
                let (ty, blocks) = (from.class.ty(), self.tree.blocks);
                self.offer(from);
                self.line("barrier.cluster.arrive; barrier.cluster.wait;");
                self.line(format_args!("mov.u32 %sw2, %cluster_ctarank; add.u32 %sw2, %sw2, {};", distance % blocks));
                self.line(format_args!("rem.u32 %sw2, %sw2, {blocks}; mapa.shared::cluster.u64 %sd0, %sd0, %sw2;"));
                self.line(format_args!("ld.shared::cluster.{ty} {to}, [%sd0];"));
                self.line("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;");
            }
            BlockOp::Vote(op) => {
                self.line(format_args!("setp.lt.s32 %sp, {from}, 0;"));
                match op {
                    "popc" => self.line(format_args!("bar.red.popc.u32 {to}, 0, %sp;")),
                    _ => self.line(format_args!("bar.red.{op}.pred %sp, 0, %sp; selp.b32 {to}, 1, 0, %sp;")),
                }
            }
        }
        self.written(to, false);
    }

    /// Puts a value where others read it: `%sd0` is the thread's place in the block's array, of which `%sd1` is the start
    /// and `%sw1` the index.
    fn offer(&mut self, from: Reg) {
        let (name, bytes, ty) = (self.tree.name.clone(), from.class.bytes(), from.class.ty());
        self.line(format_args!("mov.u32 %sw1, %tid.x; mov.u64 %sd1, {name}_exchange;"));
        self.line(format_args!("mad.wide.u32 %sd0, %sw1, {bytes}, %sd1;"));
        self.line(format_args!("st.shared.{ty} [%sd0], {from};"));
    }

    /// A reduction of all threads of the grid: the order does not matter. The kind says where, too: in one of two cells, in
    /// the first (so that a warp has one address), or there with a constant. Sums are read as well. What a thread finds
    /// depends on the order, but if it adds `(old + value)² - old²` to another cell, that has the square of the sum in the end.
    pub(super) fn reduction(&mut self, kind: usize, value: Reg, cell: Reg) {
        if !self.is_kernel() {
            return;
        }
        let (value, cell) = (self.read(value), self.read(cell));
        let wide = value.class == Class::Double;
        let (number, place) = (kind % REDUCTIONS.len(), kind / REDUCTIONS.len());
        let op = REDUCTIONS[number];
        let offset = 16 * (2 * number + usize::from(wide));
        match place {
            0 => self.line(format_args!("and.b32 %sw0, {cell}, 1; mad.wide.u32 %sd0, %sw0, 8, %out;")),
            _ => self.line("mov.u64 %sd0, %out;"),
        }
        let value = if place == 2 { "5".to_owned() } else { value.to_string() };
        let ty = reduction_type(op, wide);
        if op != "add" {
            self.line(format_args!("red.global.{op}.{ty} [%sd0+{offset}], {value};"));
            return;
        }
        let (old, sum) = if wide { ("%sd1", "%sd2") } else { ("%sw1", "%sw2") };
        let squares = 16 * (2 * REDUCTIONS.len() + usize::from(wide));
        self.line(format_args!("atom.global.add.{ty} {old}, [%sd0+{offset}], {value};"));
        self.line(format_args!("add.{ty} {sum}, {old}, {old}; add.{ty} {sum}, {sum}, {value};"));
        self.line(format_args!("mul.lo.{ty} {sum}, {sum}, {value}; red.global.add.{ty} [%sd0+{squares}], {sum};"));
    }
}
