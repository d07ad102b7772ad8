//! Lists and entries of the generated tables, named by place. A table that held addresses would have to be relocated
//! whenever the program starts.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A type with a generated table that all its lists share.
pub(crate) trait Pooled: Sized + 'static {
    /// The table.
    fn pool() -> &'static [Self];
}

/// Neighbours in the table of `T`.
pub(crate) struct Run<T> {
    start: u16,
    len: u16,
    of: PhantomData<fn() -> T>,
}

/// One entry of the table of `T`.
pub(crate) struct At<T> {
    at: u16,
    of: PhantomData<fn() -> T>,
}

impl<T> Run<T> {
    pub(super) const fn new(start: u16, len: u16) -> Run<T> {
        Run { start, len, of: PhantomData }
    }
}

impl<T> At<T> {
    pub(super) const fn new(at: u16) -> At<T> {
        At { at, of: PhantomData }
    }
}

impl<T: Pooled> Deref for Run<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let start = usize::from(self.start);
        &T::pool()[start..start + usize::from(self.len)]
    }
}

impl<T: Pooled> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &T::pool()[usize::from(self.at)]
    }
}

impl<T> Clone for Run<T> {
    fn clone(&self) -> Run<T> {
        *self
    }
}

impl<T> Copy for Run<T> {}

impl<T: Pooled + fmt::Debug> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl<T: Pooled + fmt::Debug> fmt::Debug for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A name in the text that the generated names share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    pub(super) start: u16,
    pub(super) len: u8,
}
