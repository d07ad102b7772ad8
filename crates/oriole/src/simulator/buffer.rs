//! Buffers of the host.

/// Memory of the host that is no slice of Rust's, such as a buffer of another language, which others may hold as well. Its bytes
/// are copied to device memory before a launch, and back behind it: there is no further copy
/// ([`KernelLaunch::buffer`](crate::KernelLaunch::buffer)).
pub trait HostBuffer: Send + Sync {
    /// How many bytes it has, always the same.
    fn size(&self) -> usize;

    /// Gives all of its bytes to `device`, once, before the launch.
    fn read(&self, device: &mut dyn FnMut(&[u8]));

    /// Has `device` write all of its bytes, once, behind a launch that came to its end.
    fn write(&mut self, device: &mut dyn FnMut(&mut [u8]));
}

/// Which way the bytes of a [`HostBuffer`] go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the device. What the kernel writes is lost.
    In,
    /// From the device, where the kernel finds zeros.
    Out,
    /// There and back.
    InOut,
}

/// A slice that is only read.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl HostBuffer for Input<'_> {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn read(&self, device: &mut dyn FnMut(&[u8])) {
        device(self.0);
    }

    fn write(&mut self, _: &mut dyn FnMut(&mut [u8])) {}
}

/// A slice that is written.
pub(super) struct Output<'a>(pub(super) &'a mut [u8]);

impl HostBuffer for Output<'_> {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn read(&self, device: &mut dyn FnMut(&[u8])) {
        device(self.0);
    }

    fn write(&mut self, device: &mut dyn FnMut(&mut [u8])) {
        device(self.0);
    }
}
