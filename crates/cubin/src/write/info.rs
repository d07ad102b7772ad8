//! The `.nv.info` sections, `.nv.callgraph`, `.nv.compat` and our note.

use super::instructions;
use super::layout::{Fastpath, InfoItem, Layout};
use super::plan::{Pair, Second, SymbolTable};
use super::symbols::object_type;
use crate::compat;
use crate::error::WriteError;
use crate::model::{FileKind, Param};
use crate::notes::{CUINFO, TKINFO, TKINFO_VERSION};
use crate::nvinfo::{self, Attribute, Value, number};
use crate::read::PARAM_SIZE_SHIFT;
use crate::spec::{Demands, FunctionSpec, ModuleSpec, ObjectKind, ParamSpec};
use crate::target::Suffix;

/// The driver interface that the files follow: that of CUDA 13.0.
const API_VERSION: u32 = 130;

/// Code of the driver before a kernel's first instruction (`AT_ENTRY_FRAGMENTS`): it opens the book of the tensor
/// memory of one block (`TMEM_CTA1_V2`), or of a pair (`TMEM_CTA2_V2`).
const FRAGMENT_TENSOR_1: u32 = 6;
const FRAGMENT_TENSOR_2: u32 = 7;

/// Units of the SM's pool that a block takes which uses tensor memory; `tcgen05.relinquish_alloc_permit` gives
/// them back (`UVIRTCOUNT`).
const TENSOR_POOL_UNITS: u8 = 0x80;

/// `MAXREG_COUNT` of a kernel without a limit.
const NO_REGISTER_LIMIT: u32 = 255;

/// Kernels with more bytes of parameters than this have records of the second version.
const SMALL_PARAMS: u32 = 4096;

/// Flags in the third word of a parameter record: in a constant bank, no alignment known.
const PARAM_FLAGS: u32 = 0x1_f000;
/// That word of an object.
const OBJECT_FLAGS: [(ObjectKind, u32); 3] =
    [(ObjectKind::Texture, 0x1_f600), (ObjectKind::Surface, 0x1_f700), (ObjectKind::Sampler, 0x1_f800)];

/// The module's `.nv.info`.
pub(super) fn module_info(layout: &Layout, spec: &ModuleSpec, symbols: &SymbolTable) -> Result<Vec<u8>, WriteError> {
    let mut records = sampler_records(spec, symbols)?;
    for function in spec.functions.iter().rev() {
        let symbol = symbols.need(&function.name, &function.name)?;
        records.push(Attribute::words(number::REGCOUNT, &[symbol, function.registers]));
        for inner in &function.inner_functions {
            let symbol = symbols.need(&inner.name, &function.name)?;
            records.push(Attribute::words(number::FRAME_SIZE, &[symbol, inner.frame_size]));
        }
        records.push(Attribute::words(number::FRAME_SIZE, &[symbol, function.frame_size]));
    }
    let memory = spec.functions.iter().filter_map(|function| function.limits.min_per_cta_memory).max();
    records.extend(memory.map(|bytes| Attribute::words(number::MIN_PER_CTA_MEMORY_SIZE, &[bytes])));
    if spec.independent_samplers {
        records.push(Attribute::flag(number::TEXMODE_INDEPENDENT));
    }
    for function in &spec.functions {
        let symbol = symbols.need(&function.name, &function.name)?;
        // Of an object file only the linker knows what the callees need; a number here would be a limit.
        records.push(match spec.kind {
            FileKind::Executable => Attribute::words(number::MIN_STACK_SIZE, &[symbol, function.min_stack_size]),
            FileKind::Relocatable => Attribute::words(number::MAX_STACK_SIZE, &[symbol, 0]),
        });
    }
    // Functions say it themselves.
    if spec.functions.is_empty() {
        let is_version = |item: &&InfoItem| matches!(item, InfoItem::Half(number::MERCURY_ISA_VERSION, _));
        if let Some(InfoItem::Half(number, version)) = layout.info.iter().find(is_version) {
            records.push(Attribute::half(*number, *version));
        }
    }
    encode(&records, "module")
}

/// What the declarations of samplers say of them.
fn sampler_records(spec: &ModuleSpec, symbols: &SymbolTable) -> Result<Vec<Attribute>, WriteError> {
    let mut records = Vec::new();
    for sampler in spec.objects.iter().filter(|o| o.kind == ObjectKind::Sampler && o.kernel.is_none()) {
        let symbol = symbols.need(&sampler.name, "module")?;
        let unnormalized = sampler.unnormalized.map(|flag| [symbol, u32::from(flag)]);
        records.extend(unnormalized.map(|words| Attribute::words(number::SAMPLER_FORCE_UNNORMALIZED, &words)));
        records.push(Attribute::words(number::SAMPLER_INIT, &[symbol, sampler.modes]));
    }
    Ok(records)
}

