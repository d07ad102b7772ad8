//! Specialised nodes of debug information.

use crate::ir::{Meta, MetaField};

use super::codes::{self, metadata};
use super::error::Result;
use super::stream::Record;

/// How an operand becomes a field.
#[derive(Clone, Copy)]
enum Form {
    /// A string or node, one more than its number; left out when 0.
    Meta,
    /// A string, written even when empty.
    Text,
    /// A node by its number.
    Node,
    /// A number; left out when 0, as LLVM text does.
    Int,
    /// A number, written even when 0.
    AnyInt,
    /// `true`, left out when 0.
    True,
    /// `true` or `false`.
    Bool,
    /// `false`, left out when not 0.
    False,
    /// A word by number; left out when the number has none.
    Word(&'static [(u64, &'static str)]),
    /// Words for bits.
    Words(&'static [(u64, &'static str)]),
}

/// A node's name and its fields: name, operand, form, in the order in which LLVM prints them.
struct Layout {
    code: u32,
    name: &'static str,
    fields: &'static [(&'static str, usize, Form)],
}

const LANGUAGES: &[(u64, &str)] = &[
    (0x01, "DW_LANG_C89"),
    (0x02, "DW_LANG_C"),
    (0x04, "DW_LANG_C_plus_plus"),
    (0x0C, "DW_LANG_C99"),
    (0x14, "DW_LANG_Python"),
    (0x1A, "DW_LANG_C_plus_plus_11"),
    (0x1C, "DW_LANG_Rust"),
    (0x1D, "DW_LANG_C11"),
    (0x1F, "DW_LANG_Julia"),
    (0x21, "DW_LANG_C_plus_plus_14"),
    (0x2A, "DW_LANG_C_plus_plus_17"),
    (0x2B, "DW_LANG_C_plus_plus_20"),
    (0x2C, "DW_LANG_C17"),
];

const EMISSION: &[(u64, &str)] = &[(0, "NoDebug"), (1, "FullDebug"), (2, "LineTablesOnly"), (3, "DebugDirectivesOnly")];

const NAME_TABLES: &[(u64, &str)] = &[(1, "GNU"), (2, "None"), (3, "Apple")];

const CHECKSUMS: &[(u64, &str)] = &[(1, "CSK_MD5"), (2, "CSK_SHA1"), (3, "CSK_SHA256")];

const SUBPROGRAM_FLAGS: &[(u64, &str)] = &[
    (4, "DISPFlagLocalToUnit"),
    (8, "DISPFlagDefinition"),
    (16, "DISPFlagOptimized"),
    (32, "DISPFlagPure"),
    (64, "DISPFlagElemental"),
    (128, "DISPFlagRecursive"),
    (256, "DISPFlagMainSubprogram"),
    (512, "DISPFlagDeleted"),
    (2048, "DISPFlagObjCDirect"),
];

/// The nodes whose fields are kept.
const LAYOUTS: &[Layout] = &[
    Layout {
        code: metadata::LOCATION,
        name: "DILocation",
        fields: &[
            ("line", 1, Form::AnyInt),
            ("column", 2, Form::Int),
            ("scope", 3, Form::Node),
            ("inlinedAt", 4, Form::Meta),
            ("isImplicitCode", 5, Form::True),
        ],
    },
    Layout {
        code: metadata::FILE,
        name: "DIFile",
        fields: &[
            ("filename", 1, Form::Text),
            ("directory", 2, Form::Text),
            ("checksumkind", 3, Form::Word(CHECKSUMS)),
            ("checksum", 4, Form::Meta),
        ],
    },
    Layout { code: metadata::SUBROUTINE_TYPE, name: "DISubroutineType", fields: &[("types", 2, Form::Meta)] },
    Layout {
        code: metadata::COMPILE_UNIT,
        name: "DICompileUnit",
        fields: &[
            ("language", 1, Form::Word(LANGUAGES)),
            ("file", 2, Form::Meta),
            ("producer", 3, Form::Meta),
            ("isOptimized", 4, Form::Bool),
            ("flags", 5, Form::Meta),
            ("runtimeVersion", 6, Form::AnyInt),
            ("splitDebugFilename", 7, Form::Meta),
            ("emissionKind", 8, Form::Word(EMISSION)),
            ("enums", 9, Form::Meta),
            ("retainedTypes", 10, Form::Meta),
            ("globals", 12, Form::Meta),
            ("imports", 13, Form::Meta),
            ("splitDebugInlining", 15, Form::False),
            ("nameTableKind", 18, Form::Word(NAME_TABLES)),
        ],
    },
    Layout {
        code: metadata::SUBPROGRAM,
        name: "DISubprogram",
        fields: &[
            ("name", 2, Form::Meta),
            ("linkageName", 3, Form::Meta),
            ("scope", 1, Form::Meta),
            ("file", 4, Form::Meta),
            ("line", 5, Form::Int),
            ("type", 6, Form::Meta),
            ("scopeLine", 7, Form::Int),
            ("containingType", 8, Form::Meta),
            ("spFlags", 9, Form::Words(SUBPROGRAM_FLAGS)),
            ("unit", 12, Form::Meta),
            ("templateParams", 13, Form::Meta),
            ("declaration", 14, Form::Meta),
            ("retainedNodes", 15, Form::Meta),
        ],
    },
    Layout {
        code: metadata::LEXICAL_BLOCK,
        name: "DILexicalBlock",
        fields: &[("scope", 1, Form::Meta), ("file", 2, Form::Meta), ("line", 3, Form::Int), ("column", 4, Form::Int)],
    },
    Layout {
        code: metadata::LEXICAL_BLOCK_FILE,
        name: "DILexicalBlockFile",
        fields: &[("scope", 1, Form::Meta), ("file", 2, Form::Meta), ("discriminator", 3, Form::AnyInt)],
    },
];

