#!/usr/bin/env python3
"""Random PTX for ptxas, in shapes that `oriole fuzz` does not make: what the judges of control words are tried on.

    foreign_ptx.py OUT --targets sm_80,sm_90a,... --count N [--seed S] [--ptxas PATH] [--jobs N]

Module SEED of a target is long functions over few registers that are written again and again, with jumps between any two of their
blocks (irreducible flow, bounded by a counter), calls, warp operations, shared memory, matrix products and asynchronous copies. Nothing
runs it: what it computes does not matter. Writes OUT/TARGET/SEED.ptx, and with --ptxas OUT/TARGET/SEED.cubin where ptxas takes it.
"""
import argparse
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
ROUND = ["rn", "rz", "rm", "rp"]
# What marks a statement that sm_75 does not have.
SINCE_SM_80 = ["redux.", "bf16", "min.f16x2", "cvt.rn.f16x2.f32", "m16n8k16", "m16n8k32", "m8n8k4.row.col.f64"]


class Function:
    """One function: its registers, and the text of its blocks."""

    def __init__(self, rng, number, name, callees):
        self.rng, self.number, self.name, self.callees = rng, number, name, callees
        self.counts = {kind: rng.randint(*span) for kind, span in
                       {"r": (4, 12), "d": (2, 6), "f": (2, 6), "g": (2, 4), "h": (2, 4), "p": (2, 5)}.items()}
        self.lines = []

    def pick(self, kind):
        return "%%%s%d" % (kind, self.rng.randrange(self.counts[kind]))

    def word(self):
        """A 32-bit source: a register, seldom a constant."""
        return self.pick("r") if self.rng.random() < 0.8 else str(self.rng.choice([0, 1, 3, 5, 31, 255, -1, 0x12345]))

    def shared(self, align):
        """An address of shared memory in a register of its own."""
        self.lines.append("and.b32 %%at, %s, %d;" % (self.pick("r"), 0x3ff & -align))
        self.lines.append("add.u32 %at, %at, %base;")
        return "[%%at+%d]" % (align * self.rng.randrange(8))

    def place(self):
        return "[%%ptr+%d]" % (16 * self.rng.randrange(32))

    def emit(self, text, guard=True):
        if self.number < 80 and any(mark in text for mark in SINCE_SM_80):
            return
        if guard and self.rng.random() < 0.2:
            text = "@%s%s %s" % (self.rng.choice(["", "!"]), self.pick("p"), text)
        self.lines.append(text)

    def statement(self):
        kinds = [integer] * 6 + [wide] * 3 + [single] * 3 + [double] * 2 + [half] * 3 + [predicate] * 4 + [memory] * 4
        kinds += [shared] * 5 + [warp] * 4 + [special] * 2 + [convert] * 2 + [matrix] * 2
        kinds += [copy] if self.number >= 80 else []
        kinds += [hopper] * 2 if self.number >= 90 else []
        kinds += [call] if self.callees else []
        self.rng.choice(kinds)(self)

    def text(self, head):
        blocks = self.rng.randint(2, 9)
        for block in range(blocks):
            self.lines.append("L%d:" % block)
            for _ in range(self.rng.choice([3, 6, 12, 30, 60])):
                self.statement()
            self.lines.append("add.u32 %count, %count, 1; setp.gt.u32 %out, %count, 40; @%out bra DONE;")
            for _ in range(self.rng.randint(0, 2)):
                uniform = ".uni" if self.rng.random() < 0.1 else ""
                self.lines.append("@%s bra%s L%d;" % (self.pick("p"), uniform, self.rng.randrange(blocks)))
            if self.rng.random() < 0.15:
                self.lines.append("bar.sync 0;")
        self.lines.append("DONE:")
        if self.number >= 80:
            self.lines.append("cp.async.wait_all;")
        for kind, type_ in (("r", "b32"), ("d", "b64"), ("f", "b32"), ("g", "b64")):
            for at in range(self.counts[kind]):
                self.lines.append("st.global.%s [%%ptr+%d], %%%s%d;" % (type_, self.rng.randrange(64) * 8, kind, at))
        types = {"r": "b32", "d": "b64", "f": "f32", "g": "f64", "h": "b32", "p": "pred"}
        names = " ".join(".reg .%s %%%s<%d>;" % (types[kind], kind, count) for kind, count in self.counts.items())
        start = ["mov.u32 %count, 0; mov.u32 %base, buffer; mov.u32 %r0, %tid.x;"]
        for kind, type_ in (("r", "b32"), ("d", "b64"), ("f", "b32"), ("g", "b64"), ("h", "b32")):
            for at in range(1 if kind == "r" else 0, self.counts[kind]):
                start.append("ld.global.%s %%%s%d, [%%ptr+%d];" % (type_, kind, at, 8 * self.rng.randrange(64)))
        start += ["setp.%s.s32 %%p%d, %s, %d;" % (self.rng.choice(COMPARE), at, self.pick("r"), self.rng.randrange(64))
                  for at in range(self.counts["p"])]
        own = ".reg .b32 %at; .reg .b32 %count; .reg .b32 %base; .reg .b64 %ptr; .reg .pred %out; .reg .b16 %s<4>; .reg .b64 %bar;"
        return "%s\n{\n%s\n%s\n%s\n%s\nret;\n}\n" % (head[0], names, own, head[1] + "\n".join(start), "\n".join(self.lines))


