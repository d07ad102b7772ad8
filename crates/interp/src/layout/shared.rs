//! Where shared variables are: as the compilers place them, which is what programs see.
//!
//! A kernel has room for the variables that it reaches, by itself or through functions, and for no others: its own first,
//! then those of the module and of functions, each at the next multiple of its alignment. A variable has one place for
//! all kernels that reach it. Dynamic shared memory follows.
//!
//! PTX promises the declared alignment only; what a wider access finds at a variable of a smaller one depends on this
//! order (clang declares shared arrays of floats `.align 4` and reads them with `.v4`).

use super::{Home, Key, Layout, LayoutError, key, too_large, variable_size, variables};
use oriole_ptx::ast::{Function, Item, Linkage, Module, Name, Space, Variable};
use oriole_ptx::mentions;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most that `.shared` variables may take: far more than a block of any target has.
const MOST_SHARED: u64 = 1 << 22;
/// Dynamic shared memory begins at a multiple of this, or of what its declaration says if that is more.
const DYNAMIC_ALIGNMENT: u64 = 16;

/// A variable in shared memory and who uses it.
struct Shared<'m> {
    name: Name,
    variable: &'m Variable,
    /// It belongs to a kernel.
    is_own: bool,
    /// The kernels that reach it, by their places in the list of kernels.
    users: Vec<usize>,
}

impl Shared<'_> {
    /// It stands for dynamic shared memory.
    fn is_dynamic(&self) -> bool {
        self.variable.linkage == Linkage::Extern || self.variable.dims.contains(&None)
    }
}

/// Gives every shared variable its home, and every kernel the start of its dynamic shared memory.
pub(super) fn place(module: &Module, layout: &mut Layout) -> Result<(), LayoutError> {
    let base = u64::from(layout.shared_base);
    let entries = |item: &Item| matches!(item, Item::Function(function) if function.is_entry);
    let kernels: Vec<usize> =
        module.items.iter().enumerate().filter(|(_, item)| entries(item)).map(|(at, _)| at).collect();
    let mut ends = vec![base; kernels.len()];
    let mut all = shared_variables(module, &kernels);
    all.sort_by_key(|shared| !shared.is_own);
    for shared in &all {
        let home = if shared.is_dynamic() {
            Home::DynamicShared
        } else {
            let size = variable_size(shared.variable).ok_or_else(|| too_large(module, shared.name))?;
            let end = shared.users.iter().map(|&kernel| ends[kernel]).max().unwrap_or(base);
            let start = super::place_after(end, shared.variable, size, MOST_SHARED);
            let start = start.ok_or_else(|| too_large(module, shared.name))?;
            shared.users.iter().for_each(|&kernel| ends[kernel] = start + size);
            Home::Shared(start)
        };
        layout.homes.insert(key(shared.name), home);
    }
    for shared in all.iter().filter(|shared| shared.is_dynamic()) {
        let alignment = u64::from(shared.variable.alignment()).max(DYNAMIC_ALIGNMENT);
        shared.users.iter().for_each(|&kernel| ends[kernel] = ends[kernel].next_multiple_of(alignment));
    }
    layout.kernels = kernels.into_iter().zip(ends).collect();
    Ok(())
}

/// The shared variables of the module, then those of its functions, with the kernels that reach each.
fn shared_variables<'m>(module: &'m Module, kernels: &[usize]) -> Vec<Shared<'m>> {
    let mut all: Vec<Shared<'m>> = Vec::new();
    let mut by_key: FxHashMap<Key, usize> = FxHashMap::default();
    let own = module.functions().flat_map(|function| {
        let declared = function.body.iter().flat_map(variables);
        declared.map(move |variable| (variable, function.is_entry))
    });
    for (variable, is_own) in module.variables().map(|variable| (variable, false)).chain(own) {
        if let (Some(name), Space::Shared | Space::SharedCta) = (variable.name, variable.space) {
            by_key.insert(key(name), all.len());
            all.push(Shared { name, variable, is_own, users: Vec::new() });
        }
    }
    let index = Index::new(module);
    for (number, &at) in kernels.iter().enumerate() {
        let Item::Function(kernel) = &module.items[at] else { continue };
        for declared in index.reached(kernel) {
            if let Some(&place) = by_key.get(&declared) {
                all[place].users.push(number);
            }
        }
    }
    all
}

/// The items of a module by the names that they declare.
struct Index<'m>(FxHashMap<usize, Vec<&'m Item>>);

impl<'m> Index<'m> {
    fn new(module: &'m Module) -> Index<'m> {
        let mut items: FxHashMap<usize, Vec<&Item>> = FxHashMap::default();
        for item in &module.items {
            let name = match item {
                Item::Function(function) => Some(function.name),
                Item::Variable(variable) => variable.name,
                Item::Alias { name, .. } => Some(*name),
                _ => None,
            };
            if let Some(name) = name {
                items.entry(name.sym.index()).or_default().push(item);
            }
        }
        Index(items)
    }

    /// The variables that a kernel reaches: those that its body, the functions and the initial values that it mentions
    /// declare and mention.
    fn reached(&self, kernel: &'m Function) -> FxHashSet<Key> {
        let (mut found, mut seen, mut pending) = (FxHashSet::default(), FxHashSet::default(), Vec::new());
        self.mentioned(kernel, &mut found, &mut pending);
        while let Some(name) = pending.pop() {
            if !seen.insert(name.sym) {
                continue;
            }
            for item in self.0.get(&name.sym.index()).into_iter().flatten() {
                match item {
                    Item::Function(function) => self.mentioned(function, &mut found, &mut pending),
                    Item::Variable(variable) => {
                        found.extend(variable.name.map(key));
                        mentions::of_variable(variable, &mut |name| pending.push(name));
                    }
                    Item::Alias { aliasee, .. } => pending.push(*aliasee),
                    _ => {}
                }
            }
        }
        found
    }

    /// Finds what a function declares and which names of the module it mentions.
    fn mentioned(&self, function: &Function, declared: &mut FxHashSet<Key>, names: &mut Vec<Name>) {
        let Some(body) = &function.body else { return };
        declared.extend(variables(body).iter().filter_map(|variable| variable.name.map(key)));
        // Nearly all names in a body are registers.
        mentions::of_block(body, &mut |name, _| names.extend(self.0.contains_key(&name.sym.index()).then_some(name)));
    }
}