/// `DISubprogram` before LLVM 8, with a flag in the first operand missing: what all of those have in common.
const OLD_SUBPROGRAM: Layout = Layout {
    code: metadata::SUBPROGRAM,
    name: "DISubprogram",
    fields: &[
        ("name", 2, Form::Meta),
        ("linkageName", 3, Form::Meta),
        ("scope", 1, Form::Meta),
        ("file", 4, Form::Meta),
        ("line", 5, Form::Int),
        ("type", 6, Form::Meta),
        ("scopeLine", 9, Form::Int),
    ],
};

/// Bit of a `DISubprogram`'s first operand: the layout of today.
const HAS_SUBPROGRAM_FLAGS: u64 = 4;

/// Nodes of which only the name is kept.
const NAMES: &[(u32, &str)] = &[
    (metadata::GENERIC_DEBUG, "GenericDINode"),
    (metadata::SUBRANGE, "DISubrange"),
    (metadata::ENUMERATOR, "DIEnumerator"),
    (metadata::BASIC_TYPE, "DIBasicType"),
    (metadata::DERIVED_TYPE, "DIDerivedType"),
    (metadata::COMPOSITE_TYPE, "DICompositeType"),
    (metadata::NAMESPACE, "DINamespace"),
    (metadata::TEMPLATE_TYPE, "DITemplateTypeParameter"),
    (metadata::TEMPLATE_VALUE, "DITemplateValueParameter"),
    (metadata::GLOBAL_VAR, "DIGlobalVariable"),
    (metadata::LOCAL_VAR, "DILocalVariable"),
    (metadata::EXPRESSION, "DIExpression"),
    (metadata::OBJC_PROPERTY, "DIObjCProperty"),
    (metadata::IMPORTED_ENTITY, "DIImportedEntity"),
    (metadata::MODULE, "DIModule"),
    (metadata::MACRO, "DIMacro"),
    (metadata::MACRO_FILE, "DIMacroFile"),
    (metadata::GLOBAL_VAR_EXPR, "DIGlobalVariableExpression"),
    (metadata::LABEL, "DILabel"),
    (metadata::STRING_TYPE, "DIStringType"),
    (metadata::COMMON_BLOCK, "DICommonBlock"),
    (metadata::GENERIC_SUBRANGE, "DIGenericSubrange"),
    (metadata::ARG_LIST, "DIArgList"),
    (metadata::ASSIGN_ID, "DIAssignID"),
    (metadata::SUBRANGE_TYPE, "DISubrangeType"),
    (metadata::FIXED_POINT_TYPE, "DIFixedPointType"),
];

/// The specialised node of a record. `meta` gives the string or node of an operand.
pub(super) fn node(record: &Record, meta: impl Fn(u64) -> Result<MetaField>) -> Result<Meta> {
    let flags = record.ops.first().copied().unwrap_or(0);
    let layout = match LAYOUTS.iter().find(|layout| layout.code == record.code) {
        Some(layout) if layout.code == metadata::SUBPROGRAM && flags & HAS_SUBPROGRAM_FLAGS == 0 => &OLD_SUBPROGRAM,
        Some(layout) => layout,
        None => {
            let name = NAMES.iter().find(|(code, _)| *code == record.code).map(|(_, name)| *name);
            let name = name.ok_or_else(|| {
                record.fault(format!("{} is not supported", codes::record_name(record.block, record.code)))
            })?;
            return Ok(Meta::Special(name.into(), Vec::new()));
        }
    };
    let mut fields = Vec::new();
    for &(name, at, form) in layout.fields {
        // Operands that came later are missing in older files.
        let Some(&operand) = record.ops.get(at) else { continue };
        if let Some(field) = field(operand, form, &meta)? {
            fields.push((name.into(), field));
        }
    }
    Ok(Meta::Special(layout.name.into(), fields))
}

fn field(operand: u64, form: Form, meta: impl Fn(u64) -> Result<MetaField>) -> Result<Option<MetaField>> {
    let word = |text: &str| Some(MetaField::Word(text.into()));
    Ok(match form {
        Form::Meta if operand == 0 => None,
        Form::Text if operand == 0 => Some(MetaField::String("".into())),
        Form::Meta | Form::Text => Some(meta(operand)?),
        Form::Node => Some(meta(operand.saturating_add(1))?),
        Form::Int if operand == 0 => None,
        Form::Int | Form::AnyInt => Some(MetaField::Int(operand.into())),
        Form::Bool => word(if operand == 0 { "false" } else { "true" }),
        Form::True if operand == 0 => None,
        Form::True => word("true"),
        Form::False if operand != 0 => None,
        Form::False => word("false"),
        Form::Word(words) => words.iter().find(|(number, _)| *number == operand).and_then(|(_, text)| word(text)),
        Form::Words(words) => {
            let set: Vec<&str> = words.iter().filter(|(bit, _)| operand & bit != 0).map(|(_, text)| *text).collect();
            if set.is_empty() { None } else { word(&set.join(" | ")) }
        }
    })
}
