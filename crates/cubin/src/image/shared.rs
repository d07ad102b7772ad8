//! Shared memory of a file that is still to be linked. A variable has no place there: its symbol's value is its
//! alignment. As nvlink does, each kernel gets its own variables and those of the functions that it can reach;
//! dynamic shared memory starts behind them.

use crate::error::CubinError;
use crate::model::{Cubin, SectionIndex, SectionKind, Symbol, SymbolIndex, SymbolKind};
use crate::read::STO_CUDA_SHARED;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Dynamic shared memory starts at a multiple of this, as nvlink has it: `extern` declarations leave no alignment.
const DYNAMIC_ALIGN: u64 = 16;
/// Most pairs of a kernel and a variable that it needs.
const MOST_NEEDS: usize = 1 << 22;

/// Offsets in shared memory, from its first byte that the system does not keep.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLayout {
    /// Each variable's offset.
    places: BTreeMap<SymbolIndex, u64>,
    /// Where dynamic shared memory starts, for the code of each section that names it.
    dynamic: BTreeMap<SectionIndex, u64>,
    /// Bytes of each kernel, by the section of its code.
    sizes: BTreeMap<SectionIndex, u64>,
    /// Variables of each kernel, by the section of its code.
    variables: BTreeMap<SectionIndex, BTreeSet<SymbolIndex>>,
}

/// What a kernel needs.
struct Need {
    /// The section of its code.
    kernel: SectionIndex,
    variables: BTreeSet<SymbolIndex>,
    /// Sections that it reaches and that name dynamic shared memory.
    dynamic: BTreeSet<SectionIndex>,
    /// Bytes of its own section of shared memory.
    own: u64,
}

impl SharedLayout {
    /// Lays out the shared memory of an object file.
    pub(super) fn of_object(cubin: &Cubin) -> Result<Self, CubinError> {
        let needs = needs(cubin)?;
        let mut layout = SharedLayout::default();
        layout.place_variables(cubin, &needs)?;
        layout.place_dynamic(cubin, &needs);
        layout.variables = needs.into_iter().map(|need| (need.kernel, need.variables)).collect();
        Ok(layout)
    }

    /// Offset of a variable; `None` if no kernel needs it.
    pub(super) fn place(&self, symbol: SymbolIndex) -> Option<u64> {
        self.places.get(&symbol).copied()
    }

    /// Offset of dynamic shared memory for the code of `section`.
    pub(super) fn dynamic(&self, section: SectionIndex) -> Option<u64> {
        self.dynamic.get(&section).copied()
    }

    /// Bytes of the kernel whose code is in `section`.
    pub(super) fn size(&self, section: SectionIndex) -> u64 {
        self.sizes.get(&section).copied().unwrap_or(0)
    }

    /// Whether the kernel whose code is in `section` needs this variable.
    pub(super) fn belongs(&self, symbol: SymbolIndex, section: SectionIndex) -> bool {
        self.variables.get(&section).is_some_and(|variables| variables.contains(&symbol))
    }

    /// Puts each variable behind all that its kernels have so far. What most kernels need comes first, so that
    /// little is left free before it.
    fn place_variables(&mut self, cubin: &Cubin, needs: &[Need]) -> Result<(), CubinError> {
        let mut kernels: BTreeMap<SymbolIndex, Vec<SectionIndex>> = BTreeMap::new();
        for need in needs {
            self.sizes.insert(need.kernel, 0);
            need.variables.iter().for_each(|&variable| kernels.entry(variable).or_default().push(need.kernel));
        }
        let mut order: Vec<_> = kernels.into_iter().collect();
        order.sort_by_key(|(variable, kernels)| {
            Reverse((kernels.len(), cubin.symbols[*variable].value, Reverse(*variable)))
        });
        for (variable, kernels) in order {
            let symbol = &cubin.symbols[variable];
            let malformed = |what: &str| {
                let offset = symbol.section.map_or(0, |section| cubin.sections[section].file_offset);
                CubinError::Malformed { offset, what: format!("shared variable `{}`: {what}", symbol.name) }
            };
            let align = symbol.value.max(1);
            if !align.is_power_of_two() {
                return Err(malformed("its alignment is no power of two"));
            }
            let taken = kernels.iter().map(|kernel| self.size(*kernel)).max().unwrap_or(0);
            let offset = taken.checked_next_multiple_of(align);
            let end = offset.and_then(|offset| offset.checked_add(symbol.size));
            let (Some(offset), Some(end)) = (offset, end) else { return Err(malformed("it does not fit")) };
            self.places.insert(variable, offset);
            self.sizes.extend(kernels.into_iter().map(|kernel| (kernel, end)));
        }
        Ok(())
    }

    /// Kernels that reach the same code that names dynamic shared memory have it at the same place.
    fn place_dynamic(&mut self, cubin: &Cubin, needs: &[Need]) {
        for need in needs {
            // A variable without a symbol still takes its bytes of the kernel's section.
            self.sizes.insert(need.kernel, self.size(need.kernel).max(need.own));
        }
        let align = self.places.keys().map(|&variable| cubin.symbols[variable].value).fold(DYNAMIC_ALIGN, u64::max);
        for group in groups(needs) {
            let most = group.iter().map(|need| self.size(need.kernel)).max().unwrap_or(0);
            let start = most.saturating_add(align - 1) / align * align;
            for need in group {
                self.sizes.insert(need.kernel, start);
                self.dynamic.extend(need.dynamic.iter().map(|&section| (section, start)));
            }
        }
    }
}

