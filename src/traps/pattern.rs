//! The pattern of a URL: what all pages have in common that one piece of a server's code makes.
//!
//! Words of the path are kept, and what only tells one page from the next is a class: a number is `#`, so a date is `#-#`; a hash or
//! another long random token is `*`; a title written as a name (`my-first-post`) is `~`. A path ends with `…` at the first segment that
//! it comes back to, as in Heritrix' PathologicalPathDecideRule, and so does one of very many segments. Of the query stay the
//! names, sorted as normalised URLs have them, each with the class of its value. As in Koppula et al., "Learning URL Patterns for
//! Webpage De-duplication" (WSDM 2010), which learns from pairs of equal pages which of these matter; here all of them are kept
//! and what they bring is counted.

use xxhash_rust::xxh3::xxh3_64;

/// Segments of a path that are looked at, and names of a query.
const PARTS: usize = 8;
/// Segments behind one in which it is looked for.
const LOOKED_AHEAD: usize = 32;
/// Bytes of a pattern's text.
const MAX_BYTES: usize = 120;
/// A token of so many letters and digits, with some of either, is random.
const RANDOM: usize = 16;
/// A segment of so many words is a title.
const TITLE_WORDS: usize = 3;

/// A pattern's mark among those of its host: never 0, which stands for all that have no place of their own.
pub fn mark(pattern: &str) -> u32 {
    (xxh3_64(pattern.as_bytes()) as u32).max(1)
}

/// What a pattern is one of many of, as each choice of a query's names makes one: its path, with any query. None: it has no query.
pub fn family(pattern: &str) -> Option<String> {
    pattern.split_once('?').map(|(path, _)| format!("{path}?…"))
}

/// Of path and query of a normalised URL.
pub fn of(path_and_query: &str) -> String {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let mut out = String::with_capacity(48);
    push_path(&mut out, path);
    let mut names = query.split('&').filter(|parameter| !parameter.is_empty());
    for (place, parameter) in names.by_ref().take(PARTS).enumerate() {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        out.push(if place == 0 { '?' } else { '&' });
        push_class(&mut out, name);
        match value {
            "" => {}
            value if value.bytes().all(|byte| byte.is_ascii_digit()) => out.push_str("=#"),
            value if is_random(value) => out.push_str("=*"),
            _ => out.push_str("=~"),
        }
    }
    if names.next().is_some() {
        out.push('…');
    }
    if out.len() > MAX_BYTES {
        let end = out.floor_char_boundary(MAX_BYTES);
        out.truncate(end);
        out.push('…');
    }
    out
}

fn push_path(out: &mut String, path: &str) {
    let segments = || path.split('/').skip(1);
    let is_word = |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| !byte.is_ascii_digit());
    for (place, segment) in segments().enumerate() {
        let comes_back = || is_word(segment) && segments().skip(place + 1).take(LOOKED_AHEAD).any(|it| it == segment);
        if place >= PARTS || comes_back() {
            out.push_str("/…");
            return;
        }
        out.push('/');
        let mut pieces = segment.split(';');
        push_class(out, pieces.next().unwrap_or_default());
        for parameter in pieces {
            out.push(';');
            out.push_str(parameter.split('=').next().unwrap_or_default());
        }
    }
}

/// A segment of a path, or a name.
fn push_class(out: &mut String, text: &str) {
    if is_random(text) {
        return out.push('*');
    }
    if text.split(['-', '_', '+']).filter(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic())).count()
        >= TITLE_WORDS
    {
        return out.push('~');
    }
    let mut in_number = false;
    for character in text.chars() {
        let is_digit = character.is_ascii_digit();
        match (is_digit, in_number) {
            (true, true) => {}
            (true, false) => out.push('#'),
            (false, _) => out.push(character),
        }
        in_number = is_digit;
    }
}

fn is_random(text: &str) -> bool {
    let (letters, digits) = text.bytes().fold((0, 0), |(letters, digits), byte| {
        (letters + usize::from(byte.is_ascii_alphabetic()), digits + usize::from(byte.is_ascii_digit()))
    });
    letters > 0 && digits > 1 && letters + digits >= RANDOM && letters + digits + 4 >= text.len()
}
