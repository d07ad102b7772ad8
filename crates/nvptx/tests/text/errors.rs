//! Wrong texts: where and what.

use oriole_nvptx::text::parse;

/// Texts at the top level, with line, column and a part of the message.
const MODULES: &[(&str, usize, usize, &str)] = &[
    ("frobnicate", 1, 1, "expected a function, a variable, a type or metadata, found `frobnicate`"),
    ("@x = global i32", 1, 16, "expected a value, found the end of the file"),
    ("@x = global i32 0\n@x = global i32 1", 2, 1, "`@x` is defined twice"),
    ("@x = global i32 1.5", 1, 17, "a floating-point number cannot be of type `i32`"),
    ("@x = global float 1", 1, 19, "an integer cannot be of type `float`"),
    ("@x = global float 0x3FB999999999999A", 1, 19, "the number is not exact in `float`"),
    ("@x = global float 1.0e400", 1, 19, "this is not a number of `float`"),
    ("@x = global half f0x13C00", 1, 18, "the number does not fit into 16 bits"),
    ("@x = global float +snan(0x0)", 1, 19, "`float` has no such NaN"),
    ("@x = global half +nan(0x400)", 1, 18, "`half` has no such NaN"),
    ("@x = global i32 +inf", 1, 17, "a floating-point number cannot be of type `i32`"),
    ("define void @f() denormal_fpenv(flush) {\n  ret void\n}", 1, 33, "expected `ieee`, `preservesign`"),
    ("@x = global half 0xR3F80", 1, 18, "cannot be of type `half`"),
    ("@x = global i8 256", 1, 16, "the number does not fit into 8 bits"),
    ("@x = global i8 -129", 1, 16, "the number does not fit into 8 bits"),
    ("@x = global i8 u0x100", 1, 16, "the number does not fit into 8 bits"),
    ("@x = global fp128 0xL00000000000000000000000000000000", 1, 19, "80 and 128 bits of floating point"),
    ("@x = global ptr @y", 1, 17, "`@y` is not declared"),
    ("@x = global ptr @y\n@y = addrspace(3) global i32 0", 1, 17, "`@y` is in address space 3, but used as `ptr`"),
    ("@x = global [2 x i32] [i32 1]", 1, 23, "`[2 x i32]` has 2 elements, not 1"),
    ("@x = global [1 x i32] [i64 1]", 1, 23, "element 0 has type `i64`, not `i32`"),
    ("@x = global [3 x i8] c\"ab\"", 1, 22, "a string of 2 bytes cannot be of type `[3 x i8]`"),
    ("@x = global i32 add (i32 1, i64 2)", 1, 17, "the operands have different types, `i32` and `i64`"),
    ("@x = global i32 fadd (i32 1, i32 2)", 1, 17, "`fadd` does not take operands of type `i32`"),
    ("@x = global i64 zext (i32 1 to i16)", 1, 17, "`zext` does not go from `i32` to `i16`"),
    ("@x = global i64 zext (i16 1 to i32)", 1, 17, "the constant has type `i32`, not `i64`"),
    ("@x = global %none zeroinitializer", 1, 13, "type `%none` is not defined"),
    ("%t = type { i32, %t }\n@x = global %t zeroinitializer", 1, 13, "an element cannot be of type `%t`"),
    ("%t = type i32\n%t = type i64", 2, 1, "type `%t` is defined twice"),
    ("@x = global <vscale x 4 x i32> zeroinitializer", 1, 14, "scalable vectors are not supported"),
    ("@x = global <0 x i32> zeroinitializer", 1, 14, "vectors have 1 to 65536 elements"),
    ("@x = global <2 x [2 x i32]> zeroinitializer", 1, 14, "a vector holds integers, floats or pointers"),
    ("@x = global target(\"spirv.Image\") zeroinitializer", 1, 13, "target extension types are not supported"),
    ("@x = global x86_amx zeroinitializer", 1, 13, "`x86_amx` is a type that no GPU has"),
    ("@x = global i0 0", 1, 13, "integers have 1 to 8388608 bits"),
    ("@x = global void zeroinitializer", 1, 13, "a variable cannot be of type `void`"),
    ("@x = ifunc void (), ptr @y", 1, 6, "`ifunc` is not supported"),
    ("@x = global i32 0, align 3", 1, 26, "an alignment is a power of two"),
    ("@x = global i32 0, frob 3", 1, 25, "expected a function, a variable, a type or metadata"),
    ("@x = global ptr ptrauth (ptr @x, i32 0)", 1, 17, "signed pointers are not supported"),
    ("@x = global ptr blockaddress(@f, %b)\ndeclare void @f()", 1, 34, "the function of this block has no body"),
    ("@x = global i8 \"unterminated", 1, 16, "this string does not end"),
    ("target datalayout = \"E-p:64\"", 1, 21, "NVPTX is little-endian"),
    ("!0 = !{!1}", 1, 8, "metadata `!1` is not defined"),
    ("!0 = !{}\n!0 = !{}", 2, 1, "metadata `!0` is defined twice"),
    ("!n = !{!0}\n!0 = !{i32 }", 2, 12, "expected a value"),
    ("declare void @f(void)", 1, 17, "a parameter cannot be of type `void`"),
    ("declare void @f(ptr byval)", 1, 26, "`byval` needs a type"),
    ("declare void @f(ptr inalloca(i32))", 1, 29, "`inalloca` is not supported"),
    ("declare range(i8 0, 5) i32 @f()", 1, 28, "has another type than its value"),
    ("declare void @f() memory(maybe)", 1, 26, "expected `none`, `read`, `write` or `readwrite`"),
    ("define void @f()", 1, 17, "expected `{`, found the end of the file"),
    ("define void @f() {\n}", 2, 1, "a function has at least one block"),
    ("define void @f() {\n  ret void\n", 3, 1, "expected `}`, found the end of the file"),
    ("define void @f() personality ptr", 1, 33, "expected a value"),
];

