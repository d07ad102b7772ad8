//! The library's version.

use crate::boundary::{guard, put};
use crate::result::orioleResult;
use std::ffi::c_uint;

/// The library's version.
///
/// `major`, `minor`: where its numbers go.
///
/// Errors: `ORIOLE_ERROR_INVALID_INPUT` where one of them is null; then neither is written.
///
/// # Safety
/// Each pointer is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetVersion(major: *mut c_uint, minor: *mut c_uint) -> orioleResult {
    guard(|| {
        if minor.is_null() {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // Cargo gives the numbers as decimal digits.
        let number = |digits: &str| digits.parse().map_err(|_| orioleResult::ORIOLE_ERROR_INTERNAL);
        // SAFETY: what this function asks of its caller.
        unsafe {
            put(major, number(env!("CARGO_PKG_VERSION_MAJOR"))?)?;
            put(minor, number(env!("CARGO_PKG_VERSION_MINOR"))?)
        }
    })
}
