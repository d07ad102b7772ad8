//! Initial values of variables, as bytes.

use crate::layout::{self, Home, Layout, LayoutError};
use oriole_ptx::ast::{Imm, Init, Item, Module, Name, ScalarType, TypeClass, Variable};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half};

/// Puts the initial value of a placed variable into the layout.
pub(crate) fn fill(module: &Module, layout: &mut Layout, variable: &Variable) -> Result<(), LayoutError> {
    let (Some(init), Some(name)) = (&variable.init, variable.name) else { return Ok(()) };
    let Some(&home) = layout.homes.get(&layout::key(name)) else { return Ok(()) };
    let element = u64::from(variable.ty.bytes());
    let mut values = Vec::new();
    collect(module, layout, init, variable.ty, &mut values)?;
    let (contents, start) = match home {
        Home::Global(address) => (&mut layout.global, address - layout::global_base()),
        Home::Constant(offset) => (&mut layout.constants, offset),
        Home::Shared(_) | Home::DynamicShared | Home::Object(_) => return Ok(()),
    };
    for (index, bytes) in (0u64..).zip(values) {
        let at = index.checked_mul(element).and_then(|at| at.checked_add(start));
        let at = at.and_then(|at| usize::try_from(at).ok());
        let place = at.and_then(|at| contents.get_mut(at..)?.get_mut(..element as usize));
        let place = place.ok_or_else(|| {
            LayoutError(format!("the initial value of '{}' is longer than the variable", module.text(name)))
        })?;
        place.copy_from_slice(&bytes[..element as usize]);
    }
    Ok(())
}

/// Adds the elements of `init`, one behind the other: nested lists with fewer values than their dimension has leave
/// nothing between them, as with ptxas.
fn collect(
    module: &Module,
    layout: &Layout,
    init: &Init,
    ty: ScalarType,
    values: &mut Vec<[u8; 16]>,
) -> Result<(), LayoutError> {
    match init {
        Init::Imm(imm, _) => values.push(constant(*imm, ty).to_le_bytes()),
        Init::Text(text, _) => values.extend(text.bytes().map(|byte| u128::from(byte).to_le_bytes())),
        Init::Address { name, offset, generic, mask } => {
            let address = address(module, layout, *name, *generic)?.wrapping_add(*offset as u64);
            let value = mask.map_or(address, |mask| (address & mask) >> mask.trailing_zeros().min(63));
            values.push(u128::from(value).to_le_bytes());
        }
        Init::List(items, _) => {
            for item in items {
                collect(module, layout, item, ty, values)?;
            }
        }
    }
    Ok(())
}

/// The address of a variable or function of the module.
fn address(module: &Module, layout: &Layout, name: Name, generic: bool) -> Result<u64, LayoutError> {
    let functions = module.functions().zip(0..).filter(|(function, _)| function.name.sym == name.sym);
    if let Some((_, number)) = functions.max_by_key(|(function, _)| function.body.is_some()) {
        return Ok(layout::function_address(number));
    }
    let alias = module.items.iter().find_map(|item| match item {
        Item::Alias { name: alias, aliasee } if alias.sym == name.sym => Some(*aliasee),
        _ => None,
    });
    if let Some(aliasee) = alias.filter(|aliasee| aliasee.sym != name.sym) {
        return address(module, layout, aliasee, generic);
    }
    let variable = module.variables().filter_map(|variable| variable.name).find(|known| known.sym == name.sym);
    let home = variable.and_then(|known| layout.homes.get(&layout::key(known)));
    let addresses = home.and_then(|home| home.addresses());
    let (own, whole) = addresses.ok_or_else(|| {
        LayoutError(format!("an initial value needs the address of '{}', which is not known", module.text(name)))
    })?;
    Ok(if generic { whole } else { own })
}

/// The bits of a constant as a value of type `ty`.
pub(crate) fn constant(imm: Imm, ty: ScalarType) -> u128 {
    let bits = match (ty.class(), imm) {
        (TypeClass::Predicate, Imm::S64(_) | Imm::U64(_)) => u64::from(imm.int_bits() != Some(0)),
        (_, Imm::F32(bits)) if ty.bits() == 32 => u64::from(bits),
        (_, Imm::F32(_) | Imm::F64(_)) => match ty {
            ScalarType::F16 => narrowed::<Half>(imm) as u64,
            ScalarType::Bf16 => narrowed::<BFloat>(imm) as u64,
            _ if ty.bits() <= 32 => u64::from(imm.to_f32_bits()),
            _ => imm.to_f64_bits(),
        },
        (TypeClass::Float, _) if ty == ScalarType::F32 => u64::from(imm.to_f32_bits()),
        (TypeClass::Float, _) if ty == ScalarType::F64 => imm.to_f64_bits(),
        _ => imm.int_bits().unwrap_or(0),
    };
    // Of a 128-bit type a constant has the low half: its sign goes no further, as in ptxas's code.
    let wide = u128::from(bits);
    if ty.bits() >= 128 { wide } else { wide & ((1 << ty.bits()) - 1) }
}

/// A constant rounded to a shorter format.
fn narrowed<F: Float>(imm: Imm) -> u128
where
    Double: rustc_apfloat::FloatConvert<F>,
{
    use rustc_apfloat::FloatConvert;
    let mut loses = false;
    let double = Double::from_bits(u128::from(imm.to_f64_bits()));
    let value: F = double.convert(&mut loses).value;
    value.to_bits()
}
