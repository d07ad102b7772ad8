//! The published dump formats, on the control flow that the examples show.

use crate::common;

use oriole_ori::analysis::Cfg;
use oriole_ori::dump::{Statistics, dot, rpo_and_backedges};

#[test]
fn dot_of_the_example() {
    let func = common::graph(4, &[(0, 1), (0, 3), (1, 2), (2, 1), (2, 3)]);
    let edges = "bix0 -> bix1\nbix0 -> bix3\nbix1 -> bix2\nbix2 -> bix1 // backedge (loop)\nbix2 -> bix3\n}\n";
    let text = dot(&func, &Cfg::new(&func), false);
    let head =
        format!("digraph \"{}\" {{\nnode [fontname=\"Courier\" shape=\"box\"]\nbix0 [label=\"bix0:\\l", func.name());
    assert!(text.starts_with(&head), "{text}");
    assert!(text.ends_with(edges), "{text}");
}

/// Each instruction is a line of its block's node; quotes in a name stay inside of the name.
#[test]
fn dot_has_names_and_code() {
    let text = ".function entry a\"b\n  .frame local=0 spill=0 align=4\n  .reg %R0\nbix0: -> bix1\n    \
                MOV %R0, 0x7, 0xf\nbix1:\n    EXIT\n.end\n";
    let func: oriole_ori::Function = text.parse().expect("Ori");
    let expected = "digraph \"a\\\"b\" {\nnode [fontname=\"Courier\" shape=\"box\"]\nbix0 [label=\"bix0:\\lMOV %R0, 0x7, 0xf\\l\"]\n\
                    bix1 [label=\"bix1:\\lEXIT\\l\"]\nbix0 -> bix1\n}\n";
    assert_eq!(dot(&func, &Cfg::new(&func), false), expected);
    assert!(dot(&func, &Cfg::new(&func), true).contains("ZBI %R0"));
}

/// The listing of the example is of another graph than the DOT example: there, bix3 could not come
/// before bix2. This is the loop with its exit in the header, for which the listing holds.
#[test]
fn rpo_listing_of_the_example() {
    let func = common::graph(4, &[(0, 1), (1, 2), (1, 3), (2, 1)]);
    let expected = "Showing RPO state for each basic block:\n\
                    bix0 -> RPONum: 0\nbix1 -> RPONum: 1\nbix2 -> RPONum: 3\nbix3 -> RPONum: 2\n\
                    RPO traversal order: bix0, bix1, bix3, bix2\n\
                    Showing backedge info:\nbix2 -> backedge's successor BB: 1\n";
    assert_eq!(rpo_and_backedges(&func, &Cfg::new(&func)), expected);
}

#[test]
fn statistics_of_the_example() {
    let stats = Statistics {
        instructions: 142,
        r_registers: 24,
        estimated_latency: 87,
        occupancy: 0.75,
        issue_throughput: 0.888889,
        worst_case_latency: 87.0,
        average_case_latency: 52.5,
        ..Statistics::default()
    };
    let expected = "# 142 instructions, 24 R-regs\n# [inst=142] [texInst=0] [tepid=0] [rregs=24]\n\
                    # [urregs=0] [pregs=0] [upregs=0]\n\
                    # [est latency = 87] [LSpillB=0]\n# [Occupancy = 0.750000]\n\
                    # [issue thru=0.888889] [fp thru=0.000000]\n# [worstcaseLat=87.000000]\n# [avgcaseLat=52.500000]\n";
    assert_eq!(stats.to_string(), expected);
}
