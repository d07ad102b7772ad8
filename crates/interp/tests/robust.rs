//! Bad programs end with an error or a fault, never with a panic.

use oriole_device::{Launch, Memory};
use oriole_interp::{Interpreter, Options};

/// A small generator of numbers, the same on every run (Knuth's MMIX constants).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// The modules of a sample of the shared forms.
fn forms() -> Vec<String> {
    let Some(folder) = oriole_prerequisites::shared("ptx_forms/forms") else { return Vec::new() };
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let lines = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let text = |line: &str| {
        let form: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(form["ptx"].as_str()?.replace("@TARGET@", "sm_90a"))
    };
    lines.flat_map(|lines| lines.lines().step_by(31).filter_map(text).collect::<Vec<_>>()).collect()
}

/// The words and signs of a text.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || "_%$.@".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) { rest.find(|c| !is_word(c)) } else { Some(first.len_utf8()) };
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Replaces some tokens by others of the same text, or by odd numbers.
fn mutate(text: &str, numbers: &mut Numbers) -> String {
    const ODD: [&str; 8] = ["0", "1", "-1", "31", "64", "0xffffffff", "0x7fffffffffffffff", "4096"];
    let mut tokens = tokens(text);
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(tokens.len());
        let other = tokens[numbers.below(tokens.len())];
        tokens[at] = if numbers.below(4) == 0 { ODD[numbers.below(ODD.len())] } else { other };
    }
    tokens.concat()
}

/// Whether the text was run.
fn run(text: &str) -> bool {
    let Ok(module) = oriole_ptx::load(text) else { return false };
    let Ok(interpreter) = Interpreter::new(&module, Options { max_instructions: 2000, ..Options::default() }) else {
        return false;
    };
    let mut memory = Memory::new();
    let buffers = [memory.allocate("in", 4096), memory.allocate("out", 4096)];
    let params = buffers.iter().flat_map(|address| address.to_le_bytes()).collect();
    let launch = Launch { block: [33, 1, 1], params, ..Launch::default() };
    let _ = interpreter.launch("k", &launch, &mut memory);
    true
}

#[test]
fn mutated_forms_do_not_panic() {
    let mut numbers = Numbers(4);
    let mut ran = 0;
    let forms = forms();
    for form in &forms {
        ran += usize::from(run(form));
        for _ in 0..4 {
            ran += usize::from(run(&mutate(form, &mut numbers)));
        }
    }
    assert!(ran >= forms.len(), "only {ran} of {} were run", 5 * forms.len());
}

#[test]
fn wild_declarations_are_errors() {
    let kernel = ".visible .entry k() { ret; }";
    for wild in [
        ".global .b8 a[0xffffffffffff];",
        ".const .b64 a[0x1000000];",
        ".shared .align 65536 .b8 a[0x7fffffff];",
        ".global .u32 a[2] = {1, 2, 3};",
        ".extern .global .u32 e; .global .u64 a = e;",
        ".global .u32 a[0][0x7fffffffffffffff] = {{1}, {2}, {3}};",
    ] {
        let text = format!(".version 9.0\n.target sm_90\n.address_size 64\n{wild}\n{kernel}\n");
        let Ok(module) = oriole_ptx::load(&text) else { continue };
        assert!(Interpreter::new(&module, Options::default()).is_err(), "{wild}");
    }
}

/// Other devices' memory is none that a launch here has: what copies it is refused by its name.
#[test]
fn copies_of_the_fabric_are_refused_by_name() {
    const REPORTED: &str = "mbarrier::report::fabric";
    for copy in [
        format!("fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.{REPORTED}.b128 [s], [e, o], 16, [m];"),
        format!("fabric.try_put.async.shared::cta.mbarrier::complete_tx::16B.{REPORTED}.b128 [e, o], [s], 16, [m];"),
        format!("fabric.try_red.async.shared::cta.mbarrier::complete_tx::16B.{REPORTED}.add.u32 [e, o], [s], 16, [m];"),
        format!(
            "fabric.try_atom.async.shared::cta.mbarrier::complete_tx::16B.{REPORTED}.relaxed.sys.add.u32 [e, o], [s], [s], [m];"
        ),
        format!(
            "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.{REPORTED}.add.u32.sync [s], [e, o], 16, [m], -1;"
        ),
        format!(
            "fabric.try_get.async.tensor.1d.shared::cta.mbarrier::complete_tx::bytes.{REPORTED}.override::global_address.b128 [s], [o, e, o, {{e}}], [m];"
        ),
        format!(
            "fabric.try_put.async.tensor.1d.shared::cta.mbarrier::complete_tx::16B.{REPORTED}.override::global_address.b128 [o, e, o, {{e}}], [s], 16, [m];"
        ),
        format!(
            "fabric.try_red.async.tensor.1d.shared::cta.mbarrier::complete_tx::16B.{REPORTED}.override::global_address.add [o, e, o, {{e}}], [s], 16, [m];"
        ),
    ] {
        let text = format!(
            ".version 9.4\n.target sm_107a\n.address_size 64\n.shared .align 16 .b8 s[16]; .shared .align 8 .b64 m;\n\
             .visible .entry k() {{ .reg .b32 e; .reg .b64 o; mov.b32 e, 1; mov.b64 o, 0; {copy} ret; }}\n"
        );
        let module = oriole_ptx::load(&text).unwrap_or_else(|errors| panic!("{copy}: {}", errors[0].message));
        let refused = match Interpreter::new(&module, Options::default()) {
            Err(error) => error.to_string(),
            Ok(interpreter) => {
                let launch = interpreter.launch("k", &Launch::default(), &mut Memory::new());
                launch.err().map_or_else(String::new, |error| error.to_string())
            }
        };
        assert!(refused.contains("behind the fabric"), "{copy}: {refused}");
    }
}