def integer(f):
    r, a, b, c = f.pick("r"), f.word(), f.word(), f.word()
    f.emit(f.rng.choice([
        f"add.s32 {r}, {f.pick('r')}, {b};", f"sub.s32 {r}, {a}, {f.pick('r')};", f"mul.lo.s32 {r}, {f.pick('r')}, {b};",
        f"mad.lo.s32 {r}, {f.pick('r')}, {b}, {c};", f"mul.hi.s32 {r}, {f.pick('r')}, {b};", f"mul.hi.u32 {r}, {f.pick('r')}, {b};",
        f"mad.hi.u32 {r}, {f.pick('r')}, {b}, {c};", f"shl.b32 {r}, {f.pick('r')}, {f.rng.randrange(32)};",
        f"shr.{f.rng.choice(['u', 's'])}32 {r}, {f.pick('r')}, {b};", f"shf.l.wrap.b32 {r}, {f.pick('r')}, {f.pick('r')}, {b};",
        f"lop3.b32 {r}, {f.pick('r')}, {b}, {c}, {f.rng.randrange(256)};", f"xor.b32 {r}, {f.pick('r')}, {b};",
        f"min.s32 {r}, {f.pick('r')}, {b};", f"max.u32 {r}, {f.pick('r')}, {b};", f"prmt.b32 {r}, {f.pick('r')}, {b}, {f.rng.randrange(65536)};",
        f"bfe.u32 {r}, {f.pick('r')}, {f.rng.randrange(24)}, {f.rng.randrange(1, 8)};", f"bfi.b32 {r}, {f.pick('r')}, {f.pick('r')}, {f.rng.randrange(24)}, 5;",
        f"popc.b32 {r}, {f.pick('r')};", f"clz.b32 {r}, {f.pick('r')};", f"brev.b32 {r}, {f.pick('r')};", f"abs.s32 {r}, {f.pick('r')};",
        f"sad.u32 {r}, {f.pick('r')}, {f.pick('r')}, {f.pick('r')};", f"dp4a.s32.s32 {r}, {f.pick('r')}, {f.pick('r')}, {f.pick('r')};",
        f"selp.b32 {r}, {a}, {b}, {f.pick('p')};", f"mov.u32 {r}, {a};", f"rem.u32 {r}, {f.pick('r')}, {f.rng.choice([3, 7, 10])};",
        f"add.cc.u32 {r}, {f.pick('r')}, {b}; addc.u32 {f.pick('r')}, {f.pick('r')}, {c};",
        f"mad.hi.cc.u32 {r}, {f.pick('r')}, {f.pick('r')}, {f.pick('r')}; addc.u32 {f.pick('r')}, {f.pick('r')}, 0;",
    ]), guard=True)


