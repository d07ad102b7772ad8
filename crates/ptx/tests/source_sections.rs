//! `.nv_intermediate_source_section`: taken and refused as ptxas 13.5.37 does, and printed as it is read.

/// A module with a section behind it.
fn module(version: &str, section: &str) -> String {
    format!(
        ".version {version}\n.target sm_100\n.address_size 64\n.visible .entry k()\n{{\n    .loc 1 3 5\n    ret;\n}}\n\
         .file 1 \"a.cu\"\n.file 2 \"b.tileir\"\n{section}"
    )
}

fn section(blocks: &str) -> String {
    format!(".nv_intermediate_source_section {{\n{blocks}}}\n")
}

/// A block whose source begins and ends so.
fn block(source: &str) -> String {
    format!(".code_block {{\n.ir_name: \"tile ir\"\n.sourceFileName: 2\n{source}}}\n")
}

const LINES: &str = ".source_begin\nabc {} \"x\" // /* e\nline 2 .source_end\n.source_ending\n.source_end\n";

#[test]
fn sections_are_taken_as_by_ptxas() {
    let whole = block(LINES);
    let other = |from: &str, to: &str| section(&whole.replace(from, to));
    let cases = [
        (true, section("")),
        (true, section(&whole)),
        (true, section(&format!("{whole}{whole}"))),
        (true, format!("{0}{0}", section(&whole))),
        (true, section(&block(".source_begin\n.source_end\n"))),
        (true, section(&block("// c\n\n.source_begin \t\n  abc\n \t.source_end \n"))),
        (true, other(".ir_name: \"tile ir\"\n", ".ir_name:\"\" ")),
        (true, other(": 2", ":0x2")),
        (true, other(": 2", ": 1")),
        (false, section(&block(".source_begin\nab\u{e9}c\n.source_end\n"))),
        (false, other(": 2", ": 3")),
        (false, other(": 2", ": 0")),
        (false, other(": 2", ": -2")),
        (false, other(": 2", ": \"b\"")),
        (false, other(".ir_name:", ".ir_name :")),
        (false, other(".sourceFileName:", ".sourceFileName :")),
        (false, other("\"tile ir\"", "tile")),
        (false, other("\"tile ir\"", "\"tile ir\";")),
        (false, other(".ir_name: \"tile ir\"\n", "")),
        (false, other(".sourceFileName: 2\n", "")),
        (false, section(".code_block {\n}\n")),
        (false, section(".b8 1\n")),
        (false, section(&block(""))),
        (false, section(&block(&format!("{LINES}{LINES}")))),
        (false, section(&block(&format!("{LINES}.foo: 1\n")))),
        (false, section(&block(".source: <<< abc >>>\n"))),
        (false, section(&block(".source_begin abc .source_end\n"))),
        (false, section(&block(".source_begin // c\nabc\n.source_end\n"))),
        (false, section(&block(".source_begin\nabc\n.source_end // c\n"))),
        (false, section(&block(".source_begin\nabc\n"))),
        (false, section(&block(".source_begin\r\nabc\r\n.source_end\r\n"))),
        (false, format!("{};\n", section(&whole))),
    ];
    for (taken, section) in cases {
        let errors = oriole_ptx::load(&module("9.4", &section)).err().unwrap_or_default();
        assert_eq!(errors.is_empty(), taken, "{section}\n{errors:?}");
    }
    assert!(oriole_ptx::load(&module("9.3", &section(&whole))).is_err());
    let before = module("9.4", "").replace(".visible", &format!("{}.visible", section(&whole)));
    assert!(oriole_ptx::load(&before).is_err(), "the file has no index yet");
}

#[test]
fn a_section_is_printed_as_it_is_read() {
    let text = module("9.4", &section(&block(LINES)));
    let read = oriole_ptx::load(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let printed = oriole_ptx::print(&read);
    assert!(
        printed.contains("\n.source_begin\nabc {} \"x\" // /* e\nline 2 .source_end\n.source_ending\n.source_end\n"),
        "{printed}"
    );
    let again = oriole_ptx::load(&printed).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(oriole_ptx::print(&again), printed);
}
