//! Function bodies.

use super::{Parse, Parser};
use crate::ast::{Block, Function, Name, Prototype, Space, Span, Statement, TargetList};
use crate::diag::Diagnostic;
use crate::lexer::Token;

/// What a directive in a body may have been meant to be.
const BODY_DIRECTIVES: [&str; 8] =
    [".reg", ".param", ".local", ".shared", ".global", ".loc", ".loc_intermediate", ".pragma"];

impl Parser<'_> {
    /// Takes `{ … }`. Errors inside are recorded and skipped.
    pub(super) fn block(&mut self) -> Parse<Block> {
        self.block_of(Vec::new())
    }

    /// Lines to the one that a body's end stands on by itself, as compilers write it: there are hardly more statements.
    /// None where the body before this one ended elsewhere, so that no line is counted for two bodies.
    fn lines_of_body(&mut self) -> usize {
        let start = self.within_text(self.span.start);
        if start < self.counted_to {
            return 0;
        }
        self.counted_to = self.text.len();
        let mut place = start;
        for (number, line) in self.text[start..].split('\n').enumerate() {
            if number > 0 && line.starts_with('}') {
                self.counted_to = place;
                return number;
            }
            place += line.len() + 1;
        }
        0
    }

    /// Takes `{ … }`, and puts its statements behind those that there are.
    fn block_of(&mut self, mut statements: Vec<Statement>) -> Parse<Block> {
        let start = self.span;
        self.expect(Token::LeftBrace)?;
        loop {
            match self.token {
                Token::RightBrace => {
                    self.bump();
                    break;
                }
                Token::End => {
                    if !self.cut_short {
                        let open = Diagnostic::new(self.span, "the file ends inside a block: a `}` is missing")
                            .label("expected `}`")
                            .related(Span::new(start.start, start.start + 1), "the block starts here");
                        self.error(open);
                    }
                    break;
                }
                _ => {
                    if self.statement(&mut statements).is_err() {
                        self.recover();
                    }
                }
            }
        }
        Ok(Block { statements, span: self.since(start) })
    }

    /// Takes statements up to the end of the text.
    pub(super) fn statements(&mut self, out: &mut Vec<Statement>) {
        while self.token != Token::End {
            match self.token {
                Token::RightBrace => {
                    let _ = self.unexpected("a statement");
                    self.bump();
                }
                _ => {
                    if self.statement(out).is_err() {
                        self.recover();
                    }
                }
            }
        }
    }

    /// Takes one statement; a declaration of several variables gives several.
    fn statement(&mut self, out: &mut Vec<Statement>) -> Parse<()> {
        match self.token {
            Token::Ident => self.named_statement(out),
            Token::At => {
                let start = self.span;
                let guard = self.guard()?;
                let at = self.span;
                if self.token != Token::Ident {
                    return Err(self.unexpected("an instruction"));
                }
                let Some(head) = self.head()? else {
                    let help = "guard the instruction behind the label";
                    return self.fail(Diagnostic::new(at, "a label cannot have a guard").help(help));
                };
                out.push(Statement::Instruction(self.instruction(head, Some(guard), start, at)?));
                Ok(())
            }
            Token::Dot => self.directive(out),
            Token::LeftBrace => {
                let start = self.span;
                match self.nested(Self::block) {
                    Ok(block) => out.push(Statement::Block(block)),
                    Err(_) if self.span.start == start.start => self.skip_block(),
                    Err(failed) => return Err(failed),
                }
                Ok(())
            }
            _ => Err(self.unexpected("a statement")),
        }
    }

    /// A label or an instruction: both start with a name.
    fn named_statement(&mut self, out: &mut Vec<Statement>) -> Parse<()> {
        let (text, at) = (self.slice(), self.span);
        if let Some(head) = self.head()? {
            out.push(Statement::Instruction(self.instruction(head, None, at, at)?));
            return Ok(());
        }
        self.bump();
        let sym = self.intern_text(text);
        let label = Name { sym, span: at };
        let statement = if self.at_word(".callprototype") {
            Statement::Prototype(Box::new(self.prototype(label)?))
        } else if self.eat_word(".calltargets") {
            Statement::CallTargets(self.targets(label)?)
        } else if self.eat_word(".branchtargets") {
            Statement::BranchTargets(self.targets(label)?)
        } else {
            Statement::Label(label)
        };
        out.push(statement);
        Ok(())
    }

    fn targets(&mut self, label: Name) -> Parse<TargetList> {
        let targets = self.comma_list(|p| p.name("a label or function name"))?;
        self.expect_semicolon()?;
        Ok(TargetList { label, targets })
    }

    /// `.callprototype [(rets)] _ [(params)] [directives];`
    fn prototype(&mut self, label: Name) -> Parse<Prototype> {
        self.bump();
        let rets = self.optional_parameters()?;
        self.expect(Token::Underscore)?;
        let params = self.optional_parameters()?;
        let (directives, _) = self.function_directives()?;
        self.expect_semicolon()?;
        Ok(Prototype { label, rets, params, directives })
    }

    fn directive(&mut self, out: &mut Vec<Statement>) -> Parse<()> {
        match self.slice() {
            ".reg" => match self.registers() {
                Ok(declaration) => out.push(Statement::Registers(declaration)),
                Err(failed) => {
                    self.lost_declarations = true;
                    return Err(failed);
                }
            },
            ".loc" => out.push(Statement::Loc(Box::new(self.loc()?))),
            ".loc_intermediate" => out.push(Statement::Loc(Box::new(self.intermediate()?))),
            ".pragma" => out.push(Statement::Pragma(self.pragma()?)),
            _ if matches!(self.deciding_word(), ".entry" | ".func") => {
                self.lost_declarations = true;
                self.linkage();
                let message = format!("`{}` cannot stand in the body of a function", self.slice());
                let help = "close the function before it with `}`";
                return self.fail(Diagnostic::new(self.span, message).help(help));
            }
            word => {
                if super::decl::space(word).is_none_or(|space| space == Space::Reg) && !super::decl::is_linkage(word) {
                    self.lost_declarations = true;
                    return self.unknown_directive((word, self.span), "a function body", &BODY_DIRECTIVES);
                }
                let mut variables = Vec::new();
                let result = self.variables(&mut variables);
                out.extend(variables.into_iter().map(|variable| Statement::Variable(Box::new(variable))));
                if result.is_err() {
                    self.lost_declarations = true;
                }
                return result;
            }
        }
        Ok(())
    }

    /// `.pragma "a", "b";`
    pub(super) fn pragma(&mut self) -> Parse<Vec<String>> {
        self.bump();
        let words = self.comma_list(Self::string)?;
        self.expect_semicolon()?;
        Ok(words)
    }

    /// Takes the body of `function`, or the end of a declaration: `;`, or the next item, as up to nvcc 4.1.
    pub(super) fn body(&mut self, function: &mut Function) -> Parse<()> {
        if self.token == Token::LeftBrace {
            let room = self.lines_of_body();
            function.body = Some(self.block_of(Vec::with_capacity(room))?);
            return Ok(());
        }
        let ends = matches!(self.token, Token::Dot | Token::End) && !function.is_entry && !self.cut_short;
        if !ends && !self.eat(Token::Semicolon) {
            return Err(self.unexpected("`{` or `;`"));
        }
        Ok(())
    }
}