def wide(f):
    d, a, b = f.pick("d"), f.pick("d"), f.pick("d")
    f.emit(f.rng.choice([
        f"add.s64 {d}, {a}, {b};", f"sub.s64 {d}, {a}, {b};", f"mul.lo.s64 {d}, {a}, {b};", f"mul.hi.u64 {d}, {a}, {b};",
        f"mul.wide.u32 {d}, {f.pick('r')}, {f.pick('r')};", f"mad.wide.s32 {d}, {f.pick('r')}, {f.word()}, {a};",
        f"mad.wide.u32 {d}, {f.pick('r')}, {f.pick('r')}, {a};", f"shl.b64 {d}, {a}, {f.word()};", f"shr.u64 {d}, {a}, {f.rng.randrange(64)};",
        f"and.b64 {d}, {a}, {b};", f"mov.b64 {d}, {{{f.pick('r')}, {f.pick('r')}}};", f"mov.b64 {{{f.pick('r')}, {f.pick('r')}}}, {a};",
        f"min.s64 {d}, {a}, {b};", f"selp.b64 {d}, {a}, {b}, {f.pick('p')};", f"popc.b64 {f.pick('r')}, {a};", f"cvt.u64.u32 {d}, {f.pick('r')};",
        f"isspacep.{f.rng.choice(['shared', 'local', 'global'])} {f.pick('p')}, {a};",
    ]))


def single(f):
    x, a, b, c = (f.pick("f") for _ in range(4))
    f.emit(f.rng.choice([
        f"add.f32 {x}, {a}, {b};", f"mul.f32 {x}, {a}, {b};", f"fma.rn.f32 {x}, {a}, {b}, {c};", f"min.f32 {x}, {a}, {b};",
        f"rcp.approx.f32 {x}, {a};", f"sqrt.approx.f32 {x}, {a};", f"ex2.approx.f32 {x}, {a};", f"sin.approx.f32 {x}, {a};",
        f"div.rn.f32 {x}, {a}, {b};", f"selp.f32 {x}, {a}, {b}, {f.pick('p')};", f"fma.{f.rng.choice(ROUND)}.f32 {x}, {a}, {b}, {c};",
        f"tanh.approx.f32 {x}, {a};", f"copysign.f32 {x}, {a}, {b};", f"mov.b32 {x}, {f.pick('r')};", f"mov.b32 {f.pick('r')}, {a};",
    ]))


def double(f):
    x, a, b, c = (f.pick("g") for _ in range(4))
    f.emit(f.rng.choice([
        f"add.f64 {x}, {a}, {b};", f"mul.f64 {x}, {a}, {b};", f"fma.rn.f64 {x}, {a}, {b}, {c};", f"max.f64 {x}, {a}, {b};",
        f"setp.lt.f64 {f.pick('p')}, {a}, {b};", f"cvt.rn.f32.f64 {f.pick('f')}, {a};", f"cvt.f64.f32 {x}, {f.pick('f')};",
        f"mov.b64 {x}, {f.pick('d')};", f"mov.b64 {f.pick('d')}, {a};", f"cvt.rn.f64.s32 {x}, {f.pick('r')};", f"rcp.rn.f64 {x}, {a};",
    ]))


