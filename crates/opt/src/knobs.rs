//! Tunable numbers: one table, settable with `--knob NAME=VALUE`.

/// One tunable number.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The name on the command line.
    pub name: &'static str,
    /// The value unless it is set.
    pub default: i64,
    /// What it does, with its unit.
    pub meaning: &'static str,
}

/// Every knob.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "contract",
        default: 1,
        meaning: "0 or 1: products and sums without a rounding in PTX become one instruction, as with ptxas's --fmad",
    },
    Knob {
        name: "fold-offset-limit",
        default: 1 << 23,
        meaning: "bytes: largest address offset that is folded into a load or store",
    },
    Knob { name: "general-rounds", default: 4, meaning: "most rounds of a GeneralOptimize bundle" },
    Knob {
        name: "predication-block",
        default: 512,
        meaning: "instructions: a block that has more takes in no more guarded code",
    },
    Knob {
        name: "predication-limit",
        default: 8,
        meaning: "instructions: longest code under a branch that is guarded instead",
    },
    Knob {
        name: "published-minimum",
        default: 0,
        meaning: "0 or 1: --maxrregcount and .maxnreg go down to 16 registers before sm_90, with warning 7016, not to 24 as with ptxas",
    },
    Knob { name: "uniform", default: 1, meaning: "0 or 1: what is the same in a warp goes to uniform registers" },
];

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
        let at = KNOBS.iter().position(|knob| knob.name == name).ok_or_else(|| KnobError::Name(name.to_owned()))?;
        self.0[at] = value.parse().map_err(|_| KnobError::Value { name: name.to_owned(), value: value.to_owned() })?;
        Ok(())
    }
}
