//! What of a PTX module goes into the Ori module: the wanted kernels, what they call, the variables
//! that these name, and where shared variables lie.

use crate::error::{LowerError, invalid};
use crate::options::Options;
use oriole_isa::SmDescription;
use oriole_ptx::ast::{Function, FunctionDirective, Item, Linkage, Module, Name, Space, Span, Sym, Variable};
use oriole_ptx::mentions::{self, Mention};
use rustc_hash::{FxHashMap, FxHashSet};

/// A variable of the PTX module, at file level or inside a function.
#[derive(Clone, Debug)]
pub(crate) struct PlannedVar<'a> {
    /// The declaration.
    pub(crate) ast: &'a Variable,
    /// The function that it is declared in.
    pub(crate) owner: Option<usize>,
    /// Byte offset in the shared segment, for `.shared` variables.
    pub(crate) shared_offset: Option<u32>,
}

/// A variable of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct VarKey(pub(crate) usize);

/// What is lowered, decided before any body is.
#[derive(Debug, Default)]
pub(crate) struct Plan<'a> {
    /// All functions with or without bodies, one per name, bodies preferred.
    pub(crate) functions: Vec<&'a Function>,
    /// Function index by name, aliases resolved.
    pub(crate) by_name: FxHashMap<Sym, usize>,
    /// Functions to lower: kernels first, then what they reach.
    pub(crate) wanted: Vec<usize>,
    /// All variables in `.global`, `.const`, `.shared`.
    pub(crate) variables: Vec<PlannedVar<'a>>,
    /// File-level variables by name.
    pub(crate) globals: FxHashMap<Sym, VarKey>,
    /// What each of the roots reaches, which are the first of those to lower: functions that it or they mention.
    pub(crate) reached: Vec<Vec<usize>>,
    /// Variables inside functions, by where their name stands.
    pub(crate) locals: FxHashMap<(Sym, u32), VarKey>,
    /// Static shared bytes of each kernel (by function index), dynamic shared memory follows.
    pub(crate) shared_bytes: FxHashMap<usize, u32>,
    /// Functions that are called directly and named nowhere else, in a file that needs no linker.
    local: FxHashSet<Sym>,
}

/// Functions and variables that one function reaches.
#[derive(Clone, Debug, Default)]
struct Reach {
    functions: FxHashSet<usize>,
    variables: FxHashSet<usize>,
}

impl<'a> Plan<'a> {
    /// Plans the lowering of the wanted kernels, and for an object file of all that others can see.
    pub(crate) fn new(module: &'a Module, options: &Options<'_>) -> Result<Self, Vec<LowerError>> {
        let mut plan = Plan::default();
        plan.collect(module);
        let mut roots = plan.roots(module, options.entries)?;
        if options.relocatable {
            roots.extend(plan.exported());
        }
        let mentioned = plan.mentioned(module);
        let owned = plan.owned();
        let direct: Vec<Reach> = owned.iter().zip(&mentioned).map(|(owned, names)| plan.reach(names, owned)).collect();
        let reach: Vec<(usize, Reach)> = roots.iter().map(|&root| (root, closure(root, &direct))).collect();
        plan.wanted = roots;
        plan.reached = reach.iter().map(|(_, reach)| reach.functions.iter().copied().collect()).collect();
        plan.find_local(&mentioned, options.relocatable);
        let mut called: Vec<usize> = reach.iter().flat_map(|(_, r)| r.functions.iter().copied()).collect();
        called.sort_unstable();
        called.dedup();
        let known: FxHashSet<usize> = plan.wanted.iter().copied().collect();
        called.retain(|function| !known.contains(function) && plan.functions[*function].body.is_some());
        plan.wanted.extend(called);
        let sm = options.arch.sm();
        let most = if options.extended_shared { sm.max_shared_per_cta } else { sm.max_static_shared };
        let errors = plan.lay_out_shared(module, &reach, (sm, most));
        if errors.is_empty() { Ok(plan) } else { Err(errors) }
    }

    fn collect(&mut self, module: &'a Module) {
        for item in &module.items {
            match item {
                Item::Function(function) => self.add_function(function),
                Item::Variable(variable) => {
                    if let Some(name) = variable.name {
                        let key = self.add_variable(variable, None);
                        let known = self.globals.entry(name.sym).or_insert(key);
                        if self.variables[known.0].ast.linkage == Linkage::Extern {
                            *known = key;
                        }
                    }
                }
                Item::Alias { name, aliasee } => {
                    if let Some(&index) = self.by_name.get(&aliasee.sym) {
                        self.by_name.insert(name.sym, index);
                    }
                }
                _ => {}
            }
        }
        for index in 0..self.functions.len() {
            let Some(body) = &self.functions[index].body else { continue };
            let mut found = Vec::new();
            mentions::variables(body, &mut |variable| found.push(variable));
            for variable in found {
                if let (Some(name), Space::Shared | Space::SharedCta | Space::Global | Space::Const) =
                    (variable.name, variable.space)
                {
                    let key = self.add_variable(variable, Some(index));
                    self.locals.insert((name.sym, name.span.start), key);
                }
            }
        }
    }

