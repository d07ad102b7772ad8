//! The runtime library of CuTe DSL's host code, as part of this module: `CUTE_DSL_LIBS` names the file.
//!
//! Host code that the DSL compiles calls functions of these names (those that the `libcute_dsl_runtime.so` of nvidia-cutlass-dsl
//! 4.8.1 exports, in front of CUDA's). What they do is in `python/oriole_gpu/_cute_runtime.py`: each goes on to the handler that was
//! put in ([`cute_handle`]). One without a handler says its name and answers with an error.
#![expect(unsafe_code, reason = "functions of C, called by machine code")]

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `cudaErrorNotSupported`.
const NOT_SUPPORTED: usize = 801;
/// Its name, for functions that answer with one.
const NOT_SUPPORTED_NAME: &std::ffi::CStr = c"cudaErrorNotSupported";

/// What a function without a handler answers: the name of an error where a name is expected, else the error.
fn refuse(name: &str) -> usize {
    eprintln!("oriole_gpu.cute: the simulator does not support {name} of CuTe DSL's runtime library");
    match name.ends_with("Name") || name.ends_with("String") || name.ends_with("_name") {
        true => NOT_SUPPORTED_NAME.as_ptr() as usize,
        false => NOT_SUPPORTED,
    }
}

macro_rules! functions {
    ($($kind:ident $arguments:tt: $($name:ident,)*;)*) => {
        $(
            functions!(@handler $kind $arguments);
            $(functions!(@function $kind $arguments $name);)*
        )*

        /// By function: the address of its handler, or 0.
        #[expect(non_upper_case_globals, reason = "the functions' names")]
        mod handlers {
            use super::AtomicUsize;
            $($(pub(super) static $name: AtomicUsize = AtomicUsize::new(0);)*)*
        }

        /// All functions: name, words that the handler takes, and where the handler stands.
        static FUNCTIONS: &[(&str, usize, &AtomicUsize)] =
            &[$($((stringify!($name), functions!(@count $arguments), &handlers::$name),)*)*];
    };
    (@handler $kind:ident ($($argument:ident),*)) => {
        /// A handler: all that C passes in general registers, and behind these on the stack, each in a word.
        type $kind = extern "C" fn($(functions!(@word $argument)),*) -> usize;
    };
    (@function $kind:ident ($($argument:ident),*) $name:ident) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: usize),*) -> usize {
            match handlers::$name.load(Ordering::Acquire) {
                0 => refuse(stringify!($name)),
                handler => {
                    // SAFETY: whoever put the handler in has promised that it is such a function, for good.
                    let handler = unsafe { std::mem::transmute::<usize, $kind>(handler) };
                    handler($($argument),*)
                }
            }
        }
    };
    (@count ($($argument:ident),*)) => { [$(stringify!($argument)),*].len() };
    (@word $argument:ident) => { usize };
}

functions! {
    Narrow (a, b, c, d, e, f):
        CuteDSLRT_Function_Run,
        CuteDSLRT_Module_Create_From_Bytes,
        CuteDSLRT_Module_Destroy,
        CuteDSLRT_Module_Get_Function,
        CuteDSLRT_NvJaxCutlassCallExecute,
        CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph,
        CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph_v1,
        CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph_v2,
        CuteDSLRT_NvJaxCutlassCallExecute_v1,
        CuteDSLRT_NvJaxCutlassCallExecute_v2,
        CuteDSLRT_NvJaxCutlassCallInstantiate_v2,
        CuteDSLRT_NvJaxCutlassCallPrepare,
        CuteDSLRT_NvJaxCutlassCallPrepare_v1,
        CuteDSLRT_NvJaxCutlassCallPrepare_v2,
        CuteDSLRT_NvJaxCutlassCallStateTypeId_v2,
        CuteDSLRT_NvJaxCutlassCallStateTypeInfo_v2,
        CuteDSLRT_TVMFFISetRaisedCudaError,
        CuteDSLRT_TVMFFISetRaisedCudaLaunchError,
        _cuDeviceGet,
        _cuKernelGetAttribute,
        _cuLibraryGetGlobal,
        _cuLibraryGetKernel,
        _cuLibraryGetKernelCount,
        _cuLibraryGetManaged,
        _cuLibraryGetModule,
        _cuLibraryGetUnifiedFunction,
        _cuLibraryLoadData,
        _cuLibraryLoadFromFile,
        _cuLibraryUnload,
        _cudaDeviceGetAttribute,
        _cudaDeviceSynchronize,
        _cudaEventCreate,
        _cudaEventDestroy,
        _cudaEventElapsedTime,
        _cudaEventRecord,
        _cudaFree,
        _cudaFreeAsync,
        _cudaFreeHost,
        _cudaFuncSetAttribute,
        _cudaGetDevice,
        _cudaGetDeviceCount,
        _cudaGetDeviceProperties,
        _cudaGraphDestroy,
        _cudaGraphExecDestroy,
        _cudaGraphInstantiate,
        _cudaGraphLaunch,
        _cudaKernelSetAttributeForDevice,
        _cudaLaunchKernelEx,
        _cudaLibraryGetGlobal,
        _cudaLibraryGetKernel,
        _cudaLibraryGetKernelCount,
        _cudaLibraryGetManaged,
        _cudaLibraryGetUnifiedFunction,
        _cudaLibraryLoadData,
        _cudaLibraryLoadFromFile,
        _cudaLibraryUnload,
        _cudaMalloc,
        _cudaMallocAsync,
        _cudaMallocHost,
        _cudaMallocManaged,
        _cudaMemcpy,
        _cudaMemcpyAsync,
        _cudaMemset,
        _cudaMemsetAsync,
        _cudaOccupancyMaxActiveBlocksPerMultiprocessor,
        _cudaProfilerStart,
        _cudaProfilerStop,
        _cudaSetDevice,
        _cudaStreamAddCallback,
        _cudaStreamBeginCapture,
        _cudaStreamCreate,
        _cudaStreamDestroy,
        _cudaStreamEndCapture,
        _cudaStreamSynchronize,
        _cudaStreamWaitEvent,
        cuda_dialect_assert_success,
        cuda_dialect_init_library_once,
        cuda_dialect_print_on_error,
        cuda_dialect_unload_library_once,
        CuteDSLRT_GetErrorName,
        CuteDSLRT_GetErrorString,
        cuda_dialect_get_error_name,
    ;
    Wide (a, b, c, d, e, f, g, h, i, j, k, l):
        _cuTensorMapEncodeTiled,
        _cudaLaunchKernel,
    ;
}

/// The functions of the library: name, and how many words its handler takes.
#[pyfunction]
pub(crate) fn cute_functions() -> Vec<(&'static str, usize)> {
    FUNCTIONS.iter().map(|&(name, words, _)| (name, words)).collect()
}

/// Puts in the handler of a function: the address of a C function that takes its words and stays for good. `ValueError` if there is
/// no such function.
#[pyfunction]
pub(crate) fn cute_handle(name: &str, handler: usize) -> PyResult<()> {
    let function = FUNCTIONS.iter().find(|(known, ..)| *known == name);
    let (.., place) = function.ok_or_else(|| PyValueError::new_err(format!("the library has no function {name}")))?;
    place.store(handler, Ordering::Release);
    Ok(())
}
