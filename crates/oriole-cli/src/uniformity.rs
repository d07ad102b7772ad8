//! What `--uniformity` prints: over which threads each value is the same, and why not over more.

use oriole_codegen::{UniformityInst, UniformityListing, UniformityState};
use serde_json::{Value, json};

/// How `--uniformity` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UniformityForm {
    /// The Ori with comments.
    Text,
    /// JSON.
    Json,
}

/// All functions, in the form that was asked for.
pub(crate) fn report(functions: &[UniformityListing], form: UniformityForm) -> String {
    match form {
        UniformityForm::Text => functions.iter().map(|function| format!("{}\n", function.text)).collect(),
        UniformityForm::Json => {
            format!("{:#}\n", json!({ "functions": functions.iter().map(function).collect::<Value>() }))
        }
    }
}

fn function(listing: &UniformityListing) -> Value {
    json!({
        "name": listing.function,
        "kernel": listing.is_kernel,
        "instructions": listing.insts.iter().map(instruction).collect::<Value>(),
    })
}

fn instruction(inst: &UniformityInst) -> Value {
    let result = |(register, found): &(String, UniformityState)| {
        let mut object = state(found);
        object["register"] = register.as_str().into();
        object
    };
    json!({
        "block": inst.block,
        "line": inst.line,
        "text": inst.text,
        "results": inst.results.iter().map(result).collect::<Value>(),
        "branch": inst.branch.as_ref().map(state),
    })
}

fn state(state: &UniformityState) -> Value {
    let causes = state.reasons.iter().map(|reason| json!({ "text": reason.text, "line": reason.line }));
    json!({ "state": state.sameness.to_string(), "causes": causes.collect::<Value>() })
}
