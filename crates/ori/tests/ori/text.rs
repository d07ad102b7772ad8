//! The text form: what is printed reads back, and bad text is refused with its place.

use crate::common;

use oriole_isa::{Arch, RegFile};
use oriole_ori::*;
use proptest::prelude::*;

/// Same blocks, edges, operands, flags, registers.
fn assert_same(a: &Function, b: &Function) {
    assert_eq!(a.regs().values().collect::<Vec<_>>(), b.regs().values().collect::<Vec<_>>());
    assert_eq!(
        (&a.layout(), &a.params(), &a.attributes(), &a.frame()),
        (&b.layout(), &b.params(), &b.attributes(), &b.frame())
    );
    assert_eq!(a.live_in(), b.live_in());
    for &block in a.layout() {
        assert_eq!(a.succs(block), b.succs(block));
        let insts = |f: &Function| {
            let strip = |id: &InstId| {
                let mut inst = f[*id].clone();
                let loc = inst.loc.expand().map(|l| f.source_locs()[l]);
                inst.loc = None.into();
                (inst, loc)
            };
            f.block_insts(block).iter().map(strip).collect::<Vec<_>>()
        };
        assert_eq!(insts(a), insts(b));
    }
}

proptest! {
    #[test]
    fn functions_read_back(seed: u64) {
        let func = common::random_function(seed);
        let text = func.to_string();
        let again: Function = text.parse().map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        assert_same(&func, &again);
        prop_assert_eq!(again.to_string(), text);
    }

    /// Nothing that is fed to the reader makes it panic.
    #[test]
    fn damaged_text_is_refused_or_read(seed: u64, at: prop::sample::Index, with in "[ -~]{0,3}") {
        let mut text = MODULE.to_owned() + &common::random_function(seed).to_string();
        let at = at.index(text.len());
        text.replace_range(at..=at, &with);
        if let Ok(module) = text.parse::<Module>() {
            let _ = module.to_string();
            for func in module.functions.values() {
                let _ = verify::verify(func, module.arch);
            }
        }
    }
}

const MODULE: &str = "\
.module sm_90
.file /src/a file.cu
.independent
.symbol sym0 table visible variable const size=16 align=8 offset=8 init=x0102ff reloc 8 8 sym1 -4 generic reloc 0 1 sym1 +0 byte3
.symbol sym1 buffer internal variable global size=1024 align=16
.symbol sym2 kernel visible function fn0
.symbol sym3 vprintf external external
.symbol sym4 picture external object texture modes=4294967295
.symbol sym5 how visible object sampler modes=33423360 unnormalized=1
.symbol sym6 entry_bytes weak driver
.bank 2 xdeadbeef
.address sym1
.slot 368 sym4 sym5
.slot 372 sym4
.function entry kernel
  .param kernel_param_0 offset=0 size=8 align=8
  .maxntid 128 1 1
  .minnctapersm 2
  .frame local=16 spill=8 align=16
  .reg %P0
  .reg %R1
  .reg %D2 physical=4 fixed
  .reg %G3 group=12/4
  .reg %UD4
  .reg %R5 physical=7 slot=8
  .livein %P0 %D2
  .symref ref0 sym3 +0 relative
  .symref ref1 sym1 -16 low
  .call call0 sym3 (%D2) -> (%D2.0) callee
  .call call1 return (%D2) -> () 1:0:0:0:0:0:0:f
bix0: -> bix2, bix1
    @!%P0 FADD{rnd=RM} %R1, -|%R1|, 0x3f800000 ;volatile ;control=0x3:7:1:1:4 ;at=0:12:3
    MOV %D2.1, cx[%UD4][0x10], 0xf
    MOV %G3.8, ref1, 0xf
    MOV R1, c[0][0x28], 0xf ;call0
    @%P0 BRA !PT, bix2
bix1: -> bix2
bix2:
    MOV %R1, %R5, bix0, RZ, bix1 ;phi
    EXIT PT
.end
";

#[test]
fn modules_read_back_to_the_letter() {
    let module: Module = MODULE.parse().unwrap();
    assert_eq!(module.to_string(), MODULE);
    assert_eq!(module.arch, Arch::Sm90);
    let func = &module.functions[FuncId::new(0)];
    let (_, first) = func.iter_insts().next().unwrap();
    assert_eq!(func[first].control.wait_mask, 3);
    assert_eq!(func.source_locs().values().next().map(|l| l.line), Some(12));
    let table = module.variable(module.symbol("table").unwrap()).unwrap();
    assert_eq!((table.init.as_slice(), table.relocs.len()), ([1, 2, 255].as_slice(), 2));
    assert_eq!(func[VReg::new(2)].physical, Some(4));
    assert_eq!(func.fixed_vreg_of(RegType::Pair, 4), Some(VReg::new(2)));
}

#[test]
fn errors_name_their_place() {
    let cases = [
        ("", "1:1: expected .module"),
        (".module sm_12", "1:14: unknown target 'sm_12'"),
        (".module sm_90\n.function kernel f", "2:11: expected entry, device or internal"),
        (".module sm_90\n.function entry f\nbix0:\n    FROB RZ\n.end", "4:5: unknown instruction 'FROB'"),
        (".module sm_90\n.function entry f\nbix0:\n    MOV %R0, RZ, 0xf\n.end", "4:9: register %R0 is not declared"),
        (".module sm_90\n.function entry f\nbix0: -> bix7\n.end", "4:5: block bix7 is used but not defined"),
        (".module sm_90\n.function entry f\nbix0:\nbix0:\n.end", "4:1: block bix0 is defined twice"),
        (".module sm_90\n.function entry f\nbix0:\n", "3:1: expected .end"),
        (
            ".module sm_90\n.function entry f\nbix0:\n    MOV{rnd=XX} RZ, RZ, 0xf\n.end",
            "4:13: modifier 'rnd' has no value 'XX'",
        ),
    ];
    for (text, expected) in cases {
        let error = text.parse::<Module>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn masks_know_all_uniform_registers() {
    let mut mask = RegMask::EMPTY;
    for number in [0, 62, 63, 79] {
        mask.insert(RegFile::UR, number);
        assert!(mask.contains(RegFile::UR, number) && RegMask::ALL.contains(RegFile::UR, number), "UR{number}");
    }
    // UR80 is none on any target.
    mask.insert(RegFile::UR, 80);
    assert!(!mask.contains(RegFile::UR, 80) && !RegMask::ALL.contains(RegFile::UR, 80));
    let text = MODULE.replace("1:0:0:0:0:0:0:f", "1:0:0:0:8000c000000000000001:0:0:f");
    let module: Module = text.parse().unwrap();
    assert_eq!(module.to_string(), text);
    let read = module.functions.values().flat_map(|f| f.call_sites().values()).find_map(|call| match call.clobbers {
        Clobbers::Mask(mask) => Some(mask.ur),
        Clobbers::ByCallee => None,
    });
    assert_eq!(read, Some(mask.ur));
    mask.remove(RegFile::UR, 79);
    assert!(!mask.contains(RegFile::UR, 79));
}
