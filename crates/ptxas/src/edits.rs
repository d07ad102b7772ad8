//! Options that act on what PTX says: cache operators of loads and stores, bounds of kernels' launches. The text is changed in
//! place, so that lines stay what they are.

use oriole_ptx::ast::{Block, Function, FunctionDirective, Instruction, Module, Statement};

/// Cache operators of loads and of stores.
pub(crate) const LOAD_CACHES: [&str; 5] = ["ca", "cg", "cs", "lu", "cv"];
pub(crate) const STORE_CACHES: [&str; 4] = ["wb", "cg", "cs", "wt"];

/// Threads of a block, at most.
const MOST_THREADS: u64 = 1024;

/// State spaces in the names of loads and stores.
const SPACES: [&str; 8] = ["const", "global", "local", "param", "shared", "param::entry", "param::func", "shared::cta"];
/// Words beside which no cache operator may stand.
const STRONG: [&str; 5] = ["volatile", "relaxed", "acquire", "release", "mmio"];

/// A cache operator for accesses of global memory and of generic addresses.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) operator: String,
    /// Also where another one stands.
    pub(crate) forced: bool,
}

/// What is to change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) loads: Option<Cache>,
    pub(crate) stores: Option<Cache>,
    /// `.maxntid`.
    pub(crate) max_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub(crate) min_blocks: Option<u32>,
    /// Both count for more than what the module says.
    pub(crate) overrides: bool,
    /// `.maxnreg` counts for nothing.
    pub(crate) drops_max_registers: bool,
}

/// Some text in place of another.
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

impl Changes {
    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        let bounds = self.max_threads.is_some() || self.min_blocks.is_some() || self.drops_max_registers;
        self.loads.is_some() || self.stores.is_some() || bounds
    }

    /// What is said where blocks would have more threads than there may be: the bounds do not count then.
    pub(crate) fn beyond_a_block(&self, module: &Module) -> Vec<String> {
        let kernels: Vec<&Function> = module.functions().filter(|function| function.is_entry).collect();
        let name = |kernel: &&Function| module.symbols.text(kernel.name.sym).to_owned();
        let names =
            kernels.iter().rev().filter(|_| self.max_threads.is_some_and(|extents| !is_block(extents))).map(name);
        names
            .map(|name| {
                format!("Value of threads per SM for entry {name} is out of range. .minnctapersm and .maxntid will be ignored")
            })
            .collect()
    }

    /// The text of a module with the changes.
    pub(crate) fn apply(&self, module: &Module, text: &str) -> String {
        let mut edits = Vec::new();
        for function in module.functions() {
            if function.is_entry && function.body.is_some() {
                edits.extend(self.bounds(function, text));
            }
            function.body.iter().for_each(|body| self.in_block(body, text, &mut edits));
        }
        edits.sort_by_key(|edit| edit.start);
        let (mut out, mut from) = (String::with_capacity(text.len() + 64), 0);
        for Edit { start, end, text: new } in edits {
            out.push_str(&text[from..start]);
            out.push_str(&new);
            from = end;
        }
        out.push_str(&text[from..]);
        out
    }

    /// The directives of a kernel.
    fn bounds(&self, function: &Function, text: &str) -> Vec<Edit> {
        let mut edits = Vec::new();
        let has = |test: fn(&FunctionDirective) -> bool| function.directives.iter().any(test);
        let bounded = has(|d| matches!(d, FunctionDirective::MaxNTid(_) | FunctionDirective::ReqNTid(_)));
        let own_blocks = has(|d| matches!(d, FunctionDirective::MinNCtaPerSm(_)));
        let (start, end) = (function.span.start as usize, function.span.end as usize);
        let mut drop_directive = |name: &str| edits.extend(directive(text, start, end, name));
        let counts = self.max_threads.is_none_or(is_block);
        let sets_threads = self.max_threads.filter(|_| counts && (self.overrides || !bounded));
        let sets_blocks = self.min_blocks.filter(|_| counts && (self.overrides || !own_blocks));
        if sets_threads.is_some() && bounded {
            drop_directive(".maxntid");
        }
        if sets_blocks.is_some() && own_blocks {
            drop_directive(".minnctapersm");
        }
        if self.drops_max_registers {
            drop_directive(".maxnreg");
        }
        let mut added = String::new();
        if let Some([x, y, z]) = sets_threads.filter(|_| !has(|d| matches!(d, FunctionDirective::ReqNTid(_)))) {
            added += &format!(" .maxntid {x}, {y}, {z} ");
        }
        // Blocks are bounded where threads are.
        if let Some(blocks) = sets_blocks.filter(|_| bounded || sets_threads.is_some()) {
            added += &format!(" .minnctapersm {blocks} ");
        }
        if !added.is_empty() {
            edits.push(Edit { start: end, end, text: added });
        }
        edits
    }

    fn in_block(&self, block: &Block, text: &str, edits: &mut Vec<Edit>) {
        for statement in &block.statements {
            match statement {
                Statement::Block(inner) => self.in_block(inner, text, edits),
                Statement::Instruction(inst) => edits.extend(self.cached(inst, text)),
                _ => {}
            }
        }
    }

    /// A load or store with its cache operator.
    fn cached(&self, inst: &Instruction, text: &str) -> Option<Edit> {
        let (start, end) = (inst.opcode_span.start as usize, inst.opcode_span.end as usize);
        let name = text.get(start..end)?;
        let mut parts: Vec<&str> = name.split('.').collect();
        let (cache, operators) = match parts[0] {
            "ld" => (self.loads.as_ref()?, &LOAD_CACHES[..]),
            "st" => (self.stores.as_ref()?, &STORE_CACHES[..]),
            _ => return None,
        };
        let elsewhere = |part: &&str| SPACES.contains(part) && *part != "global";
        let fixed = |part: &&str| STRONG.contains(part) || part.starts_with("L1::") || part.starts_with("L2::evict");
        if parts.iter().any(|part| elsewhere(part) || fixed(part)) {
            return None;
        }
        match parts.iter().position(|part| operators.contains(part)) {
            Some(at) if cache.forced => parts[at] = &cache.operator,
            Some(_) => return None,
            None => {
                let leads = |part: &&str| ["ld", "st", "weak", "global"].contains(part);
                let at = parts.iter().take_while(|part| leads(part)).count();
                parts.insert(at, &cache.operator);
            }
        }
        Some(Edit { start, end, text: parts.join(".") })
    }
}

