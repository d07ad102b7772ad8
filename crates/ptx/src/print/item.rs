//! File-level declarations and directives.

use super::Printer;
use crate::ast::{
    Attribute, CodeBlock, FileDirective, Function, FunctionDirective, Init, IntermediateSource, Item, LANGUAGES,
    Linkage, Module, Property, PropertyValue, Section, SectionEntry, SectionValue, Variable,
};

impl Printer<'_> {
    pub(super) fn module(&mut self, module: &Module) {
        self.put(format_args!(".version {}.{}\n", module.version.0, module.version.1));
        if !module.target.is_empty() {
            self.put(format_args!(".target {}\n", module.target.join(", ")));
        }
        self.put(format_args!(".address_size {}\n\n", module.address_size));
        for (at, item) in module.items.iter().enumerate() {
            let defines = matches!(item, Item::Function(function) if function.body.is_some());
            if at > 0 && defines {
                self.text("\n");
            }
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Function(function) => return self.function(function),
            Item::Section(section) => return self.section(section),
            Item::IntermediateSource(source) => return self.intermediate_source(source),
            Item::DwarfLine(_) => return,
            Item::File(file) => return self.file(file),
            Item::Loc(loc) => {
                self.loc(loc);
                return self.text("\n");
            }
            Item::Variable(variable) => self.variable(variable),
            Item::Registers(declaration) => self.registers(declaration),
            Item::Pragma(words) => self.pragma(words),
            Item::Alias { name, aliasee } => {
                self.text(".alias ");
                self.name(*name);
                self.text(", ");
                self.name(*aliasee);
            }
        }
        self.text(";\n");
    }

    fn function(&mut self, function: &Function) {
        self.linkage(function.linkage);
        self.text(if function.is_entry { ".entry " } else { ".func " });
        self.attributes(&function.attributes);
        if !function.rets.is_empty() {
            self.parameters(&function.rets);
            self.text(" ");
        }
        self.name(function.name);
        match function.body {
            Some(_) => self.parameter_lines(&function.params),
            None => self.parameters(&function.params),
        }
        for directive in &function.directives {
            self.text("\n");
            self.function_directive(directive);
        }
        match &function.body {
            None => self.text(";\n"),
            Some(body) => {
                self.text("\n");
                self.block(body);
            }
        }
    }

    /// Prints a parameter list with its parentheses.
    pub(super) fn parameters(&mut self, params: &[Variable]) {
        self.text("(");
        self.comma_list(params, Self::variable);
        self.text(")");
    }

    /// Prints a parameter list with a line for each of several parameters.
    fn parameter_lines(&mut self, params: &[Variable]) {
        if params.len() < 2 {
            return self.parameters(params);
        }
        self.text("(");
        for (at, param) in params.iter().enumerate() {
            self.text(if at > 0 { ",\n\t" } else { "\n\t" });
            self.variable(param);
        }
        self.text("\n)");
    }

    pub(super) fn function_directive(&mut self, directive: &FunctionDirective) {
        use FunctionDirective as D;
        let (word, number) = match directive {
            D::MaxNTid(dims) => return self.dimensions(".maxntid", *dims),
            D::ReqNTid(dims) => return self.dimensions(".reqntid", *dims),
            D::ReqNCtaPerCluster(dims) => return self.dimensions(".reqnctapercluster", *dims),
            D::ExplicitCluster => return self.text(".explicitcluster"),
            D::BlocksAreClusters => return self.text(".blocksareclusters"),
            D::NoReturn => return self.text(".noreturn"),
            D::Language(languages) => return self.languages(languages),
            D::Pragma(words) => {
                self.pragma(words);
                return self.text(";");
            }
            D::MinNCtaPerSm(n) => (".minnctapersm", n),
            D::MaxNCtaPerSm(n) => (".maxnctapersm", n),
            D::MaxNReg(n) => (".maxnreg", n),
            D::MaxClusterRank(n) => (".maxclusterrank", n),
            D::AbiPreserve(n) => (".abi_preserve", n),
            D::AbiPreserveControl(n) => (".abi_preserve_control", n),
            D::MinPerCtaMemory(n) => (".minperctamemory", n),
        };
        self.put(format_args!("{word} {number}"));
    }

    /// Languages by their names, those without one by their numbers.
    fn languages(&mut self, languages: &[u8]) {
        self.text(".language ");
        for (at, language) in languages.iter().enumerate() {
            self.text(if at > 0 { ", " } else { "" });
            match LANGUAGES.get(usize::from(*language)).copied().flatten() {
                Some(name) => self.put(format_args!("\"{name}\"")),
                None => self.put(format_args!("{language}")),
            }
        }
    }

    fn dimensions(&mut self, word: &str, [x, y, z]: [u32; 3]) {
        self.put(format_args!("{word} {x}, {y}, {z}"));
    }

    fn linkage(&mut self, linkage: Linkage) {
        if linkage != Linkage::None {
            self.put(format_args!(".{} ", linkage.as_str()));
        }
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            match attribute {
                Attribute::Managed => self.text(".attribute(.managed) "),
                Attribute::Unified(a, b) => self.put(format_args!(".attribute(.unified({a}U, {b}U)) ")),
            }
        }
    }

    pub(super) fn variable(&mut self, variable: &Variable) {
        self.linkage(variable.linkage);
        self.put(format_args!(".{} ", variable.space));
        self.attributes(&variable.attributes);
        if let Some(align) = variable.align {
            self.put(format_args!(".align {align} "));
        }
        if let Some(vector) = variable.vector {
            self.put(format_args!(".{vector} "));
        }
        self.put(format_args!(".{} ", variable.ty));
        if let Some(ptr) = &variable.ptr {
            self.text(".ptr ");
            if let Some(space) = ptr.space {
                self.put(format_args!(".{space} "));
            }
            if let Some(align) = ptr.align {
                self.put(format_args!(".align {align} "));
            }
        }
        match variable.name {
            Some(name) => self.name(name),
            None => self.text("_"),
        }
        for dim in &variable.dims {
            match dim {
                Some(size) => self.put(format_args!("[{size}]")),
                None => self.text("[]"),
            }
        }
        if let Some(init) = &variable.init {
            self.text(" = ");
            self.init(init);
        }
        match variable.properties.as_slice() {
            [] => {}
            [only] if variable.dims.is_empty() => {
                self.text(" = ");
                self.properties(only);
            }
            elements => {
                self.text(" = {");
                self.comma_list(elements, |p, element| p.properties(element));
                self.text("}");
            }
        }
    }

    fn properties(&mut self, properties: &[Property]) {
        self.text("{");
        self.comma_list(properties, |p, property| match &property.value {
            PropertyValue::Word(word) => p.put(format_args!("{} = {word}", property.name)),
            PropertyValue::Int(value) => p.put(format_args!("{} = {value}", property.name)),
        });
        self.text("}");
    }

    fn init(&mut self, init: &Init) {
        match init {
            Init::Imm(imm, _) => self.imm(*imm),
            Init::Text(text, _) => self.put(format_args!("\"{text}\"")),
            Init::List(items, _) => {
                self.text("{");
                self.comma_list(items, Self::init);
                self.text("}");
            }
            Init::Address { name, offset, generic, mask } => {
                if let Some(mask) = mask {
                    self.put(format_args!("0x{mask:x}("));
                }
                if *generic {
                    self.text("generic(");
                }
                self.name(*name);
                if *generic {
                    self.text(")");
                }
                self.offset(*offset);
                if mask.is_some() {
                    self.text(")");
                }
            }
        }
    }

    pub(super) fn pragma(&mut self, words: &[String]) {
        self.text(".pragma ");
        self.comma_list(words, |p, word| p.put(format_args!("\"{word}\"")));
    }

    fn file(&mut self, file: &FileDirective) {
        self.put(format_args!(".file {} \"{}\"", file.index, file.name));
        if let Some((time, size)) = file.stamp {
            self.put(format_args!(", {time}, {size}"));
        }
        self.text("\n");
    }

    fn section(&mut self, section: &Section) {
        self.put(format_args!(".section {}\n{{\n", section.name));
        for entry in &section.entries {
            match entry {
                SectionEntry::Label(name) => {
                    self.name(*name);
                    self.text(":");
                }
                SectionEntry::Data(width, values) => {
                    self.put(format_args!(".{width} "));
                    self.comma_list(values, Self::section_value);
                }
            }
            self.text("\n");
        }
        self.text("}\n");
    }

    fn intermediate_source(&mut self, source: &IntermediateSource) {
        self.text(".nv_intermediate_source_section\n{\n");
        for CodeBlock { language, file, text, .. } in &source.blocks {
            self.put(format_args!(".code_block\n{{\n.ir_name: \"{language}\"\n.sourceFileName: {file}\n"));
            self.put(format_args!(".source_begin\n{text}.source_end\n}}\n"));
        }
        self.text("}\n");
    }

    fn section_value(&mut self, value: &SectionValue) {
        match value {
            SectionValue::Int(value) => self.put(format_args!("{value}")),
            SectionValue::Label(name, offset) => {
                self.name(*name);
                self.offset(*offset);
            }
            SectionValue::Difference(a, b) => {
                self.name(*a);
                self.text("-");
                self.name(*b);
            }
            SectionValue::Section(name, offset) => {
                self.text(name);
                self.offset(*offset);
            }
        }
    }
}
