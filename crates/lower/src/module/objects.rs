//! Textures, samplers and surfaces that the driver binds to names: `.texref`, `.samplerref`, `.surfref`.

use crate::abi;
use crate::error::{Lowered, unsupported};
use crate::module::context::{ModuleCx, linkage_of};
use oriole_ori::{Linkage, Object, ObjectKind, Symbol, SymbolKind};
use oriole_ptx::ast::{self, PropertyValue};

/// Words of a sampler's address mode, in the order of their numbers.
const ADDRESS_MODES: [&str; 5] = ["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"];
/// Words of a sampler's filter.
const FILTERS: [&str; 2] = ["nearest", "linear"];
/// Properties of samplers, with the byte of [`Object::modes`] that each has.
const MODES: [(&str, u32, &[&str]); 4] = [
    ("addr_mode_0", 0, &ADDRESS_MODES),
    ("addr_mode_1", 1, &ADDRESS_MODES),
    ("addr_mode_2", 2, &ADDRESS_MODES),
    ("filter_mode", 3, &FILTERS),
];

/// The object that a declaration makes.
fn object_of(variable: &ast::Variable, kind: ObjectKind) -> Object {
    let mut object = Object { kind, modes: u32::MAX, unnormalized: None };
    for property in variable.properties.iter().flatten() {
        match &property.value {
            PropertyValue::Int(value) if property.name == "force_unnormalized_coords" => {
                object.unnormalized = Some(*value != 0);
            }
            PropertyValue::Word(word) => {
                let row = MODES.iter().find(|(name, ..)| *name == property.name);
                let number = row.and_then(|(_, byte, words)| Some((byte, words.iter().position(|w| w == word)?)));
                if let Some((byte, number)) = number {
                    object.modes = object.modes & !(0xff << (8 * byte)) | (number as u32) << (8 * byte);
                }
            }
            PropertyValue::Int(_) => {}
        }
    }
    object
}

impl ModuleCx<'_> {
    /// The symbol of a variable that the driver binds.
    pub(super) fn object_variable(
        &mut self,
        variable: &ast::Variable,
        kind: ObjectKind,
        name: &str,
    ) -> Lowered<Symbol> {
        if !variable.dims.is_empty() {
            return Err(unsupported(variable.span, "an array of textures, samplers or surfaces"));
        }
        // Whoever declares it: it is the driver's.
        let linkage = match linkage_of(variable.linkage) {
            Linkage::Internal => Linkage::External,
            linkage => linkage,
        };
        Ok(self.out.add_symbol(name, linkage, SymbolKind::Object(object_of(variable, kind))))
    }

    /// The symbol of a parameter of the kernel `kernel`; kernels may have parameters of one name.
    pub(crate) fn object_parameter(
        &mut self,
        variable: &ast::Variable,
        kind: ObjectKind,
        name: &str,
        kernel: &str,
    ) -> Symbol {
        let own = format!("{kernel}${name}");
        let name = if self.out.symbol(name).is_some() { &own } else { name };
        self.out.add_symbol(name, Linkage::Internal, SymbolKind::Object(object_of(variable, kind)))
    }

    /// Byte offset in constant bank 0 of the word with the numbers of `objects`. The words lie behind the
    /// parameters of the kernel that has most of them, so that they have one place for all kernels.
    pub(crate) fn object_slot(&mut self, objects: &[Symbol]) -> u32 {
        let kernels = self.plan.wanted.iter().map(|&index| self.plan.functions[index]).filter(|f| f.is_entry);
        let bank0 = &self.arch().sm().bank0;
        let end = |kernel: &ast::Function| {
            let bytes = abi::layout(kernel, bank0).1;
            u64::from(bank0.parameters_of(bytes as u32)) + bytes.next_multiple_of(4)
        };
        let start = kernels.map(end).max().unwrap_or(0);
        self.out.object_slot(objects, u32::try_from(start).unwrap_or(u32::MAX))
    }

    /// The symbol of a number that the driver puts into code.
    pub(crate) fn driver_value(&mut self, name: &str) -> Symbol {
        let known = self.out.symbol(name);
        known.unwrap_or_else(|| self.out.add_symbol(name, Linkage::Weak, SymbolKind::DriverValue))
    }
}
