//! The compiler as a library: results, diagnostics with their places, settings, observers, limits, cancellation.

use oriole::{CancelToken, CompileError, Compiler, DebugInfo, Diagnostic, Limits, Severity};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Two kernels and a function; the loop gives the phases something to do.
fn module() -> String {
    format!(
        "{HEAD}
.func (.reg .u32 %r) triple(.reg .u32 %a) {{ mul.lo.u32 %r, %a, 3; ret; }}
.visible .entry first(.param .u64 p) {{
    .shared .align 4 .b32 place[8];
    .reg .b64 %p; .reg .b32 %v, %i; .reg .pred %q;
    ld.param.u64 %p, [p];
    mov.u32 %i, 0;
    mov.u32 %v, %tid.x;
again:
    call.uni (%v), triple, (%v);
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 9;
    @%q bra again;
    st.shared.u32 [place], %v;
    bar.sync 0;
    ld.shared.u32 %v, [place];
    st.global.u32 [%p], %v;
    ret;
}}
.visible .entry second(.param .u64 p) {{ ret; }}
"
    )
}

fn is_shared_between_threads<T: Send + Sync>() {}

#[test]
fn everything_is_send_and_sync() {
    is_shared_between_threads::<Compiler>();
    is_shared_between_threads::<oriole::CompilerBuilder>();
    is_shared_between_threads::<oriole::Compiled>();
    is_shared_between_threads::<oriole::Cubin>();
    is_shared_between_threads::<Diagnostic>();
    is_shared_between_threads::<CompileError>();
    is_shared_between_threads::<CancelToken>();
    #[cfg(feature = "llvm")]
    is_shared_between_threads::<oriole::LlvmOptions>();
    #[cfg(feature = "simulate")]
    {
        is_shared_between_threads::<oriole::Simulator>();
        is_shared_between_threads::<oriole::SimulatorBuilder>();
        is_shared_between_threads::<oriole::KernelLaunch<'_>>();
        is_shared_between_threads::<oriole::LaunchError>();
        is_shared_between_threads::<oriole::LaunchReport>();
    }
}

/// What is reported is what the file says, which the reader of cubins reads without us.
#[test]
fn resources_are_those_of_the_file() {
    let compiled = Compiler::builder().build().expect("no settings").compile_ptx(&module()).expect("it compiles");
    let file = oriole_cubin::Cubin::parse(compiled.cubin.as_bytes()).expect("a cubin");
    assert_eq!(compiled.cubin.target(), "sm_80");
    assert_eq!(compiled.kernels.len(), 2);
    for kernel in &compiled.kernels {
        let function = file.functions.iter().find(|function| function.name == kernel.name).expect("it is there");
        assert_eq!(kernel.registers.general, function.registers, "{}", kernel.name);
        assert_eq!(kernel.barriers, function.barriers, "{}", kernel.name);
        assert_eq!(u64::from(kernel.shared_bytes), function.shared_size, "{}", kernel.name);
        assert_eq!(kernel.stack_bytes, function.min_stack_size, "{}", kernel.name);
        assert_eq!(kernel.code_bytes as u64, function.size, "{}", kernel.name);
    }
    let first = compiled.kernel("first").expect("it is there");
    assert_eq!((first.barriers, first.shared_bytes), (1, 32));
    assert!(first.registers.predicate > 0 && first.registers.general > 2);
    assert!(compiled.kernel("triple").is_none());
}

