//! Textures, samplers and surfaces: their names, and the words of bank 0 that hold their numbers.

use oriole_cubin::{ModuleSpec, ObjectKind, ObjectSlot, ObjectSpec, ParamSpec};
use oriole_isa::Role;
use oriole_ori::{Function, Module, OBJECT_PARAM, OperandKind, Param, SymbolKind};

/// Bytes of an entry that an instruction names by its number in bank 0.
const ENTRY_BYTES: u32 = 4;

/// A parameter of a kernel.
pub(super) fn parameter(param: &Param) -> ParamSpec {
    match param.offset {
        OBJECT_PARAM => ParamSpec::object(param.name.clone()),
        offset => ParamSpec { hidden: param.hidden, ..ParamSpec::plain(offset, param.size) },
    }
}

/// The objects of the module.
pub(super) fn describe(module: &Module, spec: &mut ModuleSpec) {
    for data in module.symbols.values() {
        let SymbolKind::Object(object) = data.kind else { continue };
        let is_param = |func: &&Function| func.params().iter().any(|p| p.offset == OBJECT_PARAM && p.name == data.name);
        spec.objects.push(ObjectSpec {
            name: data.name.clone(),
            kind: match object.kind {
                oriole_ori::ObjectKind::Texture => ObjectKind::Texture,
                oriole_ori::ObjectKind::Sampler => ObjectKind::Sampler,
                oriole_ori::ObjectKind::Surface => ObjectKind::Surface,
            },
            kernel: module.functions.values().find(is_param).map(|func| func.name().to_owned()),
            modes: object.modes,
            unnormalized: object.unnormalized,
        });
    }
    let values = module.symbols.values().filter(|data| data.kind == SymbolKind::DriverValue);
    spec.driver_values = values.map(|data| data.name.clone()).collect();
    spec.independent_samplers = module.independent_samplers;
}

/// The words of bank 0 with numbers of objects that one of the functions reads.
pub(super) fn slots<'f, I: Iterator<Item = &'f Function>>(
    module: &Module,
    functions: impl Fn() -> I,
) -> Vec<ObjectSlot> {
    let used = |offset: u32| functions().any(|func| reads(func, offset));
    let name = |symbol: &oriole_ori::Symbol| module.symbols[*symbol].name.clone();
    let slots = module.object_slots.iter().filter(|slot| used(slot.offset));
    slots.map(|slot| ObjectSlot { offset: slot.offset, objects: slot.objects.iter().map(name).collect() }).collect()
}

/// Whether an instruction of the function names the word of bank 0.
fn reads(func: &Function, wanted: u32) -> bool {
    func.iter_insts().any(|(_, inst)| {
        let inst = &func[inst];
        let number = |role: Role| inst.opcode.position(role).and_then(|at| inst.operands[at].as_imm());
        let by_number = number(Role::Bank) == Some(0)
            && number(Role::Slot).map(|slot| slot.saturating_mul(ENTRY_BYTES)) == Some(wanted);
        let by_offset = |kind: OperandKind| matches!(kind, OperandKind::Const { bank: 0, offset } if offset == wanted);
        by_number || inst.operands.iter().any(|operand| by_offset(operand.kind()))
    })
}
