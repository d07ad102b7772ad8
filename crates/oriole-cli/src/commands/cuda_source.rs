//! CUDA C++ given as an input: it has to become PTX first, and by whom is more use than the first syntax error.

use super::failure::Failure;
use super::files;
use std::path::Path;

const ADVICE: &str = "this is CUDA C++; Oriole compiles PTX and LLVM IR. What makes PTX of it:\n  \
                      clang++ --cuda-device-only --cuda-gpu-arch=sm_90 -O3 -S FILE.cu -o FILE.ptx\n  \
                      nvcc --ptx -arch=compute_90 FILE.cu -o FILE.ptx\n  \
                      NVRTC (libnvrtc): nvrtcCompileProgram, then nvrtcGetPTX\n\
                      LLVM IR: the same clang++ with -emit-llvm in front of -S";

/// Refuse a `.cu` file, unless what it holds is PTX all the same.
pub(super) fn refuse(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let is_named = path.extension().is_some_and(|extension| extension == "cu" || extension == "cuh");
    if is_named && !files::is_ptx(bytes) { Err(Failure::file(path, ADVICE)) } else { Ok(()) }
}
