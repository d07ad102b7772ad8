//! The published table: 159 slots, in the order in which they run, each with what fills it or why nothing does.

/// One slot of the published pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The published number, 0 to 158. Those from 132 on stand in between the others.
    pub number: u16,
    /// The published name.
    pub name: &'static str,
    /// What stands there.
    pub content: Content,
}

/// What stands in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A pass of a pipeline, which does this.
    Pass(&'static str),
    /// No pass: this stage, or this other pass, does the slot's work.
    Elsewhere(&'static str),
    /// Nothing does its work, for this reason.
    Nothing(&'static str),
}

impl Content {
    /// The words of any of them.
    pub fn words(self) -> &'static str {
        let (Content::Pass(words) | Content::Elsewhere(words) | Content::Nothing(words)) = self;
        words
    }
}

const fn pass(number: u16, name: &'static str, does: &'static str) -> Slot {
    Slot { number, name, content: Content::Pass(does) }
}

const fn stage(number: u16, name: &'static str, who: &'static str) -> Slot {
    Slot { number, name, content: Content::Elsewhere(who) }
}

const fn none(number: u16, name: &'static str, reason: &'static str) -> Slot {
    Slot { number, name, content: Content::Nothing(reason) }
}

// Who else does it.
const LOWERED: &str = "lowering (crate lower): it makes only instructions and operands that the target has";
const VERIFIED: &str = "the verifier (ori::verify), after every pass with --verify";
const ALLOCATED: &str = "slot 101, the allocator (crate regalloc)";
const CONTROL: &str = "slot 106, the scheduler (crate sched): stalls, scoreboards, waits";
const ENCODED: &str = "the encoder (crates isa, codegen::emit): it writes the words at once";
const REPORT: &str = "--dump-after, --dump-all, --stats and --time-phases report";

// Why nobody does.
const GRAPHICS: &str = "graphics pipelines only: no compute kernel has it";
const HOOK: &str = "a hook between stages, of which the published text says no more";
const NAME: &str = "only the name is published";
const TARGET: &str = "target-specific, without a published name; no target of ours fills it";
const WARS: &str = "no hardware fault that needs it is known to us";
const SETTLED: &str = "slot 29 runs until nothing changes, and nothing behind it makes new work";
const SINGLE: &str = "between slots 23 and 73 no register is written twice";

// What would find nothing to do: docs/opt.md has the counts.
const SYNCHRONISATION: &str =
    "no two barriers or fences of the corpus stand side by side: docs/opt.md, Barriers of blocks";
const FUSION: &str = "no two loops of the corpus could be one: docs/opt.md, Loops side by side";
const SUMS: &str = "four functions of the corpus have sums with common parts: docs/opt.md, Sums with common parts";

const INVARIANTS: &str = "slot 66 sees all that they would: docs/opt.md, Invariants";

const STAGES: &str =
    "slot 24 guards what it loads ahead, so that nothing is staged ahead of the loop: docs/opt.md, Pipelining";

// What the allocator does.
const REMAT: &str = "the allocator, ahead of the order: docs/regalloc.md, From neighbours, Tests again";
const RANGES: &str = "the allocator, where registers are too few: docs/regalloc.md, By next use, Along the code";

/// Every slot once. Slots 125-131 are the reports and dumps of the encoding stage, 139-158 the
/// target-specific ones; the published table names neither.
#[rustfmt::skip]
pub const SLOTS: &[Slot] = &[
    pass(0, "OriCheckInitialProgram", "values that may be read before they are written get one: undefined"),
    none(1, "ApplyNvOptRecipes", "recipes tune another program; ours are knobs"),
    none(2, "PromoteFP16", GRAPHICS),
    pass(3, "AnalyzeControlFlow", "unreachable blocks go"),
    none(4, "AdvancedPhaseBeforeConvUnSup", HOOK),
    stage(5, "ConvertUnsupportedOps", LOWERED),
    stage(6, "SetControlFlowOpLastInBB", "the IR: a block ends with its control flow, as its verifier demands"),
    none(7, "AdvancedPhaseAfterConvUnSup", HOOK),
    none(132, "UpdateAfterConvertUnsupportedOps", "slot 5 converts nothing"),
    stage(8, "OriCreateMacroInsts", LOWERED),
    stage(9, "ReportInitialRepresentation", REPORT),
    pass(10, "EarlyOriSimpleLiveDead", "results that nobody reads go"),
    pass(11, "ReplaceUniformsWithImm", "what the directives of a kernel say of every launch is a constant: docs/uniform.md"),
    stage(12, "OriSanitize", VERIFIED),
    none(13, "GeneralOptimizeEarly", "the rules need SSA form, which slot 23 makes"),
    none(133, "MergeEquivalentConditionalFlow", "equal ways and tails cost no executed instruction: docs/opt.md, Conditions under conditions"),
    stage(14, "DoSwitchOptFirst", "lowering chooses search, bits or a table: docs/lower.md"),
    pass(15, "OriBranchOpt", "jumps to jumps and chains of blocks become one block"),
    pass(16, "OriPerformLiveDeadFirst", "results that nobody reads go"),
    none(17, "OptimizeBindlessHeaderLoads", GRAPHICS),
    stage(18, "OriLoopSimplification", "slots 22, 63 and 73 make the blocks on edges that they need"),
    stage(19, "OriSplitLiveRanges", RANGES),
    none(20, "PerformPGO", "no profile is read"),
    pass(21, "OriStrengthReduce", "pointers and counters of loops, behind slot 64: docs/opt.md, Counters"),
    pass(22, "OriLoopUnrolling", "short loops with a counter are unrolled, behind slot 29: docs/opt.md, Unrolling"),
    pass(23, "GenerateMovPhi", "into SSA form"),
    pass(24, "OriPipelining", "loads of a loop go to the round before, behind slot 68: docs/opt.md, Pipelining"),
    none(25, "StageAndFence", STAGES),
    none(26, "OriRemoveRedundantBarriers", SYNCHRONISATION),
    stage(27, "AnalyzeUniformsForSpeculation", "an analysis that slots 56 and 63 ask (ori::analysis::Speculation): docs/uniform.md"),
    stage(28, "SinkRemat", "slot 69: behind predication and the last GeneralOptimize, which would undo it"),
    pass(29, "GeneralOptimize", "copies, constants, identities, sums, LOP3, addresses: docs/opt.md, The general bundle"),
    stage(30, "DoSwitchOptSecond", "slot 14"),
    none(31, "OriLinearReplacement", NAME),
    pass(32, "CompactLocalMemory", "words of the frame that are accessed at fixed offsets alone live in registers, and the frame shrinks: docs/opt.md, Local memory"),
    pass(33, "OriPerformLiveDeadSecond", "results that nobody reads go"),
    none(34, "ExtractShaderConstsFirst", "no driver computes constants before a launch for us"),
    none(35, "OriHoistInvariantsEarly", INVARIANTS),
    none(36, "EmitPSI", GRAPHICS),
    pass(37, "GeneralOptimizeMid", "slot 29's rules on what unrolling has copied"),
    pass(38, "OptimizeNestedCondBranches", "branches that are decided go, a branch under a branch joins it; behind slot 49: docs/opt.md, Conditions under conditions"),
    none(39, "ConvertVTGReadWrite", GRAPHICS),
    none(40, "DoVirtualCTAExpansion", GRAPHICS),
    stage(41, "MarkAdditionalColdBlocks", "codegen::cold, behind allocation: what calls the compiler's own routines on one way of a branch"),
    pass(42, "ExpandMbarrier", "what acts once for a warp is done once, without turns and second elections, behind slot 29: docs/opt.md, Once for a warp"),
    none(43, "ForwardProgress", NAME),
    pass(44, "OptimizeUniformAtomic", "atomics without a reader are reductions; those of a warp on one address become one"),
    stage(45, "MidExpansion", LOWERED),
    none(134, "AdvancedPhaseAfterMidExpansion", HOOK),
    none(46, "GeneralOptimizeMid2", SETTLED),
    pass(47, "AdvancedPhaseEarlyEnforceArgs", "arguments on which all calls agree are constants, known addresses are called directly, behind slot 29: docs/opt.md, Calls"),
    stage(48, "EnforceArgumentRestrictions", LOWERED),
    pass(49, "GvnCse", "what was computed before is not computed again, what memory is known to hold not loaded: docs/opt.md, Memory"),
    none(50, "OriReassociateAndCommon", SUMS),
    none(51, "ExtractShaderConstsFinal", "no driver computes constants before a launch for us"),
    none(52, "OriReplaceEquivMultiDefMov", SINGLE),
    stage(53, "OriPropagateVaryingFirst", "what varies in a warp is an analysis that is held (ori::analysis::Uniformity), asked for by slots 44, 74, 99"),
    stage(54, "OriDoRematEarly", REMAT),
    stage(55, "LateExpansion", LOWERED),
    pass(56, "SpeculativeHoistComInsts", "what both ways of a branch compute is computed before it"),
    none(57, "RemoveASTToDefaultValues", GRAPHICS),
    none(58, "GeneralOptimizeLate", "nothing between slots 49 and 65 leaves work that 65 does not do"),
    none(59, "OriLoopFusion", FUSION),
    none(60, "DoVTGMultiViewExpansion", GRAPHICS),
    none(61, "OriPerformLiveDeadThird", "slots 49 to 56 sweep what they leave behind themselves"),
    none(62, "OriRemoveRedundantMultiDefMov", SINGLE),
    pass(63, "OriDoPredication", "short code under a branch becomes guarded code"),
    pass(64, "LateOriCommoning", "loads of neighbouring words of shared memory become one"),
    pass(65, "GeneralOptimizeLate2", "slot 29's rules on what predication has left"),
    pass(66, "OriHoistInvariantsLate", "what is the same in every round of a loop is computed ahead of it: docs/opt.md, Invariants"),
    none(67, "DoKillMovement", "the IR has no kill marks to move: liveness is computed"),
    pass(68, "DoTexMovement", "in a loop, what stands behind a branch goes ahead of it, behind slot 69: docs/opt.md, Side exits"),
    pass(69, "OriDoRemat", "what is computed ahead of a loop for the code behind it goes there: docs/opt.md, Sinking"),
    stage(70, "OriPropagateVaryingSecond", "the same analysis, made anew when the function has changed; compile --uniformity lists it here: docs/uniform.md"),
    pass(71, "OptimizeSyncInstructions", "warp operations whose members all have one mask, behind slot 23: docs/opt.md, Member masks; waits and barriers: slot 99, docs/convergence.md"),
    none(135, "AdvancedPhaseLateExpandSyncInstructions", HOOK),
    stage(72, "LateExpandSyncInstructions", "slot 99 inserts them in their final form"),
    pass(73, "ConvertAllMovPhiToMov", "out of SSA form: MovPhi become copies"),
    pass(74, "ConvertToUniformReg", "what is the same in a warp goes to uniform registers, behind slot 99: docs/uniform.md"),
    pass(75, "LateArchOptimizeFirst", "doubles are immediates or constants of the kernel's bank 2, parameters are uniform bases of addresses, ahead of slot 73: docs/opt.md, Constants of 64 bits; docs/uniform.md"),
    none(76, "UpdateAfterOptimize", HOOK),
    none(77, "AdvancedPhaseLateConvUnSup", HOOK),
    stage(78, "LateExpansionUnsupportedOps", LOWERED),
    pass(136, "LateMergeEquivalentConditionalFlow", "slot 15 once more, where copies of MovPhis have turned out to be none"),
    none(79, "OriHoistInvariantsLate2", INVARIANTS),
    stage(137, "LateExpansionUnsupportedOpsMid", LOWERED),
    stage(80, "ExpandJmxComputation", LOWERED),
    pass(81, "LateArchOptimizeSecond", "two registers of a matrix become zero at once"),
    none(82, "AdvancedPhaseBackPropVReg", HOOK),
    pass(83, "OriBackCopyPropagate", "what a copy would put elsewhere is computed there"),
    stage(138, "OriSplitHighPressureLiveRanges", RANGES),
    pass(84, "OriPerformLiveDeadFourth", "results that nobody reads go"),
    pass(85, "OriPropagateGmma", "products of warpgroups get the waits and fences that the program lacks"),
    pass(86, "InsertPseudoUseDefForConvUR", "with slot 74: what threads hold that have gone another way is nobody else's until they are back"),
    pass(87, "FixupGmmaSequence", "the registers of a product are held up to its wait"),
    none(88, "OriHoistInvariantsLate3", INVARIANTS),
    none(89, "AdvancedPhaseSetRegAttr", HOOK),
    none(90, "OriSetRegisterAttr", HOOK),
    none(91, "OriCalcDependantTex", NAME),
    none(92, "AdvancedPhaseAfterSetRegAttr", HOOK),
    stage(93, "LateExpansionUnsupportedOps2", LOWERED),
    stage(94, "FinalInspectionPass", VERIFIED),
    none(95, "SetAfterLegalization", HOOK),
    stage(96, "ReportBeforeScheduling", REPORT),
    pass(97, "AdvancedPhasePreSched", "instructions change places, behind slot 99: docs/sched.md"),
    none(98, "BackPropagateVEC2D", "slot 83 computes in the registers of vectors already"),
    pass(99, "OriDoSyncronization", "BSSY, BSYNC, BREAK: docs/convergence.md"),
    none(100, "ApplyPostSyncronizationWars", WARS),
    pass(101, "AdvancedPhaseAllocReg", "registers, spills, stack: docs/regalloc.md"),
    stage(102, "ReportAfterRegisterAllocation", REPORT),
    stage(103, "Get64bRegComponents", ALLOCATED),
    stage(104, "AdvancedPhasePostExpansion", ALLOCATED),
    stage(105, "ApplyPostRegAllocWars", "allocation: waits where registers of unfinished products were moved (opt::settle_products)"),
    pass(106, "AdvancedPhasePostSched", "instructions change places, docs/sched.md; left out, they get control words alone"),
    pass(107, "OriRemoveNopCode", "NOPs go, before allocation already"),
    stage(108, "OptimizeHotColdInLoop", "codegen::jumps, behind allocation: branches are turned so that a round executes no jump: docs/opt.md, Jumps"),
    stage(109, "OptimizeHotColdFlow", "codegen::cold, behind allocation: cold blocks go behind all others"),
    none(110, "PostSchedule", "the scheduler leaves nothing to do"),
    stage(111, "AdvancedPhasePostFixUp", ENCODED),
    none(112, "PlaceBlocksInSourceOrder", "blocks are in the order of the source throughout"),
    stage(113, "PostFixForMercTargets", ENCODED),
    stage(114, "FixUpTexDepBarAndSync", CONTROL),
    stage(115, "AdvancedScoreboardsAndOpexes", CONTROL),
    stage(116, "ProcessO0WaitsAndSBs", CONTROL),
    stage(117, "MercEncodeAndDecode", ENCODED),
    stage(118, "MercExpandInstructions", ENCODED),
    stage(119, "MercGenerateWARs1", CONTROL),
    stage(120, "MercGenerateOpex", CONTROL),
    stage(121, "MercGenerateWARs2", CONTROL),
    stage(122, "MercGenerateSassUCode", ENCODED),
    stage(123, "ComputeVCallRegUse", ALLOCATED),
    stage(124, "CalcRegisterMap", ALLOCATED),
    stage(125, "Report125", REPORT),
    stage(126, "Report126", REPORT),
    stage(127, "Report127", REPORT),
    stage(128, "Report128", REPORT),
    stage(129, "Report129", REPORT),
    stage(130, "Report130", REPORT),
    stage(131, "Report131", REPORT),
    none(139, "TargetSpecific139", TARGET),
    none(140, "TargetSpecific140", TARGET),
    none(141, "TargetSpecific141", TARGET),
    none(142, "TargetSpecific142", TARGET),
    none(143, "TargetSpecific143", TARGET),
    none(144, "TargetSpecific144", TARGET),
    none(145, "TargetSpecific145", TARGET),
    none(146, "TargetSpecific146", TARGET),
    none(147, "TargetSpecific147", TARGET),
    none(148, "TargetSpecific148", TARGET),
    none(149, "TargetSpecific149", TARGET),
    none(150, "TargetSpecific150", TARGET),
    none(151, "TargetSpecific151", TARGET),
    none(152, "TargetSpecific152", TARGET),
    none(153, "TargetSpecific153", TARGET),
    none(154, "TargetSpecific154", TARGET),
    none(155, "TargetSpecific155", TARGET),
    none(156, "TargetSpecific156", TARGET),
    none(157, "TargetSpecific157", TARGET),
    none(158, "TargetSpecific158", TARGET),
];
