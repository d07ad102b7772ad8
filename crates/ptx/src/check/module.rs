//! What holds for a whole module: version, targets, directives, aliases.

use super::Checker;
use rustc_hash::FxHashSet;

use crate::ast::{Function, FunctionDirective, Item, Linkage, Name, Prototype, Space, Span, Sym, Variable};
use crate::diag::{Diagnostic, Rule};
use crate::grammar::{self, Target};
use crate::scope::Binding;

/// Words of `.target` that are no architecture.
const TARGET_OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];
/// The last architecture that has no double-precision arithmetic.
const LAST_WITHOUT_DOUBLES: u32 = 12;

impl<'m> Checker<'m> {
    /// The header and what stands at file level.
    pub(super) fn module(&mut self) {
        self.version();
        self.targets();
        self.address_size();
        let mut files = FxHashSet::default();
        for item in &self.module.items {
            match item {
                Item::Variable(variable) => self.module_variable(variable),
                Item::Registers(declaration) => {
                    self.needs("`.reg` at file level", "thread_variables", declaration.span);
                    self.register_type(declaration);
                }
                Item::DwarfLine(span) => self.needs("`@@DWARF`", "dwarf_lines", *span),
                Item::Alias { name, aliasee } => self.alias(*name, *aliasee),
                Item::Pragma(pragmas) => self.module_pragmas(pragmas),
                Item::Loc(loc) => self.location(loc),
                Item::Section(section) => self.needs("`.section`", "section", section.span),
                Item::File(file) => {
                    files.insert(file.index);
                }
                Item::IntermediateSource(source) => self.intermediate_source(source, &files),
                Item::Function(_) => {}
            }
        }
        self.constant_space();
        self.sections();
    }

