//! What can be tuned: one table, settable with `--knob NAME=VALUE`. A knob of ptxas that has one like it here goes by ptxas's number
//! or name, too.

use std::fmt;

/// What a knob is set to. Its type is the knob's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A decimal number.
    Double(f64),
    /// Whether something is done.
    Bool(bool),
}

impl Value {
    /// The type's name.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Int(_) => "int",
            Value::Double(_) => "double",
            Value::Bool(_) => "bool",
        }
    }

    /// How values of the type are written.
    fn form(self) -> &'static str {
        match self {
            Value::Int(_) => "a whole number such as 8",
            Value::Double(_) => "a decimal number such as 0.5",
            Value::Bool(_) => "true, false, 1 or 0",
        }
    }

    /// The value of this one's type that the text is.
    fn parse_like(self, text: &str) -> Option<Value> {
        match self {
            Value::Int(_) => text.parse().ok().map(Value::Int),
            Value::Double(_) => text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Double),
            Value::Bool(_) => match text {
                "true" | "1" => Some(Value::Bool(true)),
                "false" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => value.fmt(f),
            // With a point, so that it is seen to be one.
            Value::Double(value) => f.pad(&format!("{value:?}")),
            Value::Bool(value) => value.fmt(f),
        }
    }
}

use Value::{Bool, Double, Int};

/// One thing that can be tuned.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is called in what is published of ptxas: a number, or a name.
    pub published: Option<&'static str>,
    /// The value unless it is set, and the type.
    pub default: Value,
    /// What it does, with its unit.
    pub meaning: &'static str,
}

/// Every knob.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "invariant-registers",
        published: None,
        default: Int(64),
        meaning: "general registers that live in a loop, at most, for the sake of what is computed ahead of it (0: nothing is)",
    },
    Knob {
        name: "constant-prefetch",
        published: None,
        default: Int(8),
        meaning: "lines of constants that are asked for at the start of a kernel, at most",
    },
    Knob {
        name: "contract",
        published: None,
        default: Bool(true),
        meaning: "products and sums without a rounding in PTX become one instruction, as with ptxas's --fmad",
    },
    Knob {
        name: "emit-ldcu",
        published: Some("EmitLDCU"),
        default: Bool(false),
        meaning: "LDCU is asked for where the target decides otherwise; no target without it can be made to have it",
    },
    Knob {
        name: "extra-work",
        published: None,
        default: Double(1.0),
        meaning: "how much more may be executed so that more warps run, as a part of the registers that this saves",
    },
    Knob {
        name: "fold-offset-limit",
        published: None,
        default: Int(1 << 23),
        meaning: "bytes: largest address offset that is folded into a load or store",
    },
    Knob {
        name: "general-optimization",
        published: Some("487"),
        default: Bool(true),
        meaning: "GeneralOptimize bundles optimise at all, and words of the frame go to registers (slot 32)",
    },
    Knob {
        name: "inline",
        published: None,
        default: Bool(true),
        meaning: "from -O2 on the code of small functions, and of those that a kernel calls once, stands in place of the call",
    },
    Knob {
        name: "general-rounds",
        published: None,
        default: Int(4),
        meaning: "most rounds of a GeneralOptimize bundle",
    },
    Knob {
        name: "nested-limit",
        published: None,
        default: Int(2),
        meaning: "instructions: most that a branch computes for a condition under its own, with which it is joined",
    },
    Knob {
        name: "order-seed",
        published: None,
        default: Int(0),
        meaning: "eight bytes: which of many orders blocks have ahead of allocation, by their numbers modulo 8; 0: the usual one",
    },
    Knob {
        name: "predicate-selections",
        published: None,
        default: Int(4),
        meaning: "cycles by which what one side of a selection computes may come later under a guard; 0: none is guarded",
    },
    Knob {
        name: "pipelining",
        published: None,
        default: Int(15),
        meaning: "percent: loads of a loop go a round ahead where that makes a round so much shorter by the tables; 0: none does",
    },
    Knob {
        name: "predication-block",
        published: None,
        default: Int(512),
        meaning: "instructions: a block that has more takes in no more guarded code",
    },
    Knob {
        name: "predication-limit",
        published: None,
        default: Int(28),
        meaning: "instructions: longest code under a branch that is guarded instead",
    },
    Knob {
        name: "published-minimum",
        published: None,
        default: Bool(false),
        meaning: "--maxrregcount and .maxnreg go down to 16 registers before sm_90, with warning 7016, not to 24 as with ptxas",
    },
    Knob { name: "reorder-seed", published: None, default: Int(0), meaning: "the same of the order behind allocation" },
    Knob {
        name: "retries",
        published: None,
        default: Bool(true),
        meaning: "at -O3, orders and allocations are tried again for fewer spills, and for fewer registers with which more warps run",
    },
    Knob {
        name: "speculation-limit",
        published: None,
        default: Int(8),
        meaning: "instructions: in a loop, so many from behind a branch go ahead of it at most, into the wait for its predicate",
    },
    Knob {
        name: "tail-calls",
        published: None,
        default: Bool(true),
        meaning: "from -O2 on a function that is called last returns to its caller's caller, and one that calls itself last is a loop",
    },
    Knob {
        name: "uniform",
        published: Some("687"),
        default: Bool(true),
        meaning: "what is the same in a warp goes to uniform registers; if not, those that are needed all the same are warned of",
    },
    Knob {
        name: "uniform-bases",
        published: None,
        default: Bool(true),
        meaning: "accesses of global memory add a kernel's parameter, in uniform registers, to what varies themselves",
    },
    Knob {
        name: "uniform-predicates",
        published: None,
        default: Int(7),
        meaning: "uniform predicates: no more are given out, the others are spilled; a help for tests",
    },
    Knob {
        name: "uniform-promotion",
        published: Some("628"),
        default: Bool(true),
        meaning: "constants for which instructions want a uniform register are written to one at once",
    },
    Knob {
        name: "uniform-registers",
        published: None,
        default: Int(80),
        meaning: "uniform registers: no more are given out, the others are spilled; a help for tests",
    },
    Knob {
        name: "unroll",
        published: None,
        default: Int(4),
        meaning: "copies of a loop's body where it is unrolled; 0: none is",
    },
    Knob {
        name: "unroll-limit",
        published: None,
        default: Int(36),
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
pub struct Knobs(Vec<Value>);

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
    /// The value is not of the knob's type.
    #[error("'{value}' is no {kind}: {form} (knob '{name}')")]
    Value {
        /// The knob.
        name: String,
        /// What was given.
        value: String,
        /// The type.
        kind: &'static str,
        /// How values of the type are written.
        form: &'static str,
    },
}

