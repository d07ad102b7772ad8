//! Outcomes as JUnit's XML, which servers of continuous integration read: a suite for each manifest, a case for each launch.

use super::outcome::{Outcome, Status};
use super::report::block;
use crate::commands::failure::{Failure, rejected};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::ElementWriter;
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
    counted(xml, "testsuites", "oriole test", outcomes).write_inner_content(|xml| {
        outcomes.chunk_by(|one, next| one.manifest == next.manifest).try_for_each(|of_manifest| suite(xml, of_manifest))
    })?;
    Ok(())
}

fn suite(xml: &mut Xml, outcomes: &[Outcome]) -> io::Result<()> {
    let Some(first) = outcomes.first() else { return Ok(()) };
    counted(xml, "testsuite", &legal(&first.manifest), outcomes)
        .write_inner_content(|xml| outcomes.iter().try_for_each(|outcome| case(xml, outcome)))?;
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

/// An element with a name, and with what the outcomes in it add up to.
fn counted<'x>(xml: &'x mut Xml, element: &'x str, name: &str, outcomes: &[Outcome]) -> ElementWriter<'x, Vec<u8>> {
    let count = |is_one: fn(Status) -> bool| outcomes.iter().filter(|outcome| is_one(outcome.status)).count();
    let failures = count(|status| matches!(status, Status::Failed | Status::Faulted));
    let errors = count(|status| status == Status::Error);
    let time = seconds(outcomes.iter().map(|outcome| outcome.seconds).sum());
    xml.create_element(element)
        .with_attribute(("name", name))
        .with_attribute(("tests", &*outcomes.len().to_string()))
        .with_attribute(("failures", &*failures.to_string()))
        .with_attribute(("errors", &*errors.to_string()))
        .with_attribute(("time", &*time))
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
