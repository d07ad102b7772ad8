//! Functions of the library for given types.

/// A file of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Template {
    /// Its name, for messages.
    pub(super) file: &'static str,
    /// LLVM assembly with `$WORD`s.
    pub(super) text: &'static str,
}

macro_rules! templates {
    ($($name:ident $file:literal),* $(,)?) => {
        $(pub(super) const $name: Template = Template { file: $file, text: include_str!(concat!("ir/", $file)) };)*
    };
}

templates! {
    FIXED "fixed.ll", DIVIDE "divide.ll", INTEGER "integer.ll", PRODUCT "product.ll", PRODUCT128 "product128.ll", WIDE "wide.ll",
    COMPARE "compare.ll", REMAINDER "remainder.ll", TO_WIDE "to_wide.ll", FROM_WIDE "from_wide.ll",
    SATURATE "saturate.ll", CLASSIFY "classify.ll", POWER "power.ll", COPY "copy.ll", FILL "fill.ll",
    ATOMIC "atomic.ll",
    ATOMIC_PART "atomic_part.ll", EXCHANGE_PART "exchange_part.ll", THREAD "thread.ll",
    THREAD_EXCHANGE "thread_exchange.ll", MASKED "masked.ll", WRITTEN "written.ll", PATTERN "pattern.ll",
    APPROXIMATE "approximate.ll",
}

/// What stands for the `$WORD`s, without the `$`.
pub(super) type Words = Vec<(&'static str, String)>;

/// A file with its words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Instance {
    pub(super) template: Template,
    pub(super) words: Words,
}

impl Instance {
    /// What messages call the file.
    pub(super) fn file(&self) -> &'static str {
        self.template.file
    }

    /// LLVM assembly.
    pub(super) fn text(&self) -> String {
        fill(self.template.text, &self.words)
    }
}

/// Puts the words in; a word that is not known stays.
pub(super) fn fill(text: &str, words: &Words) -> String {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_uppercase()).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match words.iter().find(|(word, _)| *word == name) {
            Some((_, value)) => filled += value,
            None => {
                filled.push('$');
                filled += name;
            }
        }
        filled += rest;
    }
    filled
}

/// The text of a type as a part of a name.
pub(super) fn name_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}
