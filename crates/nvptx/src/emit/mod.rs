//! Machine instructions to a PTX module.
//!
//! | file | what it makes |
//! |---|---|
//! | [`names`] | PTX names of symbols, parameters and results |

pub mod names;
