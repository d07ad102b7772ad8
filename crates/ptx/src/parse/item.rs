//! Modules, functions and their directives.

use super::{Parse, Parsed, Parser};
use crate::ast::{Function, FunctionDirective, Item, LANGUAGES, Linkage, Space, Span};
use crate::diag::{Diagnostic, Rule};
use crate::lexer::Token;

/// The directives of the header, in their order.
const HEADER: [&str; 3] = [".version", ".target", ".address_size"];

/// Directives that only stand at file level.
const FILE_DIRECTIVES: [&str; 11] = [
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".entry",
    ".func",
    ".global",
    ".const",
    ".version",
    ".target",
    ".address_size",
];

/// What a directive between parameters and body may have been meant to be.
const FUNCTION_DIRECTIVES: [&str; 15] = [
    ".maxntid",
    ".reqntid",
    ".reqnctapercluster",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".maxclusterrank",
    ".abi_preserve",
    ".abi_preserve_control",
    ".explicitcluster",
    ".blocksareclusters",
    ".noreturn",
    ".language",
    ".minperctamemory",
    ".pragma",
];

/// What the header of a file says.
pub(super) struct Header {
    pub(super) version: (u32, u32),
    /// True once there was a `.version`, even a wrong one.
    has_version: bool,
    pub(super) target: Vec<String>,
    pub(super) address_size: u32,
    pub(super) places: [Span; 3],
    /// Errors about what stands before `.version`, if there is one.
    early: Vec<Diagnostic>,
}

impl Header {
    /// What holds before the first directive.
    pub(super) fn new() -> Header {
        Header {
            version: (0, 0),
            has_version: false,
            target: Vec::new(),
            address_size: 64,
            places: [Span::default(); 3],
            early: Vec::new(),
        }
    }
}

impl<'s> Parser<'s> {
    /// Takes a whole file.
    pub(super) fn module(mut self) -> Parsed {
        let mut header = Header::new();
        let mut items = Vec::new();
        let first = self.span;
        while self.token != Token::End {
            if self.item(&mut header, &mut items).is_err() {
                self.lost_declarations = true;
                self.recover_item();
            }
        }
        if header.has_version {
            self.errors.splice(0..0, header.early.drain(..));
        } else {
            let missing = Diagnostic::new(first, "the file does not start with a `.version` directive")
                .help("start it with, for example, `.version 9.0` and `.target sm_90`");
            self.errors.insert(0, missing);
        }
        self.finish(header, items)
    }

    /// Takes items up to the end of the text; the header stands elsewhere.
    pub(super) fn items(&mut self, items: &mut Vec<Item>) {
        let mut header = Header { has_version: true, places: [Span::new(0, 1); 3], ..Header::new() };
        while self.token != Token::End {
            if self.item(&mut header, items).is_err() {
                self.recover_item();
            }
        }
    }

    /// Takes one file-level declaration or directive.
    fn item(&mut self, header: &mut Header, items: &mut Vec<Item>) -> Parse<()> {
        if self.token == Token::DwarfLine {
            items.push(Item::DwarfLine(self.span));
            self.bump();
            return Ok(());
        }
        if self.token != Token::Dot {
            return Err(self.unexpected("a directive"));
        }
        let start = self.span;
        if let Some(at) = HEADER.iter().position(|word| self.at_word(word)) {
            let misplaced = |message: String| {
                let help = "start the file with `.version`, `.target` and `.address_size`, in this order";
                Diagnostic::new(start, message).help(help).rule(Rule::Declaration)
            };
            if header.places[at].end > 0 || !items.is_empty() {
                self.error(misplaced(format!("`{}` stands once, at the start of the file", HEADER[at])));
            } else if at > 0 && !header.has_version {
                header.early.push(misplaced(format!("`{}` stands before `.version`", HEADER[at])));
            }
        }
        match self.slice() {
            ".version" => {
                header.has_version = true;
                header.version = self.version()?;
                self.version = header.version;
                header.places[0] = self.since(start);
            }
            ".target" => {
                self.bump();
                header.target = self.comma_list(Self::target_word)?;
                header.places[1] = self.since(start);
            }
            ".address_size" => {
                header.address_size = self.address_size()?;
                header.places[2] = self.since(start);
            }
            ".file" => items.push(Item::File(self.file()?)),
            ".section" => items.push(Item::Section(self.section()?)),
            ".nv_intermediate_source_section" => items.push(Item::IntermediateSource(self.intermediate_source()?)),
            ".loc" => items.push(Item::Loc(self.loc()?)),
            ".pragma" => items.push(Item::Pragma(self.pragma()?)),
            ".alias" => items.push(self.alias()?),
            _ => self.declaration(items)?,
        }
        Ok(())
    }

