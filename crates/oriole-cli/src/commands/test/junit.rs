//! Outcomes as JUnit's XML, which servers of continuous integration read: a suite for each manifest, a case for each launch.

use super::outcome::{Outcome, Status};
use super::report::block;
use crate::commands::failure::{Failure, rejected};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::borrow::Cow;
use std::io;

/// What stands in place of a character that XML 1.0 cannot hold, in no spelling.
const REPLACEMENT: char = '\u{FFFD}';

/// All outcomes.
///
/// # Errors
/// None that a writer into memory gives: it is passed on all the same.
pub(super) fn document(outcomes: &[Outcome]) -> Result<String, Failure> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 4);
    write(&mut writer, outcomes).map_err(rejected)?;
    let mut xml = String::from_utf8(writer.into_inner()).map_err(rejected)?;
    xml.push('\n');
    Ok(xml)
}

type Xml = Writer<Vec<u8>>;

fn write(xml: &mut Xml, outcomes: &[Outcome]) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = Counts::of(outcomes).attributes();
    let counts = counts.each_ref().map(|(name, value)| (*name, value.as_str()));
    let root = xml.create_element("testsuites").with_attribute(("name", "oriole test")).with_attributes(counts);
    root.write_inner_content(|xml| {
        outcomes.chunk_by(|one, next| one.manifest == next.manifest).try_for_each(|of_manifest| suite(xml, of_manifest))
    })?;
    Ok(())
}

fn suite(xml: &mut Xml, outcomes: &[Outcome]) -> io::Result<()> {
    let Some(first) = outcomes.first() else { return Ok(()) };
    let (name, counts) = (legal(&first.manifest), Counts::of(outcomes).attributes());
    let counts = counts.each_ref().map(|(name, value)| (*name, value.as_str()));
    let suite = xml.create_element("testsuite").with_attribute(("name", &*name)).with_attributes(counts);
    suite.write_inner_content(|xml| outcomes.iter().try_for_each(|outcome| case(xml, outcome)))?;
    Ok(())
}

fn case(xml: &mut Xml, outcome: &Outcome) -> io::Result<()> {
    let class = format!("{}:{}", outcome.program, outcome.entry);
    let (name, class, time) = (legal(&outcome.name), legal(&class), seconds(outcome.seconds));
    let attributes = [("name", &*name), ("classname", &*class), ("time", &*time)];
    xml.create_element("testcase").with_attributes(attributes).write_inner_content(|xml| {
        if let Some(first) = outcome.problems.first() {
            let kind = if outcome.status == Status::Error { "error" } else { "failure" };
            let (first, whole) = (first.to_string(), block(outcome));
            let message = legal(first.lines().next().unwrap_or_default());
            let attributes = [("message", &*message), ("type", outcome.status.word())];
            xml.create_element(kind).with_attributes(attributes).write_text_content(BytesText::new(&legal(&whole)))?;
        }
        if !outcome.printed.is_empty() {
            xml.create_element("system-out").write_text_content(BytesText::new(&legal(&outcome.printed)))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// What a suite, or all of them, adds up to.
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    seconds: f64,
}

impl Counts {
    fn of(outcomes: &[Outcome]) -> Counts {
        let count = |is_one: fn(Status) -> bool| outcomes.iter().filter(|outcome| is_one(outcome.status)).count();
        Counts {
            tests: outcomes.len(),
            failures: count(|status| matches!(status, Status::Failed | Status::Faulted)),
            errors: count(|status| status == Status::Error),
            seconds: outcomes.iter().map(|outcome| outcome.seconds).sum(),
        }
    }

    fn attributes(&self) -> [(&'static str, String); 4] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
            ("time", seconds(self.seconds)),
        ]
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// The text with what XML can hold: `Char` of XML 1.0, section 2.2.
fn legal(text: &str) -> Cow<'_, str> {
    let is_legal =
        |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    if text.chars().all(is_legal) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_legal(c) { c } else { REPLACEMENT }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(legal("a\u{1}b\u{FFFF}\t<&>\u{10FFFF}"), "a\u{FFFD}b\u{FFFD}\t<&>\u{10FFFF}");
        assert!(matches!(legal("plain\n"), Cow::Borrowed(_)));
    }
}