/// `.nv.info.NAME` of one function.
pub(super) fn function_info(
    layout: &Layout,
    function: &FunctionSpec,
    symbols: &SymbolTable,
) -> Result<Vec<u8>, WriteError> {
    let mut records = Vec::new();
    let languages: Vec<u32> = function.limits.languages.iter().map(|language| u32::from(*language)).collect();
    if !languages.is_empty() {
        records.push(Attribute::words(number::LANGUAGE, &languages));
    }
    for item in layout.info {
        push(&mut records, *item, layout, function, symbols)?;
    }
    records.extend_from_slice(&function.extra_info);
    encode(&records, &function.name)
}

fn encode(records: &[Attribute], owner: &str) -> Result<Vec<u8>, WriteError> {
    nvinfo::encode(records).map_err(|number| WriteError::OutOfRange {
        owner: owner.to_owned(),
        what: format!("nv.info record {number:#x} is longer than 65535 bytes"),
    })
}

/// Appends the records of one item, none where it does not apply.
fn push(
    records: &mut Vec<Attribute>,
    item: InfoItem,
    layout: &Layout,
    function: &FunctionSpec,
    symbols: &SymbolTable,
) -> Result<(), WriteError> {
    let limits = &function.limits;
    let has_params = function.is_kernel && !function.params.is_empty();
    let list = |number: u8, words: &[u32]| (!words.is_empty()).then(|| Attribute::words(number, words));
    let shape = |number: u8, shape: Option<[u32; 3]>| shape.map(|s| Attribute::words(number, &s));
    match item {
        InfoItem::ApiVersion => records.push(Attribute::words(number::CUDA_API_VERSION, &[API_VERSION])),
        InfoItem::Flag(number) => records.push(Attribute::flag(number)),
        InfoItem::Byte(number, value) => records.push(Attribute::byte(number, value)),
        InfoItem::Half(number, value) => records.push(Attribute::half(number, value)),
        InfoItem::Word(number, value) => records.push(Attribute::words(number, &[value])),
        InfoItem::ParamCbank if has_params => {
            let symbol = symbols.need(&format!(".nv.constant0.{}", function.name), &function.name)?;
            let bytes = param_bytes(function);
            let place = layout.param_base(bytes) | (bytes << 16);
            records.push(Attribute::words(number::PARAM_CBANK, &[symbol, place]));
        }
        InfoItem::ParamSize if has_params => {
            records.push(Attribute::half(number::CBANK_PARAM_SIZE, param_bytes(function) as u16));
        }
        InfoItem::ParamCbank | InfoItem::ParamSize => {}
        InfoItem::Params => {
            // With hidden ones the others' records are of the second kind, whatever their size (ptxas 13.5.37).
            let hides = function.params.iter().any(|param| param.hidden);
            let large = hides || param_bytes(function) > SMALL_PARAMS;
            let numbered = (0u32..).zip(&function.params).filter(|(_, param)| !param.hidden);
            let params: Result<Vec<_>, _> = numbered.map(|(n, p)| param(n, p, large, function, symbols)).collect();
            records.extend(params?.into_iter().rev());
        }
        InfoItem::MaxRegCount => {
            let count = limits.max_registers.unwrap_or(NO_REGISTER_LIMIT);
            records.push(Attribute::half(number::MAXREG_COUNT, count as u16));
        }
        InfoItem::NumBarriers if function.barriers > 0 => {
            records.push(Attribute::byte(number::NUM_BARRIERS, function.barriers as u8));
        }
        InfoItem::NumBarriers => {}
        InfoItem::Externs => {
            let callees: Result<Vec<u32>, _> =
                function.callees.iter().map(|c| symbols.need(c, &function.name)).collect();
            let mut externs = callees?;
            externs.retain(|callee| symbols.get(*callee).is_some_and(|symbol| symbol.section.is_none()));
            records.extend(list(number::EXTERNS, &externs));
        }
        InfoItem::Syscalls => records.extend(list(number::SYSCALL_OFFSETS, &function.syscalls)),
        InfoItem::Instructions => instructions::push(records, function),
        InfoItem::Exits => {
            records.extend(list(number::EXIT_INSTR_OFFSETS, &function.exits));
            records.extend(list(number::INDIRECT_BRANCH_TARGETS, &function.jumps));
        }
        InfoItem::CtaidZ => records.extend(function.uses_ctaid_z.then(|| Attribute::flag(number::CTAIDZ_USED))),
        InfoItem::BlockShape => {
            records.extend(shape(number::REQNTID, limits.required_threads));
            records.extend(shape(number::MAX_THREADS, limits.max_threads));
        }
        InfoItem::Cluster => {
            records.extend(limits.max_cluster_rank.map(|r| Attribute::words(number::MAX_CLUSTER_RANK, &[r])));
            records.extend(limits.explicit_cluster.then(|| Attribute::flag(number::EXPLICIT_CLUSTER)));
            records.extend(shape(number::CTA_PER_CLUSTER, limits.cluster));
        }
        InfoItem::TensorBook => records.extend(tensor_book(function).into_iter().flatten()),
        InfoItem::TensorBlocks => match function.tensor_memory.and_then(|memory| memory.blocks) {
            Some(1) => records.push(Attribute::flag(number::TCGEN05_1CTA_USED)),
            Some(_) => records.push(Attribute::flag(number::TCGEN05_2CTA_USED)),
            None => {}
        },
        InfoItem::PoolUnits => {
            let accessed = function.tensor_memory.is_some_and(|memory| memory.accessed);
            let units = if accessed { TENSOR_POOL_UNITS } else { 0 };
            records.push(Attribute::byte(number::VRC_CTA_INIT_COUNT, units));
        }
        InfoItem::CallStack => {
            let calls = !function.callees.is_empty() || !function.inner_functions.is_empty();
            records.extend((calls || function.gathers).then(|| Attribute::words(number::CRS_STACK_SIZE, &[0])));
        }
        InfoItem::ObjectBank(number, kinds) if holds(function, symbols, kinds) => {
            records.push(Attribute::byte(number, 0));
        }
        InfoItem::ObjectBank(..) => {}
    }
    Ok(())
}

