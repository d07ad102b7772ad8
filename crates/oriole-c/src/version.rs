//! The library's version.

use crate::boundary::{guard, put};
use crate::result::orioleResult;
use std::ffi::c_uint;

/// The first number of the version of this header.
pub const ORIOLE_VERSION_MAJOR: u32 = 0;
/// The second number of the version of this header.
pub const ORIOLE_VERSION_MINOR: u32 = 1;
/// The third number of the version of this header.
pub const ORIOLE_VERSION_PATCH: u32 = 0;
/// The version of this header as one number: 10000 times the first, 100 times the second, and the third.
pub const ORIOLE_VERSION: u32 = 100;

/// The version of the library that runs, as `ORIOLE_VERSION` has that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn orioleGetVersion() -> u32 {
    ORIOLE_VERSION
}

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
        // SAFETY: what this function asks of its caller.
        unsafe {
            put(major, ORIOLE_VERSION_MAJOR)?;
            put(minor, ORIOLE_VERSION_MINOR)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_crate() {
        let numbers = [ORIOLE_VERSION_MAJOR, ORIOLE_VERSION_MINOR, ORIOLE_VERSION_PATCH];
        assert_eq!(numbers.map(|number| number.to_string()).join("."), env!("CARGO_PKG_VERSION"));
        assert_eq!(orioleGetVersion(), 10_000 * numbers[0] + 100 * numbers[1] + numbers[2]);
        assert!(numbers[1] < 100 && numbers[2] < 100);
    }
}
