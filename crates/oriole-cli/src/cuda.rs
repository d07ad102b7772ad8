//! The CUDA driver, loaded at run time where there is one.
//!
//! Only what `--engine gpu` of `oriole run` and `oriole tune` needs: one context, modules, buffers, launches and how long they take. The
//! driver's C interface is public (`cuda.h`); symbols carry the `_v2` suffix where the header
//! maps the plain name to it.

use libloading::Library;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;

/// A device address.
pub(crate) type DevicePointer = u64;

/// Why the driver did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriverError {
    /// No driver library on this machine.
    #[error("no CUDA driver was found: {0}")]
    NotFound(String),
    /// The library lacks a function that every driver since CUDA 11 has.
    #[error("the CUDA driver has no function {0}")]
    Symbol(&'static str),
    /// A call failed.
    #[error("{call}: {text} ({code})")]
    Call {
        /// The driver function.
        call: &'static str,
        /// `CUresult`.
        code: c_int,
        /// The driver's own words.
        text: String,
    },
    /// An image whose headers lead out of it.
    #[error("the image of {0} bytes is no whole ELF file")]
    Image(usize),
    /// A name with a zero byte.
    #[error("'{0}' is not a name")]
    Name(String),
}

/// Whether every table, section and segment that an ELF image describes lies within it.
pub(crate) fn is_whole(image: &[u8]) -> bool {
    // Reading the headers fails where a table ends outside.
    let Ok(file) = ElfFile64::<Endianness>::parse(image) else { return false };
    let length = image.len() as u64;
    let is_inside = |(offset, size): (u64, u64)| offset.checked_add(size).is_some_and(|end| end <= length);
    let mut sections = file.sections().filter_map(|section| section.file_range());
    let mut segments = file.segments().map(|segment| segment.file_range());
    sections.all(is_inside) && segments.all(is_inside)
}

/// Declares the driver functions that are used: field, symbol, C signature.
macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) -> c_int,)* }

        impl Functions {
            fn load(library: &Library) -> Result<Self, DriverError> {
                // SAFETY: the signatures are those of cuda.h for these symbols, and the function
                // pointers do not outlive the library: `Driver` owns both.
                unsafe {
                    Ok(Functions { $($field: *library.get($symbol.as_bytes()).map_err(|_| DriverError::Symbol($symbol))?,)* })
                }
            }
        }
    };
}