    fn version(&mut self) -> Parse<(u32, u32)> {
        self.bump();
        let parts = self.slice().split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some(version) if self.token == Token::Float => {
                self.bump();
                Ok(version)
            }
            _ => Err(self.unexpected("a version number such as `9.0`")),
        }
    }

    fn target_word(&mut self) -> Parse<String> {
        if self.token != Token::Ident {
            return Err(self.unexpected("a target such as `sm_90`"));
        }
        // As ptxas takes it: the virtual architecture that the target is.
        let word = match self.slice().strip_prefix("compute_") {
            Some(number) => format!("sm_{number}"),
            None => self.slice().to_owned(),
        };
        self.bump();
        Ok(word)
    }

    fn address_size(&mut self) -> Parse<u32> {
        self.bump();
        let at = self.span;
        match self.integer("the address size")? {
            size @ (32 | 64) => Ok(size),
            size => self.fail(Diagnostic::new(at, format!("the address size must be 32 or 64, not {size}"))),
        }
    }

    fn alias(&mut self) -> Parse<Item> {
        self.bump();
        let name = self.name("a function name")?;
        self.expect(Token::Comma)?;
        let aliasee = self.name("a function name")?;
        self.expect_semicolon()?;
        Ok(Item::Alias { name, aliasee })
    }

    /// A function or variable, which share their linkage directive.
    fn declaration(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let first_word = self.slice();
        match self.deciding_word() {
            ".entry" | ".func" => self.function(items),
            ".reg" if first_word == ".reg" => {
                let declaration = self.registers()?;
                items.push(Item::Registers(declaration));
                Ok(())
            }
            word => {
                if super::decl::is_linkage(first_word) && super::decl::is_linkage(word) {
                    self.bump();
                    let message = format!("`{word}` cannot stand behind `{first_word}`");
                    return self.fail(Diagnostic::new(self.span, message).help("keep one of them"));
                }
                if super::decl::space(word).is_none_or(|space| matches!(space, Space::Reg | Space::Sreg)) {
                    return self.unknown_directive((first_word, self.span), "PTX at file level", &FILE_DIRECTIVES);
                }
                let mut variables = Vec::new();
                let result = self.variables(&mut variables);
                items.extend(variables.into_iter().map(Item::Variable));
                result
            }
        }
    }

    /// The word that says what is declared here: the one after a linkage directive, or the current one.
    pub(super) fn deciding_word(&self) -> &'s str {
        if !super::decl::is_linkage(self.slice()) {
            return self.slice();
        }
        let mut ahead = self.lexer.clone();
        match ahead.next() {
            Some(Ok(Token::Dot)) => ahead.slice(),
            _ => "",
        }
    }

    fn function(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let start = self.span;
        let linkage = self.linkage();
        let is_entry = self.at_word(".entry");
        self.bump();
        let mut function = match self.function_header(is_entry, linkage) {
            Ok(function) => function,
            Err(failed) => {
                self.lost_declarations = true;
                return Err(failed);
            }
        };
        function.span = self.since(start);
        let result = self.body(&mut function);
        items.push(Item::Function(Box::new(function)));
        result
    }

    fn function_header(&mut self, is_entry: bool, linkage: Linkage) -> Parse<Function> {
        let mut attributes = Vec::new();
        while self.at_word(".attribute") {
            attributes.extend(self.attributes()?);
        }
        let rets = self.optional_parameters()?;
        let name = self.name("a function name")?;
        let params = self.optional_parameters()?;
        let (directives, directive_spans) = self.function_directives()?;
        let span = self.span;
        Ok(Function {
            is_entry,
            linkage,
            attributes,
            rets,
            name,
            params,
            directives,
            directive_spans,
            body: None,
            span,
        })
    }

    /// Takes the directives between parameters and body, and where each is.
    pub(super) fn function_directives(&mut self) -> Parse<(Vec<FunctionDirective>, Vec<Span>)> {
        let (mut found, mut places) = (Vec::new(), Vec::new());
        while self.token == Token::Dot && !self.at_item() {
            let start = self.span;
            found.push(self.function_directive()?);
            places.push(self.since(start));
        }
        Ok((found, places))
    }

    /// True where an item of the file starts that cannot stand between the parameters of a function and its body.
    fn at_item(&self) -> bool {
        let word = self.slice();
        let starts_declaration = super::decl::is_linkage(word) || super::decl::space(word).is_some();
        starts_declaration || matches!(word, ".entry" | ".func" | ".file" | ".section" | ".alias")
    }

    fn function_directive(&mut self) -> Parse<FunctionDirective> {
        let word = self.slice();
        if word == ".pragma" {
            return Ok(FunctionDirective::Pragma(self.pragma()?));
        }
        let at = self.span;
        self.bump();
        Ok(match word {
            ".maxntid" => FunctionDirective::MaxNTid(self.dimensions(word)?),
            ".reqntid" => FunctionDirective::ReqNTid(self.dimensions(word)?),
            ".reqnctapercluster" => FunctionDirective::ReqNCtaPerCluster(self.dimensions(word)?),
            ".minnctapersm" => FunctionDirective::MinNCtaPerSm(self.integer(&format!("`{word}`"))?),
            ".maxnctapersm" => FunctionDirective::MaxNCtaPerSm(self.integer(&format!("`{word}`"))?),
            ".maxnreg" => FunctionDirective::MaxNReg(self.integer(&format!("`{word}`"))?),
            ".maxclusterrank" => FunctionDirective::MaxClusterRank(self.integer(&format!("`{word}`"))?),
            ".abi_preserve" => FunctionDirective::AbiPreserve(self.integer(&format!("`{word}`"))?),
            ".abi_preserve_control" => FunctionDirective::AbiPreserveControl(self.integer(&format!("`{word}`"))?),
            ".explicitcluster" => FunctionDirective::ExplicitCluster,
            ".blocksareclusters" => FunctionDirective::BlocksAreClusters,
            ".noreturn" => FunctionDirective::NoReturn,
            ".language" => FunctionDirective::Language(self.comma_list(Self::language)?.into()),
            ".minperctamemory" => FunctionDirective::MinPerCtaMemory(self.integer(&format!("`{word}`"))?),
            _ => return self.unknown_directive((word, at), "a function", &FUNCTION_DIRECTIVES),
        })
    }

    /// A language by its name, in whatever case, or by its number.
    fn language(&mut self) -> Parse<u8> {
        let start = self.span;
        let number = match self.token {
            Token::String => {
                let name = self.string()?;
                let is_it = |known: &&Option<&str>| known.is_some_and(|known| known.eq_ignore_ascii_case(&name));
                LANGUAGES.iter().position(|known| is_it(&known))
            }
            _ => Some(self.integer("a language")?).filter(|number| *number < LANGUAGES.len()),
        };
        match number.and_then(|number| u8::try_from(number).ok()) {
            Some(number) => Ok(number),
            None => {
                let names: Vec<String> = LANGUAGES.iter().flatten().map(|name| format!("\"{name}\"")).collect();
                let help = format!("known are {} and the numbers 0 to {}", names.join(", "), LANGUAGES.len() - 1);
                self.fail(Diagnostic::new(self.since(start), "this language is not known").help(help))
            }
        }
    }

    /// One to three numbers behind a directive; absent ones are 1.
    fn dimensions(&mut self, directive: &str) -> Parse<[u32; 3]> {
        let mut dims = [1; 3];
        for (axis, dim) in dims.iter_mut().enumerate() {
            if axis == 0 || self.eat(Token::Comma) {
                *dim = self.integer("a dimension")?;
            } else {
                break;
            }
        }
        if self.eat(Token::Comma) {
            return self.fail(Diagnostic::new(self.span, format!("`{directive}` takes at most three numbers")));
        }
        Ok(dims)
    }

    /// Skips to where the next file-level declaration starts: past a `;` or a
    /// `{ … }`, or before a directive that only stands at file level. A body
    /// whose header was wrong is still parsed for its own errors.
    fn recover_item(&mut self) {
        loop {
            match self.token {
                Token::End => return,
                Token::Semicolon | Token::RightBrace => return self.bump(),
                Token::LeftBrace => {
                    if self.block().is_err() {
                        self.skip_block();
                    }
                    return;
                }
                _ => self.bump(),
            }
            if self.token == Token::Dot && FILE_DIRECTIVES.contains(&self.slice()) {
                return;
            }
        }
    }
}