    fn add_function(&mut self, function: &'a Function) {
        match self.by_name.get(&function.name.sym) {
            Some(&index) if self.functions[index].body.is_some() => {}
            Some(&index) => self.functions[index] = function,
            None => {
                self.by_name.insert(function.name.sym, self.functions.len());
                self.functions.push(function);
            }
        }
    }

    fn add_variable(&mut self, ast: &'a Variable, owner: Option<usize>) -> VarKey {
        self.variables.push(PlannedVar { ast, owner, shared_offset: None });
        VarKey(self.variables.len() - 1)
    }

    /// The kernels to lower.
    fn roots(&self, module: &Module, entries: Option<&[String]>) -> Result<Vec<usize>, Vec<LowerError>> {
        let kernels =
            (0..self.functions.len()).filter(|&f| self.functions[f].is_entry && self.functions[f].body.is_some());
        let Some(wanted) = entries else { return Ok(kernels.collect()) };
        let kernels: Vec<usize> = kernels.collect();
        let mut roots = Vec::new();
        let mut errors = Vec::new();
        for name in wanted {
            match kernels.iter().find(|&&f| module.text(self.functions[f].name) == name) {
                Some(&index) => roots.push(index),
                None => errors.push(self.no_such_entry(module, name, &kernels)),
            }
        }
        if errors.is_empty() { Ok(roots) } else { Err(errors) }
    }