functions! {
    init = "cuInit" (c_uint);
    device_get = "cuDeviceGet" (*mut c_int, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain = "cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    set_current = "cuCtxSetCurrent" (*mut c_void);
    load_data = "cuModuleLoadData" (*mut *mut c_void, *const c_void);
    unload = "cuModuleUnload" (*mut c_void);
    get_function = "cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    get_global = "cuModuleGetGlobal_v2" (*mut u64, *mut usize, *mut c_void, *const c_char);
    function_attribute = "cuFuncSetAttribute" (*mut c_void, c_int, c_int);
    alloc = "cuMemAlloc_v2" (*mut u64, usize);
    free = "cuMemFree_v2" (u64);
    upload = "cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    download = "cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    launch = "cuLaunchKernel" (*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    synchronize = "cuCtxSynchronize" ();
    create_event = "cuEventCreate" (*mut *mut c_void, c_uint);
    record_event = "cuEventRecord" (*mut c_void, *mut c_void);
    await_event = "cuEventSynchronize" (*mut c_void);
    elapsed = "cuEventElapsedTime" (*mut f32, *mut c_void, *mut c_void);
    destroy_event = "cuEventDestroy_v2" (*mut c_void);
    error_string = "cuGetErrorString" (c_int, *mut *const c_char);
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;

/// The driver with its first device and a context on it.
pub(crate) struct Driver {
    functions: Functions,
    device: c_int,
    _library: Library,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("device", &self.device).finish_non_exhaustive()
    }
}

/// A loaded cubin.
#[derive(Debug)]
pub(crate) struct Module(*mut c_void);

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
}

impl Driver {
    /// Find the driver, start it and make a context on device 0.
    pub(crate) fn open() -> Result<Self, DriverError> {
        // SAFETY: loading the driver library runs its initialisers, which is what every CUDA program does.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(|e| DriverError::NotFound(e.to_string()))?;
        let mut driver = Driver { functions: Functions::load(&library)?, device: 0, _library: library };
        // SAFETY: the pointer is valid for writes; the calls are made in the order that the driver asks for.
        unsafe {
            driver.check("cuInit", (driver.functions.init)(0))?;
            let mut device = 0;
            driver.check("cuDeviceGet", (driver.functions.device_get)(&mut device, 0))?;
            driver.device = device;
        }
        driver.enter()?;
        Ok(driver)
    }

    /// Make the device's context that of the calling thread. All other calls are for threads that have done so.
    pub(crate) fn enter(&self) -> Result<(), DriverError> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointer is valid for writes. The context is the device's own, and stays until the process ends.
        unsafe {
            self.check("cuDevicePrimaryCtxRetain", (self.functions.retain)(&mut context, self.device))?;
            self.check("cuCtxSetCurrent", (self.functions.set_current)(context))
        }
    }

    /// Compute capability, such as 90.
    pub(crate) fn capability(&self) -> Result<u32, DriverError> {
        let mut parts = [0; 2];
        for (part, attribute) in parts.iter_mut().zip(CAPABILITY) {
            // SAFETY: `part` is valid for writes.
            let code = unsafe { (self.functions.device_attribute)(part, attribute, self.device) };
            self.check("cuDeviceGetAttribute", code)?;
        }
        Ok((parts[0] * 10 + parts[1]).unsigned_abs())
    }

    /// Load a cubin.
    pub(crate) fn load(&self, cubin: &[u8]) -> Result<Module, DriverError> {
        if !is_whole(cubin) {
            return Err(DriverError::Image(cubin.len()));
        }
        let mut module = std::ptr::null_mut();
        // SAFETY: the call takes no length: the driver reads what the image's headers describe, and all of that lies
        // within the image.
        let code = unsafe { (self.functions.load_data)(&mut module, cubin.as_ptr().cast()) };
        self.check("cuModuleLoadData", code).map(|()| Module(module))
    }

    /// A zeroed or filled device buffer.
    pub(crate) fn buffer(&self, bytes: &[u8]) -> Result<DevicePointer, DriverError> {
        let mut address = 0;
        // SAFETY: `address` is valid for writes.
        self.check("cuMemAlloc", unsafe { (self.functions.alloc)(&mut address, bytes.len().max(1)) })?;
        self.upload(address, bytes).map(|()| address)
    }

    /// Copy to the device.
    pub(crate) fn upload(&self, address: DevicePointer, bytes: &[u8]) -> Result<(), DriverError> {
        // SAFETY: the source is valid for `bytes.len()` reads; the driver checks the device range.
        let code = unsafe { (self.functions.upload)(address, bytes.as_ptr().cast(), bytes.len()) };
        self.check("cuMemcpyHtoD", code)
    }

    /// Copy from the device.
    pub(crate) fn download(&self, address: DevicePointer, bytes: &mut [u8]) -> Result<(), DriverError> {
        // SAFETY: the destination is valid for `bytes.len()` writes; the driver checks the device range.
        let code = unsafe { (self.functions.download)(bytes.as_mut_ptr().cast(), address, bytes.len()) };
        self.check("cuMemcpyDtoH", code)
    }

    /// Address and size of a module variable.
    pub(crate) fn global(&self, module: &Module, name: &str) -> Result<(DevicePointer, usize), DriverError> {
        let c_name = CString::new(name).map_err(|_| DriverError::Name(name.to_owned()))?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: the out pointers are valid for writes and the name is terminated.
        let code = unsafe { (self.functions.get_global)(&mut address, &mut size, module.0, c_name.as_ptr()) };
        self.check("cuModuleGetGlobal", code).map(|()| (address, size))
    }

    /// Give a buffer back.
    pub(crate) fn free(&self, address: DevicePointer) -> Result<(), DriverError> {
        // SAFETY: the driver knows its addresses, and no launch is under way that could use this one.
        self.check("cuMemFree", unsafe { (self.functions.free)(address) })
    }

    /// Give a module back.
    pub(crate) fn unload(&self, module: Module) -> Result<(), DriverError> {
        // SAFETY: the handle is `load`'s and nobody else's, and no launch of it is under way.
        self.check("cuModuleUnload", unsafe { (self.functions.unload)(module.0) })
    }

    /// Launch a kernel and wait for it. `parameters` holds one value's bytes per kernel parameter.
    pub(crate) fn launch(
        &self,
        module: &Module,
        kernel: &str,
        shape: Shape,
        parameters: &mut [Vec<u8>],
    ) -> Result<(), DriverError> {
        let function = self.function(module, kernel, shape)?;
        self.start(function, shape, parameters)?;
        // SAFETY: the call has no arguments.
        self.check("cuCtxSynchronize", unsafe { (self.functions.synchronize)() })
    }

    /// The same, and how many nanoseconds the device took, by its own clock.
    pub(crate) fn time(
        &self,
        module: &Module,
        kernel: &str,
        shape: Shape,
        parameters: &mut [Vec<u8>],
    ) -> Result<u64, DriverError> {
        const NANOSECONDS_OF_A_MILLISECOND: f32 = 1e6;
        let function = self.function(module, kernel, shape)?;
        let (before, behind) = (self.event()?, self.event()?);
        let stream = std::ptr::null_mut();
        let mut milliseconds = 0.0;
        let mut timed = || {
            // SAFETY: the events are ours, and the pointer is valid for writes.
            unsafe {
                self.check("cuEventRecord", (self.functions.record_event)(before, stream))?;
                self.start(function, shape, parameters)?;
                self.check("cuEventRecord", (self.functions.record_event)(behind, stream))?;
                self.check("cuEventSynchronize", (self.functions.await_event)(behind))?;
                self.check("cuEventElapsedTime", (self.functions.elapsed)(&mut milliseconds, before, behind))
            }
        };
        let result = timed();
        for event in [before, behind] {
            // SAFETY: the events are ours and not used again.
            self.check("cuEventDestroy", unsafe { (self.functions.destroy_event)(event) })?;
        }
        result.map(|()| (milliseconds * NANOSECONDS_OF_A_MILLISECOND) as u64)
    }

    fn event(&self) -> Result<*mut c_void, DriverError> {
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is valid for writes.
        self.check("cuEventCreate", unsafe { (self.functions.create_event)(&mut event, 0) }).map(|()| event)
    }

    /// A kernel that may have the dynamic shared memory of the shape.
    fn function(&self, module: &Module, kernel: &str, shape: Shape) -> Result<*mut c_void, DriverError> {
        let name = CString::new(kernel).map_err(|_| DriverError::Name(kernel.to_owned()))?;
        let mut function = std::ptr::null_mut();
        let limit = c_int::try_from(shape.shared).unwrap_or(c_int::MAX);
        // SAFETY: the pointer is valid for writes, and the name is terminated.
        unsafe {
            self.check("cuModuleGetFunction", (self.functions.get_function)(&mut function, module.0, name.as_ptr()))?;
            if shape.shared > 0 {
                let code = (self.functions.function_attribute)(function, MAX_DYNAMIC_SHARED, limit);
                self.check("cuFuncSetAttribute", code)?;
            }
        }
        Ok(function)
    }

    /// Launch without waiting.
    fn start(&self, function: *mut c_void, shape: Shape, parameters: &mut [Vec<u8>]) -> Result<(), DriverError> {
        let mut pointers: Vec<*mut c_void> = parameters.iter_mut().map(|p| p.as_mut_ptr().cast()).collect();
        let Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared } = shape;
        let (stream, extra) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: `pointers` holds a pointer per parameter, each to that parameter's bytes, and lives through the call, which
        // copies them.
        let code = unsafe {
            (self.functions.launch)(function, gx, gy, gz, bx, by, bz, shared, stream, pointers.as_mut_ptr(), extra)
        };
        self.check("cuLaunchKernel", code)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), DriverError> {
        if code == 0 {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver writes a pointer to a static string, or leaves null for an unknown code.
        let text = unsafe {
            (self.functions.error_string)(code, &mut text);
            if text.is_null() {
                "unknown error".to_owned()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        Err(DriverError::Call { call, code, text })
    }
}

#[cfg(test)]
mod tests {
    use super::is_whole;

    /// Cut anywhere, the headers of a cubin lead out of it; whole, they do not.
    #[test]
    fn images_that_are_cut_are_found() {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
        let cubin =
            oriole_codegen::compile(ptx, &oriole_codegen::CompileOptions::default()).expect("it compiles").cubin;
        assert!(is_whole(&cubin));
        for length in 0..cubin.len() {
            assert!(!is_whole(&cubin[..length]), "{length} of {}", cubin.len());
        }
        // The size of a section, the sixth field of its header: the headers come last but for the segments'.
        let mut wrong = cubin.clone();
        let at = u64::from_le_bytes(wrong[40..48].try_into().expect("eight bytes")) as usize + 64 + 32;
        wrong[at + 4] = 1;
        assert!(!is_whole(&wrong));
    }
}
