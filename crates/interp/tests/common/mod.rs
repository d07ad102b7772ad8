//! Small kernels run on the interpreter, for all tests.

#![allow(dead_code, reason = "each test file uses a part")]

use oriole_device::{Fault, Launch, Memory};
use oriole_interp::{Interpreter, Options, RunError, RunReport};

/// What a run leaves.
pub(crate) struct Run {
    /// The words of the output buffer.
    pub(crate) out: Vec<u32>,
    /// The report.
    pub(crate) report: RunReport,
}

/// The text of a module with `body` as the kernel `k(.param .u64 out)`; `%out` is loaded, and `%t`
/// and `%lane` hold the thread's number and lane. `head` stands before the kernel.
pub(crate) fn module(head: &str, body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n{head}\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b64 %out, %at, %rd<20>; .reg .b32 %t, %lane, %r<40>; .reg .pred %p<10>; .reg .f32 %f<10>;\n\
         .reg .b16 %h<10>; .reg .f64 %d<10>;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %lane, %laneid;\n\
         mad.wide.u32 %at, %t, 4, %out;\n{body}\n}}\n"
    )
}

/// Runs `k` of a module with `words` zeroed output words.
pub(crate) fn try_run(text: &str, words: usize, launch: Launch, options: Options) -> Result<Run, Box<Fault>> {
    let module = oriole_ptx::load(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let interpreter = Interpreter::new(&module, options).expect("it loads");
    let mut memory = Memory::new();
    let out = memory.allocate("out", 4 * words as u64);
    let launch = Launch { params: out.to_le_bytes().to_vec(), ..launch };
    match interpreter.launch("k", &launch, &mut memory) {
        Ok(report) => {
            let bytes = memory.read(out, 4 * words as u64).expect("it is there");
            let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
            Ok(Run { out: words.collect(), report })
        }
        Err(RunError::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

/// Runs a kernel body with one block of `threads` threads and one output word for each.
pub(crate) fn run(head: &str, body: &str, threads: u32) -> Run {
    let launch = Launch { block: [threads, 1, 1], ..Launch::default() };
    try_run(&module(head, body), threads as usize, launch, Options::default())
        .unwrap_or_else(|fault| panic!("{fault}\n{body}"))
}

/// The fault of a kernel body with one block of `threads` threads.
pub(crate) fn fault(head: &str, body: &str, threads: u32) -> Fault {
    let launch = Launch { block: [threads, 1, 1], ..Launch::default() };
    let options = Options { max_instructions: 100_000, ..Options::default() };
    match try_run(&module(head, body), threads as usize, launch, options) {
        Err(fault) => *fault,
        Ok(run) => panic!("no fault: {:?}", run.out),
    }
}
