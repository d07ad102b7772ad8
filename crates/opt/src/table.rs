//! The pipeline, as published: 159 slots, in the order in which they run.

use crate::passes::{back_copy, branches, check, control_flow, dead_code, form, general, nops, predicate, synchronise};
use crate::{Changed, Context, PhaseError};
use oriole_ori::Function;
use oriole_ori::analysis::{Analyses, Kept};

/// A phase's code.
pub type Run = fn(&mut Function, &Context, &mut Analyses) -> Result<Changed, PhaseError>;

/// What stands in a slot.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Real work, from an optimisation level on.
    Run {
        /// Lowest `-O` level at which it runs.
        level: u8,
        /// Code of that level cannot do without it.
        needed: bool,
        /// What holds after it, where it changed the function.
        keeps: Kept,
        /// The code.
        run: Run,
    },
    /// Nothing, for this reason.
    Absent(&'static str),
}

/// One slot of the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The published number, 0–158. Numbers from 132 on run in between the others.
    pub number: u16,
    /// The published name.
    pub name: &'static str,
    /// What it does.
    pub work: Work,
}

impl Phase {
    /// Correct code does not need it.
    pub fn is_optional(&self) -> bool {
        matches!(self.work, Work::Run { needed: false, .. })
    }
}

const fn run(number: u16, name: &'static str, keeps: Kept, run: Run) -> Phase {
    Phase { number, name, work: Work::Run { level: 1, needed: false, keeps, run } }
}

/// Work that correct code needs at every level.
const fn always(number: u16, name: &'static str, keeps: Kept, run: Run) -> Phase {
    Phase { number, name, work: Work::Run { level: 0, needed: true, keeps, run } }
}

/// Work that the phases of `-O1` and above rely on: it cannot be left out alone.
const fn form(number: u16, name: &'static str, run: Run) -> Phase {
    Phase { number, name, work: Work::Run { level: 1, needed: true, keeps: Kept::Flow, run } }
}

const fn absent(number: u16, name: &'static str, reason: &'static str) -> Phase {
    Phase { number, name, work: Work::Absent(reason) }
}

const GRAPHICS: &str = "graphics pipelines only: no compute kernel has it";
const HOOK: &str = "a hook between stages; the phases beside it do the work";
const REPORT: &str = "--dump-after and --stats give the report";
const LATER: &str = "not there yet: see docs/opt.md";
const SETTLED: &str = "slot 29 runs until nothing changes, and no phase in between makes new work yet";
const TARGET: &str = "a target-specific slot that no target of ours fills";

