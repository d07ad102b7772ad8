//! Kernels that ptxas compiles without ABI, since a function has two results in registers: no stack, local memory from address 0 on.
//! Needs ptxas in the folder that `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_device::{Launch, Memory};
use oriole_sim::{Checks, Options, Simulator};

/// Each thread calls `two` with its word, and keeps the results in local memory: the first at 8, the second where the word says.
fn text(target: &str) -> String {
    format!(
        ".version 8.7\n.target {target}\n.address_size 64\n\
         .func (.reg .b32 x, .reg .b32 y) two(.reg .b32 a) {{ add.u32 x,a,1; xor.b32 y,a,5; ret; }}\n\
         .visible .entry k(.param .u64 p) {{\n\
         .reg .b64 %p,%l,%s;.reg .b32 %r<8>;.local .align 8 .b8 st[64];\n\
         ld.param.u64 %p,[p];mov.u32 %r0,%tid.x;mad.wide.u32 %p,%r0,4,%p;ld.global.u32 %r1,[%p];\n\
         call (%r2,%r3),two,(%r1);and.b32 %r4,%r1,56;cvt.u64.u32 %l,%r4;mov.u64 %s,st;add.s64 %l,%l,%s;\n\
         st.local.u32 [st+8],%r2;st.local.u32 [%l],%r3;ld.local.u32 %r5,[st+8];st.global.u32 [%p],%r5;ret;}}\n"
    )
}

#[test]
fn calls_and_local_memory_work_without_a_stack() {
    for target in ["sm_80", "sm_90", "sm_120"] {
        let Some(cubin) = ptxas::compile(target, &text(target)) else { return };
        assert_eq!(cubin.target.to_string(), target);
        assert!(cubin.refusals().is_empty(), "{target}: {:?}", cubin.refusals());
        let kernel = cubin.functions.iter().find(|function| function.name == "k").expect("the kernel");
        assert_eq!(cubin.absolute_local_of(kernel), 64, "{target}");
        for strict in [false, true] {
            let options = Options { strict, ..Options::default() };
            let simulator = Simulator::new(&cubin, options).expect("a module for a simulated target");
            let mut memory = Memory::new();
            let input: Vec<u32> = (0..64).map(|n| n * 3).collect();
            let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
            let buffer = memory.allocate_with("the words", &bytes);
            let launch = Launch { block: [64, 1, 1], params: buffer.to_le_bytes().to_vec(), ..Launch::default() };
            let checks = Checks { race: true, init: true, global_init: true, bounds: true, sync: true };
            let (found, result) = simulator.launch_checked("k", &launch, &mut memory, checks, &[]);
            result.unwrap_or_else(|error| panic!("{target}: {error}"));
            assert!(found.findings.is_empty(), "{target}: {:?}", found.findings);
            let expected: Vec<u8> = input
                .iter()
                .map(|&word| if word & 56 == 8 { word ^ 5 } else { word + 1 })
                .flat_map(u32::to_le_bytes)
                .collect();
            assert_eq!(memory.read(buffer, 256), Some(expected), "{target}");
        }
    }
}
