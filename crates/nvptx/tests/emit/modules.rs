//! Whole modules as text: LLVM assembly, and what its PTX must have, must not have, or why there is none.
//!
//! A case of `modules.txt`: `== title`, perhaps with `| sm_90 level=0 ftz contract=off` behind it; a module; `--`; lines that
//! must stand in the PTX, in this order; lines with `!` before them that must not; or the error. What there is passes our
//! checker, and ptxas where it is installed.

use std::fmt::Write;

use oriole_nvptx::driver::{self, FpContract, Options};

use super::build::ptxas_takes;

fn options(words: &str) -> Options {
    let mut options = Options { arch: "sm_80".to_owned(), ..Options::default() };
    for word in words.split_whitespace() {
        match word {
            "ftz" => options.ftz = true,
            "contract=off" => options.fp_contract = FpContract::Off,
            "contract=fast" => options.fp_contract = FpContract::Fast,
            _ => match word.strip_prefix("level=") {
                Some(level) => options.level = level.parse().expect("a level"),
                None => options.arch = word.to_owned(),
            },
        }
    }
    options
}

fn ptx(source: &str, options: &Options) -> Result<String, String> {
    let module = driver::read(source.as_bytes(), "case.ll").map_err(|error| error.to_string())?;
    let output = driver::compile(module, &[], options).map_err(|error| error.to_string())?;
    let text = oriole_ptx::print(&output.module);
    if let Err(errors) = oriole_ptx::load(&text) {
        panic!("{errors:?}\n{text}");
    }
    // The oldest target of ptxas 13.
    if options.arch.trim_start_matches("sm_").trim_end_matches('a').parse().is_ok_and(|number: u32| number >= 75) {
        ptxas_takes(&text);
    }
    Ok(text)
}

/// What is wrong with the PTX of a case.
fn fault(text: &str, expected: &[&str]) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    for wanted in expected {
        match wanted.strip_prefix('!') {
            Some(unwanted) if text.contains(unwanted.trim()) => return Some(format!("`{}` is there", unwanted.trim())),
            None if !lines.any(|line| line.contains(wanted)) => return Some(format!("`{wanted}` is not there")),
            _ => {}
        }
    }
    None
}

#[test]
fn modules() {
    let mut wrong = String::new();
    for case in include_str!("modules.txt").split("\n== ").skip(1) {
        let (head, rest) = case.split_once('\n').expect("a title");
        let (title, words) = head.split_once(" | ").unwrap_or((head, ""));
        let (source, expected) = rest.split_once("\n--\n").expect("`--`");
        let expected: Vec<_> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let error = expected.first().and_then(|first| first.strip_prefix("error: "));
        let fault = match (ptx(source, &options(words)), error) {
            (Ok(text), None) => fault(&text, &expected).map(|fault| format!("{fault}\n{text}")),
            (Ok(text), Some(error)) => Some(format!("no `{error}`\n{text}")),
            (Err(error), wanted) => (wanted != Some(error.as_str())).then_some(error),
        };
        if let Some(fault) = fault {
            let _ = writeln!(wrong, "== {title}: {fault}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Functions that call each other twice are as many instructions as powers of two when they are inlined.
#[test]
fn inlining_has_a_limit() {
    let mut source =
        String::from("define internal i32 @f0(i32 %x) alwaysinline {\n %y = mul i32 %x, %x\n ret i32 %y\n}\n");
    for n in 1..40 {
        let _ = write!(
            source,
            "define internal i32 @f{n}(i32 %x) alwaysinline {{\n %a = call i32 @f{0}(i32 %x)\n %b = call i32 @f{0}(i32 %a)\n %c = xor i32 %a, %b\n ret i32 %c\n}}\n",
            n - 1
        );
    }
    source += "define ptx_kernel void @k(ptr %p) {\n %x = load i32, ptr %p\n %y = call i32 @f39(i32 %x)\n store i32 %y, ptr %p\n ret void\n}\n";
    let text = ptx(&source, &Options::default()).expect("PTX");
    assert!(text.contains("call.uni"), "not everything is inlined");
    assert!(text.lines().count() < 500_000, "{} lines", text.lines().count());
}
