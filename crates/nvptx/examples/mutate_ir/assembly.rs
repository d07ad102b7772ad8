//! Mutants of LLVM assembly.

use fastrand::Rng;
use std::ops::Range;

/// Longer files are taken apart.
const LONGEST: usize = 20_000;

/// A file as it is, if it is short, and each function of it with all else around; so that mutants are short and reach far.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    if text.len() < LONGEST {
        return vec![text.to_owned()];
    }
    let first = text.find("\ndefine ").map_or(text.len(), |at| at + 1);
    let last = text.rfind("\n}\n").map_or(first, |at| at + 3).max(first);
    let (head, bodies, tail) = (&text[..first], &text[first..last], &text[last..]);
    let functions = bodies.split_inclusive("\n}\n").filter(|function| function.len() < 3 * LONGEST);
    functions.map(|function| format!("{head}{function}{tail}")).collect()
}

/// One to four changes of bytes or tokens; tokens may come from another text.
pub(crate) fn mutant(rng: &mut Rng, base: &str, other: &str) -> String {
    let mut text = base.as_bytes().to_vec();
    for _ in 0..=rng.usize(..4) {
        match rng.u32(..6) {
            0 => change_bytes(rng, &mut text),
            1 => change_tokens(rng, &mut text, other.as_bytes()),
            _ => exchange_alike(rng, &mut text, other.as_bytes()),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn change_bytes(rng: &mut Rng, text: &mut Vec<u8>) {
    let at = rng.usize(..=text.len());
    let end = (at + rng.usize(..16)).min(text.len());
    match rng.u32(..4) {
        0 => drop(text.drain(at..end)),
        1 => text.insert(at, rng.u8(..)),
        2 => {
            let copy = text[at..end].to_vec();
            let to = rng.usize(..=text.len());
            drop(text.splice(to..to, copy));
        }
        _ => {
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << rng.u32(..8);
            }
        }
    }
}

fn change_tokens(rng: &mut Rng, text: &mut Vec<u8>, other: &[u8]) {
    let (here, there) = (tokens(text), tokens(other));
    if here.is_empty() || there.is_empty() {
        return;
    }
    let place = here[rng.usize(..here.len())].clone();
    let foreign = other[there[rng.usize(..there.len())].clone()].to_vec();
    match rng.u32(..4) {
        0 => drop(text.drain(place)),
        1 => drop(text.splice(place, foreign)),
        2 => drop(text.splice(place.start..place.start, foreign)),
        _ => {
            let token = text[here[rng.usize(..here.len())].clone()].to_vec();
            drop(text.splice(place, token));
        }
    }
}

/// What a token may be exchanged for and still be read: a value, a type, a number, another word.
fn kind(token: &[u8]) -> u8 {
    let is_type = token[0] == b'i' && token.len() > 1 && token[1..].iter().all(u8::is_ascii_digit);
    match token[0] {
        _ if is_type || matches!(token, b"float" | b"double" | b"half" | b"bfloat" | b"ptr") => b'i',
        b'0'..=b'9' | b'-' => b'0',
        b'a'..=b'z' | b'A'..=b'Z' => b'a',
        first => first,
    }
}

/// Puts a token of the same kind in the place of one: most such mutants are read.
fn exchange_alike(rng: &mut Rng, text: &mut Vec<u8>, other: &[u8]) {
    const NUMBERS: [&[u8]; 8] = [b"0", b"1", b"-1", b"2147483648", b"18446744073709551615", b"64", b"4294967296", b"3"];
    let here = tokens(text);
    if here.is_empty() {
        return;
    }
    let place = here[rng.usize(..here.len())].clone();
    let wanted = kind(&text[place.clone()]);
    if wanted == b'0' && rng.bool() {
        let number = NUMBERS[rng.usize(..NUMBERS.len())].to_vec();
        return drop(text.splice(place, number));
    }
    // Near words mean something here; those of another text are of other shapes.
    let (source, found) = if rng.u32(..4) == 0 { (other.to_vec(), tokens(other)) } else { (text.clone(), here) };
    let alike: Vec<Range<usize>> = found.into_iter().filter(|token| kind(&source[token.clone()]) == wanted).collect();
    if !alike.is_empty() {
        let token = source[alike[rng.usize(..alike.len())].clone()].to_vec();
        drop(text.splice(place, token));
    }
}

/// Words (with what says what they name) and single other characters.
fn tokens(text: &[u8]) -> Vec<Range<usize>> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b':' | b'%' | b'@' | b'!' | b'#' | b'.');
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        at += 1;
        if word(text[start]) {
            while at < text.len() && word(text[at]) {
                at += 1;
            }
        }
        if !text[start].is_ascii_whitespace() {
            found.push(start..at);
        }
    }
    found
}