def half(f):
    x, a, b, c = (f.pick("h") for _ in range(4))
    f.emit(f.rng.choice([
        f"add.f16x2 {x}, {a}, {b};", f"mul.f16x2 {x}, {a}, {b};", f"fma.rn.f16x2 {x}, {a}, {b}, {c};", f"fma.rn.bf16x2 {x}, {a}, {b}, {c};",
        f"min.f16x2 {x}, {a}, {b};", f"setp.lt.f16x2 {f.pick('p')}|{f.pick('p')}, {a}, {b};", f"mov.b32 {x}, {f.pick('r')};",
        f"mov.b32 {f.pick('r')}, {a};", f"cvt.rn.f16x2.f32 {x}, {f.pick('f')}, {f.pick('f')};", f"tanh.approx.f16x2 {x}, {a};",
        f"mov.b32 {{%s0, %s1}}, {a}; setp.{f.rng.choice(['lt', 'ne'])}.and.f16 {f.pick('p')}, %s0, %s1, {f.pick('p')};",
        f"mov.b32 {{%s0, %s1}}, {a}; fma.rn.f16 %s2, %s0, %s1, %s0; cvt.f32.f16 {f.pick('f')}, %s2;",
    ]))


def predicate(f):
    p, q = f.pick("p"), f.pick("p")
    f.emit(f.rng.choice([
        f"setp.{f.rng.choice(COMPARE)}.s32 {p}, {f.pick('r')}, {f.word()};", f"setp.{f.rng.choice(COMPARE)}.and.u32 {p}, {f.pick('r')}, {f.word()}, {q};",
        f"setp.{f.rng.choice(COMPARE)}.or.s64 {p}, {f.pick('d')}, {f.pick('d')}, {q};", f"setp.lt.f32 {p}, {f.pick('f')}, {f.pick('f')};",
        f"and.pred {p}, {q}, {f.pick('p')};", f"xor.pred {p}, {q}, {f.pick('p')};", f"not.pred {p}, {q};", f"mov.pred {p}, {q};",
        f"testp.finite.f32 {p}, {f.pick('f')};",
    ]))


def memory(f):
    r = f.pick("r")
    f.emit(f.rng.choice([
        f"ld.global.b32 {r}, {f.place()};", f"st.global.b32 {f.place()}, {r};", f"ld.global.v2.b32 {{%r1, %r2}}, {f.place()};", f"st.global.v4.b32 {f.place()}, {{{f.pick('r')}, {f.pick('r')}, {f.pick('r')}, {f.pick('r')}}};",
        f"atom.global.add.u32 {r}, {f.place()}, {f.pick('r')};", f"red.global.add.u32 {f.place()}, {f.pick('r')};", f"ld.global.b64 {f.pick('d')}, {f.place()};",
        f"atom.global.cas.b32 {r}, {f.place()}, {f.pick('r')}, {f.pick('r')};", f"st.global.b64 {f.place()}, {f.pick('d')};",
        f"ld.const.b32 {r}, [constants+{4 * f.rng.randrange(16)}];", "membar.gl;", f"and.b64 {f.pick('d')}, {f.pick('d')}, 60;",
        f"cvt.u64.u32 %bar, {r}; and.b64 %bar, %bar, 60; add.u64 %bar, %bar, %ptr; ld.global.b32 {f.pick('r')}, [%bar];",
        f"and.b32 %at, {r}, 60; mov.u32 {f.pick('r')}, %at; ld.const.b32 {f.pick('r')}, [%at];",
    ]), guard=False)


def shared(f):
    r = f.pick("r")
    align = f.rng.choice([4, 4, 8, 16])
    at = f.shared(align)
    f.emit(f.rng.choice([
        f"ld.shared.b32 {r}, {at};", f"st.shared.b32 {at}, {r};", f"atom.shared.add.u32 {r}, {at}, {f.pick('r')};",
        f"atom.shared.cas.b32 {r}, {at}, {f.pick('r')}, {f.pick('r')};", f"red.shared.max.u32 {at}, {r};", f"atom.shared.exch.b32 {r}, {at}, {f.pick('r')};",
        f"ld.shared.u8 {r}, {at};", f"ld.shared.s16 {r}, {at};", f"bar.sync 0;",
    ] + ([f"ld.shared.b64 {f.pick('d')}, {at};", f"st.shared.b64 {at}, {f.pick('d')};", f"ld.shared.v2.b32 {{%r1, %r2}}, {at};"] if align >= 8 else [])
      + ([f"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r1, %r3}}, {at};", f"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {{{r}}}, {at};",
          f"ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, {at};"] if align == 16 else [])), guard=False)


