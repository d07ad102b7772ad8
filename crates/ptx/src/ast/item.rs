//! Modules, functions, variables and the other things declared at file level.

use super::declaration::{Attribute, FunctionDirective, Linkage, Variable};
use super::name::{Name, Span, SymbolTable};
use super::stmt::{Block, Loc, RegisterDecl};
use super::vocabulary::{ScalarType, Space};

/// A whole PTX file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// `.version major.minor`
    pub version: (u32, u32),
    /// The words of `.target`: `sm_90a`, `texmode_independent`, `debug`…
    pub target: Vec<String>,
    /// `.address_size`: 32 or 64; 64 when the directive is absent, as on a 64-bit host.
    pub address_size: u32,
    /// Where the version, the first target and the address size stand.
    pub header: [Span; 3],
    /// Everything else, in order.
    pub items: Vec<Item>,
    /// The identifiers that the tree refers to.
    pub symbols: SymbolTable,
}

impl Module {
    /// The functions and kernels, in order.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(&**function),
            _ => None,
        })
    }

    /// Drop the statements of all bodies, for those who need only what functions look like from outside any more.
    pub fn forget_bodies(&mut self) {
        for item in &mut self.items {
            if let Item::Function(function) = item
                && let Some(body) = &mut function.body
            {
                body.statements = Vec::new();
            }
        }
    }

    /// The module-scope variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    /// The names of what each thread has for itself though it is declared at file level: `.reg` and `.local`.
    pub fn thread_names(&self) -> impl Iterator<Item = Name> {
        self.items.iter().flat_map(|item| match item {
            Item::Registers(declaration) => declaration.names.iter().map(|register| register.name).collect(),
            Item::Variable(variable) if variable.space == Space::Local => variable.name.into_iter().collect(),
            _ => Vec::new(),
        })
    }

    /// The spelling of a name.
    #[must_use]
    pub fn text(&self, name: Name) -> &str {
        self.symbols.text(name.sym)
    }
}

/// A file-level declaration or directive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// `.entry` or `.func`, with or without a body.
    Function(Box<Function>),
    /// A variable.
    Variable(Variable),
    /// `.reg`, which stood at file level before PTX 3.0.
    Registers(RegisterDecl),
    /// `.alias name, aliasee;`
    Alias {
        /// The new name.
        name: Name,
        /// The function that it stands for.
        aliasee: Name,
    },
    /// `.file index "name" [, timestamp, size]`
    File(FileDirective),
    /// `.section name { … }`: DWARF data.
    Section(Section),
    /// `.nv_intermediate_source_section { … }`
    IntermediateSource(IntermediateSource),
    /// `.loc`
    Loc(Loc),
    /// `.pragma "…", "…";`
    Pragma(Vec<String>),
    /// `@@DWARF …`: a line of DWARF as nvcc wrote it before PTX 2.0; what it says is not kept.
    DwarfLine(Span),
}

/// A kernel (`.entry`) or a device function (`.func`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// True for `.entry`.
    pub is_entry: bool,
    /// Visibility.
    pub linkage: Linkage,
    /// `.attribute(…)` of the function.
    pub attributes: Vec<Attribute>,
    /// Return parameters, in `.reg` or `.param` space.
    pub rets: Vec<Variable>,
    /// The name.
    pub name: Name,
    /// Parameters, in `.reg` or `.param` space.
    pub params: Vec<Variable>,
    /// Performance and other directives between the parameters and the body.
    pub directives: Vec<FunctionDirective>,
    /// Where each of these stands.
    pub directive_spans: Vec<Span>,
    /// The body; `None` for a declaration.
    pub body: Option<Block>,
    /// From the first directive to the end of the header (before the body).
    pub span: Span,
}

/// `.file index "name" [, timestamp, size]`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDirective {
    /// The number that `.loc` refers to.
    pub index: u32,
    /// The file name, as written between the quotes.
    pub name: String,
    /// Time stamp and size in bytes.
    pub stamp: Option<(u64, u64)>,
}

/// `.section name { … }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// `.debug_info`, `.debug_abbrev`…, with the leading dot.
    pub name: String,
    /// The contents.
    pub entries: Vec<SectionEntry>,
    /// The directive with the name.
    pub span: Span,
}

/// `.nv_intermediate_source_section { … }`: what the code was made of in intermediate languages, which `.loc_intermediate` has places in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntermediateSource {
    /// Each `.code_block`.
    pub blocks: Vec<CodeBlock>,
    /// The directive.
    pub span: Span,
}

/// `.code_block { .ir_name: "…" .sourceFileName: n .source_begin … .source_end }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeBlock {
    /// The language.
    pub language: String,
    /// The index of a `.file`.
    pub file: u32,
    /// The lines between `.source_begin` and `.source_end`.
    pub text: String,
    /// Where the index stands.
    pub span: Span,
}

/// One line of a [`Section`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SectionEntry {
    /// `label:`
    Label(Name),
    /// `.b8 1, 2` and so on: a width and values.
    Data(ScalarType, Vec<SectionValue>),
}

/// One value of a [`SectionEntry::Data`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SectionValue {
    /// A number, as it is written: what fits the width with or without a sign.
    Int(i128),
    /// A label or section name, with an added constant.
    Label(Name, i64),
    /// The difference of two labels.
    Difference(Name, Name),
    /// A section name such as `.debug_abbrev`, with an added constant.
    Section(String, i64),
}
