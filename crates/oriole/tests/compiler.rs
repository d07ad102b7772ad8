//! The compiler as a library: results, diagnostics with their places, settings, observers, limits, cancellation.

use oriole::{CancelToken, CompileError, Compiler, DebugInfo, Diagnostic, FastCompile, Limits, Severity};
use oriole_prerequisites::is_thorough;
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
    let compiler = Compiler::builder().knob("inline", false).build().expect("a known knob");
    let compiled = compiler.compile_ptx(&module()).expect("it compiles");
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
#[test]
fn registers_that_hold_values_are_counted_on_request() {
    let compile = |live: bool| {
        let compiler = Compiler::builder().target("sm_90").live_registers(live).build().expect("settings");
        compiler.compile_ptx(&module()).expect("it compiles")
    };
    let (plain, counted) = (compile(false), compile(true));
    assert_eq!(plain.cubin.as_bytes(), counted.cubin.as_bytes());
    for (plain, counted) in plain.kernels.iter().zip(&counted.kernels) {
        assert_eq!(plain.live, []);
        let most = counted.live.iter().map(|at| at.registers.general).max().expect("it has instructions");
        assert!(most <= counted.registers.general, "{}: {most}", counted.name);
        assert!(counted.live.iter().any(|at| at.line.is_some() && at.instruction.contains("EXIT")));
    }
    assert!(counted.kernels.iter().flat_map(|kernel| &kernel.live).any(|at| at.registers.general > 0));
}

/// Straight code, so that what is live can be said from the listing alone.
const STRAIGHT: &str = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a<8>;
    ld.param.u64 %p, [p];
    ld.global.u32 %a0, [%p]; ld.global.u32 %a1, [%p+4]; ld.global.u32 %a2, [%p+8]; ld.global.u32 %a3, [%p+12];
    mad.lo.u32 %a4, %a0, %a1, %a2; mad.lo.u32 %a5, %a4, %a3, %a0; st.global.u32 [%p], %a5; st.global.u32 [%p+4], %a4;
    ret; }";

/// General registers that an instruction's text names: what it writes (all write their first operand but stores), what it reads.
fn registers_named(text: &str) -> (Vec<u32>, Vec<u32>) {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let mut named: Vec<Vec<u32>> = Vec::new();
    for operand in operands.split(',') {
        let words = operand.split(|c: char| !c.is_ascii_alphanumeric());
        let numbers = words.filter_map(|word| word.strip_prefix('R')?.parse::<u32>().ok());
        // Addresses have 64 bits, and so has what an instruction of that width writes.
        let wide = operand.contains('[') || mnemonic.ends_with(".64");
        named.push(numbers.flat_map(|number| number..=number + u32::from(wide)).collect());
    }
    let stores = mnemonic.starts_with("ST");
    let written = if stores { Vec::new() } else { named.remove(0) };
    (written, named.concat())
}

/// The instructions are those of the listing, in its order, and the counts those that its text gives.
#[test]
fn registers_are_counted_at_the_instructions_as_they_stand_in_the_cubin() {
    let compiler = Compiler::builder().target("sm_90").live_registers(true).build().expect("settings");
    let compiled = compiler.compile_ptx(STRAIGHT).expect("it compiles");
    let live = &compiled.kernels[0].live;
    let listing = oriole::disassemble(compiled.cubin.as_bytes()).expect("a listing");
    let insts: Vec<(u64, &str)> = listing
        .lines()
        .filter_map(|line| {
            let (address, rest) = line.trim().strip_prefix("/*")?.split_once("*/ ")?;
            Some((u64::from_str_radix(address, 16).ok()?, rest.split_once(' ')?.1.trim_end_matches(" ;")))
        })
        .collect();
    assert!(live.len() >= 8 && live.len() <= insts.len(), "{listing}");
    assert!(insts[live.len()..].iter().all(|(_, text)| text.starts_with("BRA") || *text == "NOP"), "{listing}");
    let mut after = std::collections::BTreeSet::new();
    for (at, (address, text)) in live.iter().zip(&insts).rev() {
        assert_eq!(at.offset, *address);
        let mnemonic = text.split(['.', ' ']).next().unwrap_or_default();
        assert!(at.instruction.contains(mnemonic), "{} is no {text}", at.instruction);
        let (written, read) = registers_named(text);
        let mut behind = after.clone();
        behind.extend(&written);
        after.retain(|number| !written.contains(number));
        after.extend(read);
        assert_eq!(at.registers.general as usize, behind.len().max(after.len()), "{address:#x}: {text}\n{listing}");
    }
    assert!(live.iter().any(|at| at.registers.general >= 5), "no pressure: {listing}");
}

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
        "{HEAD}.visible .entry k() {{\n    .reg .b32 %a; .reg .f64 %d;\n    /* greater */ add.u32 %a, %a, %d;\n    \
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
        (builder().knob("contract", 0.5), "no bool"),
        (builder().knob("unroll", true), "no int"),
        (builder().opt_level(0).fast_compile(FastCompile::Max), "--fast-compile"),
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
    assert_eq!(limited(|limits| limits.memory = Some(u64::MAX)), Ok(2));
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

