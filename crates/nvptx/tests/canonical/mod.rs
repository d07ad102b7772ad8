//! A module as lines that do not depend on how it numbers things: two readers of the same program
//! give the same lines.

use std::fmt::Write;

use oriole_nvptx::ir::{
    Attributes, BlockId, Body, ConstExpr, ConstId, Constant, InstId, Meta, MetaField, MetaId, Module, Op, SymbolKind,
    TypeId, Value,
};
use rustc_hash::FxHashMap;

/// Nodes and those of their fields that both readers keep.
const SPECIAL: &[(&str, &[&str])] = &[
    ("DILocation", &["line", "column", "scope", "inlinedAt"]),
    ("DISubprogram", &["name", "linkageName", "scope", "file", "line", "type", "scopeLine", "spFlags", "unit"]),
    ("DIFile", &["filename", "directory"]),
    ("DICompileUnit", &["file", "producer", "isOptimized", "emissionKind"]),
    ("DILexicalBlock", &["scope", "file", "line", "column"]),
    ("DILexicalBlockFile", &["scope", "file", "discriminator"]),
    ("DISubroutineType", &["types"]),
];

/// The lines of a module, symbols by name; those that begin with `@` or `!` begin a new thing.
pub(crate) fn lines(module: &Module) -> Vec<String> {
    let mut writer = Writer { module, lines: Vec::new(), nodes: FxHashMap::default() };
    writer.module();
    writer.lines
}

struct Writer<'a> {
    module: &'a Module,
    lines: Vec<String>,
    /// Metadata nodes in the order in which the symbol at hand names them.
    nodes: FxHashMap<MetaId, usize>,
}

