//! What the instructions of a section ask of the GPU, for `.nv.compat`. The tables say of which instructions ptxas 13.0.88 writes
//! what.

use super::placed::Code;
use oriole_cubin::Demands;
use oriole_isa::latency::{self, pace};
use oriole_isa::{Arch, CopyDst, CreduxType, Field, Inst, MatrixFormat, Opcode, PackDst, PackSrc, VaddType, Vtype};

/// When an instruction of an opcode is of its class.
type When = fn(&Inst) -> bool;

/// The instructions of a class above 1.
struct Row {
    class: u8,
    when: When,
    opcodes: &'static [Opcode],
}

use Opcode as O;

static ROWS: &[Row] = &[
    Row {
        class: 2,
        when: |_| true,
        opcodes: &[O::TEX, O::TLD, O::TLD4, O::TXD, O::TXQ, O::TMML, O::SULD, O::SUST, O::SURED, O::SUATOM],
    },
    Row {
        class: 2,
        when: |_| true,
        opcodes: &[O::UTMALDG, O::UTMASTG, O::UTMAREDG, O::UTMAPF, O::UTMACCTL, O::UGETNEXTWORKID, O::UVIRTCOUNT],
    },
    Row {
        class: 2,
        when: |_| true,
        opcodes: &[O::UTMALDG_RESHAPED, O::UTMASTG_RESHAPED, O::UTMAREDG_RESHAPED, O::UTMAPF_RESHAPED],
    },
    Row {
        class: 2,
        when: |copy| copy.get(Field::COPY_DST) == CopyDst::S && !is_from_shared(copy),
        opcodes: &[O::UBLKCP],
    },
    Row {
        class: 2,
        when: |_| true,
        opcodes: &[O::UFADD, O::UFMUL, O::UFFMA, O::UFSEL, O::UFMNMX, O::UFSET, O::UFSETP],
    },
    Row {
        class: 2,
        when: |_| true,
        opcodes: &[O::UF2I, O::UF2F, O::UFRND, O::UI2F, O::UI2FP, O::UF2IP, O::UF2FP, O::UI2IP],
    },
    Row { class: 2, when: |_| true, opcodes: &[O::QMMA, O::QMMA_SF, O::OMMA, O::LDTM, O::LDTM_SPARSIFY, O::STTM] },
    Row { class: 2, when: |_| true, opcodes: &[O::UTCHMMA, O::UTCQMMA, O::UTCOMMA, O::UTCBAR, O::UTCCP] },
    Row { class: 2, when: packs_narrow_floats, opcodes: &[O::F2FP] },
    Row { class: 2, when: |inst| inst.get(Field::MATRIX_FORMAT) != MatrixFormat::E16, opcodes: &[O::LDSM, O::STSM] },
    Row { class: 2, when: |inst| inst.get(Field::CREDUX_TYPE) == CreduxType::F32, opcodes: &[O::CREDUX] },
    Row { class: 2, when: |inst| matches!(inst.get(Field::VTYPE), Vtype::U8X4 | Vtype::S8X4), opcodes: &[O::VIMNMX] },
    Row {
        class: 2,
        when: |inst| matches!(inst.get(Field::VADD_TYPE), VaddType::U8X4 | VaddType::S8X4),
        opcodes: &[O::VIADD],
    },
    Row { class: 3, when: |inst| inst.get(Field::RS), opcodes: &[O::F2FP] },
    Row { class: 3, when: |_| true, opcodes: &[O::WARPGROUP, O::UTCIMMA, O::UTCSHIFT, O::QADD4, O::QMUL4, O::QFMA4] },
    Row { class: 4, when: |_| true, opcodes: &[O::HGMMA, O::QGMMA, O::IGMMA, O::BGMMA, O::BMMA] },
];

/// What the instructions at these offsets ask.
pub(super) fn demands(code: &Code<'_>, opcodes: &[(u32, Opcode)]) -> Demands {
    let mut demands = Demands::default();
    if code.arch < Arch::Sm90 {
        return demands;
    }
    for &(offset, opcode) in opcodes {
        demands.integer_tensor_products |= opcode == O::UTCIMMA;
        if opcode.tensor_copy().is_some() {
            demands.tensor_maps |= Demands::TENSOR_COPIES;
        }
        let rows = || ROWS.iter().filter(|row| row.opcodes.contains(&opcode));
        let is_rare = rows().next().is_some();
        let may_differ = code.arch == Arch::Sm100 && demands.fits_siblings;
        let Some(inst) = (is_rare || may_differ).then(|| code.at(offset)).flatten() else { continue };
        let class = rows().filter(|row| (row.when)(&inst)).map(|row| row.class).max();
        demands.isa_class = demands.isa_class.max(class.unwrap_or(1));
        demands.fits_siblings &= !may_differ || fits_sm_103(&inst);
    }
    demands
}

/// Whether sm_103 wants nothing else of the control word than sm_100: the same scoreboards, and no slow unit.
fn fits_sm_103(inst: &Inst) -> bool {
    let [own, sibling] = [Arch::Sm100, Arch::Sm103];
    latency::is_variable(inst, own) == latency::is_variable(inst, sibling) && pace(inst, sibling) == pace(inst, own)
}

fn is_from_shared(copy: &Inst) -> bool {
    copy.get(Field::COPY_SRC) == oriole_isa::CopySrc::S
}

/// From or to floats of a byte and less.
fn packs_narrow_floats(inst: &Inst) -> bool {
    let wide_to = matches!(inst.get(Field::PACK_DST), PackDst::F16 | PackDst::BF16 | PackDst::TF32);
    let wide_from = matches!(inst.get(Field::PACK_SRC), PackSrc::F32 | PackSrc::F16 | PackSrc::BF16);
    !(wide_to && wide_from)
}
