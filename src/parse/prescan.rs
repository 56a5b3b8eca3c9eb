//! The HTML standard's "prescan a byte stream to determine its encoding".
//!
//! <https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding>

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

/// The encoding that the first bytes of a page declare, in a `meta` element or an XML declaration.
pub(super) fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    if head.starts_with(b"\x3c\x00\x3f\x00\x78\x00") {
        return Some(UTF_16LE);
    }
    if head.starts_with(b"\x00\x3c\x00\x3f\x00\x78") {
        return Some(UTF_16BE);
    }
    let mut scan = Scan { bytes: head, at: 0 };
    while scan.at < head.len() {
        let rest = scan.rest();
        if rest.starts_with(b"<!--") {
            // The two dashes that open a comment may close it too: `<!-->`.
            scan.at = memmem::find(&rest[2..], b"-->").map_or(head.len(), |found| scan.at + 2 + found + 3);
        } else if is_meta(rest) {
            scan.at += 5;
            if let Some(encoding) = meta_encoding(&mut scan) {
                return Some(encoding);
            }
        } else if is_tag(rest) {
            scan.skip_until(|byte| is_space(byte) || byte == b'>');
            while scan.attribute().is_some() {}
        } else if matches!(rest, [b'<', b'!' | b'/' | b'?', ..]) {
            scan.skip_until(|byte| byte == b'>');
            scan.at += 1;
        } else {
            scan.at += memchr::memchr(b'<', rest.get(1..).unwrap_or_default()).map_or(rest.len(), |found| found + 1);
        }
    }
    xml_encoding(head)
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|&byte| is_space(byte) || byte == b'/')
}

fn is_tag(rest: &[u8]) -> bool {
    match rest {
        [b'<', b'/', letter, ..] => letter.is_ascii_alphabetic(),
        [b'<', letter, ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

/// What one `meta` declares; the scan stands behind its name and moves behind its attributes.
fn meta_encoding(scan: &mut Scan) -> Option<&'static Encoding> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let mut got_pragma = false;
    let mut need_pragma = None;
    let mut charset: Option<Option<&'static Encoding>> = None;
    while let Some((name, value)) = scan.attribute() {
        if seen.contains(&name) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" => got_pragma |= value == b"content-type",
            b"content" if charset.is_none() => {
                if let Some(found) = charset_in_content(&value) {
                    charset = Some(Some(found));
                    need_pragma = Some(true);
                }
            }
            b"charset" => {
                charset = Some(Encoding::for_label(&value));
                need_pragma = Some(false);
            }
            _ => {}
        }
        seen.push(name);
    }
    let is_cut = scan.peek().is_none();
    if is_cut || (need_pragma? && !got_pragma) {
        return None;
    }
    charset.flatten().map(as_declared)
}

/// "Extracting a character encoding from a meta element", on the lower-cased value of `content`.
fn charset_in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    let value = loop {
        rest = &rest[memmem::find(rest, b"charset")? + 7..];
        let after = trim_start(rest);
        if let Some(value) = after.strip_prefix(b"=") {
            break trim_start(value);
        }
        rest = after;
    };
    let label = match value.first() {
        Some(&quote @ (b'"' | b'\'')) => {
            value[1..].split(|&byte| byte == quote).next().filter(|_| value[1..].contains(&quote))?
        }
        Some(_) => value.split(|&byte| is_space(byte) || byte == b';').next()?,
        None => return None,
    };
    Encoding::for_label(label)
}

/// "Get an XML encoding": the declaration at the very start of the page.
fn xml_encoding(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.strip_prefix(b"<?xml")?;
    let declaration = &rest[..memchr::memchr(b'>', rest)?];
    let after = &declaration[memmem::find(declaration, b"encoding")? + 8..];
    let skip = |bytes: &[u8]| bytes.iter().take_while(|&&byte| byte <= 0x20).count();
    let after = after[skip(after)..].strip_prefix(b"=")?;
    let quoted = &after[skip(after)..];
    let quote = *quoted.first().filter(|&&byte| byte == b'"' || byte == b'\'')?;
    let label = &quoted[1..];
    let label = &label[..memchr::memchr(quote, label)?];
    if label.iter().any(|&byte| byte <= 0x20) {
        return None;
    }
    Encoding::for_label(label).map(as_declared)
}

/// A page whose ASCII declaration could be read is not UTF-16, whatever it says.
fn as_declared(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|&&byte| is_space(byte)).count()..]
}

/// A place in the bytes; every step stays within them.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_until(&mut self, stop: impl Fn(u8) -> bool) {
        self.at += self.rest().iter().take_while(|&&byte| !stop(byte)).count();
    }

    /// "Get an attribute": name and value in lower case; none at the tag's end or the input's.
    fn attribute(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.skip_until(|byte| !is_space(byte) && byte != b'/');
        if self.peek()? == b'>' {
            return None;
        }
        let start = self.at;
        // A name may start with `=`.
        self.at += 1;
        self.skip_until(|byte| is_space(byte) || matches!(byte, b'=' | b'/' | b'>'));
        let name = self.bytes[start..self.at].to_ascii_lowercase();
        self.skip_until(|byte| !is_space(byte));
        if self.peek()? != b'=' {
            return Some((name, Vec::new()));
        }
        self.at += 1;
        self.skip_until(|byte| !is_space(byte));
        let value = match self.peek()? {
            quote @ (b'"' | b'\'') => {
                let start = self.at + 1;
                self.at = start;
                self.skip_until(|byte| byte == quote);
                let value = &self.bytes[start..self.at];
                self.peek()?;
                self.at += 1;
                value
            }
            b'>' => b"",
            _ => {
                let start = self.at;
                self.skip_until(|byte| is_space(byte) || byte == b'>');
                self.peek()?;
                &self.bytes[start..self.at]
            }
        };
        Some((name, value.to_ascii_lowercase()))
    }
}