/// Instructions in a function with parameters `%a` (i32), `%x` (float), `%p` (ptr), `%v` (<4 x i32>) and
/// `%s` ({ i32, float }), at line 3, with line, column and a part of the message.
const INSTRUCTIONS: &[(&str, usize, usize, &str)] = &[
    ("frobnicate i32 %a", 3, 1, "expected an instruction, found `frobnicate`"),
    ("%1 = add i32 %a, %x", 3, 18, "`%x` has type `float`, not `i32`"),
    ("%1 = add i32 %a, %none", 3, 18, "`%none` is not defined"),
    ("%1 = add float %x, %x", 3, 1, "`add` does not take `float`"),
    ("%1 = fadd i32 %a, %a", 3, 1, "`fadd` does not take `i32`"),
    ("%1 = fadd nuw float %x, %x", 3, 11, "`fadd` has no such flag"),
    ("%1 = add i32 %1, 1", 3, 1, "an operand is not defined on every way to here"),
    ("%2 = add i64 %later, 1\n%later = add i32 1, 2", 3, 14, "the value has type `i32`, but is used as `i64`"),
    ("%a = add i32 1, 2", 3, 1, "`%a` is defined twice"),
    ("%7 = add i32 1, 2\n%6 = add i32 1, 2", 4, 1, "the next number is 8, not 6"),
    ("%99999 = add i32 1, 2", 3, 1, "numbers are left out here"),
    ("%1 = store i32 1, ptr %p", 3, 1, "this instruction has no result to name"),
    ("%1 = trunc i32 %a to i64", 3, 6, "`trunc` does not go from `i32` to `i64`"),
    ("%1 = bitcast i32 %a to i64", 3, 6, "`bitcast` does not go from `i32` to `i64`"),
    ("%1 = bitcast ptr %p to ptr addrspace(1)", 3, 6, "`bitcast` does not go from `ptr` to `ptr addrspace(1)`"),
    ("%1 = icmp oeq i32 %a, 1", 3, 11, "expected a predicate of `icmp`, found `oeq`"),
    ("%1 = icmp eq float %x, %x", 3, 1, "`icmp` takes integers or pointers"),
    ("%1 = fcmp oeq i32 %a, %a", 3, 1, "`fcmp` takes floating point"),
    ("%1 = select i32 %a, i32 1, i32 2", 3, 1, "the condition of `select` is an `i1`"),
    ("%1 = load void, ptr %p", 3, 11, "a value of type `void` cannot be in memory"),
    ("%1 = load i32, i32 %a", 3, 1, "an address is a pointer, not `i32`"),
    ("%1 = load atomic i32, ptr %p release, align 4", 3, 1, "a load cannot release"),
    ("%1 = load atomic i32, ptr %p, align 4", 3, 29, "expected an ordering"),
    ("%1 = load i32, ptr %p, align 5", 3, 30, "an alignment is a power of two"),
    ("store atomic i32 1, ptr %p acquire, align 4", 3, 1, "a store cannot acquire"),
    ("store atomic i32 1, ptr %p syncscope(\"moon\") monotonic", 3, 38, "no GPU has the scope `moon`"),
    ("%1 = getelementptr { i32, float }, ptr %p, i64 0, i32 %a", 3, 20, "the index into a structure is a constant"),
    ("%1 = getelementptr { i32, float }, ptr %p, i64 0, i32 2", 3, 20, "index 1 leads to no element"),
    ("%1 = getelementptr i32, i32 %a, i64 0", 3, 20, "the base of `getelementptr` is a pointer"),
    ("%1 = getelementptr i32, ptr %p, float %x", 3, 20, "an index is an integer, not `float`"),
    ("%1 = atomicrmw frob ptr %p, i32 1 monotonic", 3, 16, "expected an operation of `atomicrmw`"),
    ("%1 = extractvalue { i32, float } %s, 2", 3, 19, "`{ i32, float }` has no such element"),
    ("%1 = extractvalue <4 x i32> %v, 0", 3, 19, "`<4 x i32>` has no such element"),
    ("%1 = insertvalue { i32, float } %s, float %x, 0", 3, 18, "the element has type `i32`"),
    ("%1 = extractelement i32 %a, i32 0", 3, 21, "`extractelement` takes a vector"),
    ("%1 = insertelement <4 x i32> %v, float %x, i32 0", 3, 1, "the element and the vector do not fit"),
    ("%1 = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 0, i32 8>", 3, 20, "names element 8 of 8"),
    ("br label %none", 3, 10, "block `%none` is not defined"),
    ("br label %a", 3, 10, "this is a value, not a block"),
    ("br i32 %a, label %next, label %next\nnext:", 3, 1, "the condition of `br` is an `i1`"),
    ("%1 = phi i32 [ 0, %entry ]", 3, 1, "`phi` has one value for each block that comes here"),
    (
        "%c = icmp eq i32 %a, 0\nbr i1 %c, label %n, label %n\nn: %q = phi i32 [ 0, %entry ]",
        5,
        4,
        "`phi` has a value for each way from a block to here",
    ),
    ("%1 = add i32 1, 2\n%2 = phi i32 [ 0, %entry ]", 4, 1, "`phi` stands before all else in its block"),
    ("br label %entry", 3, 1, "nothing may go to the entry block"),
    ("ret i32 %a", 3, 1, "the function gives `void`, not `i32`"),
    ("next:", 3, 1, "the block before does not end with a terminator"),
    ("switch float %x, label %next []\nnext:", 3, 8, "`switch` takes an integer"),
    ("switch i32 %a, label %n [ i64 1, label %n ]\nn:", 3, 27, "the cases of `switch` have the type of its value"),
    ("call void (i32, i32) @f(i32 1)", 3, 22, "the call has 1 arguments, its type 2 parameters"),
    ("call void (i64) %p(i32 1)", 3, 17, "argument 0 has type `i32`, not `i64`"),
    ("call void asm inteldialect \"\", \"\"()", 3, 15, "`inteldialect` is not supported"),
    ("call void %p() [ \"deopt\"(i32 1) ]", 3, 18, "the operand bundle `deopt` is not supported"),
    ("call void %p(...)", 3, 11, "`...` stands in `musttail` calls of variadic functions only"),
    ("invoke void %p() to label %a unwind label %b", 3, 1, "`invoke` is not supported: GPUs have no exceptions"),
    ("%1 = landingpad { ptr, i32 } cleanup", 3, 6, "`landingpad` is not supported"),
    ("resume { ptr, i32 } undef", 3, 1, "`resume` is not supported"),
    ("%1 = catchswitch within none [label %h] unwind to caller", 3, 6, "`catchswitch` is not supported"),
    ("callbr void asm \"\", \"\"() to label %a []", 3, 1, "`callbr` is not supported"),
    ("%1 = alloca inalloca i32", 3, 13, "`inalloca` is not supported"),
    ("%1 = add i32 1, 2, !range !{i32 0, i32 5}, frob", 3, 44, "expected a name of metadata"),
    ("%1 = load i32, ptr %p, !tbaa !77", 3, 30, "metadata `!77` is not defined"),
];

