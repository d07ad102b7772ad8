//! The compiler's functions: results, logs, options, and inputs that mean no good.

use crate::common::{Compiler, SAXPY, cubin};
use oriole_c::*;
use std::ffi::{CStr, c_char};
use std::{ptr, thread};

use orioleResult::*;

const LLVM: &str = "; ModuleID = 'store'
target triple = \"nvptx64-nvidia-cuda\"
define ptx_kernel void @store(ptr addrspace(1) %out, float %a, float %b) {
  %product = fmul contract float %a, %b
  %sum = fadd contract float %product, %a
  store float %sum, ptr addrspace(1) %out
  ret void
}
";

/// Reads so many values that all live at once, behind which they are written.
fn many_values(count: usize) -> String {
    let mut text =
        String::from(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry many(.param .u64 p) {\n");
    text.push_str(&format!(".reg .b64 %p; .reg .b32 %v<{count}>;\nld.param.u64 %p, [p];\n"));
    text.extend((0..count).map(|i| format!("ld.volatile.global.u32 %v{i}, [%p+{}];\n", 4 * i)));
    text.extend((0..count).map(|i| format!("st.volatile.global.u32 [%p+{}], %v{i};\n", 4 * (count - 1 - i))));
    text.push_str("ret;\n}\n");
    text
}

/// LLVM IR with many functions, each with much to do.
fn many_functions() -> String {
    let function = |number: u32| {
        let sums = (1..200).map(|at| format!("  %v{at} = add i32 %v{}, %v{}\n", at - 1, at / 2));
        format!(
            "define ptx_kernel void @f{number}(ptr addrspace(1) %p) {{\n  %v0 = load i32, ptr addrspace(1) %p\n{}  store i32 \
             %v199, ptr addrspace(1) %p\n  ret void\n}}\n",
            sums.collect::<String>()
        )
    };
    format!("target triple = \"nvptx64-nvidia-cuda\"\n{}", (0..20).map(function).collect::<String>())
}

#[test]
fn the_cubin_is_that_of_the_rust_library() {
    let builder = || oriole::Compiler::builder().target("sm_90").file_name("input.ptx");
    let cases = [
        (&[][..], builder()),
        (&["-O0"], builder().opt_level(0)),
        (&["--opt-level", "1"], builder().opt_level(1)),
        (&["-O", "1"], builder().opt_level(1)),
        (&["--opt-level 2", "-v", "--verbose=false"], builder().opt_level(2)),
        (&["-O4"], builder()),
        (&["-maxrregcount=24"], builder().max_registers(24)),
        (&["-lineinfo"], builder().debug_info(oriole::DebugInfo::Lines)),
        (&["-g"], builder().debug_info(oriole::DebugInfo::Full).opt_level(0)),
        (&["-c"], builder().relocatable(true)),
        (&["--fmad=false"], builder().knob("contract", 0)),
        (&["--entry=saxpy", "-Ofc=max"], builder().entry("saxpy").fast_compile(oriole::FastCompile::Max)),
        (&["--split-compile=0"], builder()),
    ];
    for (options, builder) in cases {
        let expected = builder.build().expect("settings").compile_ptx(SAXPY).expect("it compiles");
        let options: Vec<&str> = ["-arch", "sm_90"].iter().chain(options).copied().collect();
        assert_eq!(cubin(SAXPY, &options), expected.cubin.as_bytes(), "{options:?}");
    }
    let fused = |options: &[&str]| oriole::disassemble(&cubin(SAXPY, options)).expect("a cubin").contains("FFMA");
    assert_eq!([fused(&[]), fused(&["--fmad=false"])], [true, false]);
}

#[test]
fn llvm_ir_is_taken_as_well() {
    let compiler = oriole::Compiler::builder().target("sm_80").file_name("input.ll").build().expect("settings");
    let expected = compiler.compile_llvm(LLVM).expect("it compiles");
    assert_eq!(cubin(LLVM, &["-arch=sm_80"]), expected.cubin.as_bytes());
    assert_eq!(cubin(format!("{LLVM}\0"), &["-arch=sm_80"]), expected.cubin.as_bytes());
    let unfused = oriole::disassemble(&cubin(LLVM, &["-arch=sm_80", "-fmad=false"])).expect("a cubin");
    assert!(!unfused.contains("FFMA"), "{unfused}");
    let wrong = Compiler::new(LLVM.replace("fadd", "fadx"));
    assert_eq!(wrong.compile(&[]), ORIOLE_ERROR_COMPILATION_FAILURE);
    assert!(wrong.error_log().contains("input.ll:5"), "{}", wrong.error_log());
}

#[test]
fn the_info_log_has_registers_spills_and_warnings() {
    let compiler = Compiler::new(many_values(60));
    assert_eq!(compiler.compile(&["-v"]), ORIOLE_SUCCESS);
    let log = compiler.info_log();
    let library = oriole::Compiler::builder().build().expect("settings");
    assert_eq!(log, library.compile_ptx(&many_values(60)).expect("it compiles").log);
    for part in ["Compiling entry function 'many' for 'sm_90'", "0 bytes spill stores", "Used 6", "used 0 barriers"] {
        assert!(log.contains(part), "{part} in\n{log}");
    }
    let limit = "-maxrregcount=24";
    assert_eq!(compiler.compile(&[limit]), ORIOLE_SUCCESS);
    assert_eq!(compiler.info_log(), "");
    assert_eq!(compiler.compile(&[limit, "-warn-spills", "-v"]), ORIOLE_SUCCESS);
    let log = compiler.info_log();
    assert!(log.starts_with("warning: Registers are spilled to local memory in function 'many', "), "{log}");
    assert!(log.contains("Used 24 registers"), "{log}");
    assert_eq!(compiler.compile(&[limit, "-warn-spills", "-w", "-Werror"]), ORIOLE_SUCCESS);
    assert_eq!(compiler.info_log(), "");
    assert_eq!(compiler.compile(&[limit, "-warn-lmem-usage", "-Werror"]), ORIOLE_ERROR_COMPILATION_FAILURE);
    assert!(compiler.error_log().starts_with("error: Local memory used for function 'many', "));
    assert_eq!(compiler.program(), Err(ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE));
}

#[test]
fn errors_of_the_module_are_shown_with_their_lines() {
    let compiler = Compiler::new(SAXPY.replace("add.f32", "add.f33"));
    assert_eq!(compiler.compile(&["-v"]), ORIOLE_ERROR_COMPILATION_FAILURE);
    let log = compiler.error_log();
    assert!(log.contains("input.ptx:13:") && log.contains("add.f33"), "{log}");
    assert_eq!(compiler.info_log(), "");
    assert_eq!(compiler.program(), Err(ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE));

    let unknown = Compiler::new(SAXPY.replace(".version 8.0", ".version 99.9"));
    assert_eq!(unknown.compile(&[]), ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION, "{}", unknown.error_log());
    assert!(unknown.error_log().contains("99.9"), "{}", unknown.error_log());
    // Here the version exists, and is too low for something else.
    let old = Compiler::new(SAXPY.replace(".version 8.0", ".version 6.0"));
    assert_eq!(old.compile(&[]), ORIOLE_ERROR_COMPILATION_FAILURE, "{}", old.error_log());

    let compiler = Compiler::new(SAXPY);
    assert_eq!(compiler.compile(&["--entry=daxpy"]), ORIOLE_ERROR_COMPILATION_FAILURE);
    assert_eq!(compiler.error_log(), "error: Unknown function daxpy\n");
}

#[test]
fn options_are_refused_by_name() {
    let compiler = Compiler::new(SAXPY);
    let of_the_command = "is not supported: a library reads no files, writes none and prints nothing";
    let cases = [
        (&["--gpu-name=sm_1"][..], "Value 'sm_1' is not defined for option 'gpu-name'".to_owned()),
        (&["-arch=compute_90"], "Value 'compute_90' is not defined for option 'gpu-name'".to_owned()),
        (&["-Oll"], "'ll': expected a number".to_owned()),
        (&["--maxrregcount"], "argument expected after '--maxrregcount'".to_owned()),
        (&["--maxrregcount=many"], "Invalid value 'many' for option 'maxrregcount'".to_owned()),
        (&["-fmad no"], "'no': expected true or false".to_owned()),
        (&["-v=2"], "no argument expected after '-v'".to_owned()),
        (&["-g", "-O3"], "Optimized debugging not supported".to_owned()),
        (&["--frobnicate"], "Unknown option '-frobnicate'".to_owned()),
        (&["input.ptx"], "Unknown option 'input.ptx'".to_owned()),
        (&[""], "Unknown option ''".to_owned()),
        (&["--output-file", "k.cubin"], format!("Option '--output-file' {of_the_command}")),
        (&["--options-file words"], format!("Option '--options-file' {of_the_command}")),
        (&["--input-as-string=x"], format!("Option '--input-as-string' {of_the_command}")),
        (&["--version"], format!("Option '--version' {of_the_command}")),
        (&["-h"], format!("Option '--help' {of_the_command}")),
        (
            &["--preserve-relocs"],
            "Option '--preserve-relocs' is not supported: whole programs keep no relocations that are resolved"
                .to_owned(),
        ),
    ];
    for (options, said) in cases {
        assert_eq!(compiler.compile(options), ORIOLE_ERROR_INVALID_INPUT, "{options:?}");
        assert_eq!(compiler.error_log(), format!("error: {said}\n"), "{options:?}");
        assert_eq!(compiler.program(), Err(ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE));
    }
    assert_eq!(compiler.compile(&["-dlcm=zz"]), ORIOLE_ERROR_INVALID_INPUT);
    assert!(compiler.error_log().starts_with("error: Invalid default cache modifier on load specified: zz\n"));
    // What is wrong is gone with the next compilation.
    assert_eq!(compiler.compile(&[]), ORIOLE_SUCCESS);
    assert_eq!(compiler.error_log(), "");
}

/// Options that act on what PTX says do so in C as they do for the command, on LLVM IR too.
#[test]
fn options_that_change_the_module_are_obeyed() {
    let code = |module: &str, options: &[&str]| oriole::disassemble(&cubin(module, options)).expect("a cubin");
    let stores = |module, options| code(module, options).contains("STG.E.EF");
    for module in [SAXPY, LLVM] {
        assert!(!stores(module, &["-arch=sm_90"]) && stores(module, &["-arch=sm_90", "-dscm=cs"]));
    }
    let bounded = |options: &[&str]| {
        let compiler = Compiler::new(many_values(200).replace("(.param .u64 p)", "(.param .u64 p) .maxntid 64"));
        assert_eq!(compiler.compile(&[options, &["-v"]].concat()), ORIOLE_SUCCESS, "{}", compiler.error_log());
        let (log, word) = (compiler.info_log(), "Used ");
        let used = &log[log.find(word).expect("what is used") + word.len()..];
        used.split(' ').next().and_then(|count| count.parse::<u32>().ok()).expect("a number")
    };
    // 1024 threads leave 64 registers to each; the module's own bound counts for more unless it is told otherwise.
    assert!(bounded(&[]) > 200 && bounded(&["-maxntid=1024"]) > 200);
    assert_eq!(bounded(&["-maxntid=1024", "--override-directive-values"]), 64);
}

#[test]
fn warnings_are_those_of_ptxas() {
    let compiler = Compiler::new(SAXPY);
    let cases = [
        (
            &["-O3", "-O2"][..],
            "incompatible redefinition for option 'opt-level', the last value of this option was used",
        ),
        (&["-maxrregcount=300"], "Too big maxrregcount value specified 300, will be ignored"),
        (&["-regUsageLevel=11"], "Value of RegUsageLevel (11) is out of valid range {0..10}, option will be ignored"),
    ];
    for (options, said) in cases {
        assert_eq!(compiler.compile(options), ORIOLE_SUCCESS, "{options:?}");
        assert_eq!(compiler.info_log(), format!("warning: {said}\n"), "{options:?}");
        assert_eq!(compiler.compile(&[options, &["-w"]].concat()), ORIOLE_SUCCESS, "{options:?}");
        assert_eq!(compiler.info_log(), "", "{options:?}");
    }
    let idle = "ptxas info    : Option '--position-independent-code' changes nothing: ";
    assert_eq!(compiler.compile(&["-pic=true", "-v", "-warn-double-usage"]), ORIOLE_SUCCESS);
    assert!(compiler.info_log().starts_with(idle), "{}", compiler.info_log());
    let doubles = Compiler::new(
        SAXPY.replace("mov.u32 %i, %tid.x;", ".reg .f64 %d; mov.f64 %d, 0d0000000000000000;\nmov.u32 %i, %tid.x;"),
    );
    assert_eq!(doubles.compile(&["-warn-double-usage"]), ORIOLE_SUCCESS, "{}", doubles.error_log());
    assert_eq!(doubles.info_log(), "warning: input.ptx:7: Program is doing double precision computations.\n");
}

#[test]
fn inputs_that_are_no_module_are_errors() {
    for (input, result) in [
        (&b""[..], ORIOLE_ERROR_COMPILATION_FAILURE),
        (b"\0\0", ORIOLE_ERROR_COMPILATION_FAILURE),
        (b"}{", ORIOLE_ERROR_COMPILATION_FAILURE),
        (b".version 8.0 .target sm_90 \xff\xfe", ORIOLE_ERROR_INVALID_INPUT),
        (b"define \xff", ORIOLE_ERROR_COMPILATION_FAILURE),
        (b"BC\xc0\xde", ORIOLE_ERROR_COMPILATION_FAILURE),
    ] {
        let compiler = Compiler::new(input);
        assert_eq!(compiler.compile(&[]), result, "{input:?}: {}", compiler.error_log());
        assert_ne!(compiler.error_log(), "", "{input:?}");
    }
    // A zero within is quoted by the log, and does not end it.
    let compiler = Compiler::new(SAXPY.replace("ret;", "ret\0;"));
    assert_eq!(compiler.compile(&[]), ORIOLE_ERROR_COMPILATION_FAILURE);
    assert!(compiler.error_log().lines().count() > 1, "{}", compiler.error_log());
    // One that was counted at the end of the text is not part of it.
    assert_eq!(cubin(format!("{SAXPY}\0"), &[]), cubin(SAXPY, &[]));
}

#[test]
fn null_is_answered() {
    let compiler = Compiler::new(SAXPY);
    let mut handle = ptr::dangling_mut();
    // SAFETY: each pointer is null or to what it should be.
    unsafe {
        let nothing = ptr::null_mut();
        assert_eq!(orioleCompilerCreate(ptr::null_mut(), 1, c"x".as_ptr()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerCreate(&mut handle, 0, ptr::null()), ORIOLE_ERROR_INVALID_INPUT);
        assert!(handle.is_null());
        assert_eq!(orioleCompilerCreate(&mut handle, usize::MAX, c"x".as_ptr()), ORIOLE_ERROR_OUT_OF_MEMORY);
        assert_eq!(orioleCompilerCompile(compiler.0, 1, ptr::null()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(compiler.error_log(), "error: the options are a null pointer\n");
        assert_eq!(orioleCompilerCompile(compiler.0, -1, ptr::null()), ORIOLE_ERROR_INVALID_INPUT);
        let options: [*const c_char; 2] = [c"-v".as_ptr(), ptr::null()];
        assert_eq!(orioleCompilerCompile(compiler.0, 2, options.as_ptr()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(compiler.error_log(), "error: option 1 is a null pointer\n");
        let options = [c"-arch=\xff".as_ptr()];
        assert_eq!(orioleCompilerCompile(compiler.0, 1, options.as_ptr()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerCompile(compiler.0, 0, ptr::null()), ORIOLE_SUCCESS);
        assert_eq!(orioleCompilerGetCompiledProgramSize(compiler.0, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerGetCompiledProgram(compiler.0, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerGetErrorLogSize(compiler.0, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerGetErrorLog(compiler.0, nothing), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerGetInfoLogSize(compiler.0, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerGetInfoLog(compiler.0, nothing), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerDestroy(ptr::null_mut()), ORIOLE_ERROR_INVALID_COMPILER_HANDLE);
        let mut number = 7;
        assert_eq!(orioleCompilerGetVersion(&mut number, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerGetVersion(ptr::null_mut(), &mut number), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(number, 7);
    }
}

#[test]
fn handles_that_are_none_are_told() {
    let mut alive = Compiler::new(SAXPY);
    let destroyed = alive.0;
    // SAFETY: a handle stands there.
    assert_eq!(unsafe { orioleCompilerDestroy(&mut alive.0) }, ORIOLE_SUCCESS);
    assert!(alive.0.is_null());
    let mut object = 0u64;
    let address: *mut u64 = &mut object;
    for handle in [destroyed, ptr::null_mut(), address.cast(), ptr::without_provenance_mut(usize::MAX)] {
        let (mut size, mut place, mut slot) = (0, 0u8, handle);
        // SAFETY: each pointer that is written through is to a place of its size; handles may be anything.
        let results = unsafe {
            [
                orioleCompilerCompile(handle, 0, ptr::null()),
                orioleCompilerCancel(handle),
                orioleCompilerGetCompiledProgramSize(handle, &mut size),
                orioleCompilerGetCompiledProgram(handle, (&raw mut place).cast()),
                orioleCompilerGetErrorLogSize(handle, &mut size),
                orioleCompilerGetErrorLog(handle, (&raw mut place).cast()),
                orioleCompilerGetInfoLogSize(handle, &mut size),
                orioleCompilerGetInfoLog(handle, (&raw mut place).cast()),
                orioleCompilerDestroy(&mut slot),
            ]
        };
        assert_eq!(results, [ORIOLE_ERROR_INVALID_COMPILER_HANDLE; 9], "{handle:?}");
        assert_eq!(slot, handle);
    }
}

#[test]
fn before_a_compilation_there_is_nothing() {
    let compiler = Compiler::new(SAXPY);
    assert_eq!(compiler.program(), Err(ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE));
    assert_eq!((compiler.error_log(), compiler.info_log()), (String::new(), String::new()));
}

#[test]
fn a_cancelled_compiler_compiles_no_more() {
    let compiler = Compiler::new(SAXPY);
    assert_eq!(compiler.compile(&[]), ORIOLE_SUCCESS);
    assert_eq!(orioleCompilerCancel(compiler.0), ORIOLE_SUCCESS);
    assert_eq!(compiler.compile(&[]), ORIOLE_ERROR_CANCELLED);
    assert_eq!(compiler.error_log(), "error: the compilation was cancelled\n");
    assert_eq!(orioleCompilerResume(compiler.0), ORIOLE_SUCCESS);
    assert_eq!(compiler.compile(&[]), ORIOLE_SUCCESS);
    let compiler = Compiler::new(LLVM);
    assert_eq!(orioleCompilerCancel(compiler.0), ORIOLE_SUCCESS);
    assert_eq!(compiler.compile(&[]), ORIOLE_ERROR_CANCELLED);
}

#[test]
fn compilations_have_bounds_of_time_and_memory() {
    for module in [many_values(1000), many_functions()] {
        let compiler = Compiler::new(module);
        assert_eq!(orioleCompilerSetTimeout(compiler.0, 1), ORIOLE_SUCCESS);
        assert_eq!(compiler.compile(&[]), ORIOLE_ERROR_TIMEOUT);
        assert_eq!(compiler.error_log(), "error: the compilation takes longer than 0.001 seconds\n");
        assert_eq!(orioleCompilerSetTimeout(compiler.0, 0), ORIOLE_SUCCESS);
        // What is too much is tried in a process of its own (tests/host).
        assert_eq!(orioleCompilerSetMemoryLimit(compiler.0, 1 << 40), ORIOLE_SUCCESS);
        assert_eq!(compiler.compile(&["--split-compile=4"]), ORIOLE_SUCCESS, "{}", compiler.error_log());
    }
}

/// A library such as libdevice gives what the module only declares.
#[test]
fn what_is_called_is_linked() {
    const CALLER: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare float @twice(float)
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load float, ptr addrspace(1) %p
  %y = call float @twice(float %x)
  store float %y, ptr addrspace(1) %p
  ret void
}
";
    const LIBRARY: &str = "target triple = \"nvptx64-nvidia-cuda\"
define float @twice(float %x) {
  %y = fadd float %x, %x
  ret float %y
}
";
    let compiler = Compiler::new(CALLER);
    assert_eq!(compiler.compile(&["-arch=sm_80"]), ORIOLE_ERROR_COMPILATION_FAILURE);
    let add = |library: &str| {
        // SAFETY: the bytes are there, and the name ends with a zero.
        unsafe { orioleCompilerAddLibrary(compiler.0, library.len(), library.as_ptr().cast(), c"twice.ll".as_ptr()) }
    };
    assert_eq!(add(LIBRARY), ORIOLE_SUCCESS);
    assert_eq!(compiler.compile(&["-arch=sm_80"]), ORIOLE_SUCCESS, "{}", compiler.error_log());
    let library = oriole::LlvmOptions::default().library(LIBRARY, "twice.ll");
    let builder = oriole::Compiler::builder().target("sm_80").file_name("input.ll").build().expect("settings");
    let expected = builder.compile_llvm_with(CALLER, &library).expect("it compiles");
    assert_eq!(compiler.program().as_deref(), Ok(expected.cubin.as_bytes()));
    assert_eq!(add("define nonsense"), ORIOLE_SUCCESS);
    assert_eq!(compiler.compile(&["-arch=sm_80"]), ORIOLE_ERROR_COMPILATION_FAILURE);
    assert!(compiler.error_log().contains("twice.ll:1"), "{}", compiler.error_log());
    // SAFETY: null is answered.
    unsafe {
        let (null, name) = (ptr::null(), c"name".as_ptr());
        assert_eq!(orioleCompilerAddLibrary(compiler.0, 1, null, name), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleCompilerAddLibrary(compiler.0, 1, name.cast(), ptr::null()), ORIOLE_ERROR_INVALID_INPUT);
    }
}

#[test]
fn results_are_copied_as_far_as_there_is_room() {
    let compiler = Compiler::new(SAXPY);
    assert_eq!(compiler.compile(&["-v"]), ORIOLE_SUCCESS);
    let (program, log) = (compiler.program().expect("it was compiled"), compiler.info_log());
    let (mut size, mut bytes) = (0, vec![0xaau8; program.len().max(log.len()) + 2]);
    // SAFETY: there is as much room as each call says.
    unsafe {
        let handle = compiler.0;
        let few = program.len() - 1;
        let copied = orioleCompilerCopyCompiledProgram(handle, few, bytes.as_mut_ptr().cast(), &mut size);
        assert_eq!((copied, size, bytes[0]), (ORIOLE_ERROR_INVALID_INPUT, program.len(), 0xaa));
        let copied = orioleCompilerCopyCompiledProgram(handle, size, bytes.as_mut_ptr().cast(), ptr::null_mut());
        assert_eq!((copied, &bytes[..size], bytes[size]), (ORIOLE_SUCCESS, &program[..], 0xaa));
        assert_eq!(orioleCompilerCopyInfoLog(handle, 0, ptr::null_mut(), &mut size), ORIOLE_SUCCESS);
        assert_eq!(size, log.len() + 1);
        for room in [1, 2, 10, size, size + 1] {
            bytes.fill(0xaa);
            assert_eq!(orioleCompilerCopyInfoLog(handle, room, bytes.as_mut_ptr().cast(), &mut size), ORIOLE_SUCCESS);
            let text = &log.as_bytes()[..(room - 1).min(log.len())];
            assert_eq!((&bytes[..text.len()], &bytes[text.len()..text.len() + 2]), (text, &[0, 0xaa][..]));
        }
        assert_eq!(orioleCompilerCopyErrorLog(handle, 2, bytes.as_mut_ptr().cast(), &mut size), ORIOLE_SUCCESS);
        assert_eq!((size, bytes[0]), (1, 0));
        assert_eq!(orioleCompilerCopyErrorLog(handle, 2, ptr::null_mut(), &mut size), ORIOLE_ERROR_INVALID_INPUT);
    }
}

#[test]
fn several_threads_compile_at_a_time() {
    let expected = cubin(SAXPY, &[]);
    let shared = Compiler::new(SAXPY);
    let handle = shared.0.addr();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert_eq!(cubin(SAXPY, &[]), expected);
                    let handle = ptr::without_provenance_mut(handle);
                    // SAFETY: there are no options.
                    assert_eq!(unsafe { orioleCompilerCompile(handle, 0, ptr::null()) }, ORIOLE_SUCCESS);
                }
            });
        }
    });
    assert_eq!(shared.program(), Ok(expected));
}

#[test]
fn results_have_names_and_the_library_a_version() {
    // SAFETY: the texts are constant.
    let name = |result| unsafe { CStr::from_ptr(orioleGetResultString(result)) };
    assert_eq!(name(0), c"ORIOLE_SUCCESS");
    assert_eq!(name(ORIOLE_ERROR_UNSUPPORTED_DEVSIDE_SYNC as i32), c"ORIOLE_ERROR_UNSUPPORTED_DEVSIDE_SYNC");
    assert_eq!(name(103), c"ORIOLE_ERROR_FAULT");
    assert_eq!((name(-1), name(10)), (c"unknown result", c"unknown result"));
    let (mut major, mut minor) = (99, 99);
    // SAFETY: both can be written.
    assert_eq!(unsafe { orioleCompilerGetVersion(&mut major, &mut minor) }, ORIOLE_SUCCESS);
    assert_eq!(format!("{major}.{minor}.0"), env!("CARGO_PKG_VERSION"));
}
