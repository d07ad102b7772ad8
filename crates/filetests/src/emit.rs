//! `test emit`: PTX, and the SASS of its cubin with control words.

use crate::header::Header;
use crate::nvdisasm;
use crate::ptx::module;
use oriole_codegen::{CompileError, CompileOptions};
use oriole_cubin::Cubin;
use oriole_ptx::diag::SourceMap;

/// The code of the kernels as disassembly lists it. The checker of control words must have nothing against it, and
/// nvdisasm, where it is installed, must read the same instructions.
pub(crate) fn run(header: &Header, level: u8, input: &str) -> Result<String, String> {
    let text = module(header, input);
    let target = oriole_codegen::target(&header.target).map_err(|error| error.to_string())?;
    let options = CompileOptions { target: Some(target), opt_level: level, verify: true, ..CompileOptions::default() };
    let compiled = oriole_codegen::compile(&text, &options).map_err(|error| match error {
        CompileError::Source(errors) => SourceMap::new("the case", &text).render_all(&errors),
        other => other.to_string(),
    })?;
    let cubin = Cubin::parse(&compiled.cubin).map_err(|error| error.to_string())?;
    let report = oriole_check::check(&cubin, &[]).map_err(|error| error.to_string())?;
    if let Some(finding) = report.findings.first() {
        return Err(finding.to_string());
    }
    nvdisasm::compare(&cubin, header.arch)?;
    let listing = oriole_assembly::list_functions(&cubin, &[], true).map_err(|error| error.to_string())?;
    Ok(without_padding(&listing))
}

/// The listing without the `NOP`s that fill up a section.
fn without_padding(listing: &str) -> String {
    let is_padding = |line: &&str| line.ends_with(" NOP ;");
    let sections = listing.split("\n\n").map(|section| {
        let lines: Vec<&str> = section.lines().collect();
        let padding = lines.iter().rev().take_while(|line| is_padding(line)).count();
        lines[..lines.len() - padding].join("\n") + "\n"
    });
    sections.collect()
}