def warp(f):
    r = f.pick("r")
    f.emit(f.rng.choice([
        f"shfl.sync.bfly.b32 {r}, {f.pick('r')}, {f.rng.choice([1, 2, 4, 16])}, 31, -1;", f"shfl.sync.up.b32 {r}|{f.pick('p')}, {f.pick('r')}, 1, 0, -1;",
        f"vote.sync.ballot.b32 {r}, {f.pick('p')}, -1;", f"vote.sync.any.pred {f.pick('p')}, {f.pick('p')}, -1;", f"vote.sync.all.pred {f.pick('p')}, {f.pick('p')}, -1;",
        f"match.any.sync.b32 {r}, {f.pick('r')}, -1;", f"activemask.b32 {r};", "bar.warp.sync -1;",
        f"redux.sync.add.s32 {r}, {f.pick('r')}, -1;", f"redux.sync.or.b32 {r}, {f.pick('r')}, -1;", f"redux.sync.min.u32 {r}, {f.pick('r')}, -1;",
        f"barrier.red.popc.u32 {r}, 1, {f.pick('p')};", f"barrier.red.and.pred {f.pick('p')}, 1, {f.pick('p')};",
    ]), guard=False)


def special(f):
    f.emit("mov.u32 %s, %%%s;" % (f.pick("r"), f.rng.choice(
        ["tid.x", "tid.y", "ctaid.x", "ctaid.y", "ntid.x", "laneid", "clock", "smid", "lanemask_lt", "nctaid.x", "warpid"])))


def convert(f):
    f.emit(f.rng.choice([
        f"cvt.rn.f32.s32 {f.pick('f')}, {f.pick('r')};", f"cvt.rzi.s32.f32 {f.pick('r')}, {f.pick('f')};", f"cvt.rni.u32.f32 {f.pick('r')}, {f.pick('f')};",
        f"cvt.u16.u32 %s3, {f.pick('r')}; cvt.s32.s16 {f.pick('r')}, %s3;",
        f"cvt.rn.f16.f32 %s3, {f.pick('f')}; mov.b32 {f.pick('h')}, {{%s3, %s3}};", f"cvt.sat.s8.s32 {f.pick('r')}, {f.pick('r')};",
        f"cvt.rmi.f32.f32 {f.pick('f')}, {f.pick('f')};", f"cvt.rzi.s64.f64 {f.pick('d')}, {f.pick('g')};",
    ]))


def matrix(f):
    r = [f.pick("r") for _ in range(8)]
    d, h = "{%r0, %r1, %r2, %r3}", "{%h0, %h1}"
    f.emit(f.rng.choice([
        f"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {h}, {{{r[0]}, {r[1]}}}, {{{r[2]}}}, {{{f.pick('h')}, {f.pick('h')}}};",
        f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {h}, {{{r[0]}, {r[1]}, {r[2]}, {r[3]}}}, {{{r[4]}, {r[5]}}}, {h};",
        f"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {d}, {{{r[0]}, {r[1]}}}, {{{r[2]}}}, {{{r[3]}, {r[4]}, {r[5]}, {r[6]}}};",
        f"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {d}, {{{r[0]}, {r[1]}, {r[2]}, {r[3]}}}, {{{r[4]}, {r[5]}}}, {d};",
        f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%g0, %g1}}, {{{f.pick('g')}}}, {{{f.pick('g')}}}, {{%g1, %g0}};",
    ]), guard=False)