impl Writer<'_> {
    fn module(&mut self) {
        let module = self.module;
        self.lines.push(format!("{} {} {:?} {:?}", module.name, module.triple, module.layout, module.asm));
        let mut symbols: Vec<_> = module.symbols.iter().collect();
        symbols.sort_by_key(|(_, symbol)| &symbol.name);
        for (_, symbol) in symbols {
            self.nodes.clear();
            let section = symbol.section.as_deref().unwrap_or("");
            self.lines.push(format!(
                "@{} {:?} {:?} {:?} align {} {section}",
                symbol.name, symbol.linkage, symbol.visibility, symbol.space, symbol.align
            ));
            match &symbol.kind {
                SymbolKind::Function(function) => {
                    let signature = module.types.text(function.signature);
                    let ret = self.attributes(&function.ret_attributes);
                    let own = self.attributes(&function.attributes);
                    self.lines.push(format!("  {signature} {:?} {own} -> {ret}", function.convention));
                    for param in &function.params {
                        let line =
                            format!("  param {} {}", module.types.text(param.ty), self.attributes(&param.attributes));
                        self.lines.push(line);
                    }
                    if let Some(node) = function.debug.expand() {
                        let line = format!("  dbg {}", self.node(node));
                        self.lines.push(line);
                    }
                    if let Some(body) = function.body.as_deref() {
                        self.body(body);
                    }
                }
                SymbolKind::Variable(variable) => {
                    let init = variable.init.map(|init| self.constant(init));
                    let attributes = self.attributes(&variable.attributes);
                    self.lines.push(format!(
                        "  {} {} {init:?} {} {} {attributes}",
                        module.types.text(variable.ty),
                        variable.constant,
                        variable.thread_local,
                        variable.externally_initialized
                    ));
                }
                SymbolKind::Alias(alias) => {
                    let line = format!("  alias {} {}", module.types.text(alias.ty), self.constant(alias.target));
                    self.lines.push(line);
                }
                SymbolKind::Undefined => self.lines.push("  undefined".into()),
            }
        }
        self.nodes.clear();
        for (name, nodes) in &module.metadata.named {
            let nodes: Vec<String> = nodes.iter().map(|&node| self.node(node)).collect();
            self.lines.push(format!("!{name} = {nodes:?}"));
        }
    }

    fn attributes(&self, attributes: &Attributes) -> String {
        let mut plain = attributes.clone();
        let mut types = Vec::new();
        plain.for_each_type_mut(|ty| types.push(self.module.types.text(std::mem::replace(ty, TypeId::VOID))));
        // LLVM replaces these when it reads old bitcode.
        plain.strings.retain(|(key, _)| !key.contains("frame-pointer"));
        plain.strings.sort();
        if plain == Attributes::default() { String::new() } else { format!("{plain:?}{types:?}") }
    }

    fn body(&mut self, body: &Body) {
        let mut names: FxHashMap<Value, String> = FxHashMap::default();
        for (at, &param) in body.params.iter().enumerate() {
            names.insert(param.into(), format!("arg{at}"));
        }
        for (at, (_, inst)) in body.insts_in_order().enumerate() {
            if let Some(result) = body[inst].result.expand() {
                names.insert(result.into(), format!("inst{at}"));
            }
        }
        let blocks: FxHashMap<BlockId, usize> =
            body.layout.iter().enumerate().map(|(at, &block)| (block, at)).collect();
        let text = |value: Value| match value {
            Value::Local(_) => names[&value].clone(),
            Value::Const(id) => self.constant(id),
        };
        let mut lines = Vec::new();
        let mut metadata = Vec::new();
        let mut own_names: Vec<_> =
            body.value_names.iter().map(|(&value, name)| format!("{} {name}", names[&value.into()])).collect();
        own_names.extend(body.block_names.iter().map(|(block, name)| format!("b{} {name}", blocks[block])));
        own_names.sort();
        lines.push(format!("  {own_names:?}"));
        for &block in &body.layout {
            lines.push(format!("  b{}:", blocks[&block]));
            for &inst in &body[block].insts {
                let mut line = String::new();
                let mut op = body[inst].op.clone();
                if let Op::Phi(incoming) = &mut op {
                    incoming.iter_mut().for_each(|(block, _)| {
                        let _ = write!(line, " b{}", blocks[block]);
                        *block = BlockId::from_u32(0);
                    });
                }
                if let Op::Call(call) = &mut op {
                    for (index, attributes) in std::mem::take(&mut call.arg_attributes) {
                        let _ = write!(line, " arg {index} {}", self.attributes(&attributes));
                    }
                    let own = std::mem::take(&mut call.attributes);
                    let ret = std::mem::take(&mut call.ret_attributes);
                    let _ = write!(line, " {} ret {}", self.attributes(&own), self.attributes(&ret));
                }
                op.for_each_value_mut(|value| {
                    let _ = write!(line, " {}", text(*value));
                    *value = Value::Const(ConstId::from_u32(0));
                });
                op.for_each_successor_mut(|block| {
                    let _ = write!(line, " to b{}", blocks[block]);
                    *block = BlockId::from_u32(0);
                });
                op.for_each_type_mut(|ty| {
                    let _ = write!(line, " {}", self.module.types.text(*ty));
                    *ty = TypeId::VOID;
                });
                lines.push(format!("    {} {op:?}{line}", self.module.types.text(body[inst].ty)));
                metadata.push((lines.len() - 1, inst));
            }
        }
        for (at, inst) in metadata {
            let text = self.inst_metadata(body, inst);
            lines[at].push_str(&text);
        }
        self.lines.append(&mut lines);
    }

    fn inst_metadata(&mut self, body: &Body, inst: InstId) -> String {
        let mut text = String::new();
        if let Some(node) = body[inst].loc.expand() {
            let _ = write!(text, " dbg {}", self.node(node));
        }
        let mut attachments = body.attachments.get(&inst).cloned().unwrap_or_default();
        attachments.sort_by_key(|(kind, _)| *kind);
        for (kind, node) in attachments {
            let _ = write!(text, " {kind:?} {}", self.node(node));
        }
        text
    }

    fn constant(&self, id: ConstId) -> String {
        let constants = &self.module.constants;
        let ty = self.module.types.text(constants.ty(id));
        match &constants[id] {
            Constant::Int(_, value) => format!("{ty} {value}"),
            Constant::Float(_, bits) => format!("{ty} {bits:#x}"),
            Constant::Null(_) => format!("{ty} null"),
            Constant::Zero(_) => format!("{ty} zero"),
            Constant::Undef(_) => format!("{ty} undef"),
            Constant::Poison(_) => format!("{ty} poison"),
            Constant::Aggregate(_, items) => {
                let items: Vec<String> = items.iter().map(|&item| self.constant(item)).collect();
                format!("{ty} [{}]", items.join(", "))
            }
            Constant::Bytes(_, bytes) => format!("{ty} {bytes:?}"),
            Constant::Symbol(_, symbol) => format!("{ty} @{}", self.module.symbols[*symbol].name),
            Constant::BlockAddress(_, symbol, block) => {
                format!("{ty} block {block:?} of @{}", self.module.symbols[*symbol].name)
            }
            Constant::Expr(_, expr) => {
                // LLVM folds these since version 17.
                if let ConstExpr::Gep { base, indices, .. } = &**expr
                    && indices.iter().all(|&index| constants.is_zero(index))
                {
                    return self.constant(*base);
                }
                let mut operands = Vec::new();
                expr.for_each_operand(|operand| operands.push(self.constant(operand)));
                let what = match &**expr {
                    ConstExpr::Gep { source, flags, .. } => {
                        format!("gep {flags:?} {}", self.module.types.text(*source))
                    }
                    ConstExpr::Cast(op, _) => op.as_str().into(),
                    ConstExpr::Binary(op, ..) => op.as_str().into(),
                    ConstExpr::ICmp(how, ..) => how.as_str().into(),
                    ConstExpr::FCmp(how, ..) => how.as_str().into(),
                    ConstExpr::Select(..) => "select".into(),
                    ConstExpr::ExtractElement(..) => "extractelement".into(),
                    ConstExpr::InsertElement(..) => "insertelement".into(),
                };
                format!("{ty} {what}({})", operands.join(", "))
            }
            Constant::MetadataString(text) => format!("!{text:?}"),
            Constant::Metadata => "metadata".into(),
            Constant::TokenNone => "none".into(),
        }
    }

    /// A node by its number; with what it says where it is met first.
    fn node(&mut self, id: MetaId) -> String {
        if let Some(number) = self.nodes.get(&id) {
            return format!("!{number}");
        }
        let number = self.nodes.len();
        self.nodes.insert(id, number);
        let distinct = if self.module.metadata.distinct.contains(id) { "distinct " } else { "" };
        let module = self.module;
        let text = match &module.metadata[id] {
            Meta::Undefined => "undefined".into(),
            Meta::Node(fields) => {
                let fields: Vec<String> = fields.iter().map(|field| self.field(field)).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Meta::Special(name, _) => {
                let kept = SPECIAL.iter().find(|(other, _)| *other == &**name).map_or(&[][..], |(_, kept)| kept);
                let meta = &module.metadata[id];
                let fields: Vec<String> =
                    kept.iter().filter_map(|name| Some(format!("{name}: {}", self.field(meta.field(name)?)))).collect();
                format!("{name}({})", fields.join(", "))
            }
            Meta::String(text) => format!("{text:?}"),
            Meta::Constant(id) => self.constant(*id),
        };
        format!("!{number} = {distinct}{text}")
    }

    fn field(&mut self, field: &MetaField) -> String {
        match field {
            MetaField::Null => "null".into(),
            MetaField::Node(id) => self.node(*id),
            MetaField::String(text) => format!("{text:?}"),
            MetaField::Constant(id) => self.constant(*id),
            MetaField::Int(value) => value.to_string(),
            MetaField::Word(word) => word.to_string(),
        }
    }
}