/// The kernels with dynamic shared memory, those together that have code in common which names it.
fn groups(needs: &[Need]) -> Vec<Vec<&Need>> {
    let mut groups: Vec<(BTreeSet<SectionIndex>, Vec<&Need>)> = Vec::new();
    for need in needs.iter().filter(|need| !need.dynamic.is_empty()) {
        let mut sections = need.dynamic.clone();
        let mut members = vec![need];
        let (joined, rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(other, _)| !other.is_disjoint(&need.dynamic));
        for (other, kernels) in joined {
            sections.extend(other);
            members.extend(kernels);
        }
        groups = rest;
        groups.push((sections, members));
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

/// What each kernel needs.
fn needs(cubin: &Cubin) -> Result<Vec<Need>, CubinError> {
    let uses = Uses::of(cubin);
    let reach = Reach::of(cubin);
    let mut left = MOST_NEEDS;
    let mut need = |kernel: SectionIndex| {
        let reached = reach.from(kernel);
        let own = uses.own_sections.get(&kernel).copied();
        let owned = own.and_then(|section| uses.defined.get(&section));
        let used = reached.iter().filter_map(|section| uses.variables.get(section));
        let variables: BTreeSet<SymbolIndex> = used.chain(owned).flatten().copied().collect();
        let dynamic: BTreeSet<SectionIndex> = reached.intersection(&uses.dynamic).copied().collect();
        left = left.checked_sub(variables.len() + dynamic.len()).ok_or_else(|| CubinError::Malformed {
            offset: cubin.sections[kernel].file_offset,
            what: "too many kernels with too many shared variables".to_owned(),
        })?;
        Ok(Need { kernel, variables, dynamic, own: own.map_or(0, |section| cubin.sections[section].size) })
    };
    cubin.kernels().map(|kernel| need(kernel.section)).collect()
}

/// Which sections name which shared memory.
#[derive(Default)]
struct Uses {
    /// Variables that each section names.
    variables: BTreeMap<SectionIndex, Vec<SymbolIndex>>,
    /// Sections that name dynamic shared memory.
    dynamic: BTreeSet<SectionIndex>,
    /// Variables of each section of shared memory.
    defined: BTreeMap<SectionIndex, Vec<SymbolIndex>>,
    /// The section `.nv.shared.K` of each kernel K, by the section of its code.
    own_sections: BTreeMap<SectionIndex, SectionIndex>,
}

impl Uses {
    fn of(cubin: &Cubin) -> Self {
        let mut uses = Uses::default();
        for relocation in &cubin.relocations {
            let symbol = &cubin.symbols[relocation.symbol];
            if shared_section(cubin, symbol).is_some() {
                uses.variables.entry(relocation.section).or_default().push(relocation.symbol);
            } else if is_dynamic_shared(symbol) {
                uses.dynamic.insert(relocation.section);
            }
        }
        for (index, symbol) in cubin.symbols.iter().enumerate() {
            if let Some(section) = shared_section(cubin, symbol) {
                uses.defined.entry(section).or_default().push(index);
            }
        }
        let shared = cubin.sections.iter().enumerate().filter(|(_, section)| section.kind == SectionKind::Shared);
        uses.own_sections = shared.filter_map(|(index, section)| Some((section.target?, index))).collect();
        uses
    }
}

/// Which sections lead to which: code to what it names, and data to what it holds addresses of.
struct Reach {
    next: Vec<Vec<SectionIndex>>,
    /// Code whose address is taken.
    address_taken: Vec<SectionIndex>,
    /// Code that calls through addresses.
    indirect: BTreeSet<SectionIndex>,
}

impl Reach {
    fn of(cubin: &Cubin) -> Self {
        let home = |symbol: &SymbolIndex| cubin.symbols[*symbol].section;
        let mut next = vec![Vec::new(); cubin.sections.len()];
        for relocation in &cubin.relocations {
            next[relocation.section].extend(home(&relocation.symbol));
        }
        for (index, section) in cubin.sections.iter().enumerate() {
            // Code reads the constants that are its own without naming them.
            if let (SectionKind::Constant { .. }, Some(code)) = (&section.kind, section.target) {
                next[code].push(index);
            }
        }
        let address_taken = cubin.address_taken.iter().filter_map(home).collect();
        Reach { next, address_taken, indirect: cubin.indirect_callers.iter().filter_map(home).collect() }
    }

    /// All sections that `start` leads to, itself too.
    fn from(&self, start: SectionIndex) -> BTreeSet<SectionIndex> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(section) = open.pop() {
            if reached.insert(section) {
                open.extend(&self.next[section]);
                if self.indirect.contains(&section) {
                    open.extend(&self.address_taken);
                }
            }
        }
        reached
    }
}

/// The section of a variable in shared memory.
fn shared_section(cubin: &Cubin, symbol: &Symbol) -> Option<SectionIndex> {
    let is_shared = |section: &SectionIndex| cubin.sections[*section].kind == SectionKind::Shared;
    symbol.section.filter(|section| symbol.kind == SymbolKind::Object && is_shared(section))
}

/// An `extern .shared` array without a size.
pub(super) fn is_dynamic_shared(symbol: &Symbol) -> bool {
    symbol.section.is_none() && !symbol.is_common && symbol.other & STO_CUDA_SHARED != 0 && symbol.size == 0
}
