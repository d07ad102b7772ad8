//! Flow of control that ptxas writes for kernels of its newest kinds, against what the PTX manual says, computed
//! here. Needs ptxas in the folder that `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};

/// A module that ptxas has compiled; `None`, said aloud, without ptxas.
fn compile(arch: &str, body: &str) -> Option<Cubin> {
    ptxas::compile(arch, &format!(".version 9.0\n.target {arch}\n.address_size 64\n{body}"))
}

/// Runs `k(out, number)` as two blocks of `threads` threads, each of which writes the word of its number; the words, or the error's text.
fn run(cubin: &Cubin, options: Options, threads: u32, number: u32) -> Result<Vec<u32>, String> {
    let simulator = Simulator::new(cubin, options).map_err(|error| error.to_string())?;
    let mut memory = Memory::new();
    let out = memory.allocate("the result", 4 * u64::from(threads));
    let params = [&out.to_le_bytes()[..], &number.to_le_bytes()].concat();
    let launch = Launch { grid: [2, 1, 1], block: [threads, 1, 1], params, ..Launch::default() };
    simulator.launch("k", &launch, &mut memory).map_err(|error| error.to_string())?;
    let bytes = memory.read(out, 4 * u64::from(threads)).expect("it is ours");
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

/// How simulation is looked at: as it is, for hazards, for time.
fn ways() -> [Options; 3] {
    let plain = Options { max_instructions: 100_000, ..Options::default() };
    [plain.clone(), Options { strict: true, ..plain.clone() }, Options { timing: true, ..plain }]
}

/// An index that is the same for all threads: ptxas writes `BRXU`.
#[test]
fn tables_of_branches_with_a_uniform_index() {
    let body = ".visible .entry k(.param .u64 out,.param .u32 which){
        .reg .b32 %r<8>;.reg .b64 %d<4>;
        ld.param.u64 %d0,[out];ld.param.u32 %r0,[which];
        mov.u32 %r1,%tid.x;mul.wide.u32 %d1,%r1,4;add.u64 %d0,%d0,%d1;
        ts: .branchtargets A,B,C,D;
        brx.idx %r0,ts;
        A: mul.lo.u32 %r2,%r1,3;st.global.u32 [%d0],%r2;ret;
        B: mul.lo.u32 %r2,%r1,%r1;st.global.u32 [%d0],%r2;ret;
        C: not.b32 %r2,%r1;st.global.u32 [%d0],%r2;ret;
        D: xor.b32 %r2,%r1,77;st.global.u32 [%d0],%r2;ret;}";
    for arch in ["sm_80", "sm_90", "sm_120a"] {
        let Some(cubin) = compile(arch, body) else { return };
        // There is no model of the time on sm_120, and its latencies were not measured to the cycle.
        let ways = ways().into_iter().filter(|options| arch != "sm_120a" || !options.timing && !options.strict);
        for options in ways {
            for which in 0..4 {
                let words = run(&cubin, options.clone(), 70, which).expect("it runs");
                let expected = |tid: u32| [3 * tid, tid * tid, !tid, tid ^ 77][which as usize];
                assert_eq!(words, (0..70).map(expected).collect::<Vec<u32>>(), "{arch} {which} {options:?}");
            }
        }
    }
}

/// Half of the warps give registers back, the others wait until they have them.
#[test]
fn registers_go_from_warpgroup_to_warpgroup() {
    let body = |fewer: &str, more: &str| {
        format!(
            ".visible .entry k(.param .u64 out,.param .u32 unused).reqntid 256,1,1 .maxnreg 128 {{
            .reg .b32 %r<8>;.reg .b64 %d<4>;.reg .pred %p<4>;
            ld.param.u64 %d0,[out];mov.u32 %r0,%tid.x;mul.wide.u32 %d1,%r0,4;add.u64 %d0,%d0,%d1;
            setp.lt.u32 %p0,%r0,128;@%p0 bra A;
            {fewer};mov.u32 %r1,1;bra B;
            A: {more};mov.u32 %r1,2;
            B: st.global.u32 [%d0],%r1;ret;}}"
        )
    };
    let (dec, inc) = ("setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32");
    let Some(cubin) = compile("sm_90a", &body(&format!("{dec} 40"), &format!("{inc} 216"))) else { return };
    let expected: Vec<u32> = (0..256).map(|tid| if tid < 128 { 2 } else { 1 }).collect();
    for options in ways() {
        assert_eq!(run(&cubin, options, 256, 0).expect("it runs"), expected);
    }
    // 128 - 40 registers are not enough for 216 - 128 + 8.
    let Some(cubin) = compile("sm_90a", &body(&format!("{dec} 40"), &format!("{inc} 224"))) else { return };
    let fault = run(&cubin, ways()[0].clone(), 256, 0).expect_err("nobody gives so many");
    assert!(fault.contains("deadlock") && fault.contains("setmaxnreg for 96 more registers"), "{fault}");
    let Some(cubin) = compile("sm_90a", &body(&format!("{dec} 136"), &format!("{inc} 216"))) else { return };
    let fault = run(&cubin, ways()[0].clone(), 256, 0).expect_err("more are not fewer");
    assert!(fault.contains("from 128 to 136"), "{fault}");
}

/// A kernel whose threads meet at an mbarrier; `limits` stand before its body.
fn meeting(limits: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out,.param .u32 unused){limits}{{
        .reg .b32 %r<8>;.reg .b64 %d<4>;.reg .pred %p<4>;
        .shared .align 8 .b64 bar;.shared .b32 words[64];
        ld.param.u64 %d0,[out];mov.u32 %r0,%tid.x;mul.wide.u32 %d1,%r0,4;add.u64 %d0,%d0,%d1;
        setp.ne.u32 %p0,%r0,0;@%p0 bra A;mbarrier.init.shared.b64 [bar],64;
        A: bar.sync 0;
        mov.u32 %r1,words;mad.lo.u32 %r2,%r0,4,%r1;mul.lo.u32 %r3,%r0,3;st.shared.u32 [%r2],%r3;
        mbarrier.arrive.shared.b64 %d2,[bar];
        W: mbarrier.try_wait.parity.shared.b64 %p1,[bar],0;@!%p1 bra W;
        sub.u32 %r4,63,%r0;mad.lo.u32 %r4,%r4,4,%r1;ld.shared.u32 %r5,[%r4];st.global.u32 [%d0],%r5;ret;}}"
    )
}

/// The time of kernels with mbarriers is simulated, in clusters too.
#[test]
fn mbarriers_and_clusters_under_the_model_of_time() {
    let expected: Vec<u32> = (0..64).map(|tid| 3 * (63 - tid)).collect();
    for limits in ["", ".reqnctapercluster 2,1,1 "] {
        let Some(cubin) = compile("sm_90a", &meeting(limits)) else { return };
        for options in ways() {
            assert_eq!(run(&cubin, options.clone(), 64, 0).expect("it runs"), expected, "{limits}{options:?}");
        }
    }
}