/// Every slot once. Slots 125-131 are the reports and dumps of the encoding stage, 139-158 the
/// target-specific ones; the published table names neither.
pub const PHASES: &[Phase] = &[
    always(0, "OriCheckInitialProgram", Kept::Flow, check::run),
    absent(1, "ApplyNvOptRecipes", "recipes tune another program; ours are knobs"),
    absent(2, "PromoteFP16", "half-precision promotion in graphics pipelines only: no compute kernel has it"),
    always(3, "AnalyzeControlFlow", Kept::Nothing, control_flow::run),
    absent(4, "AdvancedPhaseBeforeConvUnSup", HOOK),
    absent(5, "ConvertUnsupportedOps", "lowering emits only what the target has"),
    absent(6, "SetControlFlowOpLastInBB", "the IR keeps terminators last by construction"),
    absent(7, "AdvancedPhaseAfterConvUnSup", HOOK),
    absent(132, "UpdateAfterConvertUnsupportedOps", LATER),
    absent(8, "OriCreateMacroInsts", "lowering emits the sequences themselves"),
    absent(9, "ReportInitialRepresentation", REPORT),
    run(10, "EarlyOriSimpleLiveDead", Kept::Flow, dead_code::run),
    absent(11, "ReplaceUniformsWithImm", LATER),
    absent(12, "OriSanitize", "the verifier covers it"),
    absent(
        13,
        "GeneralOptimizeEarly",
        "the rules need SSA form, which slot 23 makes: slot 29 runs them until nothing changes",
    ),
    absent(133, "MergeEquivalentConditionalFlow", LATER),
    absent(14, "DoSwitchOptFirst", LATER),
    run(15, "OriBranchOpt", Kept::Nothing, branches::run),
    run(16, "OriPerformLiveDeadFirst", Kept::Flow, dead_code::run),
    absent(17, "OptimizeBindlessHeaderLoads", GRAPHICS),
    absent(18, "OriLoopSimplification", LATER),
    absent(19, "OriSplitLiveRanges", LATER),
    absent(20, "PerformPGO", "no profile is read"),
    absent(21, "OriStrengthReduce", "the rules of slot 29 do it, on SSA form"),
    absent(22, "OriLoopUnrolling", LATER),
    form(23, "GenerateMovPhi", form::enter),
    absent(24, "OriPipelining", LATER),
    absent(25, "StageAndFence", LATER),
    absent(26, "OriRemoveRedundantBarriers", LATER),
    absent(27, "AnalyzeUniformsForSpeculation", LATER),
    absent(28, "SinkRemat", LATER),
    run(29, "GeneralOptimize", Kept::Flow, general::run),
    absent(30, "DoSwitchOptSecond", LATER),
    absent(31, "OriLinearReplacement", LATER),
    absent(32, "CompactLocalMemory", LATER),
    run(33, "OriPerformLiveDeadSecond", Kept::Flow, dead_code::run),
    absent(34, "ExtractShaderConstsFirst", LATER),
    absent(35, "OriHoistInvariantsEarly", LATER),
    absent(36, "EmitPSI", GRAPHICS),
    absent(37, "GeneralOptimizeMid", SETTLED),
    absent(38, "OptimizeNestedCondBranches", LATER),
    absent(39, "ConvertVTGReadWrite", GRAPHICS),
    absent(40, "DoVirtualCTAExpansion", GRAPHICS),
    absent(41, "MarkAdditionalColdBlocks", LATER),
    absent(42, "ExpandMbarrier", LATER),
    absent(43, "ForwardProgress", LATER),
    absent(44, "OptimizeUniformAtomic", LATER),
    absent(45, "MidExpansion", LATER),
    absent(134, "AdvancedPhaseAfterMidExpansion", HOOK),
    absent(46, "GeneralOptimizeMid2", SETTLED),
    absent(47, "AdvancedPhaseEarlyEnforceArgs", HOOK),
    absent(48, "EnforceArgumentRestrictions", "lowering emits only encodable operands"),
    run(49, "GvnCse", Kept::Flow, general::common),
    absent(50, "OriReassociateAndCommon", LATER),
    absent(51, "ExtractShaderConstsFinal", LATER),
    absent(52, "OriReplaceEquivMultiDefMov", LATER),
    absent(53, "OriPropagateVaryingFirst", LATER),
    absent(54, "OriDoRematEarly", LATER),
    absent(55, "LateExpansion", LATER),
    absent(56, "SpeculativeHoistComInsts", LATER),
    absent(57, "RemoveASTToDefaultValues", GRAPHICS),
    absent(58, "GeneralOptimizeLate", "nothing between slots 49 and 65 leaves work for it that 65 does not do"),
    absent(59, "OriLoopFusion", LATER),
    absent(60, "DoVTGMultiViewExpansion", GRAPHICS),
    run(61, "OriPerformLiveDeadThird", Kept::Flow, dead_code::run),
    absent(62, "OriRemoveRedundantMultiDefMov", LATER),
    run(63, "OriDoPredication", Kept::Nothing, predicate::run),
    absent(64, "LateOriCommoning", LATER),
    run(65, "GeneralOptimizeLate2", Kept::Flow, general::run),
    absent(66, "OriHoistInvariantsLate", LATER),
    absent(67, "DoKillMovement", LATER),
    absent(68, "DoTexMovement", "texture work comes with textures"),
    absent(69, "OriDoRemat", LATER),
    absent(70, "OriPropagateVaryingSecond", LATER),
    absent(71, "OptimizeSyncInstructions", LATER),
    absent(135, "AdvancedPhaseLateExpandSyncInstructions", LATER),
    absent(72, "LateExpandSyncInstructions", LATER),
    form(73, "ConvertAllMovPhiToMov", form::leave),
    absent(74, "ConvertToUniformReg", LATER),
    absent(75, "LateArchOptimizeFirst", LATER),
    absent(76, "UpdateAfterOptimize", HOOK),
    absent(77, "AdvancedPhaseLateConvUnSup", HOOK),
    absent(78, "LateExpansionUnsupportedOps", LATER),
    absent(136, "LateMergeEquivalentConditionalFlow", LATER),
    absent(79, "OriHoistInvariantsLate2", LATER),
    absent(137, "LateExpansionUnsupportedOpsMid", LATER),
    absent(80, "ExpandJmxComputation", LATER),
    absent(81, "LateArchOptimizeSecond", LATER),
    absent(82, "AdvancedPhaseBackPropVReg", LATER),
    run(83, "OriBackCopyPropagate", Kept::Flow, back_copy::run),
    absent(138, "OriSplitHighPressureLiveRanges", LATER),
    run(84, "OriPerformLiveDeadFourth", Kept::Flow, dead_code::run),
    absent(85, "OriPropagateGmma", LATER),
    absent(86, "InsertPseudoUseDefForConvUR", LATER),
    absent(87, "FixupGmmaSequence", LATER),
    absent(88, "OriHoistInvariantsLate3", LATER),
    absent(89, "AdvancedPhaseSetRegAttr", HOOK),
    absent(90, "OriSetRegisterAttr", HOOK),
    absent(91, "OriCalcDependantTex", "texture work comes with textures"),
    absent(92, "AdvancedPhaseAfterSetRegAttr", HOOK),
    absent(93, "LateExpansionUnsupportedOps2", LATER),
    absent(94, "FinalInspectionPass", "the verifier covers it"),
    absent(95, "SetAfterLegalization", HOOK),
    absent(96, "ReportBeforeScheduling", REPORT),
    absent(97, "AdvancedPhasePreSched", "scheduling runs once, after allocation (crate sched)"),
    absent(98, "BackPropagateVEC2D", LATER),
    always(99, "OriDoSyncronization", Kept::Nothing, synchronise::run),
    absent(100, "ApplyPostSyncronizationWars", "no hardware fault that needs it is known to us"),
    absent(101, "AdvancedPhaseAllocReg", "the allocator is a crate of its own (regalloc)"),
    absent(102, "ReportAfterRegisterAllocation", REPORT),
    absent(103, "Get64bRegComponents", "registers keep their components throughout"),
    absent(104, "AdvancedPhasePostExpansion", "prologues and epilogues are the allocator's"),
    absent(105, "ApplyPostRegAllocWars", "no hardware fault that needs it is known to us"),
    absent(106, "AdvancedPhasePostSched", "the scheduler is a crate of its own (sched)"),
    always(107, "OriRemoveNopCode", Kept::Flow, nops::run),
    absent(108, "OptimizeHotColdInLoop", LATER),
    absent(109, "OptimizeHotColdFlow", LATER),
    absent(110, "PostSchedule", REPORT),
    absent(111, "AdvancedPhasePostFixUp", "addresses are fixed when code is emitted"),
    absent(112, "PlaceBlocksInSourceOrder", LATER),
    absent(113, "PostFixForMercTargets", "the encoder writes words directly"),
    absent(114, "FixUpTexDepBarAndSync", "control words are the scheduler's (crate sched)"),
    absent(115, "AdvancedScoreboardsAndOpexes", "control words are the scheduler's (crate sched)"),
    absent(116, "ProcessO0WaitsAndSBs", "control words are the scheduler's (crate sched)"),
    absent(117, "MercEncodeAndDecode", "the encoder writes words directly"),
    absent(118, "MercExpandInstructions", "the encoder writes words directly"),
    absent(119, "MercGenerateWARs1", "write-after-read waits are the scheduler's"),
    absent(120, "MercGenerateOpex", "control words are the scheduler's (crate sched)"),
    absent(121, "MercGenerateWARs2", "write-after-read waits are the scheduler's"),
    absent(122, "MercGenerateSassUCode", "the encoder writes words directly"),
    absent(123, "ComputeVCallRegUse", "call register use comes from the allocator"),
    absent(124, "CalcRegisterMap", "the allocator reports it"),
    absent(125, "Report125", REPORT),
    absent(126, "Report126", REPORT),
    absent(127, "Report127", REPORT),
    absent(128, "Report128", REPORT),
    absent(129, "Report129", REPORT),
    absent(130, "Report130", REPORT),
    absent(131, "Report131", REPORT),
    absent(139, "TargetSpecific139", TARGET),
    absent(140, "TargetSpecific140", TARGET),
    absent(141, "TargetSpecific141", TARGET),
    absent(142, "TargetSpecific142", TARGET),
    absent(143, "TargetSpecific143", TARGET),
    absent(144, "TargetSpecific144", TARGET),
    absent(145, "TargetSpecific145", TARGET),
    absent(146, "TargetSpecific146", TARGET),
    absent(147, "TargetSpecific147", TARGET),
    absent(148, "TargetSpecific148", TARGET),
    absent(149, "TargetSpecific149", TARGET),
    absent(150, "TargetSpecific150", TARGET),
    absent(151, "TargetSpecific151", TARGET),
    absent(152, "TargetSpecific152", TARGET),
    absent(153, "TargetSpecific153", TARGET),
    absent(154, "TargetSpecific154", TARGET),
    absent(155, "TargetSpecific155", TARGET),
    absent(156, "TargetSpecific156", TARGET),
    absent(157, "TargetSpecific157", TARGET),
    absent(158, "TargetSpecific158", TARGET),
];