/// The errors of a text that must not compile.
fn rejected(ptx: &str) -> Vec<Diagnostic> {
    let compiler = Compiler::builder().file_name("k.ptx").build().expect("right settings");
    match compiler.compile_ptx(ptx) {
        Err(CompileError::Source(diagnostics)) => diagnostics,
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_have_their_places() {
    let ptx = format!(
        "{HEAD}.visible .entry k() {{\n    .reg .b32 %a; .reg .f64 %d;\n    /* größer */ add.u32 %a, %a, %d;\n    \
         mul.lo.u32 %a, %a, %b;\n}}\n"
    );
    let found = rejected(&ptx);
    assert_eq!(found.len(), 2, "{found:?}");
    for (error, (word, bytes)) in found.iter().zip([("%d;\n    mul", 2), ("%b;", 2)]) {
        let at = ptx.find(word).expect("the text has it");
        let before = &ptx[..at];
        let span = error.span.as_ref().expect("a place");
        assert_eq!(error.severity, Severity::Error);
        assert_eq!(span.bytes, at..at + bytes, "{error}");
        assert_eq!(span.line, before.matches('\n').count() + 1, "{error}");
        assert_eq!(span.column, before.chars().rev().take_while(|c| *c != '\n').count() + 1, "{error}");
        let place = format!("k.ptx:{}:{}", span.line, span.column);
        assert!(error.render().contains(&place), "{}", error.render());
    }
    assert_eq!(found[0].rule, Some("operand-type"));
}

#[test]
fn nothing_and_nonsense_are_errors() {
    for text in ["", "\0\0\0", "}{", ".version 99.9", "define void @f() { ret void }"] {
        assert!(!rejected(text).is_empty(), "{text:?}");
    }
}

#[test]
fn settings_are_checked() {
    let builder = Compiler::builder;
    let wrong = [
        (builder().target("sm_12"), "sm_12"),
        (builder().target("gfx90a"), "gfx90a"),
        (builder().opt_level(4), "level 4"),
        (builder().knob("colour", 3), "colour"),
        (builder().disable_pass("Nothing"), "Nothing"),
    ];
    for (builder, word) in wrong {
        let error = builder.build().expect_err(word).to_string();
        assert!(error.contains(word), "{error}");
    }
    let missing = builder().entry("third").build().expect("the module is not known yet").compile_ptx(&module());
    let known = vec!["first".to_owned(), "second".to_owned()];
    assert_eq!(missing.expect_err("there is none"), CompileError::NoKernel { name: "third".to_owned(), known });
    let old = format!("{HEAD}.visible .entry k() {{ ret; }}").replace("sm_80", "sm_60");
    let error = builder().build().expect("no settings").compile_ptx(&old).expect_err("too old");
    assert!(matches!(&error, CompileError::Target(text) if text.contains("'sm_60'")), "{error:?}");
}

#[test]
fn a_bound_below_what_calls_need_is_a_warning() {
    let compiler = Compiler::builder().max_registers(8).build().expect("right settings");
    let compiled = compiler.compile_ptx(&module()).expect("it compiles");
    assert!(!compiled.warnings.is_empty());
    for warning in &compiled.warnings {
        assert_eq!(warning.severity, Severity::Warning);
        assert!(warning.render().starts_with("warning: "), "{}", warning.render());
    }
}

/// The cubin and what is seen of each function, in order.
fn seen(jobs: usize) -> (Vec<u8>, Vec<(String, u16, String)>) {
    let passes = Arc::new(Mutex::new(Vec::new()));
    let list = passes.clone();
    let compiler = Compiler::builder().jobs(NonZeroUsize::new(jobs).expect("jobs")).observe(move |pass| {
        list.lock().expect("no panic").push((pass.function().to_owned(), pass.number(), pass.ori()));
    });
    let compiled = compiler.build().expect("right settings").compile_ptx(&module()).expect("it compiles");
    let mut passes = std::mem::take(&mut *passes.lock().expect("no panic"));
    // Stable: the order within a function stays.
    passes.sort_by(|a, b| a.0.cmp(&b.0));
    (compiled.cubin.into_bytes(), passes)
}

#[test]
fn observers_see_every_function_after_every_pass() {
    let (bytes, passes) = seen(1);
    let of = |name: &str| passes.iter().filter(|(function, ..)| function == name).collect::<Vec<_>>();
    let first = of("first");
    assert!(first.len() > 10, "{} passes", first.len());
    assert!(first.iter().all(|(_, _, text)| text.contains("first")));
    // Allocation and the second scheduling pass come last.
    assert_eq!(first.iter().rev().take(2).map(|pass| pass.1).collect::<Vec<_>>(), [106, 101]);
    assert_eq!(of("second").len(), first.len());
    assert!(seen(3) == (bytes, passes));
}

/// The number of kernels, or the error, of a compilation with these limits.
fn limited(set: impl Fn(&mut Limits)) -> Result<usize, CompileError> {
    let mut limits = Limits::default();
    set(&mut limits);
    let compiler = Compiler::builder().limits(limits).build().expect("right settings");
    compiler.compile_ptx(&module()).map(|compiled| compiled.kernels.len())
}

#[test]
fn limits_hold() {
    assert_eq!(limited(|limits| limits.functions = Some(3)), Ok(2));
    let error = limited(|limits| limits.functions = Some(2));
    assert_eq!(error, Err(CompileError::Limit { what: "functions", count: 3, limit: 2 }));
    assert_eq!(limited(|limits| limits.instructions = Some(10_000)), Ok(2));
    let error = limited(|limits| limits.instructions = Some(5)).expect_err("it has more");
    assert!(matches!(error, CompileError::Limit { what: "instructions", count: 6.., limit: 5 }), "{error:?}");
    assert_eq!(limited(|limits| limits.time = Some(Duration::from_secs(1 << 30))), Ok(2));
    assert_eq!(limited(|limits| limits.time = Some(Duration::ZERO)), Err(CompileError::Time(Duration::ZERO)));
}

#[test]
fn a_token_ends_a_compilation() {
    let token = CancelToken::new();
    let cancels = token.clone();
    let compiler = Compiler::builder().cancel(token.clone()).observe(move |pass| {
        assert!(![101, 106].contains(&pass.number()), "it went on to {}", pass.name());
        cancels.cancel();
    });
    let compiler = compiler.build().expect("right settings");
    assert!(!token.is_cancelled());
    assert_eq!(compiler.compile_ptx(&module()).expect_err("cancelled on the way"), CompileError::Cancelled);
    assert_eq!(compiler.compile_ptx(&module()).expect_err("cancelled before"), CompileError::Cancelled);
}

#[test]
fn one_compiler_serves_many_threads() {
    let compiler = Compiler::builder().verify(true).debug_info(DebugInfo::Lines).build().expect("right settings");
    let compile = || compiler.compile_ptx(&module()).expect("it compiles").cubin.into_bytes();
    let one = compile();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(compile)).collect();
        threads.into_iter().for_each(|thread| assert!(thread.join().expect("no panic") == one));
    });
}

