//! What an instruction on textures and surfaces names.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::lane::Lane;
use crate::layout::ObjectKind;
use crate::operand::Source;
use oriole_device::FaultKind;
use oriole_device::texture::{Image, Objects, Sampler};
use oriole_ptx::ast::{Address, AddressBase, Name, Operand, ScalarType};

/// A texture, surface or sampler.
#[derive(Clone, Debug)]
pub(in crate::exec) enum Handle {
    /// What a launch binds to a variable of the module.
    Variable {
        /// Its handle.
        source: Source,
        /// Its name.
        name: String,
        /// What it stands for.
        kind: ObjectKind,
    },
    /// A kernel parameter at this place.
    Parameter(u32),
    /// A 64-bit register.
    Register(Source),
}

impl Handle {
    /// What stands first in the brackets.
    pub(in crate::exec) fn of_base(address: &Address, builder: &mut Builder<'_, '_>) -> Result<Handle, Unsupported> {
        match address.base {
            AddressBase::Name(name) => Handle::of(name, &Operand::Name(name), builder),
            AddressBase::Element(name, part) => Handle::of(name, &Operand::Part(name, part), builder),
            AddressBase::Absolute | AddressBase::Item(..) => Err(form("a texture, sampler or surface")),
        }
    }

    /// What an operand names.
    pub(in crate::exec) fn of_operand(operand: &Operand, builder: &mut Builder<'_, '_>) -> Result<Handle, Unsupported> {
        match operand.name() {
            Some(name) => Handle::of(name, operand, builder),
            None => Ok(Handle::Register(builder.source(operand, ScalarType::U64)?)),
        }
    }

    fn of(name: Name, operand: &Operand, builder: &mut Builder<'_, '_>) -> Result<Handle, Unsupported> {
        if let Some((number, variable)) = builder.object(name) {
            let (name, kind) = (variable.name.clone(), variable.kind);
            return Ok(Handle::Variable { source: Source::Object(number), name, kind });
        }
        match builder.kernel_parameter(name) {
            Some(offset) => Ok(Handle::Parameter(offset)),
            None => Ok(Handle::Register(builder.source(operand, ScalarType::U64)?)),
        }
    }

    /// What a variable stands for.
    pub(in crate::exec) fn kind(&self) -> Option<ObjectKind> {
        match self {
            Handle::Variable { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// The low word, which has the number, in one lane.
    pub(in crate::exec) fn word(&self, lane: &Lane<'_, '_>) -> Result<u32, FaultKind> {
        match self {
            Handle::Variable { source, name, .. } => match lane.get(source) as u32 {
                0 => {
                    let rule = format!("nothing is bound to the texture, surface or sampler '{name}'");
                    Err(FaultKind::Misuse(rule))
                }
                word => Ok(word),
            },
            Handle::Register(source) => Ok(lane.get(source) as u32),
            Handle::Parameter(offset) => {
                let bytes = lane.env.resources.launch.params.get(*offset as usize..).unwrap_or_default();
                Ok(bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
            }
        }
    }

    /// The image, and how it is read with a sampler that stands beside it, if one does.
    pub(in crate::exec) fn object<'e>(
        &self,
        sampler: Option<&Handle>,
        lane: &Lane<'_, 'e>,
    ) -> Result<(&'e Image, &'e Sampler), FaultKind> {
        let word = self.word(lane)?;
        let sampler = sampler.map_or(Ok(0), |sampler| sampler.word(lane))?;
        let objects: &'e Objects = lane.env.resources.objects;
        let missing = || FaultKind::Misuse(format!("no texture or surface has the handle {word:#x}"));
        objects.lookup(word, sampler).ok_or_else(missing)
    }
}
