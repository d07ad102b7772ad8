//! The C functions as tests call them: memory of the right size, and what they answer.

// Each test takes what it needs of it.
#![allow(dead_code)]

use oriole_c::*;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// `y[i] = a * x[i] + y[i]`.
pub(crate) const SAXPY: &str = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {
    .reg .b64 %x, %y; .reg .b32 %i, %b, %s, %n; .reg .f32 %a, %v, %w; .reg .pred %p;
    ld.param.f32 %a, [a]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.u32 %i, %b, %s, %i;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mad.wide.u32 %x, %i, 4, %x; mad.wide.u32 %y, %i, 4, %y;
    ld.global.f32 %v, [%x]; ld.global.f32 %w, [%y];
    mul.f32 %v, %a, %v;
    add.f32 %w, %v, %w;
    st.global.f32 [%y], %w;
    ret;
}
";

/// A compiler that is destroyed at the end.
pub(crate) struct Compiler(pub(crate) orioleCompilerHandle);

impl Compiler {
    pub(crate) fn new(module: impl AsRef<[u8]>) -> Compiler {
        let mut handle = ptr::null_mut();
        let module = module.as_ref();
        // SAFETY: both pointers are to what they should be.
        let result = unsafe { orioleCompilerCreate(&mut handle, module.len(), module.as_ptr().cast()) };
        assert_eq!(result, orioleResult::ORIOLE_SUCCESS);
        Compiler(handle)
    }

    pub(crate) fn compile(&self, options: &[&str]) -> orioleResult {
        let options: Vec<CString> = options.iter().map(|option| CString::new(*option).expect("no zeros")).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: there are as many strings.
        unsafe { orioleCompilerCompile(self.0, pointers.len() as c_int, pointers.as_ptr()) }
    }

    pub(crate) fn program(&self) -> Result<Vec<u8>, orioleResult> {
        let mut size = 0;
        // SAFETY: a number can be written there.
        done(unsafe { orioleCompilerGetCompiledProgramSize(self.0, &mut size) })?;
        let mut bytes = vec![0; size];
        // SAFETY: there is as much room as was asked for.
        done(unsafe { orioleCompilerGetCompiledProgram(self.0, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    pub(crate) fn error_log(&self) -> String {
        // SAFETY: `log` gives a number's place and as much room as that says.
        log(
            |size| unsafe { orioleCompilerGetErrorLogSize(self.0, size) },
            |text| unsafe { orioleCompilerGetErrorLog(self.0, text) },
        )
    }

    pub(crate) fn info_log(&self) -> String {
        // SAFETY: the same.
        log(
            |size| unsafe { orioleCompilerGetInfoLogSize(self.0, size) },
            |text| unsafe { orioleCompilerGetInfoLog(self.0, text) },
        )
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // SAFETY: it is a place of a handle.
        unsafe { orioleCompilerDestroy(&mut self.0) };
    }
}

/// The cubin of a module that is right.
pub(crate) fn cubin(module: impl AsRef<[u8]>, options: &[&str]) -> Vec<u8> {
    let compiler = Compiler::new(module);
    assert_eq!(compiler.compile(options), orioleResult::ORIOLE_SUCCESS, "{}", compiler.error_log());
    compiler.program().expect("it was compiled")
}

pub(crate) fn done(result: orioleResult) -> Result<(), orioleResult> {
    if result == orioleResult::ORIOLE_SUCCESS { Ok(()) } else { Err(result) }
}

/// A log by its two functions. Behind its room stands a byte that must stay.
pub(crate) fn log(
    size_of: impl FnOnce(*mut usize) -> orioleResult,
    get: impl FnOnce(*mut c_char) -> orioleResult,
) -> String {
    let mut size = usize::MAX;
    assert_eq!(size_of(&mut size), orioleResult::ORIOLE_SUCCESS);
    let mut text = vec![0xaau8; size + 1];
    assert_eq!(get(text.as_mut_ptr().cast()), orioleResult::ORIOLE_SUCCESS);
    assert_eq!(text.pop(), Some(0xaa), "it writes more than it says");
    if size == 0 {
        return String::new();
    }
    CStr::from_bytes_with_nul(&text).expect("one zero, at its end").to_str().expect("UTF-8").to_owned()
}
