//! What a module says about its kernels: `!nvvm.annotations`, and the `"nvvm.…"`
//! attributes that took their place in LLVM 20.

use rustc_hash::FxHashMap;

use super::attributes::ParamFlags;
use super::constant::Constant;
use super::ids::SymbolId;
use super::linkage::CallingConvention;
use super::metadata::{MetaField, Metadata};
use super::module::{Function, Module, SymbolKind};

/// The launch bounds of a kernel, and what is special about its parameters.
///
/// Extents are in threads or blocks along x, y and z; those not given are 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelInfo {
    /// `.maxntid`: the most threads of a block
    pub max_ntid: Option<[u32; 3]>,
    /// `.reqntid`: the threads of every block
    pub req_ntid: Option<[u32; 3]>,
    /// `.minnctapersm`: blocks that a multiprocessor must hold at once
    pub min_cta: Option<u32>,
    /// `.maxnreg`: registers of a thread
    pub max_nreg: Option<u32>,
    /// `.reqnctapercluster`: the blocks of every cluster
    pub cluster_dim: Option<[u32; 3]>,
    /// `.maxclusterrank`: the most blocks of a cluster
    pub max_cluster_rank: Option<u32>,
    /// `.blocksareclusters`
    pub blocks_are_clusters: bool,
    /// Parameters, from 0, whose copy in parameter space may itself be addressed; sorted.
    pub grid_constant: Vec<u32>,
    /// Parameters, from 0, that are handles of textures and the like; sorted.
    pub handles: Vec<(u32, HandleKind)>,
}

/// What a handle (a parameter or a variable of type `i64`) stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum HandleKind {
    /// `texture`, `rdoimage`: `.texref`
    Texture,
    /// `sampler`: `.samplerref`
    Sampler,
    /// `surface`, `wroimage`, `rdwrimage`: `.surfref`
    Surface,
}

/// What [`Module::annotations`] finds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Annotations {
    /// The kernels among the module's functions, defined or declared.
    pub kernels: FxHashMap<SymbolId, KernelInfo>,
    /// Variables that are handles.
    pub handles: FxHashMap<SymbolId, HandleKind>,
    /// Variables in managed memory: `.attribute(.managed)`.
    pub managed: Vec<SymbolId>,
    /// `align` of functions: parameter, 0 for the result and `n + 1` for parameter `n`, and bytes.
    pub aligns: FxHashMap<SymbolId, Vec<(u32, u32)>>,
}

impl Annotations {
    /// True for the functions that a launch may name.
    #[must_use]
    pub fn is_kernel(&self, symbol: SymbolId) -> bool {
        self.kernels.contains_key(&symbol)
    }
}

impl Module {
    /// Reads the annotations of kernels and variables. Those that cannot be understood are passed over, as
    /// LLVM does.
    #[must_use]
    pub fn annotations(&self) -> Annotations {
        let mut found = Annotations::default();
        let mut notes: FxHashMap<SymbolId, KernelInfo> = FxHashMap::default();
        for node in self.metadata.named("nvvm.annotations") {
            let [subject, pairs @ ..] = self.metadata[node].operands() else { continue };
            let Some(symbol) = self.symbol_of(subject) else { continue };
            for pair in pairs.chunks_exact(2) {
                if let MetaField::String(key) = &pair[0] {
                    self.read_note(symbol, key, &pair[1], &mut notes, &mut found);
                }
            }
        }
        for (id, symbol) in self.symbols.iter() {
            match &symbol.kind {
                SymbolKind::Function(function) => {
                    if function.convention == CallingConvention::PtxKernel {
                        found.kernels.entry(id).or_default();
                    }
                    if found.is_kernel(id) {
                        let mut info = notes.remove(&id).unwrap_or_default();
                        read_attributes(function, &mut info);
                        found.kernels.insert(id, info);
                    }
                }
                SymbolKind::Variable(variable) if variable.attributes.string("nvvm.managed").is_some() => {
                    found.managed.push(id);
                }
                _ => {}
            }
        }
        found.managed.sort_unstable();
        found.managed.dedup();
        found
    }

