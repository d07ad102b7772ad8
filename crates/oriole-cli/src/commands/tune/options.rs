//! The options of `oriole compile` that make a candidate's code.

use crate::commands::args::{CodeArgs, FpContractArg, IrArgs};

/// The words behind the input and `-o`.
pub(super) fn words(code: &CodeArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut valued = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
    code.arch.iter().for_each(|arch| valued("--arch", arch));
    code.entry.iter().for_each(|entry| valued("--entry", entry));
    code.maxrregcount.iter().for_each(|most| valued("--maxrregcount", &most.to_string()));
    code.register_usage_level.iter().for_each(|level| valued("--register-usage-level", &level.to_string()));
    code.knob.iter().for_each(|setting| valued("--knob", setting));
    code.disable_pass.iter().for_each(|pass| valued("--disable-pass", pass));
    let IrArgs { link, no_fma, fp_contract, ftz, no_prec_div, no_prec_sqrt } = &code.ir;
    link.iter().for_each(|path| valued("--link", &path.display().to_string()));
    let contract = match fp_contract {
        FpContractArg::Off => Some("off"),
        FpContractArg::On => None,
        FpContractArg::Fast => Some("fast"),
    };
    contract.iter().for_each(|which| valued("--fp-contract", which));
    let flags =
        [("--no-fma", no_fma), ("--ftz", ftz), ("--no-prec-div", no_prec_div), ("--no-prec-sqrt", no_prec_sqrt)];
    words.extend(flags.into_iter().filter(|(_, given)| **given).map(|(name, _)| name.to_owned()));
    words
}

/// The words in a line that a shell reads as these.
pub(super) fn line(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+%@".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::args::{Cli, Command};
    use clap::Parser;

    /// The grammar reads the words as the options that they came from.
    #[test]
    fn words_say_what_the_options_say() {
        let code = CodeArgs {
            arch: Some("sm_90".to_owned()),
            entry: vec!["k$1".to_owned(), "l".to_owned()],
            maxrregcount: Some(64),
            register_usage_level: Some(9),
            knob: vec!["unroll=8".to_owned(), "order-seed=-3".to_owned()],
            disable_pass: vec!["GvnCse".to_owned()],
            ir: IrArgs {
                link: vec!["my lib.bc".into()],
                no_fma: false,
                fp_contract: FpContractArg::Fast,
                ftz: true,
                no_prec_div: true,
                no_prec_sqrt: true,
            },
            ..CodeArgs::default()
        };
        let head = ["oriole", "compile", "k.ll", "-o", "out"].map(str::to_owned);
        let cli = Cli::try_parse_from(head.into_iter().chain(words(&code))).expect("the grammar has them");
        let Command::Compile(args) = cli.command else { panic!("it is compile") };
        assert_eq!(format!("{:?}", args.code), format!("{code:?}"));
        assert_eq!(line(&["a b".to_owned(), "it's".to_owned(), "--x=1".to_owned()]), r"'a b' 'it'\''s' --x=1");
    }
}