def copy(f):
    f.lines.append("and.b32 %%at, %s, 1008; add.u32 %%at, %%at, %%base;" % f.pick("r"))
    for _ in range(f.rng.randint(1, 3)):
        size, how = f.rng.choice([(4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")])
        f.lines.append("cp.async.%s.shared.global [%%at+%d], %s, %d;" % (how, 16 * f.rng.randrange(8), f.place(), size))
        if f.rng.random() < 0.6:
            f.lines.append("cp.async.commit_group;")
    f.lines.append(f.rng.choice(["cp.async.wait_group 0;", "cp.async.wait_group 1;", "cp.async.wait_all;", ""]))


def hopper(f):
    r, p = f.pick("r"), f.pick("p")
    f.emit(f.rng.choice([
        f"mov.u32 {r}, %cluster_ctarank;", f"mov.u32 {r}, %clusterid.x;", f"mov.u32 {r}, %cluster_nctarank;", f"elect.sync _|{p}, -1;",
        f"elect.sync {r}|{p}, -1;", f"mapa.shared::cluster.u32 {r}, %base, {f.pick('r')};",
        "mbarrier.init.shared.b64 [barrier], 32;", "mbarrier.arrive.shared.b64 %bar, [barrier];",
        f"mbarrier.arrive.expect_tx.shared.b64 %bar, [barrier], {f.pick('r')};", f"mbarrier.try_wait.parity.shared.b64 {p}, [barrier], {f.pick('r')};",
        f"mbarrier.test_wait.parity.shared.b64 {p}, [barrier], {f.pick('r')};", "fence.mbarrier_init.release.cluster;", "fence.proxy.async;",
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        f"@{p} cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%base], [%ptr], 512, [barrier];",
        "cp.async.bulk.global.shared::cta.bulk_group [%ptr], [%base], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ]), guard=False)


def call(f):
    name = f.rng.choice(f.callees)
    f.lines.append("{ .param .b32 one; .param .b64 two; .param .b32 back; st.param.b32 [one], %s; st.param.b64 [two], %%ptr; "
                   "call (back), %s, (one, two); ld.param.b32 %s, [back]; }" % (f.pick("r"), name, f.pick("r")))


def module(target, seed):
    """The PTX of one module."""
    number = int(target[3:].rstrip("af"))
    rng = random.Random("%s %d" % (target, seed))
    text = ".version 9.0\n.target %s\n.address_size 64\n" % target
    text += ".shared .align 128 .b8 buffer[4096];\n.shared .align 8 .b64 barrier;\n.const .align 16 .b8 constants[256];\n"
    names = []
    for at in range(rng.choice([0, 0, 1, 2])):
        name = "f%d" % at
        head = (".func (.param .b32 z) %s(.param .b32 x, .param .b64 y)" % name,
                "ld.param.u64 %ptr, [y];\n")
        callee = Function(rng, number, name, list(names))
        body = callee.text(head)
        text += body.replace("\nret;\n}", "\nst.param.b32 [z], %r0;\nret;\n}").replace("mov.u32 %r0, %tid.x;", "ld.param.b32 %r0, [x];")
        names.append(name)
    head = (".visible .entry k(.param .u64 p)", "ld.param.u64 %ptr, [p]; cvta.to.global.u64 %ptr, %ptr;\n")
    return text + Function(rng, number, "k", names).text(head)


def make(out, target, seed, ptxas):
    """Writes one module, and compiles it. What ptxas says if it refuses it."""
    path = os.path.join(out, target, "%d.ptx" % seed)
    with open(path, "w") as file:
        file.write(module(target, seed))
    if not ptxas:
        return None
    done = subprocess.run([ptxas, "-arch", target, path, "-o", path[:-3] + "cubin"], capture_output=True, text=True)
    return done.stderr if done.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--targets", default="sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_103a,sm_120a")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--ptxas")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    for target in arguments.targets.split(","):
        os.makedirs(os.path.join(arguments.out, target), exist_ok=True)
    jobs = [(target, seed) for seed in range(arguments.seed, arguments.seed + arguments.count) for target in arguments.targets.split(",")]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        refused = list(pool.map(lambda job: make(arguments.out, *job, arguments.ptxas), jobs))
    for (target, seed), why in zip(jobs, refused):
        if why:
            print("%s %d: %s" % (target, seed, why.strip().splitlines()[0]))
    print("%d modules, %d refused" % (len(jobs), sum(map(bool, refused))))


if __name__ == "__main__":
    main()