#[test]
fn what_is_no_cubin_is_an_error() {
    let compiled = Compiler::builder().build().expect("no settings").compile_ptx(&module()).expect("it compiles");
    let bytes = compiled.cubin.into_bytes();
    for length in [0, 1, 16, 64, bytes.len() / 2] {
        assert!(oriole::Cubin::from_bytes(&bytes[..length]).is_err(), "{length}");
        assert!(oriole::disassemble(&bytes[..length]).is_err(), "{length}");
    }
    let text = oriole::disassemble(&bytes).expect("whole");
    for kernel in ["first", "second"] {
        assert!(text.contains(&format!("\n{kernel}:\n")), "{text}");
    }
}

#[cfg(feature = "llvm")]
mod llvm {
    use super::*;

    #[test]
    fn errors_of_llvm_ir_have_their_places() {
        let ir = "define void @f() {\n  %x = frobnicate i32 1\n  ret void\n}\n";
        let compiler = Compiler::builder().target("sm_80").build().expect("a target");
        let Err(CompileError::Source(found)) = compiler.compile_llvm(ir) else { panic!("it is wrong") };
        let span = found[0].span.clone().expect("a place");
        assert_eq!((span.line, &ir[span.bytes]), (2, "frobnicate"));
        for bytes in [&b"\xff\xfe"[..], b"BC\xC0\xDE", b"BC\xC0\xDE\0\0\0\0"] {
            assert!(matches!(compiler.compile_llvm(bytes), Err(CompileError::Source(_))), "{bytes:?}");
        }
        let library = oriole::LlvmOptions::default().library("nonsense", "l.bc");
        assert!(compiler.compile_llvm_with("", &library).is_err());
    }

    #[test]
    fn tokens_end_what_comes_from_llvm_ir_too() {
        let ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() {\n  ret void\n}\n";
        let token = CancelToken::new();
        let compiler = Compiler::builder().cancel(token.clone()).build().expect("right settings");
        assert!(compiler.compile_llvm(ir).is_ok());
        token.cancel();
        assert_eq!(compiler.compile_llvm(ir).expect_err("cancelled"), CompileError::Cancelled);
    }
}
