//! Tunable numbers: one table, settable with `--knob NAME=VALUE`. A knob of ptxas that has one like it here goes by ptxas's number
//! or name, too.

/// One tunable number.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is called in what is published of ptxas: a number, or a name.
    pub published: Option<&'static str>,
    /// The value unless it is set.
    pub default: i64,
    /// What it does, with its unit.
    pub meaning: &'static str,
}

/// Every knob.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "invariant-registers",
        published: None,
        default: 64,
        meaning: "general registers that live in a loop, at most, for the sake of what is computed ahead of it (0: nothing is)",
    },
    Knob {
        name: "constant-prefetch",
        published: None,
        default: 8,
        meaning: "lines of constants that are asked for at the start of a kernel, at most",
    },
    Knob {
        name: "contract",
        published: None,
        default: 1,
        meaning: "0 or 1: products and sums without a rounding in PTX become one instruction, as with ptxas's --fmad",
    },
    Knob {
        name: "emit-ldcu",
        published: Some("EmitLDCU"),
        default: 0,
        meaning: "0 or 1: LDCU is asked for where the target decides otherwise; no target without it can be made to have it",
    },
    Knob {
        name: "fold-offset-limit",
        published: None,
        default: 1 << 23,
        meaning: "bytes: largest address offset that is folded into a load or store",
    },
    Knob {
        name: "general-optimization",
        published: Some("487"),
        default: 1,
        meaning: "0 or 1: GeneralOptimize bundles optimise at all",
    },
    Knob { name: "general-rounds", published: None, default: 4, meaning: "most rounds of a GeneralOptimize bundle" },
    Knob {
        name: "predicate-selections",
        published: None,
        default: 4,
        meaning: "cycles by which what one side of a selection computes may come later under a guard; 0: none is guarded",
    },
    Knob {
        name: "predication-block",
        published: None,
        default: 512,
        meaning: "instructions: a block that has more takes in no more guarded code",
    },
    Knob {
        name: "predication-limit",
        published: None,
        default: 8,
        meaning: "instructions: longest code under a branch that is guarded instead",
    },
    Knob {
        name: "published-minimum",
        published: None,
        default: 0,
        meaning: "0 or 1: --maxrregcount and .maxnreg go down to 16 registers before sm_90, with warning 7016, not to 24 as with ptxas",
    },
    Knob {
        name: "uniform",
        published: Some("687"),
        default: 1,
        meaning: "0 or 1: what is the same in a warp goes to uniform registers; at 0 those that are needed all the same are warned of",
    },
    Knob {
        name: "uniform-predicates",
        published: None,
        default: 7,
        meaning: "uniform predicates: no more are given out, the others are spilled; a help for tests",
    },
    Knob {
        name: "uniform-promotion",
        published: Some("628"),
        default: 1,
        meaning: "0 or 1: constants for which instructions want a uniform register are written to one at once",
    },
    Knob {
        name: "uniform-registers",
        published: None,
        default: 80,
        meaning: "uniform registers: no more are given out, the others are spilled; a help for tests",
    },
    Knob {
        name: "unroll",
        published: None,
        default: 4,
        meaning: "copies of a loop's body where it is unrolled; 0: none is",
    },
    Knob {
        name: "unroll-limit",
        published: None,
        default: 36,
        meaning: "instructions: a loop whose body has more is not unrolled",
    },
];

impl Knob {
    /// Whether it goes by the name.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.published == Some(name)
    }
}

/// The values of all knobs.
#[derive(Clone, Debug)]
pub struct Knobs(Vec<i64>);

impl Default for Knobs {
    fn default() -> Self {
        Knobs(KNOBS.iter().map(|knob| knob.default).collect())
    }
}

/// A knob setting that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    /// Not of the form `NAME=VALUE`.
    #[error("'{0}' is not of the form NAME=VALUE")]
    Form(String),
    /// No such knob.
    #[error("there is no knob '{0}'; there are: {names}", names = KNOBS.iter().map(|k| k.name).collect::<Vec<_>>().join(" "))]
    Name(String),
    /// The value is no number.
    #[error("'{value}' is not a number (knob '{name}')")]
    Value {
        /// The knob.
        name: String,
        /// What was given.
        value: String,
    },
}

impl Knobs {
    /// The value of a knob of [`KNOBS`]; 0 for a name that is not there.
    pub fn get(&self, name: &str) -> i64 {
        KNOBS.iter().position(|knob| knob.name == name).map_or(0, |at| self.0[at])
    }

    /// Apply one `NAME=VALUE`.
    pub fn set(&mut self, setting: &str) -> Result<(), KnobError> {
        let (name, value) = setting.split_once('=').ok_or_else(|| KnobError::Form(setting.to_owned()))?;
        let at = KNOBS.iter().position(|knob| knob.is_called(name)).ok_or_else(|| KnobError::Name(name.to_owned()))?;
        self.0[at] = value.parse().map_err(|_| KnobError::Value { name: name.to_owned(), value: value.to_owned() })?;
        Ok(())
    }
}
