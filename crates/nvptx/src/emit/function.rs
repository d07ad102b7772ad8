//! Headers of functions: linkage, parameters, directives, declarations.

use oriole_ptx::ast::{self, FunctionDirective, Item, Linkage, Name, PtrInfo, ScalarType, Space, Sym};
use rustc_hash::{FxHashMap, FxHashSet};

use super::abi::{self, Signature};
use super::emitter::Emitter;
use super::error::Error;
use super::names;
use crate::ir::{self, AddressSpace, FnFlags, KernelInfo, SymbolId, SymbolKind, TypeId};
use crate::machine::{self, ParamDecl};

/// What a header is made of.
struct Header {
    is_entry: bool,
    linkage: Linkage,
    name: Sym,
    params: Vec<(Sym, ParamDecl)>,
    ret: Option<(Sym, ParamDecl)>,
}

impl Emitter<'_> {
    /// Declares the functions that are named before they are defined, or are defined elsewhere.
    pub(super) fn declarations(
        &mut self,
        functions: &[(SymbolId, machine::Function)],
        items: &mut Vec<Item>,
    ) -> Result<(), Error> {
        let places: FxHashMap<SymbolId, usize> = functions.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        let ir = self.ir;
        for (id, symbol) in ir.symbols.iter() {
            let Some(name) = self.names[id].filter(|name| !self.given.contains(name)) else { continue };
            let mention = self.mentions.get(name);
            let header = match (&symbol.kind, places.get(&id)) {
                (SymbolKind::Function(_), Some(&at)) => {
                    let early = mention.by_data || mention.first.is_some_and(|first| (first as usize) < at);
                    early.then(|| self.header_of(id, &functions[at].1))
                }
                (SymbolKind::Function(function), None) => {
                    (mention.by_data || mention.first.is_some()).then(|| self.header_elsewhere(id, name, function))
                }
                (SymbolKind::Alias(_), _) => self.alias_header(id, name, functions, &places)?,
                _ => None,
            };
            if let Some(header) = header {
                let about = match &symbol.kind {
                    SymbolKind::Alias(alias) => ir.aliasee(alias),
                    _ => Some(id),
                };
                items.push(self.declare(about, &header));
            }
        }
        self.runtime_functions(functions, items);
        Ok(())
    }

    /// Declares what selection calls on its own account, in the shape of the first call.
    fn runtime_functions(&mut self, functions: &[(SymbolId, machine::Function)], items: &mut Vec<Item>) {
        let mut known: FxHashSet<Sym> = self.names.values().flatten().chain(&self.given).copied().collect();
        for call in functions.iter().flat_map(|(_, function)| function.calls.values()) {
            let Some(name) = call.callee.filter(|&callee| known.insert(callee)) else { continue };
            let signature = Signature { params: call.params.clone(), ret: call.ret };
            let header = self.named_header(name, false, Linkage::Extern, signature);
            items.push(self.declare(None, &header));
        }
    }

    fn declare(&mut self, id: Option<SymbolId>, header: &Header) -> Item {
        let function = self.header(id, header);
        Item::Function(Box::new(function))
    }

    /// A function with its body; `index` is its place among the functions.
    pub(super) fn definition(
        &mut self,
        id: SymbolId,
        function: &machine::Function,
        index: usize,
    ) -> Result<ast::Function, Error> {
        let header = self.header_of(id, function);
        let mut function_item = self.header(Some(id), &header);
        function_item.body = Some(self.body(id, function, index)?);
        Ok(function_item)
    }

    /// `.alias new, old;` for the aliases of functions.
    pub(super) fn aliases(&mut self, items: &mut Vec<Item>) -> Result<(), Error> {
        let ir = self.ir;
        for (id, symbol) in ir.symbols.iter() {
            let SymbolKind::Alias(alias) = &symbol.kind else { continue };
            let (Some(new), Some(target)) = (self.names[id], ir.aliasee(alias)) else { continue };
            if matches!(ir.symbols[target].kind, SymbolKind::Function(_)) {
                let old = self.symbol(target)?;
                items.push(Item::Alias { name: self.name(new), aliasee: self.name(old) });
            }
        }
        Ok(())
    }

    fn alias_header(
        &mut self,
        id: SymbolId,
        name: Sym,
        functions: &[(SymbolId, machine::Function)],
        places: &FxHashMap<SymbolId, usize>,
    ) -> Result<Option<Header>, Error> {
        let SymbolKind::Alias(alias) = &self.ir.symbols[id].kind else { return Ok(None) };
        let Some(target) = self.ir.aliasee(alias) else {
            return Err(self.unsupported(id, "an alias of what is no symbol"));
        };
        let Some(&at) = places.get(&target) else {
            let what = match self.ir.symbols[target].kind {
                SymbolKind::Variable(_) => "an alias of a variable: PTX has them of functions only",
                _ => "an alias of a function without a body",
            };
            return Err(self.unsupported(id, what));
        };
        let Header { is_entry, linkage, params, ret, .. } = self.header_of(functions[at].0, &functions[at].1);
        if is_entry {
            return Err(self.unsupported(id, "an alias of a kernel: PTX has them of other functions only"));
        }
        if linkage == Linkage::Weak {
            return Err(self.unsupported(id, "an alias of a `.weak` function: PTX has them of strong ones only"));
        }
        let linkage = self.linkage(id, true);
        Ok(Some(Header { is_entry, linkage, name, params, ret }))
    }

    fn header_of(&mut self, id: SymbolId, function: &machine::Function) -> Header {
        let machine::Function { name, is_entry, params, ret, .. } = function;
        let linkage = self.linkage(id, true);
        Header { is_entry: *is_entry, linkage, name: *name, params: params.clone(), ret: *ret }
    }

    fn header_elsewhere(&mut self, id: SymbolId, name: Sym, function: &ir::Function) -> Header {
        let is_entry = self.annotations.is_kernel(id);
        let aligns = self.annotations.aligns.get(&id).map_or(&[][..], Vec::as_slice);
        let signature = abi::signature(self.ir, function, is_entry, aligns);
        let linkage = self.linkage(id, false);
        self.named_header(name, is_entry, linkage, signature)
    }

    fn named_header(&mut self, name: Sym, is_entry: bool, linkage: Linkage, signature: Signature) -> Header {
        let params = signature.params.into_iter().enumerate();
        let params = params.map(|(at, decl)| (names::param(&mut self.symbols, &self.taken, name, at), decl)).collect();
        let ret = signature.ret.map(|decl| (names::result(&mut self.symbols, &self.taken), decl));
        Header { is_entry, linkage, name, params, ret }
    }

    /// The directive of a symbol's linkage.
    pub(super) fn linkage(&self, id: SymbolId, defined: bool) -> Linkage {
        match self.ir.symbols[id].linkage {
            ir::Linkage::Internal => Linkage::None,
            ir::Linkage::External | ir::Linkage::Appending if defined => Linkage::Visible,
            // `.common` is for global memory only.
            ir::Linkage::Common if defined && is_global(self.ir.symbols[id].space) => Linkage::Common,
            _ if defined => Linkage::Weak,
            _ => Linkage::Extern,
        }
    }

    /// A function without its body.
    fn header(&mut self, id: Option<SymbolId>, header: &Header) -> ast::Function {
        let Header { is_entry, linkage, .. } = *header;
        let rets = header.ret.iter().map(|(sym, decl)| {
            let name = self.name(*sym);
            self.param(decl, Some(name))
        });
        let rets = rets.collect();
        let name = self.name(header.name);
        let mut params = Vec::with_capacity(header.params.len());
        for (at, (sym, decl)) in header.params.iter().enumerate() {
            let param_name = self.name(*sym);
            let mut param = self.param(decl, Some(param_name));
            param.ptr = id.filter(|_| is_entry).and_then(|id| self.pointer(id, at));
            params.push(param);
        }
        let directives = id.map_or_else(Vec::new, |id| self.directives(id, is_entry));
        let span = name.span;
        ast::Function {
            is_entry,
            linkage,
            attributes: Vec::new(),
            rets,
            name,
            params,
            directive_spans: vec![span; directives.len()],
            directives,
            body: None,
            span,
        }
    }

    /// A `.param` variable; without a name in prototypes.
    pub(super) fn param(&mut self, decl: &ParamDecl, name: Option<Name>) -> ast::Variable {
        ast::Variable {
            linkage: Linkage::None,
            space: Space::Param,
            attributes: Vec::new(),
            align: decl.bytes.map(|_| decl.align.max(1)),
            ty: if decl.bytes.is_some() { ScalarType::B8 } else { decl.ty },
            vector: None,
            ptr: None,
            name,
            dims: decl.bytes.map(Some).into_iter().collect(),
            init: None,
            properties: Vec::new(),
            span: name.map_or_else(Default::default, |name| name.span),
        }
    }

    /// What a kernel's pointer parameter points to, as far as it is said.
    fn pointer(&self, id: SymbolId, index: usize) -> Option<PtrInfo> {
        let param = self.ir.symbols[id].function()?.params.get(index)?;
        if param.attributes.by_val.is_some() {
            return None;
        }
        let space = match self.ir.types.address_space(param.ty)? {
            AddressSpace::GLOBAL => Some(Space::Global),
            AddressSpace::SHARED => Some(Space::Shared),
            AddressSpace::CONSTANT => Some(Space::Const),
            AddressSpace::LOCAL => Some(Space::Local),
            _ => None,
        };
        let align = (param.attributes.align > 0).then_some(param.attributes.align);
        (space.is_some() || align.is_some()).then(|| PtrInfo { space, align: Some(align.unwrap_or(1)) })
    }

    fn directives(&self, id: SymbolId, is_entry: bool) -> Vec<FunctionDirective> {
        if is_entry {
            let none = KernelInfo::default();
            return self.kernel_directives(self.annotations.kernels.get(&id).unwrap_or(&none));
        }
        let function = self.ir.symbols[id].function();
        let never_returns =
            function.is_some_and(|f| f.ret == TypeId::VOID && f.attributes.function.contains(FnFlags::NO_RETURN));
        if never_returns { vec![FunctionDirective::NoReturn] } else { Vec::new() }
    }

    /// The launch bounds of a kernel. Extents and counts of 0 say nothing.
    fn kernel_directives(&self, info: &KernelInfo) -> Vec<FunctionDirective> {
        use FunctionDirective as D;
        let extents = |dims: Option<[u32; 3]>| dims.filter(|dims| !dims.contains(&0));
        let count = |n: Option<u32>| n.filter(|&n| n > 0);
        let required = extents(info.req_ntid);
        let mut found: Vec<D> = Vec::new();
        found.extend(extents(info.max_ntid).filter(|_| required.is_none()).map(D::MaxNTid));
        found.extend(required.map(D::ReqNTid));
        found.extend(count(info.min_cta).map(D::MinNCtaPerSm));
        found.extend(count(info.max_nreg).or(self.options.max_registers).map(D::MaxNReg));
        if !self.has_clusters() {
            return found;
        }
        let cluster = extents(info.cluster_dim);
        if info.cluster_dim.is_some() && !info.blocks_are_clusters {
            found.push(D::ExplicitCluster);
        }
        found.extend(cluster.map(D::ReqNCtaPerCluster));
        if info.blocks_are_clusters && cluster.is_some() && required.is_some() {
            found.push(D::BlocksAreClusters);
        }
        found.extend(count(info.max_cluster_rank).filter(|_| cluster.is_none()).map(D::MaxClusterRank));
        found
    }

    /// Clusters came with sm_90; bounds for them mean nothing before.
    fn has_clusters(&self) -> bool {
        let digits = self.options.arch.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().is_ok_and(|number: u32| number >= 90)
    }
}

/// True for variables that live in `.global` memory.
const fn is_global(space: AddressSpace) -> bool {
    matches!(space, AddressSpace::GENERIC | AddressSpace::GLOBAL)
}