fn check(text: &str, line: usize, column: usize, message: &str) {
    let error = parse(text, "wrong.ll").err().unwrap_or_else(|| panic!("taken:\n{text}"));
    let rendered = error.render(text);
    assert_eq!((error.line, error.column), (line, column), "{rendered}");
    assert!(error.message().contains(message), "no `{message}` in\n{rendered}");
    assert!(rendered.contains(&format!("wrong.ll:{line}:{column}")), "{rendered}");
    assert_eq!(error.to_string().split(": error: ").next(), Some(format!("wrong.ll:{line}:{column}").as_str()));
}

#[test]
fn wrong_modules() {
    for &(text, line, column, message) in MODULES {
        check(text, line, column, message);
    }
}

#[test]
fn wrong_instructions() {
    for &(lines, line, column, message) in INSTRUCTIONS {
        let head = "define void @f(i32 %a, float %x, ptr %p, <4 x i32> %v, { i32, float } %s) {\nentry:\n";
        check(&format!("{head}{lines}\nret void\n}}\n"), line, column, message);
    }
}

#[test]
fn nesting_has_a_limit() {
    for (open, close) in [("[1 x ", "]"), ("{ ", " }"), ("void (", ")*")] {
        let text = format!("@x = external global {}i8{}\n", open.repeat(100_000), close.repeat(100_000));
        let error = parse(&text, "deep.ll").expect_err("too deep");
        assert!(error.message().contains("levels deep"), "{error}");
    }
    let text = format!("@x = global i32 {}1{}\n", "add (i32 ".repeat(100_000), ", i32 1)".repeat(100_000));
    assert!(parse(&text, "deep.ll").expect_err("too deep").message().contains("levels deep"));
    let text = format!("!0 = {}{}\n", "!{".repeat(100_000), "}".repeat(100_000));
    assert!(parse(&text, "deep.ll").expect_err("too deep").message().contains("levels deep"));
}

#[test]
fn types_that_double_have_a_limit() {
    let mut text = String::from("%t0 = type { i32, i32 }\n");
    for at in 1..60 {
        text += &format!("%t{at} = type {{ %t{0}, %t{0} }}\n", at - 1);
    }
    assert!(parse(&text, "wide.ll").expect_err("too wide").message().contains("parts"));
}
