//! What an onlooker finds out about each function, on whichever thread it is compiled.

use oriole_ori::{Function, Module};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Findings by the functions' names.
pub(crate) struct ByFunction<T>(Mutex<BTreeMap<String, T>>);

impl<T> Default for ByFunction<T> {
    fn default() -> Self {
        ByFunction(Mutex::default())
    }
}

impl<T> ByFunction<T> {
    /// Change what is known of a function; `first` is what is known of one that is new.
    pub(crate) fn update(&self, func: &Function, first: impl FnOnce() -> T, change: impl FnOnce(&mut T)) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(found.entry(func.name().to_owned()).or_insert_with(first));
    }

    /// Put down what is known of a function.
    pub(crate) fn insert(&self, func: &Function, found: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(func.name().to_owned(), found);
    }

    /// All of it, in the order of the module's functions.
    pub(crate) fn take(&self, module: &Module) -> Vec<T> {
        let mut found = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        module.functions.values().filter_map(|func| found.remove(func.name())).collect()
    }
}