/// What makes the driver open the book of tensor memory at the kernel's entry.
fn tensor_book(function: &FunctionSpec) -> Option<[Attribute; 2]> {
    let memory = function.tensor_memory.filter(|memory| memory.allocated)?;
    let fragment = if memory.blocks == Some(2) { FRAGMENT_TENSOR_2 } else { FRAGMENT_TENSOR_1 };
    Some([Attribute::words(number::AT_ENTRY_FRAGMENTS, &[fragment]), Attribute::flag(number::RESERVED_SMEM_USED)])
}

/// Bytes of all parameters.
pub(super) fn param_bytes(function: &FunctionSpec) -> u32 {
    function.params.iter().map(|p| p.offset.saturating_add(p.size)).max().unwrap_or(0)
}

fn param(
    ordinal: u32,
    param: &ParamSpec,
    large: bool,
    function: &FunctionSpec,
    symbols: &SymbolTable,
) -> Result<Attribute, WriteError> {
    if let Some(object) = &param.object {
        let symbol = symbols.need(object, &function.name)?;
        let kind = symbols
            .get(symbol)
            .and_then(|symbol| OBJECT_FLAGS.iter().find(|(kind, _)| object_type(*kind) == symbol.kind));
        let flags = kind.map_or(0, |(_, flags)| *flags);
        return Ok(Attribute::words(number::KPARAM_INFO, &[symbol, ordinal | (Param::OBJECT << 16), flags]));
    }
    let place = ordinal | (param.offset << 16);
    Ok(if large {
        Attribute::words(number::KPARAM_INFO_V2, &[0, place, param.size])
    } else {
        Attribute::words(number::KPARAM_INFO, &[0, place, (param.size << PARAM_SIZE_SHIFT) | PARAM_FLAGS])
    })
}

/// Whether a word of bank 0 holds an object of this kind.
fn holds(function: &FunctionSpec, symbols: &SymbolTable, kinds: &[ObjectKind]) -> bool {
    let names = function.object_slots.iter().flat_map(|slot| &slot.objects);
    let symbols = names.filter_map(|name| symbols.get(symbols.index(name)?));
    symbols.into_iter().any(|symbol| kinds.iter().any(|kind| symbol.kind == object_type(*kind)))
}

/// `.nv.callgraph`: four lists of pairs, each behind a pair that numbers it. Direct calls; functions whose
/// address is taken, with their prototypes; functions that call through addresses, with the prototypes of
/// the calls; the fourth is empty.
pub(super) fn call_graph(spec: &ModuleSpec, symbols: &SymbolTable) -> Result<Vec<Pair>, WriteError> {
    let mark = |list: i32| Pair { first: 0, second: Second::Number(list as u32) };
    let mut pairs = vec![mark(-1)];
    for function in &spec.functions {
        let first = symbols.need(&function.name, &function.name)?;
        for callee in &function.callees {
            let second = Second::Number(symbols.need(callee, &function.name)?);
            pairs.push(Pair { first, second });
        }
    }
    pairs.push(mark(-2));
    pairs.extend(prototypes(spec, symbols, true)?);
    pairs.push(mark(-3));
    for function in &spec.functions {
        let first = symbols.need(&function.name, &function.name)?;
        pairs.extend(function.indirect_calls.iter().map(|text| Pair { first, second: Second::Text(text.clone()) }));
    }
    pairs.push(mark(-4));
    Ok(pairs)
}

