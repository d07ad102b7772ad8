//! Options as C passes them, as words of a command line. What they mean is known to `oriole-ptxas`.

/// The words of options: each is an option, an option with its value behind `=` or a blank, or a value. Blanks around them do not
/// count.
pub(crate) fn words(options: &[String]) -> Vec<String> {
    options.iter().flat_map(|option| split(option.trim())).collect()
}

/// An option whose value stands behind a blank is two words.
fn split(option: &str) -> Vec<String> {
    let end = option.find(|c: char| c == '=' || c.is_ascii_whitespace());
    let Some(end) = end.filter(|_| option.starts_with('-')) else { return vec![option.to_owned()] };
    let (name, value) = (&option[..end], option[end + 1..].trim());
    match option[end..].starts_with('=') {
        true => vec![format!("{name}={value}")],
        false => vec![name.to_owned(), value.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn every_spelling_becomes_words() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&["--gpu-name=sm_90"], &["--gpu-name=sm_90"]),
            (&["--gpu-name", "sm_90"], &["--gpu-name", "sm_90"]),
            (&["--gpu-name sm_90", " -v "], &["--gpu-name", "sm_90", "-v"]),
            (&[" -arch  sm_90 ", "-O3"], &["-arch", "sm_90", "-O3"]),
            (&["-e= one, two"], &["-e=one, two"]),
            (&["", "a b=c"], &["", "a b=c"]),
        ];
        for (options, expected) in cases {
            assert_eq!(words(&options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>()), expected);
        }
    }
}
