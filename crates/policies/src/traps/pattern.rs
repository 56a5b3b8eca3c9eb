//! The pattern of a URL: what the URLs of one kind of page have in common.
//!
//! Words of the path are kept; the parts that differ from page to page become classes. A number is `#`, so a date is
//! `#-#`. A hash or another long random token is `*`. A title in a name (`my-first-post`) is `~`. A path ends with `…`
//! at the first segment that occurs again, as in Heritrix' PathologicalPathDecideRule, and also after very many
//! segments. The names of the query are kept, sorted as in normalised URLs, each with the class of its value.
//!
//! Koppula et al., "Learning URL Patterns for Webpage De-duplication" (WSDM 2010), learn from pairs of equal pages
//! which of these parts matter. Here all parts are kept, and what their fetches bring is counted.

use xxhash_rust::xxh3::xxh3_64;

/// Number of path segments and of query names that are used.
const PARTS: usize = 8;
/// A repeated segment is looked for within this many segments.
const READ_AHEAD: usize = 32;
/// Longest pattern, in bytes.
const MAX_BYTES: usize = 120;
/// A token of at least this length with both letters and digits is random.
const RANDOM: usize = 16;
/// A segment of at least this many words is a title.
const TITLE_WORDS: usize = 3;

/// Identifies a pattern within its host. Never 0, which represents all patterns that are not counted separately.
pub fn mark(pattern: &str) -> u32 {
    (xxh3_64(pattern.as_bytes()) as u32).max(1)
}

/// The family of a pattern: its path with any query. Every combination of query names is a pattern of the family. None
/// without a query.
pub fn family(pattern: &str) -> Option<String> {
    pattern.split_once('?').map(|(path, _)| format!("{path}?…"))
}

/// The directory of a pattern: its first segment with anything behind it, and the same query. Names that each occur once
/// are judged together.
pub fn directory(pattern: &str) -> String {
    let (path, query) = pattern.split_at(pattern.find('?').unwrap_or(pattern.len()));
    let end = path.get(1..).and_then(|path| path.find('/')).map_or(0, |end| end + 1);
    format!("{}/*…{query}", &path[..end])
}

/// The pattern of a path and query. The URL must be normalised.
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
        let comes_back = || is_word(segment) && segments().skip(place + 1).take(READ_AHEAD).any(|it| it == segment);
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

/// Appends the class of a path segment or a name.
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

pub(super) fn is_random(text: &str) -> bool {
    let (letters, digits) = text.bytes().fold((0, 0), |(letters, digits), byte| {
        (letters + usize::from(byte.is_ascii_alphabetic()), digits + usize::from(byte.is_ascii_digit()))
    });
    letters > 0 && digits > 1 && letters + digits >= RANDOM && letters + digits + 4 >= text.len()
}
