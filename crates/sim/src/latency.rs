//! shim
use oriole_isa::{Arch, Inst};
pub(crate) const GUARD: usize = usize::MAX;
pub(crate) fn is_variable(_: &Inst, _: Arch) -> bool {
    false
}
pub(crate) fn queue(_: &Inst, _: Arch) -> Option<usize> {
    None
}
pub(crate) fn waits_for(_: &Inst) -> Option<(u8, u8)> {
    None
}
pub(crate) fn covered_by_read(_: &Inst, _: usize) -> bool {
    false
}
pub(crate) fn raw(_: &Inst, _: usize, _: u8, _: &Inst, _: usize, _: u8, _: Arch) -> u8 {
    1
}
pub(crate) fn waw(_: &Inst, _: usize, _: &Inst, _: usize, _: Arch) -> u8 {
    1
}
pub(crate) fn war(_: &Inst, _: usize, _: &Inst, _: usize, _: Arch) -> u8 {
    1
}
