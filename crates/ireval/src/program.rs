//! A module in memory: its variables with their initial values.

use crate::fault::Fault;
use crate::memory::Memory;
use crate::value::Value;
use crate::{constant, layout};
use cranelift_entity::EntityRef;
use oriole_nvptx::ir::{AddressSpace, Module, SymbolId, SymbolKind, Variable};

/// Where addresses of functions start: beside all windows of memory.
const CODE: u64 = 0x0800_0000_0000;

/// Bytes from one function to the next.
const CODE_STEP: u64 = 16;

/// The function at an address.
pub(crate) fn function_at(module: &Module, address: u64) -> Option<SymbolId> {
    let offset = address.checked_sub(CODE)?;
    let index = usize::try_from(offset / CODE_STEP).ok()?;
    let known = offset % CODE_STEP == 0 && index < module.symbols.len();
    let symbol = known.then(|| SymbolId::new(index))?;
    module.symbols[symbol].function().map(|_| symbol)
}

impl Memory {
    /// The memory that a program starts with: its variables. Shared variables without a size of their own have
    /// `dynamic_shared` bytes.
    ///
    /// # Errors
    ///
    /// A variable that cannot be laid out.
    pub fn for_module(module: &Module, dynamic_shared: u64) -> Result<Memory, Fault> {
        let mut memory = Memory::default();
        memory.symbols = vec![0; module.symbols.len()];
        for (id, symbol) in &module.symbols {
            memory.symbols[id.index()] = match &symbol.kind {
                SymbolKind::Variable(variable) if !symbol.name.starts_with("llvm.") => {
                    let own = variable_space(symbol.space);
                    let size = module.layout.size(&module.types, variable.ty);
                    let external = variable.init.is_none() && own == AddressSpace::SHARED;
                    let size = if external { size.max(dynamic_shared) } else { size };
                    let align = symbol.align.max(module.layout.align(&module.types, variable.ty));
                    memory.reserve(own, size, u64::from(align), false)?
                }
                SymbolKind::Function(_) => CODE + id.index() as u64 * CODE_STEP,
                _ => 0,
            };
        }
        for (id, symbol) in &module.symbols {
            if let SymbolKind::Alias(alias) = &symbol.kind
                && let Value::Bits(address) = constant::value(module, &memory, alias.target)?
            {
                memory.symbols[id.index()] = address as u64;
            }
        }
        for (id, symbol) in &module.symbols {
            if let Some(variable) = symbol.variable().filter(|_| !symbol.name.starts_with("llvm.")) {
                memory.initialise(module, variable, variable_space(symbol.space), id)?;
            }
        }
        Ok(memory)
    }

    fn initialise(
        &mut self,
        module: &Module,
        variable: &Variable,
        space: AddressSpace,
        id: SymbolId,
    ) -> Result<(), Fault> {
        let address = self.symbols[id.index()];
        if let Some(init) = variable.init
            && !module.constants.is_undef(init)
        {
            if module.constants.is_zero(init) {
                let size = module.layout.size(&module.types, variable.ty) as usize;
                self.write(space, address, &vec![0; size], &vec![crate::memory::State::KNOWN; size])?;
            } else {
                let value = constant::value(module, self, init)?;
                layout::store(module, self, variable.ty, &value, space, address)?;
            }
        }
        if variable.constant && variable.init.is_some() {
            self.protect(space, address);
        }
        Ok(())
    }

    /// The address of a variable or function, in its own space.
    #[must_use]
    pub fn address_of(&self, symbol: SymbolId) -> Option<u64> {
        self.symbols.get(symbol.index()).copied()
    }
}

/// The space in which a variable lies; one of the generic space lies in global memory.
fn variable_space(space: AddressSpace) -> AddressSpace {
    if space == AddressSpace::GENERIC { AddressSpace::GLOBAL } else { space }
}