    /// True when a launch may name the function. Asks the whole module: use [`Module::annotations`] in loops.
    #[must_use]
    pub fn is_kernel(&self, symbol: SymbolId) -> bool {
        let by_convention = |function: &Function| function.convention == CallingConvention::PtxKernel;
        self.symbols[symbol].function().is_some_and(by_convention) || self.annotations().is_kernel(symbol)
    }

    fn read_note(
        &self,
        symbol: SymbolId,
        key: &str,
        value: &MetaField,
        notes: &mut FxHashMap<SymbolId, KernelInfo>,
        found: &mut Annotations,
    ) {
        let kind = handle_kind(key);
        if matches!(self.symbols[symbol].kind, SymbolKind::Variable(_)) {
            match kind {
                Some(kind) => drop(found.handles.insert(symbol, kind)),
                None if key == "managed" => found.managed.push(symbol),
                None => {}
            }
            return;
        }
        let number = self.number_of(value);
        let info = notes.entry(symbol).or_default();
        match (key, number) {
            ("kernel", Some(1)) => drop(found.kernels.entry(symbol).or_default()),
            ("align", Some(packed)) => {
                found.aligns.entry(symbol).or_default().push((packed >> 16, packed & 0xFFFF));
            }
            ("grid_constant", _) => {
                // A node with the numbers of parameters, counted from 1.
                let MetaField::Node(list) = value else { return };
                let numbers = self.metadata[*list].operands().iter().filter_map(|field| self.number_of(field));
                info.grid_constant.extend(numbers.filter_map(|number| number.checked_sub(1)));
                info.grid_constant.sort_unstable();
                info.grid_constant.dedup();
            }
            (_, Some(number)) => match kind {
                Some(kind) => {
                    info.handles.push((number, kind));
                    info.handles.sort_unstable();
                }
                None => read_bound(info, key, number),
            },
            _ => {}
        }
    }

    fn symbol_of(&self, field: &MetaField) -> Option<SymbolId> {
        let MetaField::Constant(id) = field else { return None };
        match self.constants[*id] {
            Constant::Symbol(_, symbol) => Some(symbol),
            _ => None,
        }
    }

    fn number_of(&self, field: &MetaField) -> Option<u32> {
        match field {
            MetaField::Constant(id) => u32::try_from(self.constants.as_int(*id)?).ok(),
            MetaField::Int(value) => u32::try_from(*value).ok(),
            _ => None,
        }
    }
}

impl Metadata {
    /// The value of an integer module flag, such as `nvvm-reflect-ftz`; `None` when it is not set.
    #[must_use]
    pub fn module_flag(&self, constants: &super::Constants, name: &str) -> Option<u128> {
        self.named("llvm.module.flags").find_map(|node| match self[node].operands() {
            [_, MetaField::String(key), MetaField::Constant(value)] if &**key == name => constants.as_int(*value),
            _ => None,
        })
    }
}

/// `texture` and the like, of metadata.
fn handle_kind(key: &str) -> Option<HandleKind> {
    match key {
        "texture" | "rdoimage" => Some(HandleKind::Texture),
        "sampler" => Some(HandleKind::Sampler),
        "surface" | "wroimage" | "rdwrimage" => Some(HandleKind::Surface),
        _ => None,
    }
}

/// One launch bound of metadata: each extent has a key of its own.
fn read_bound(info: &mut KernelInfo, key: &str, value: u32) {
    let axis = |extents: &mut Option<[u32; 3]>, axis: usize| extents.get_or_insert([1; 3])[axis] = value;
    match key {
        "maxntidx" => axis(&mut info.max_ntid, 0),
        "maxntidy" => axis(&mut info.max_ntid, 1),
        "maxntidz" => axis(&mut info.max_ntid, 2),
        "reqntidx" => axis(&mut info.req_ntid, 0),
        "reqntidy" => axis(&mut info.req_ntid, 1),
        "reqntidz" => axis(&mut info.req_ntid, 2),
        "cluster_dim_x" => axis(&mut info.cluster_dim, 0),
        "cluster_dim_y" => axis(&mut info.cluster_dim, 1),
        "cluster_dim_z" => axis(&mut info.cluster_dim, 2),
        "minctasm" => info.min_cta = Some(value),
        "maxnreg" => info.max_nreg = Some(value),
        "maxclusterrank" | "cluster_max_blocks" => info.max_cluster_rank = Some(value),
        _ => {}
    }
}