    /// Device functions that other modules can call, or reach through variables that they can see.
    fn exported(&self) -> impl Iterator<Item = usize> + '_ {
        let mut named: FxHashSet<usize> = FxHashSet::default();
        for variable in self.variables.iter().filter(|v| is_exported(v.ast.linkage)) {
            mentions::of_variable(variable.ast, &mut |name| {
                named.extend(self.by_name.get(&name.sym).copied());
            });
        }
        (0..self.functions.len()).filter(move |index| {
            let function = self.functions[*index];
            let wanted = is_exported(function.linkage) || named.contains(index);
            wanted && !function.is_entry && function.body.is_some()
        })
    }

    fn no_such_entry(&self, module: &Module, name: &str, kernels: &[usize]) -> LowerError {
        let names: Vec<&str> = kernels.iter().map(|&f| module.text(self.functions[f].name)).collect();
        let help = if names.is_empty() {
            "the module has no kernels".to_owned()
        } else {
            format!("kernels: {}", names.join(" "))
        };
        Box::new(invalid(Span::default(), format!("no kernel '{name}' in this module")).help(help))
    }

    /// Whether all calls of the function are direct ones in this module's code.
    pub(crate) fn is_local(&self, function: &Function) -> bool {
        self.local.contains(&function.name.sym)
    }

    /// Finds them: nothing names them but calls, and in an object file no other file sees them.
    fn find_local(&mut self, mentioned: &[Vec<(Name, Mention)>], relocatable: bool) {
        let mut named: FxHashSet<usize> = FxHashSet::default();
        let mut add = |name: Name| named.extend(self.by_name.get(&name.sym));
        mentioned.iter().flatten().filter(|(_, how)| *how == Mention::Other).for_each(|(name, _)| add(*name));
        self.variables.iter().for_each(|variable| mentions::of_variable(variable.ast, &mut add));
        let local = (0..self.functions.len()).filter(|index| !named.contains(index));
        let is_hidden = |f: &&Function| !f.is_entry && f.body.is_some() && !(relocatable && is_exported(f.linkage));
        let local = local.map(|index| self.functions[index]).filter(is_hidden);
        self.local = local.map(|function| function.name.sym).collect();
    }

    /// By function the variables that are declared in it.
    fn owned(&self) -> Vec<Vec<usize>> {
        let mut owned = vec![Vec::new(); self.functions.len()];
        for (index, variable) in self.variables.iter().enumerate() {
            if let Some(owner) = variable.owner {
                owned[owner].push(index);
            }
        }
        owned
    }

    /// By function the functions and variables of the module that its body mentions.
    fn mentioned(&self, module: &Module) -> Vec<Vec<(Name, Mention)>> {
        // Nearly all names in a body are registers.
        let mut is_of_module = vec![false; module.symbols.len()];
        self.by_name.keys().chain(self.globals.keys()).for_each(|sym| is_of_module[sym.index()] = true);
        let of_body = |body| {
            let mut names = Vec::new();
            let of_module = |name: &Name| is_of_module[name.sym.index()];
            mentions::of_block(body, &mut |name, how| {
                names.extend(Some(name).filter(of_module).map(|name| (name, how)))
            });
            names
        };
        self.functions.iter().map(|function| function.body.as_ref().map(of_body).unwrap_or_default()).collect()
    }

    /// What the names that a function's body mentions stand for, and what is mentioned in the initial values of
    /// variables among them; `owned` are those that are declared in it.
    fn reach(&self, names: &[(Name, Mention)], owned: &[usize]) -> Reach {
        let mut reach = Reach::default();
        let mut pending: Vec<Name> = names.iter().map(|(name, _)| *name).collect();
        reach.variables.extend(owned);
        for &index in owned {
            mentions::of_variable(self.variables[index].ast, &mut |name| pending.push(name));
        }
        while let Some(name) = pending.pop() {
            if let Some(&callee) = self.by_name.get(&name.sym) {
                reach.functions.insert(callee);
            }
            if let Some(&VarKey(index)) = self.globals.get(&name.sym)
                && reach.variables.insert(index)
            {
                mentions::of_variable(self.variables[index].ast, &mut |name| pending.push(name));
            }
        }
        reach
    }

    /// Gives every shared variable an offset, so that those that one kernel reaches do not overlap
    /// and a variable has the same offset for all kernels; kernels that share nothing use the same bytes.
    fn lay_out_shared(
        &mut self,
        module: &Module,
        reach: &[(usize, Reach)],
        (sm, most): (&SmDescription, u32),
    ) -> Vec<LowerError> {
        let base = u64::from(sm.shared_base);
        let mut ends: Vec<u64> = vec![base; reach.len()];
        let mut users_of: Vec<Vec<usize>> = vec![Vec::new(); self.variables.len()];
        for (kernel, (_, reach)) in reach.iter().enumerate() {
            reach.variables.iter().for_each(|index| users_of[*index].push(kernel));
        }
        let is_shared = |v: &PlannedVar<'_>| matches!(v.ast.space, Space::Shared | Space::SharedCta);
        // A kernel's own variables come first, as ptxas has them.
        let mut in_order: Vec<(usize, Vec<usize>)> = users_of.into_iter().enumerate().collect();
        in_order.sort_by_key(|(index, _)| !self.variables[*index].owner.is_some_and(|f| self.functions[f].is_entry));
        let mut dynamic = Vec::new();
        for (index, users) in in_order {
            let variable = &mut self.variables[index];
            if !is_shared(variable) || users.is_empty() {
                continue;
            }
            // Sizes and alignments of 32 bits: sums of all variables of a module fit 64 bits.
            let size = variable.ast.size().map_or(u64::from(u32::MAX), |size| size.min(u64::from(u32::MAX)));
            if size == 0 {
                dynamic.push((index, users));
                continue;
            }
            let end = users.iter().map(|&k| ends[k]).max().unwrap_or(base);
            let start = end.next_multiple_of(u64::from(variable.ast.alignment()));
            variable.shared_offset = u32::try_from(start).ok();
            for k in users {
                ends[k] = start + size;
            }
        }
        self.lay_out_dynamic(&dynamic, &mut ends);
        let mut errors = Vec::new();
        for ((kernel, _), end) in reach.iter().zip(&ends) {
            let bytes = end - base;
            if bytes > u64::from(most) {
                let name = self.functions[*kernel].name;
                let message = format!("'{}' uses {bytes} bytes of static shared memory, of {most}", module.text(name));
                errors.push(invalid(name.span, message));
            }
            self.shared_bytes.insert(*kernel, bytes as u32);
        }
        errors
    }

    /// Dynamic shared memory starts where the static part of the kernel ends; kernels that reach the
    /// same dynamic variable are given the same start.
    fn lay_out_dynamic(&mut self, dynamic: &[(usize, Vec<usize>)], ends: &mut [u64]) {
        let mut settled = false;
        while !settled {
            settled = true;
            for (index, users) in dynamic {
                let align = u64::from(self.variables[*index].ast.alignment().max(16));
                let start = users.iter().map(|&k| ends[k].next_multiple_of(align)).max().unwrap_or(0);
                for &k in users {
                    settled &= ends[k] == start;
                    ends[k] = start;
                }
                self.variables[*index].shared_offset = u32::try_from(start).ok();
            }
        }
    }
}

/// Other modules see what has this linkage.
pub(crate) fn is_exported(linkage: Linkage) -> bool {
    matches!(linkage, Linkage::Visible | Linkage::Weak | Linkage::Common)
}

/// Everything that `root` reaches through the functions that it mentions; not `root` itself unless
/// it is mentioned.
fn closure(root: usize, direct: &[Reach]) -> Reach {
    let mut all = Reach::default();
    let mut pending = vec![root];
    let mut seen: FxHashSet<usize> = std::iter::once(root).collect();
    while let Some(function) = pending.pop() {
        all.variables.extend(&direct[function].variables);
        for &callee in &direct[function].functions {
            all.functions.insert(callee);
            if seen.insert(callee) {
                pending.push(callee);
            }
        }
    }
    all
}

/// True when the function is declared `.noreturn`.
pub(crate) fn is_noreturn(function: &Function) -> bool {
    function.directives.contains(&FunctionDirective::NoReturn)
}
