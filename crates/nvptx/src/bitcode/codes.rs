//! Numbers of blocks and records, with their names for messages.
//!
//! The numbers are those of LLVM's `LLVMBitCodes.h`, which never change.

/// The outermost level, which is no block.
pub(super) const TOP: u32 = u32::MAX;

/// Constants for numbers, and a table of their names.
macro_rules! codes {
    ($(#[$doc:meta])* $module:ident { $($name:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[allow(dead_code, reason = "the whole list gives names to messages")]
        pub(super) mod $module {
            $(pub(in crate::bitcode) const $name: u32 = $code;)*

            /// Numbers and their names.
            pub(super) const NAMES: &[(u32, &str)] = &[$(($code, stringify!($name))),*];
        }
    };
}

codes! {
    /// Blocks.
    block {
        BLOCKINFO = 0, MODULE_BLOCK = 8, PARAMATTR_BLOCK = 9, PARAMATTR_GROUP_BLOCK = 10, CONSTANTS_BLOCK = 11,
        FUNCTION_BLOCK = 12, IDENTIFICATION_BLOCK = 13, VALUE_SYMTAB = 14, METADATA_BLOCK = 15,
        METADATA_ATTACHMENT = 16, TYPE_BLOCK = 17, USELIST_BLOCK = 18, MODULE_STRTAB = 19, GLOBALVAL_SUMMARY = 20,
        OPERAND_BUNDLE_TAGS = 21, METADATA_KIND_BLOCK = 22, STRTAB = 23, FULL_LTO_SUMMARY = 24, SYMTAB = 25,
        SYNC_SCOPE_NAMES = 26,
    }
}

codes! {
    /// Records of a module.
    module {
        VERSION = 1, TRIPLE = 2, DATALAYOUT = 3, ASM = 4, SECTIONNAME = 5, DEPLIB = 6, GLOBALVAR = 7, FUNCTION = 8,
        ALIAS_OLD = 9, GCNAME = 11, COMDAT = 12, VSTOFFSET = 13, ALIAS = 14, METADATA_VALUES_UNUSED = 15,
        SOURCE_FILENAME = 16, HASH = 17, IFUNC = 18,
    }
}

codes! {
    /// Records of the attribute blocks.
    attribute { ENTRY_OLD = 1, ENTRY = 2, GROUP = 3, }
}

codes! {
    /// Records of the type block.
    ty {
        NUMENTRY = 1, VOID = 2, FLOAT = 3, DOUBLE = 4, LABEL = 5, OPAQUE = 6, INTEGER = 7, POINTER = 8,
        FUNCTION_OLD = 9, HALF = 10, ARRAY = 11, VECTOR = 12, X86_FP80 = 13, FP128 = 14, PPC_FP128 = 15,
        METADATA = 16, X86_MMX = 17, STRUCT_ANON = 18, STRUCT_NAME = 19, STRUCT_NAMED = 20, FUNCTION = 21,
        TOKEN = 22, BFLOAT = 23, X86_AMX = 24, OPAQUE_POINTER = 25, TARGET_TYPE = 26, BYTE = 27,
    }
}

codes! {
    /// Records of a value symbol table.
    symtab { ENTRY = 1, BBENTRY = 2, FNENTRY = 3, COMBINED_ENTRY = 5, }
}

codes! {
    /// Records of constants.
    constant {
        SETTYPE = 1, NULL = 2, UNDEF = 3, INTEGER = 4, WIDE_INTEGER = 5, FLOAT = 6, AGGREGATE = 7, STRING = 8,
        CSTRING = 9, CE_BINOP = 10, CE_CAST = 11, CE_GEP_OLD = 12, CE_SELECT = 13, CE_EXTRACTELT = 14,
        CE_INSERTELT = 15, CE_SHUFFLEVEC = 16, CE_CMP = 17, INLINEASM_OLD = 18, CE_SHUFVEC_EX = 19,
        CE_INBOUNDS_GEP = 20, BLOCKADDRESS = 21, DATA = 22, INLINEASM_OLD2 = 23, CE_GEP_INRANGE_INDEX = 24,
        CE_UNOP = 25, POISON = 26, DSO_LOCAL_EQUIVALENT = 27, INLINEASM_OLD3 = 28, NO_CFI = 29, INLINEASM = 30,
        CE_GEP_INRANGE = 31, CE_GEP = 32, PTRAUTH = 33, PTRAUTH2 = 34, BYTE = 35, WIDE_BYTE = 36,
    }
}

codes! {
    /// Records of function bodies.
    function {
        DECLAREBLOCKS = 1, INST_BINOP = 2, INST_CAST = 3, INST_GEP_OLD = 4, INST_SELECT = 5, INST_EXTRACTELT = 6,
        INST_INSERTELT = 7, INST_SHUFFLEVEC = 8, INST_CMP = 9, INST_RET = 10, INST_BR = 11, INST_SWITCH = 12,
        INST_INVOKE = 13, INST_UNREACHABLE = 15, INST_PHI = 16, INST_ALLOCA = 19, INST_LOAD = 20, INST_VAARG = 23,
        INST_STORE_OLD = 24, INST_EXTRACTVAL = 26, INST_INSERTVAL = 27, INST_CMP2 = 28, INST_VSELECT = 29,
        INST_INBOUNDS_GEP_OLD = 30, INST_INDIRECTBR = 31, DEBUG_LOC_AGAIN = 33, INST_CALL = 34, DEBUG_LOC = 35,
        INST_FENCE = 36, INST_CMPXCHG_OLD = 37, INST_ATOMICRMW_OLD = 38, INST_RESUME = 39, INST_LANDINGPAD_OLD = 40,
        INST_LOADATOMIC = 41, INST_STOREATOMIC_OLD = 42, INST_GEP = 43, INST_STORE = 44, INST_STOREATOMIC = 45,
        INST_CMPXCHG = 46, INST_LANDINGPAD = 47, INST_CLEANUPRET = 48, INST_CATCHRET = 49, INST_CATCHPAD = 50,
        INST_CLEANUPPAD = 51, INST_CATCHSWITCH = 52, OPERAND_BUNDLE = 55, INST_UNOP = 56, INST_CALLBR = 57,
        INST_FREEZE = 58, INST_ATOMICRMW = 59, BLOCKADDR_USERS = 60, DEBUG_RECORD_VALUE = 61,
        DEBUG_RECORD_DECLARE = 62, DEBUG_RECORD_ASSIGN = 63, DEBUG_RECORD_VALUE_SIMPLE = 64, DEBUG_RECORD_LABEL = 65,
        DEBUG_RECORD_DECLARE_VALUE = 66,
    }
}

codes! {
    /// Records of metadata.
    metadata {
        STRING_OLD = 1, VALUE = 2, NODE = 3, NAME = 4, DISTINCT_NODE = 5, KIND = 6, LOCATION = 7, OLD_NODE = 8,
        OLD_FN_NODE = 9, NAMED_NODE = 10, ATTACHMENT = 11, GENERIC_DEBUG = 12, SUBRANGE = 13, ENUMERATOR = 14,
        BASIC_TYPE = 15, FILE = 16, DERIVED_TYPE = 17, COMPOSITE_TYPE = 18, SUBROUTINE_TYPE = 19, COMPILE_UNIT = 20,
        SUBPROGRAM = 21, LEXICAL_BLOCK = 22, LEXICAL_BLOCK_FILE = 23, NAMESPACE = 24, TEMPLATE_TYPE = 25,
        TEMPLATE_VALUE = 26, GLOBAL_VAR = 27, LOCAL_VAR = 28, EXPRESSION = 29, OBJC_PROPERTY = 30,
        IMPORTED_ENTITY = 31, MODULE = 32, MACRO = 33, MACRO_FILE = 34, STRINGS = 35, GLOBAL_DECL_ATTACHMENT = 36,
        GLOBAL_VAR_EXPR = 37, INDEX_OFFSET = 38, INDEX = 39, LABEL = 40, STRING_TYPE = 41, COMMON_BLOCK = 44,
        GENERIC_SUBRANGE = 45, ARG_LIST = 46, ASSIGN_ID = 47, SUBRANGE_TYPE = 48, FIXED_POINT_TYPE = 49,
    }
}

fn look_up(names: &[(u32, &'static str)], code: u32) -> Option<&'static str> {
    names.iter().find(|(number, _)| *number == code).map(|(_, name)| *name)
}

/// A block's name, or its number.
pub(super) fn block_name(id: u32) -> String {
    look_up(block::NAMES, id).map_or_else(|| format!("block {id}"), str::to_owned)
}

/// A record's name within a block, or its number.
pub(super) fn record_name(in_block: u32, code: u32) -> String {
    let names = match in_block {
        block::MODULE_BLOCK => module::NAMES,
        block::PARAMATTR_BLOCK | block::PARAMATTR_GROUP_BLOCK => attribute::NAMES,
        block::TYPE_BLOCK => ty::NAMES,
        block::VALUE_SYMTAB => symtab::NAMES,
        block::CONSTANTS_BLOCK => constant::NAMES,
        block::FUNCTION_BLOCK => function::NAMES,
        block::METADATA_BLOCK | block::METADATA_ATTACHMENT | block::METADATA_KIND_BLOCK => metadata::NAMES,
        _ => &[],
    };
    look_up(names, code).map_or_else(|| format!("record {code}"), str::to_owned)
}