/// Whether a block may have so many threads.
fn is_block(extents: [u32; 3]) -> bool {
    extents.iter().fold(1u64, |product, extent| product.saturating_mul(u64::from(*extent))) <= MOST_THREADS
}

/// Blanks in place of a directive with its numbers.
fn directive(text: &str, start: usize, end: usize, name: &str) -> Option<Edit> {
    let at = start + text[start..end].find(name)?;
    let numbers = &text[at + name.len()..end];
    let len = numbers.find(|c: char| !(c.is_ascii_digit() || c.is_whitespace() || c == ',')).unwrap_or(numbers.len());
    let gone = &text[at..at + name.len() + len];
    let blank = gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
    Some(Edit { start: at, end: at + gone.len(), text: blank })
}

#[cfg(test)]
mod tests {
    use super::{Cache, Changes};

    fn changed(changes: &Changes, header: &str, body: &str) -> String {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p){header} {{ .reg .b64 %p; .reg .b32 \
             %v; ld.param.u64 %p, [p]; {body} ret; }}"
        );
        let module = oriole_ptx::load(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let out = changes.apply(&module, &text);
        oriole_ptx::load(&out).unwrap_or_else(|errors| panic!("{errors:?}\n{out}"));
        out
    }

    #[test]
    fn cache_operators_come_where_none_is() {
        let cache = |operator: &str, forced| Some(Cache { operator: operator.to_owned(), forced });
        let body = "ld.global.u32 %v, [%p]; ld.global.cs.u32 %v, [%p]; ld.u32 %v, [%p]; ld.volatile.global.u32 %v, [%p]; \
                    st.weak.global.u32 [%p], %v;";
        let out = changed(&Changes { loads: cache("cg", false), ..Changes::default() }, "", body);
        assert_eq!(out.matches("ld.global.cg.u32").count(), 1);
        assert_eq!(out.matches("ld.global.cs.u32").count(), 1);
        assert_eq!(out.matches("ld.cg.u32").count(), 1);
        assert_eq!(out.matches("ld.volatile.global.u32").count(), 1);
        let out =
            changed(&Changes { loads: cache("cg", true), stores: cache("wt", false), ..Changes::default() }, "", body);
        assert_eq!(out.matches("ld.global.cg.u32").count(), 2);
        assert!(out.contains("st.weak.global.wt.u32") && out.contains("ld.param.u64"));
    }

    #[test]
    fn bounds_come_where_none_are_or_count_for_more() {
        let changes = Changes { max_threads: Some([128, 1, 1]), min_blocks: Some(2), ..Changes::default() };
        assert!(changed(&changes, "", "").contains(".maxntid 128, 1, 1  .minnctapersm 2"));
        let own = changed(&changes, " .maxntid 64 .minnctapersm 4 .maxnreg 40", "");
        assert!(own.contains(".maxntid 64 .minnctapersm 4") && !own.contains("128"));
        let changes = Changes { overrides: true, drops_max_registers: true, ..changes };
        let own = changed(&changes, " .maxntid 64 .minnctapersm 4 .maxnreg 40", "");
        assert!(
            own.contains(".maxntid 128, 1, 1  .minnctapersm 2") && !own.contains("64 .") && !own.contains("maxnreg")
        );
    }
}
