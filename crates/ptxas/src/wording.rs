//! Errors of a module in ptxas's words, where callers may look for them; what Oriole knows beyond that stands behind.

use oriole_ptx::diag::{Diagnostic, Rule};

/// How messages begin that name something that is not there.
const UNDEFINED: &str = "undefined ";
/// How messages begin of words that no instruction is called.
const UNKNOWN: &str = "unknown instruction ";

/// What is said of an error in `text`.
pub(crate) fn of(error: &Diagnostic, text: &str) -> String {
    let help = error.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    let at = error.span.start as usize;
    let spanned = text.get(at..error.span.end as usize).unwrap_or_default();
    match error.rule {
        _ if error.rule == Some(Rule::Instruction) || error.message.starts_with(UNKNOWN) => {
            let name = spanned.split('.').next().unwrap_or_default();
            format!("Not a name of any known instruction: '{name}'{help}")
        }
        Some(Rule::Type | Rule::Count | Rule::Kind | Rule::Register) => {
            let name = instruction_before(text, at);
            format!("Arguments mismatch for instruction '{name}': {}{help}", error.message)
        }
        None if error.message.starts_with(UNDEFINED) => format!("Unknown symbol '{spanned}'{help}"),
        _ => format!("{}{help}", error.message),
    }
}

/// The name of the instruction in which a place is.
fn instruction_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind([';', '{', '}', ':', '\n']).map_or(0, |end| end + 1);
    let mut rest = text[start..].trim_start();
    if rest.starts_with('@') {
        rest = rest.find(char::is_whitespace).map_or("", |end| rest[end..].trim_start());
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::of;

    /// What ptxas 13.0.88 says of each begins so.
    #[test]
    fn ptxas_says_it_so() {
        let cases = [
            ("add.u32 %q, %v, %v;", "Unknown symbol '%q'"),
            ("foo.u32 %v, %v;", "Not a name of any known instruction: 'foo'"),
            ("@%b add.u32 %v, %v;", "Arguments mismatch for instruction 'add'"),
            ("add.u32 %v, %v, %p;", "Arguments mismatch for instruction 'add'"),
        ];
        for (line, said) in cases {
            let text = format!(
                ".version 8.0\n.target sm_75\n.address_size 64\n.entry k() {{ .reg .b64 %p; .reg .b32 %v; .reg .pred %b;\n\
                 {line}\nret; }}"
            );
            let errors = oriole_ptx::load(&text).expect_err(line);
            let messages: Vec<String> = errors.iter().map(|error| of(error, &text)).collect();
            assert!(messages.iter().any(|message| message.starts_with(said)), "{line}: {messages:?}");
        }
    }
}