/// The launch bounds of attributes: extents are a list, `"128,2"`.
fn read_attributes(function: &Function, info: &mut KernelInfo) {
    let extents = |key: &str| -> Option<[u32; 3]> {
        let mut all = [1; 3];
        for (axis, part) in function.attributes.string(key)?.split(',').enumerate() {
            *all.get_mut(axis)? = part.trim().parse().ok()?;
        }
        Some(all)
    };
    let number = |key: &str| function.attributes.string(key)?.trim().parse().ok();
    info.max_ntid = extents("nvvm.maxntid").or(info.max_ntid);
    info.req_ntid = extents("nvvm.reqntid").or(info.req_ntid);
    info.cluster_dim = extents("nvvm.cluster_dim").or(info.cluster_dim);
    info.min_cta = number("nvvm.minctasm").or(info.min_cta);
    info.max_nreg = number("nvvm.maxnreg").or(info.max_nreg);
    info.max_cluster_rank = number("nvvm.maxclusterrank").or(info.max_cluster_rank);
    info.blocks_are_clusters |= function.attributes.string("nvvm.blocksareclusters").is_some();
    for (index, param) in (0..).zip(&function.params) {
        if param.attributes.param.contains(ParamFlags::GRID_CONSTANT) && !info.grid_constant.contains(&index) {
            info.grid_constant.push(index);
        }
    }
    info.grid_constant.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Meta, Type, TypeId};

    fn declare(module: &mut Module, name: &str) -> SymbolId {
        let signature = module.types.intern(Type::Function { ret: TypeId::VOID, params: [].into(), varargs: false });
        let id = module.symbol_or_new(name);
        module.symbols[id].kind = SymbolKind::Function(Box::new(Function {
            signature,
            ret: TypeId::VOID,
            ret_attributes: Default::default(),
            params: Vec::new(),
            varargs: false,
            attributes: Default::default(),
            convention: CallingConvention::C,
            debug: Default::default(),
            body: None,
        }));
        id
    }

    fn annotate(module: &mut Module, symbol: SymbolId, pairs: &[(&str, MetaField)]) {
        let subject = module.constants.intern(Constant::Symbol(TypeId::PTR, symbol));
        let mut fields = vec![MetaField::Constant(subject)];
        for (key, value) in pairs {
            fields.extend([MetaField::String((*key).into()), value.clone()]);
        }
        let node = module.metadata.nodes.push(Meta::Node(fields));
        module.metadata.named.push(("nvvm.annotations".into(), vec![node]));
    }

    #[test]
    fn metadata_and_attributes_say_the_same() {
        let mut module = Module::default();
        let old = declare(&mut module, "old");
        let int = |module: &mut Module, value| MetaField::Constant(module.constants.int(TypeId::I32, 32, value));
        let [one, wide, high] = [1, 128, 4].map(|value| int(&mut module, value));
        let list = module.metadata.nodes.push(Meta::Node(vec![wide.clone(), one.clone()]));
        annotate(
            &mut module,
            old,
            &[
                ("kernel", one.clone()),
                ("maxntidx", wide.clone()),
                ("maxntidz", high.clone()),
                ("minctasm", high),
                ("grid_constant", MetaField::Node(list)),
            ],
        );
        let new = declare(&mut module, "new");
        let function = module.symbols[new].function_mut().unwrap();
        function.convention = CallingConvention::PtxKernel;
        function.attributes.strings =
            vec![("nvvm.maxntid".into(), "128,1,4".into()), ("nvvm.minctasm".into(), "4".into())];
        let bound_only = declare(&mut module, "device");
        annotate(&mut module, bound_only, &[("maxntidx", wide)]);

        let found = module.annotations();
        let mut expected = KernelInfo { max_ntid: Some([128, 1, 4]), min_cta: Some(4), ..KernelInfo::default() };
        assert_eq!(found.kernels[&new], expected);
        expected.grid_constant = vec![0, 127];
        assert_eq!(found.kernels[&old], expected);
        assert!(!module.is_kernel(bound_only) && module.is_kernel(old) && module.is_kernel(new));
    }
}