/// The kernels that are in the repository, for sm_80.
fn kernels() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(".sm_80.ptx")).collect();
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).expect("PTX")).collect()
}

/// The places behind which a pass can run, as the refusal of one that is none names them.
fn places(level: u8) -> Vec<String> {
    let refused = Compiler::builder().opt_level(level).pass("Nowhere", |_| Ok(())).build().expect_err("no such place");
    let refused = refused.to_string();
    let (_, known) = refused.split_once("there are: ").expect("a list");
    known.split(' ').map(str::to_owned).collect()
}

/// The text is all of a function: with every function read back from it at every place, the bytes are the same. Kernels
/// have the levels in turn.
#[test]
fn a_pass_sees_everything() {
    let kernels = kernels();
    assert!(kernels.len() > 5, "{} kernels", kernels.len());
    let module = module();
    for (turn, level) in [0, 3].into_iter().enumerate() {
        let again = |builder: oriole::CompilerBuilder, place: &String| {
            builder.pass(place.clone(), |function| {
                let text = function.text();
                function.set_text(&text);
                Ok(())
            })
        };
        let plain = Compiler::builder().opt_level(level);
        let read = places(level).iter().fold(plain.clone(), again);
        let (plain, read) = (plain.build().expect("settings"), read.build().expect("settings"));
        let has_turn = |at: &usize| is_thorough() || at % 2 == turn;
        let chosen = kernels.iter().enumerate().filter(|(at, _)| has_turn(at)).map(|(_, ptx)| ptx);
        for ptx in chosen.chain([&module]) {
            let cubin =
                |compiler: &Compiler| compiler.compile_ptx(ptx).map(|compiled| compiled.cubin.as_bytes().to_vec());
            assert_eq!(cubin(&plain), cubin(&read), "{}", ptx.lines().take(8).collect::<String>());
        }
    }
}

/// A pass that adds 1 to what is stored, before allocation and on SSA form; the results say that it did.
#[cfg(feature = "simulate")]
#[test]
fn a_pass_changes_code() {
    let ptx = format!(
        "{HEAD}.visible .entry k(.param .u64 p, .param .u32 v) {{
            .reg .b64 %p; .reg .b32 %v;
            ld.param.u64 %p, [p]; ld.param.u32 %v, [v];
            st.global.u32 [%p], %v;
            ret; }}"
    );
    for place in ["GenerateMovPhi", "OriDoPredication", "OriRemoveNopCode"] {
        let builder = Compiler::builder().pass(place, |function| {
            assert_eq!((function.name(), function.target()), ("k", "sm_80"));
            let store = function.instructions().find(|inst| inst.opcode() == "STG").ok_or("no store")?;
            assert_eq!(store.block(), "bix0");
            let (place, text) = (store.place(), store.text().to_owned());
            let (code, place_in_source) = text.split_once(" ;").ok_or("no place in the source")?;
            let (before, value) = code.rsplit_once(", ").ok_or("no value")?;
            let (one, new) = (function.new_register("R"), function.new_register("R"));
            function.insert_before(place, &format!("MOV {one}, 0x1, 0xf"));
            function.insert_before(place, &format!("IADD3{{x=OFF}} {new}, PT, PT, {value}, {one}, RZ, !PT, !PT"));
            function.replace(place, &format!("{before}, {new} ;{place_in_source}"));
            Ok(())
        });
        let cubin =
            builder.build().expect("settings").compile_ptx(&ptx).unwrap_or_else(|e| panic!("{place}: {e}")).cubin;
        let mut found = [0u32];
        let simulator = oriole::Simulator::builder().strict(true).build(&cubin).expect("a cubin");
        simulator.kernel("k").expect("it is there").in_out(&mut found).value(41u32).launch(1, 1).expect("it runs");
        assert_eq!(found, [42], "{place}");
    }
}

#[test]
fn wrong_passes_are_refused() {
    let outcome = |pass: fn(&mut oriole::Function) -> Result<(), String>| {
        let compiler = Compiler::builder().pass("GvnCse", pass).build().expect("settings");
        match compiler.compile_ptx(&module()) {
            Err(CompileError::Pass(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let own = outcome(|function| if function.name() == "first" { Err("I do not like it".to_owned()) } else { Ok(()) });
    assert_eq!(own, "function 'first': the caller's pass behind GvnCse: I do not like it");
    let unread = outcome(|function| {
        function.set_text("nonsense");
        Ok(())
    });
    assert!(unread.contains("expected '.function'"), "{unread}");
    let renamed = outcome(|function| {
        function.set_text(&function.text().replacen(".function entry first", ".function entry other", 1));
        Ok(())
    });
    assert!(renamed.contains("name and kind"), "{renamed}");
    let undefined = outcome(|function| {
        let place = function.instructions().find(|inst| inst.opcode() == "S2R").map(|inst| inst.place());
        place.into_iter().for_each(|place| function.remove(place));
        Ok(())
    });
    assert!(undefined.contains("GvnCse"), "{undefined}");
    assert!(places(0).len() < places(3).len());
}