/// The functions whose address is (not) taken, with their prototypes: `.nv.prototype` has those where it
/// is not.
pub(super) fn prototypes(
    spec: &ModuleSpec,
    symbols: &SymbolTable,
    address_taken: bool,
) -> Result<Vec<Pair>, WriteError> {
    let wanted = spec.prototypes.iter().filter(|prototype| prototype.address_taken == address_taken);
    wanted
        .map(|prototype| {
            let first = symbols.need(&prototype.function, ".nv.prototype")?;
            Ok(Pair { first, second: Second::Text(prototype.text.clone()) })
        })
        .collect()
}

/// Whether ptxas puts the function's code into the second class of instructions: textures, surfaces, tensor memory.
fn is_of_class_2(function: &FunctionSpec) -> bool {
    !function.object_slots.is_empty() || function.tensor_memory.is_some()
}

/// `INST_TCGEN05_MMA` of all code, and of that with products of integers in tensor memory.
const TENSOR_PRODUCTS: u8 = 5;
const INTEGER_TENSOR_PRODUCTS: u8 = 6;

/// `.nv.compat` of a target that has it; `fastpath` are the chips that its code can be made fit for quickly.
pub(super) fn compat(module: &ModuleSpec, fastpath: Fastpath) -> Result<Vec<u8>, WriteError> {
    let functions = module.functions.iter();
    let demands = functions.clone().map(|function| function.demands).reduce(Demands::and);
    let chips = demands.map_or(0, |demands| if demands.fits_siblings { fastpath.all } else { fastpath.own });
    let demands = demands.unwrap_or_default();
    let class = functions.filter(|function| is_of_class_2(function)).fold(demands.isa_class, |class, _| class.max(2));
    let products = if demands.integer_tensor_products { INTEGER_TENSOR_PRODUCTS } else { TENSOR_PRODUCTS };
    let mut records = vec![
        Attribute::byte(compat::ACCELERATOR_TARGET, u8::from(module.target.suffix == Suffix::Arch)),
        Attribute::byte(compat::ISA_CLASS, class),
    ];
    records.extend(match module.target.sm {
        107 => vec![Attribute::half(compat::ISA_VERSION, 0x103)],
        _ => vec![
            Attribute::byte(compat::INST_TCGEN05_MMA, products),
            Attribute::half(compat::MERCURY_ISA_VERSION, 0x101),
        ],
    });
    records.extend([
        Attribute::byte(compat::INST_TENSORMAP_V1, demands.tensor_maps),
        Attribute::byte(compat::ENABLE_OPPORTUNISTIC_FINALIZATION, 1),
        Attribute {
            number: compat::CAN_FASTPATH_FINALIZE,
            value: Value::Sized([u32::to_le_bytes(chips), [0; 4]].concat()),
        },
    ]);
    encode(&records, ".nv.compat")
}

/// Owner of our notes, 12 bytes long: readers of `.note.nv.cuinfo` expect its contents at byte 24. The driver does not look at it.
const NOTE_OWNER: &[u8; 12] = b"oriole\0\0\0\0\0\0";
/// Layout version of the note about the target.
const CUINFO_VERSION: u16 = 2;

/// The note about the tool: layout version, and for each text where it begins behind these words: the object's name, the tool,
/// its version, its branch, its arguments. The driver refuses a file without this note (580.159 on an H200: error 200), but
/// takes any tool.
pub(super) fn tool_note(spec: &ModuleSpec) -> Vec<u8> {
    let version = concat!("oriole ", env!("CARGO_PKG_VERSION"));
    let texts = ["", "oriole", version, "oriole", &format!("-arch {}", spec.target)];
    let mut words = Vec::from(TKINFO_VERSION.to_le_bytes());
    let mut strings = Vec::new();
    for text in texts {
        words.extend((strings.len() as u32).to_le_bytes());
        strings.extend(text.bytes().chain([0]));
    }
    strings.resize(strings.len().next_multiple_of(4), 0);
    note(TKINFO.kind, &[words, strings].concat())
}

/// The note about the target: layout version, SM of the virtual architecture, driver interface.
/// cuobjdump and the driver refuse an sm_90 file without it; at the owner's name they do not look.
pub(super) fn target_note(spec: &ModuleSpec) -> Vec<u8> {
    let halves = [CUINFO_VERSION, spec.target.sm as u16].map(u16::to_le_bytes).concat();
    note(CUINFO.kind, &[&halves[..], &API_VERSION.to_le_bytes()].concat())
}

fn note(kind: u32, text: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for word in [NOTE_OWNER.len() as u32, text.len() as u32, kind] {
        note.extend_from_slice(&word.to_le_bytes());
    }
    for part in [&NOTE_OWNER[..], text] {
        note.extend_from_slice(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}
