//! What mutants are made of: files of PTX, and forms of the corpus.

use super::places::instructions;
use crate::fuzz::buffers::{Argument, Buffer, Element, Fill};
use crate::fuzz::case::Case;
use crate::fuzz::sides::Plan;
use oriole_cubin::Target;
use oriole_ptx::ast::{AddressBase, Instruction, Module, Operand, Sym};
use std::collections::BTreeSet;

/// A module that is right.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Where it comes from.
    pub name: String,
    /// Its launch, where there is one.
    pub plan: Option<Plan>,
    /// The same with twice as many threads, where threads have their own places in its buffers.
    pub(super) doubled: Option<Plan>,
    /// Bytes that a thread has of the last argument of a form's launch.
    pub(super) own_bytes: usize,
    /// Targets that it is for.
    pub targets: Vec<Target>,
    /// The tree.
    pub(super) module: Module,
    /// Numbers of the instructions that it is there for: the others bring operands and take results.
    pub(super) focus: Vec<usize>,
    /// The form names them; else they are all those that may be changed.
    pub(super) chosen: bool,
}

/// Targets of files that name none, where they may be newer than the file's own.
const GENERATIONS: [&str; 6] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_103", "sm_120"];

impl Seed {
    /// A file: of `tests/programs`, with its launch, or any other.
    ///
    /// # Errors
    /// Where it is no PTX, or its header is wrong; in words.
    pub fn program(name: &str, text: &str) -> Result<Seed, String> {
        let module = oriole_ptx::load(text).map_err(|errors| errors[0].message.clone())?;
        let own = module.target.first().and_then(|name| oriole_codegen::target(name).ok());
        // Targets before the first generation are compiled for that one.
        let own = own.or_else(|| oriole_codegen::target(GENERATIONS.first()?).ok()).ok_or("its target is unknown")?;
        let newer =
            GENERATIONS.iter().filter_map(|name| oriole_codegen::target(name).ok()).filter(|newer| newer.sm > own.sm);
        let mut targets: Vec<Target> = vec![own];
        targets.extend(newer.filter(|_| own.to_string().ends_with(|last: char| last.is_ascii_digit())));
        let header = text.lines().take_while(|line| line.starts_with("//"));
        let has_header = header.clone().any(|line| line.starts_with("// arg:"));
        let case = if has_header { Some(Case::parse(text)?) } else { None };
        if let Some(case) = &case {
            targets.clone_from(&case.targets);
        }
        let focus = (0..instructions(&module).len()).collect();
        let plan = case.map(|case| case.plan);
        Ok(Seed { name: name.to_owned(), plan, doubled: None, own_bytes: 0, targets, module, focus, chosen: false })
    }

    /// The forms of a file of the corpus: a line of JSON each. Those whose results depend on their input alone are run.
    ///
    /// # Errors
    /// Where a line is not as the corpus's README says; in words.
    pub fn forms(text: &str) -> Result<Vec<Seed>, String> {
        text.lines().filter(|line| !line.trim().is_empty()).map(form).collect()
    }

    /// Its launch, as it is or with twice as many threads.
    pub(super) fn plan_of(&self, doubled: bool) -> Option<&Plan> {
        if doubled { self.doubled.as_ref() } else { self.plan.as_ref() }
    }
}

#[derive(serde::Deserialize)]
struct Form {
    id: String,
    ptx: String,
    in_bytes: usize,
    out_bytes: usize,
    threads: usize,
    deterministic: bool,
    targets: Vec<String>,
}

impl Form {
    /// A launch of so many threads, each of which has its own part of both buffers.
    fn plan(&self, threads: usize) -> Plan {
        let words = |bytes: usize| (bytes * threads).div_ceil(4).max(1);
        let fill = Fill::Random { seed: self.id.len() as u64, special: true };
        let input = Buffer { element: Element::U32, count: words(self.in_bytes), fill, zeros: 0 };
        Plan {
            kernel: "k".to_owned(),
            block: [threads as u32, 1, 1],
            arguments: vec![Argument::InOut(input), Argument::Out(4 * words(self.out_bytes))],
            ..Plan::default()
        }
    }
}

fn form(line: &str) -> Result<Seed, String> {
    let form: Form = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let targets: Vec<Target> = form.targets.iter().filter_map(|name| oriole_codegen::target(name).ok()).collect();
    let first = targets.first().ok_or_else(|| format!("{}: no target", form.id))?;
    let text = form.ptx.replace("@TARGET@", &first.to_string());
    let module = oriole_ptx::load(&text).map_err(|errors| format!("{}: {}", form.id, errors[0].message))?;
    let launch = |threads: usize| form.deterministic.then(|| form.plan(threads));
    let (plan, doubled) = (launch(form.threads), launch(2 * form.threads));
    let (focus, chosen) = meant(&module, &form.id);
    let own_bytes = form.out_bytes;
    Ok(Seed { name: form.id, plan, doubled, own_bytes, targets, module, focus, chosen })
}

/// The instructions that a form is there for: those that its name begins with, or whose opcode it begins with; all where it is there for
/// a variable or a directive. And whether the name chooses them.
fn meant(module: &Module, id: &str) -> (Vec<usize>, bool) {
    let words = id.split(['+', '#', ' ']).next().unwrap_or_default();
    let all = instructions(module);
    let spelt = |instruction: &Instruction| {
        let text = oriole_ptx::print_instruction(instruction, &module.symbols);
        text.split_whitespace().find(|word| !word.starts_with('@')).map(str::to_owned)
    };
    let those = |wanted: &dyn Fn(&Instruction) -> bool| (0..all.len()).filter(|at| wanted(all[*at])).collect();
    let exactly: Vec<usize> = those(&|instruction| spelt(instruction).is_some_and(|text| text == words));
    let opcode = words.split('.').next().unwrap_or_default();
    let by_opcode: Vec<usize> = those(&|instruction| instruction.opcode.as_str() == opcode);
    let chosen = [exactly, by_opcode].into_iter().find(|found| !found.is_empty());
    match chosen {
        Some(chosen) => (chosen, true),
        None => {
            let addresses = addresses(&all);
            let is_address =
                |instruction: &Instruction| result(instruction).is_some_and(|result| addresses.contains(&result));
            (those(&|instruction| !is_address(instruction)), false)
        }
    }
}

/// The registers that addresses are made of. What writes them must run: where other addresses lead to is each engine's own affair.
fn addresses(all: &[&Instruction]) -> BTreeSet<Sym> {
    let mut made = BTreeSet::new();
    for instruction in all.iter().rev() {
        let bases = instruction.operands.iter().filter_map(Operand::address).filter_map(|address| match address.base {
            AddressBase::Name(name) | AddressBase::Element(name, _) => Some(name.sym),
            AddressBase::Item(_, index) => Some(index?.sym),
            AddressBase::Absolute => None,
        });
        made.extend(bases);
        if result(instruction).is_some_and(|result| made.contains(&result)) {
            made.extend(instruction.operands.iter().skip(1).filter_map(|operand| Some(operand.name()?.sym)));
        }
    }
    made
}

/// The register that an instruction writes, or the first thing that it names.
fn result(instruction: &Instruction) -> Option<Sym> {
    Some(instruction.operands.first()?.name()?.sym)
}

/// A module as text, for a target.
pub(super) fn text(module: &Module, target: Target) -> String {
    let mut module = module.clone();
    module.target[0] = target.to_string();
    oriole_ptx::print(&module)
}