impl Knobs {
    /// The value of a knob of [`KNOBS`]; none for a name that is not there.
    fn get(&self, name: &str) -> Option<Value> {
        let value = KNOBS.iter().position(|knob| knob.name == name).map(|at| self.0[at]);
        debug_assert!(value.is_some(), "there is no knob {name}");
        value
    }

    /// The value of an int of [`KNOBS`]; 0 for a name that is not there.
    pub fn int(&self, name: &str) -> i64 {
        let value = self.get(name);
        debug_assert!(matches!(value, Some(Int(_))), "{name} is no int");
        if let Some(Int(value)) = value { value } else { 0 }
    }

    /// The value of a double; 0 for a name that is not there.
    pub fn double(&self, name: &str) -> f64 {
        let value = self.get(name);
        debug_assert!(matches!(value, Some(Double(_))), "{name} is no double");
        if let Some(Double(value)) = value { value } else { 0.0 }
    }

    /// The value of a bool; false for a name that is not there.
    pub fn is_set(&self, name: &str) -> bool {
        let value = self.get(name);
        debug_assert!(matches!(value, Some(Bool(_))), "{name} is no bool");
        value == Some(Bool(true))
    }

    /// Apply one `NAME=VALUE`.
    pub fn set(&mut self, setting: &str) -> Result<(), KnobError> {
        let (name, value) = setting.split_once('=').ok_or_else(|| KnobError::Form(setting.to_owned()))?;
        let at = KNOBS.iter().position(|knob| knob.is_called(name)).ok_or_else(|| KnobError::Name(name.to_owned()))?;
        let like = KNOBS[at].default;
        self.0[at] = like.parse_like(value).ok_or_else(|| KnobError::Value {
            name: name.to_owned(),
            value: value.to_owned(),
            kind: like.type_name(),
            form: like.form(),
        })?;
        Ok(())
    }
}
