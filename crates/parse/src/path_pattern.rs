//! Path patterns of robots.txt rules (RFC 9309 §2.2.2 and §2.2.3).

use memchr::{memchr2, memmem};

use super::url::{hex, is_unreserved};

/// The paths that a rule applies to, in canonical percent-encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// `*` is the wildcard; a literal one is `%2A`.
    bytes: Vec<u8>,
    /// The path must end where the pattern does.
    anchored: bool,
}

impl Pattern {
    pub(super) fn new(path: &str) -> Pattern {
        let (path, anchored) = path.strip_suffix('$').map_or((path, false), |path| (path, true));
        let mut bytes = canonical(path, true);
        bytes.dedup_by(|a, b| *a == b'*' && *b == b'*');
        Pattern { bytes, anchored }
    }

    pub(super) fn length(&self) -> usize {
        self.bytes.len() + usize::from(self.anchored)
    }

    /// The fixed beginning of every matching path.
    pub(super) fn beginning(&self) -> &[u8] {
        self.bytes.split(|&b| b == b'*').next().unwrap_or_default()
    }

    /// Matches each piece between wildcards at its first occurrence. This takes linear time and is sufficient, since
    /// only the last piece may be bound to the end.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        // The end of the path can be checked without a search.
        let end = self.bytes.rsplit(|&b| b == b'*').next().unwrap_or_default();
        if self.anchored && !path.ends_with(end) && !before_dollar(path).ends_with(end) {
            return false;
        }
        let mut pieces = self.bytes.split(|&b| b == b'*');
        let Some(mut rest) = pieces.next().and_then(|first| path.strip_prefix(first)) else { return false };
        let mut pieces = pieces.peekable();
        while let Some(piece) = pieces.next() {
            if self.anchored && pieces.peek().is_none() {
                return rest.ends_with(piece) || before_dollar(rest).ends_with(piece);
            }
            let Some(at) = memmem::find(rest, piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        !self.anchored || before_dollar(rest).is_empty()
    }

    /// Whether it says at which position of a query a parameter must be: `/a?b=`, `/*&b=`.
    pub(super) fn orders_parameters(&self) -> bool {
        memchr2(b'?', b'&', &self.bytes).is_some_and(|at| at + 1 < self.bytes.len())
    }

    /// A page with its parameters in the order that the pattern asks for: those that it names, at their positions, and
    /// the others at its wildcard or at the end. None if it orders none, or the page lacks one.
    pub(super) fn in_its_order(&self, page: &[u8], parameters: &[&[u8]]) -> Option<Vec<u8>> {
        let (first, named) = self.bytes[memchr2(b'?', b'&', &self.bytes)?..].split_first()?;
        let mut has_wildcard = *first == b'&';
        let mut others = parameters.to_vec();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for text in named.split(|&b| b == b'&') {
            let start = text.split(|&b| b == b'*').next().unwrap_or_default();
            if start.is_empty() {
                has_wildcard |= !text.is_empty();
                continue;
            }
            let equal = others.iter().position(|parameter| *parameter == start);
            let parameter = others.remove(equal.or_else(|| others.iter().position(|it| begins(it, start)))?);
            // Normalisation has dropped the `=` of an empty value.
            let parameter = if parameter.len() < start.len() { start } else { parameter };
            if has_wildcard { after.push(parameter) } else { before.push(parameter) }
        }
        let ordered: Vec<&[u8]> = before.into_iter().chain(others).chain(after).collect();
        Some([page, b"?", &ordered.join(&b'&')].concat())
    }
}

fn begins(parameter: &[u8], start: &[u8]) -> bool {
    parameter.starts_with(start) || start.strip_suffix(b"=") == Some(parameter)
}

/// A `$` at the end of a pattern also matches a literal `$` at the end of a path, as some authors intend.
fn before_dollar(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"%24").unwrap_or(path)
}

/// One spelling for paths and patterns (§2.2.2): unreserved characters are decoded. Reserved characters are unchanged,
/// so `%2F` differs from `/`. Everything else, including `*` and `$`, is encoded with upper-case digits.
pub(super) fn canonical(text: &str, is_pattern: bool) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() + 8);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let encoded = if byte == b'%' { bytes.get(at..at + 2).and_then(hex) } else { None };
        at += if encoded.is_some() { 2 } else { 0 };
        let literal = match encoded {
            Some(decoded) => is_unreserved(decoded),
            None => is_unreserved(byte) || is_reserved(byte) || byte == b'*' && is_pattern,
        };
        let byte = encoded.unwrap_or(byte);
        if literal {
            out.push(byte);
        } else {
            out.extend_from_slice(percent_encoding::percent_encode_byte(byte).as_bytes());
        }
    }
    out
}

/// RFC 3986 §2.2, without those that are always encoded in a normalised URL.
fn is_reserved(byte: u8) -> bool {
    matches!(byte, b':' | b'/' | b'?' | b'@' | b'!' | b'&' | b'(' | b')' | b'+' | b',' | b';' | b'=')
}