    pub(super) fn declaration(&mut self, span: Span, message: impl Into<String>, help: &str) {
        let diagnostic = Diagnostic::new(span, message).rule(Rule::Declaration);
        self.error(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
    }

    /// Reports a directive or pragma that the version or target lacks.
    pub(super) fn needs(&mut self, feature: &str, name: &str, span: Span) {
        let Some(need) = grammar::directive(name) else { return };
        if let Some(((major, minor), _)) = need.end.filter(|_| need.has_ended(self.module.version, self.target)) {
            return self.declaration(span, format!("{feature} ended with PTX {major}.{minor}"), "");
        }
        self.least_version = self.least_version.max(need.version);
        if let Some(diagnostic) = self.unmet_need(feature, need, span) {
            self.error(diagnostic);
        }
    }

    fn version(&mut self) {
        let (major, minor) = self.module.version;
        let is_known = grammar::versions().contains(&self.module.version);
        // Of a version to come `newer_version` warns.
        if !is_known && self.module.version <= super::newest_version() && self.module.header[0].end > 0 {
            let message = format!("there is no PTX {major}.{minor}");
            let help = "write a version of the manual's release notes, such as 9.0";
            self.error(Diagnostic::new(self.module.header[0], message).rule(Rule::Version).help(help));
        }
    }

    fn targets(&mut self) {
        let span = self.module.header[1];
        if self.module.target.is_empty() {
            let help = "add a line such as `.target sm_90` after `.version`";
            // It is missing in front of what comes after the version.
            let next = Some(self.module.header[2]).filter(|size| size.end > 0);
            let at = next.unwrap_or(self.module.header[0]);
            return self.declaration(at, "the module has no `.target`", help);
        }
        for name in &self.module.target {
            if TARGET_OPTIONS.contains(&name.as_str()) {
                self.needs(&format!("`{name}`"), name, span);
                if name == "map_f64_to_f32" && self.target.is_none_or(|target| target.number > LAST_WITHOUT_DOUBLES) {
                    self.declaration(span, "`map_f64_to_f32` exists only for sm_10 to sm_12", "remove it");
                }
                continue;
            }
            let Some((_, since)) = grammar::targets().iter().find(|(known, _)| known.as_str() == name) else {
                let message = format!("the target `{}` is not known here", crate::parse::shorten(name));
                let diagnostic = Diagnostic::new(span, message).rule(Rule::Target);
                let help = targets_around(name);
                self.error(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
                continue;
            };
            self.least_version = self.least_version.max(*since);
            if *since > self.module.version && self.module.version != (0, 0) {
                let ((major, minor), (has_major, has_minor)) = (*since, self.module.version);
                let message =
                    format!("`{name}` needs PTX {major}.{minor}, but this module says {has_major}.{has_minor}");
                let help = format!("raise `.version` to {major}.{minor}");
                self.error(Diagnostic::new(span, message).rule(Rule::Version).help(help));
            }
        }
    }

    /// 32-bit addresses ended with sm_90; ptxas 13.0 compiles them for none.
    fn address_size(&mut self) {
        const LAST_32_BIT: Target = Target { number: 90, variant: crate::grammar::Variant::Plain };
        let explicit = self.module.header[2].end > 0;
        if explicit {
            self.needs("`.address_size`", "address_size", self.module.header[2]);
        }
        if explicit && self.module.address_size == 32 && self.target.is_some_and(|target| target.has(LAST_32_BIT)) {
            self.declaration(self.module.header[2], "32-bit addresses end before sm_90", "write `.address_size 64`");
        }
    }

    /// The first place where a file-level name is declared.
    pub(super) fn first_place(&self, sym: Sym) -> Option<u32> {
        self.first_places.get(&sym).copied()
    }

    pub(super) fn used_too_early(&mut self, name: Name, binding: &Binding<'_>) {
        let kind = if matches!(binding, Binding::Function(_)) { "function" } else { "variable" };
        let message = format!("the {kind} `{}` is used before it is declared", self.text(name.sym));
        let help = "move its declaration up, or declare it there without a body";
        let diagnostic = Diagnostic::new(name.span, message).rule(Rule::Declaration).help(help);
        self.error(match binding.declared() {
            Some(declared) => diagnostic.related(declared.span, "declared here"),
            None => diagnostic,
        });
    }

    fn alias(&mut self, name: Name, aliasee: Name) {
        let declared =
            |sym| self.module.functions().filter(move |function| function.name.sym == sym).collect::<Vec<_>>();
        let (new, old) = (declared(name.sym), declared(aliasee.sym));
        let (Some(new), Some(old)) = (new.first().copied(), old.iter().find(|f| f.body.is_some()).copied()) else {
            let missing = if new.is_empty() { name } else { aliasee };
            let message = format!("`{}` is no function that an alias can use", self.text(missing.sym));
            let help = "an alias needs a declaration of the new name and a definition of the old one";
            return self.declaration(missing.span, message, help);
        };
        if new.body.is_some() {
            return self.declaration(name.span, "a function with a body cannot be an alias", "remove its body");
        }
        if old.linkage == Linkage::Weak {
            self.declaration(aliasee.span, "a `.weak` function cannot have an alias", "");
        }
        if new.params.len() != old.params.len() || new.rets.len() != old.rets.len() {
            self.declaration(name.span, "the alias and its function have different parameters", "declare them alike");
        }
    }

    /// A function's declarations agree, and its directives are known here.
    pub(super) fn function_header(&mut self, function: &'m Function) {
        let span = function.name.span;
        if function.is_entry {
            self.entry_header(function);
        }
        if function.linkage == Linkage::Weak {
            self.needs("`.weak`", "weak", span);
        }
        if function.linkage == Linkage::Extern && function.body.is_some() {
            self.declaration(span, "an `.extern` function has no body", "remove `.extern`, or the body");
        }
        if function.rets.len() > 1 && function.rets.iter().any(|ret| ret.space == Space::Param) {
            self.declaration(span, "several results must be in `.reg` space", "return one aggregate in `.param` space");
        }
        self.parameters(function);
        self.redeclaration(function);
        for (at, directive) in function.directives.iter().enumerate() {
            self.function_directive(function, directive, directive_place(function, at));
        }
        self.directive_combinations(function);
    }

    fn redeclaration(&mut self, function: &'m Function) {
        let first = *self.first_functions.entry(function.name.sym).or_insert(function);
        if std::ptr::eq(first, function) {
            return;
        }
        let counts = |of: &Function| (of.params.len(), of.rets.len(), of.is_entry);
        let lists = [(&first.params, &function.params), (&first.rets, &function.rets)];
        let mut pairs = lists.iter().flat_map(|(before, now)| before.iter().zip(now.iter()));
        let name = self.text(function.name.sym);
        if counts(first) != counts(function) {
            let message = format!("`{name}` is declared with different parameters");
            self.error(
                Diagnostic::new(function.name.span, message)
                    .rule(Rule::Declaration)
                    .related(first.name.span, "first declaration"),
            );
        } else if let Some((before, now)) = pairs.find(|(before, now)| !alike(before, now)) {
            let message = format!("this parameter of `{name}` differs from the one declared before");
            let at = |variable: &Variable| variable.name.map_or(variable.span, |name| name.span);
            self.error(
                Diagnostic::new(at(now), message)
                    .rule(Rule::Declaration)
                    .label(super::variables::shape(now))
                    .related(at(before), super::variables::shape(before)),
            );
        } else if first.linkage == Linkage::Extern && function.body.is_some() {
            let help = "declare it `.visible` without a body";
            self.declaration(function.name.span, "a function declared `.extern` is defined here", help);
        }
    }

    fn entry_header(&mut self, function: &'m Function) {
        if let Some(ret) = function.rets.first() {
            let help = "store the result in memory";
            self.declaration(ret.span, "a kernel cannot return a value", help);
        }
        if let Some(first) = function.params.first() {
            self.needs("a list of kernel parameters", "kernel_parameters", first.span);
        }
        if function.body.is_none() {
            self.needs("a kernel without a body", "kernel_declaration", function.span);
        }
        for param in function.params.iter().filter(|param| param.space != Space::Param) {
            let message = format!("a kernel parameter must be in `.param` space, not `.{}`", param.space);
            self.declaration(param.span, message, "");
        }
    }

    fn function_directive(&mut self, function: &'m Function, directive: &FunctionDirective, span: Span) {
        let (name, values): (&str, &[u32]) = match directive {
            FunctionDirective::MaxNTid(dims) => ("maxntid", dims),
            FunctionDirective::ReqNTid(dims) => ("reqntid", dims),
            FunctionDirective::MinNCtaPerSm(n) => ("minnctapersm", std::slice::from_ref(n)),
            FunctionDirective::MaxNCtaPerSm(n) => ("maxnctapersm", std::slice::from_ref(n)),
            FunctionDirective::MaxNReg(n) => ("maxnreg", std::slice::from_ref(n)),
            FunctionDirective::ReqNCtaPerCluster(_) => ("reqnctapercluster", &[]),
            FunctionDirective::MaxClusterRank(_) => ("maxclusterrank", &[]),
            FunctionDirective::ExplicitCluster => ("explicitcluster", &[]),
            FunctionDirective::BlocksAreClusters => ("blocksareclusters", &[]),
            FunctionDirective::NoReturn => ("noreturn", &[]),
            FunctionDirective::Language(_) => ("language", &[]),
            FunctionDirective::MinPerCtaMemory(_) => ("minperctamemory", &[]),
            FunctionDirective::AbiPreserve(_) => ("abi_preserve", &[]),
            FunctionDirective::AbiPreserveControl(_) => ("abi_preserve_control", &[]),
            FunctionDirective::Pragma(pragmas) => return self.pragmas(pragmas, span, false),
        };
        self.needs(&format!("`.{name}`"), name, span);
        self.preserved(directive, span);
        let of_function = matches!(name, "noreturn" | "abi_preserve" | "abi_preserve_control");
        if name == "language" && function.body.is_none() {
            self.declaration(span, "`.language` is a directive of functions with a body", "remove it");
        }
        if name != "language" && of_function == function.is_entry {
            let (is, other) = if of_function { ("functions", "a kernel") } else { ("kernels", "a function") };
            self.declaration(span, format!("`.{name}` is a directive of {is}, not of {other}"), "remove it");
        }
        if values.contains(&0) {
            self.declaration(span, format!("`.{name}` must not be 0"), "");
        }
        if name == "noreturn" && !function.rets.is_empty() {
            self.declaration(span, "a `.noreturn` function has no results", "remove the result or `.noreturn`");
        }
    }

    /// How many registers a callee can keep (measured with ptxas 13.0: the same on all targets).
    fn preserved(&mut self, directive: &FunctionDirective, span: Span) {
        let (count, most) = match directive {
            FunctionDirective::AbiPreserve(count) => (*count, 239),
            FunctionDirective::AbiPreserveControl(count) => (*count, 11),
            _ => return,
        };
        if count > most {
            self.declaration(span, format!("a function keeps at most {most} such registers, not {count}"), "");
        }
    }

    /// What stands between the parameters of a prototype and its end says how functions are called.
    pub(super) fn prototype_directives(&mut self, prototype: &Prototype) {
        let span = prototype.label.span;
        for directive in &prototype.directives {
            self.preserved(directive, span);
            match directive {
                FunctionDirective::NoReturn if !prototype.rets.is_empty() => {
                    self.declaration(
                        span,
                        "a `.noreturn` prototype has no results",
                        "remove the result or `.noreturn`",
                    );
                }
                FunctionDirective::NoReturn => {}
                FunctionDirective::AbiPreserve(_) => self.needs("`.abi_preserve`", "abi_preserve", span),
                FunctionDirective::AbiPreserveControl(_) => {
                    self.needs("`.abi_preserve_control`", "abi_preserve_control", span);
                }
                _ => {
                    let message = "a prototype takes only `.noreturn`, `.abi_preserve` and `.abi_preserve_control`";
                    self.declaration(span, message, "remove the other directives");
                }
            }
        }
    }

    fn directive_combinations(&mut self, function: &'m Function) {
        use FunctionDirective::{BlocksAreClusters, MaxClusterRank, MaxNTid, ReqNCtaPerCluster, ReqNTid};
        let place = |test: fn(&FunctionDirective) -> bool| {
            function.directives.iter().position(test).map(|at| directive_place(function, at))
        };
        // The second of two is the one that is wrong.
        let later = |one: Span, other: Span| if one.start > other.start { one } else { other };
        let required_threads = place(|d| matches!(d, ReqNTid(_)));
        let required_cluster = place(|d| matches!(d, ReqNCtaPerCluster(_)));
        if let (Some(required), Some(limit)) = (required_threads, place(|d| matches!(d, MaxNTid(_)))) {
            let message = "`.maxntid` and `.reqntid` cannot both be given";
            self.declaration(later(required, limit), message, "keep `.reqntid`");
        }
        if let (Some(required), Some(limit)) = (required_cluster, place(|d| matches!(d, MaxClusterRank(_)))) {
            let message = "`.reqnctapercluster` and `.maxclusterrank` cannot both be given";
            self.declaration(later(required, limit), message, "keep `.reqnctapercluster`");
        }
        let sizes = required_threads.is_some() && required_cluster.is_some();
        if let Some(span) = place(|d| matches!(d, BlocksAreClusters)).filter(|_| !sizes) {
            let help = "add `.reqntid` and `.reqnctapercluster`";
            self.declaration(span, "`.blocksareclusters` needs the sizes of block and cluster", help);
        }
    }

    fn module_pragmas(&mut self, pragmas: &[String]) {
        self.pragmas(pragmas, self.module.header[1], true);
    }

    /// Pragmas: what they need, and where they may stand.
    pub(super) fn pragmas(&mut self, pragmas: &[String], span: Span, of_module: bool) {
        self.needs("`.pragma`", "pragma", span);
        for pragma in pragmas {
            let name = pragma.split_whitespace().next().unwrap_or("");
            let in_function = matches!(name, "enable_smem_spilling" | "used_bytes_mask" | "frequency");
            if of_module && in_function {
                let help = "move it into the body of a kernel";
                self.declaration(span, format!("the pragma `{name}` stands only in a function"), help);
            }
            self.needs(&format!("the pragma `{name}`"), name, span);
        }
    }
}

/// True if two declarations of a function may have these in one place. Types of one size differ too.
fn alike(one: &Variable, other: &Variable) -> bool {
    let shape = |of: &Variable| (of.space, of.ty, of.vector, of.alignment());
    shape(one) == shape(other) && one.dims == other.dims
}

/// Where a directive of a function stands, counted among its directives; a tree that was made otherwise than by
/// reading text need not say it.
fn directive_place(function: &Function, at: usize) -> Span {
    function.directive_spans.get(at).copied().unwrap_or(function.name.span)
}

/// What to write for a target that does not exist: its neighbours by number, or the name most like it.
fn targets_around(name: &str) -> String {
    let known = || grammar::targets().iter().map(|(known, _)| known.as_str());
    let Some(wanted) = Target::from_name(name) else {
        return crate::suggest::closest(name, known()).map_or(String::new(), |near| format!("did you mean `{near}`?"));
    };
    let numbers = || known().filter_map(Target::from_name).map(|target| target.number);
    let below = numbers().filter(|&number| number < wanted.number).max();
    let above = numbers().filter(|&number| number > wanted.number).min();
    match (below, above) {
        _ if numbers().any(|number| number == wanted.number) => format!("write `sm_{}`", wanted.number),
        (Some(below), Some(above)) => format!("the targets around it are `sm_{below}` and `sm_{above}`"),
        (Some(last), None) => format!("the last one known here is `sm_{last}`"),
        (None, Some(first)) => format!("the first one is `sm_{first}`"),
        (None, None) => String::new(),
    }
}
