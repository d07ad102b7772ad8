//! Source lines: the `.loc` in effect at each line of the PTX, joined with the code's PTX lines.

use super::{LineTable, dwarf};
use oriole_cubin::{DebugSpec, FunctionLines, LineRow, ModuleSpec, SourcePlace};
use oriole_ptx::ast::{self, Block, FileDirective, Item, Loc, Statement};
use oriole_ptx::diag::SourceMap;
use std::collections::BTreeMap;

/// The debug information of a module. `tables` has the PTX line of each instruction of a section;
/// `compile_unit` the PTX file's name where functions are to be described too.
pub(crate) fn describe(
    ast: &ast::Module,
    ptx: &str,
    spec: &ModuleSpec,
    tables: &BTreeMap<String, LineTable>,
    compile_unit: Option<String>,
) -> DebugSpec {
    let files = ast.items.iter().filter_map(|item| match item {
        Item::File(file) => Some(file),
        _ => None,
    });
    let mut files: Vec<&FileDirective> = files.collect();
    // DWARF in the PTX names files by their numbers.
    files.sort_by_key(|file| file.index);
    let index_of = |number: u32| files.iter().position(|file| file.index == number).map(|at| at as u32);
    let places = Places::new(ast, ptx);
    let functions = spec.functions.iter().map(|function| {
        let table = tables.get(&function.name).map(Vec::as_slice).unwrap_or_default();
        let mut rows: Vec<LineRow> = Vec::new();
        for (offset, at) in table {
            let source = places
                .at(at.line)
                .and_then(|loc| Some(SourcePlace { file: index_of(loc.file)?, line: loc.line, column: loc.column }));
            let row = LineRow { offset: *offset, ptx_line: at.line, source };
            if rows.last().is_none_or(|last| (last.ptx_line, last.source) != (row.ptx_line, row.source)) {
                rows.push(row);
            }
        }
        FunctionLines { symbol: function.name.clone(), size: function.code.len() as u64, rows }
    });
    let functions = functions.collect();
    let files = files.iter().map(|file| file.name.clone()).collect();
    let sections = dwarf::carried(ast, ptx, spec, tables, compile_unit.is_some());
    // The PTX's own description of the functions is better than ours.
    let described = sections.iter().any(|section| section.name == ".debug_info");
    let compile_unit = compile_unit.filter(|_| !described);
    DebugSpec { files, ptx: ptx.to_owned(), functions, compile_unit, sections }
}

/// Whether the PTX has debug information of its own: DWARF sections and source files. ptxas then passes them on without
/// being asked.
pub(crate) fn has_own(ast: &ast::Module) -> bool {
    let has = |wanted: fn(&Item) -> bool| ast.items.iter().any(wanted);
    has(|item| matches!(item, Item::Section(_))) && has(|item| matches!(item, Item::File(_)))
}

/// The `.loc` directives by the PTX line from which on they hold, in order.
struct Places(Vec<(u32, Option<Loc>)>);

impl Places {
    fn new(ast: &ast::Module, ptx: &str) -> Self {
        let map = SourceMap::new("", ptx);
        let line = |offset: u32| map.line_column(offset).0 as u32;
        let mut places = Vec::new();
        let mut before = None;
        for item in &ast.items {
            match item {
                Item::Loc(loc) => before = Some(*loc),
                Item::Function(function) => {
                    // What held in the function before holds here no more.
                    places.push((line(function.span.start), before.take()));
                    if let Some(body) = &function.body {
                        gather(body, &mut |loc| places.push((line(loc.span.start), Some(*loc))));
                    }
                }
                _ => {}
            }
        }
        Places(places)
    }

    /// The directive that holds in this line.
    fn at(&self, line: u32) -> Option<Loc> {
        let behind = self.0.partition_point(|(from, _)| *from <= line);
        self.0.get(behind.checked_sub(1)?).and_then(|(_, loc)| *loc)
    }
}

fn gather(block: &Block, found: &mut impl FnMut(&Loc)) {
    for statement in &block.statements {
        match statement {
            Statement::Loc(loc) if !loc.is_intermediate => found(loc),
            Statement::Block(inner) => gather(inner, found),
            _ => {}
        }
    }
}
