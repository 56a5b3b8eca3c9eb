//! The HTML standard's "prescan a byte stream to determine its encoding".
//!
//! <https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding>

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

use super::html::names::Name;
use super::html::tokens::{Attribute, Token, Tokens};

/// The standard's prescan reads 1024 bytes. Later its parser also obeys a `<meta charset>` further down ("change the
/// encoding"). Scanning further has the same effect without parsing twice.
const LENGTHS: [usize; 3] = [1 << 10, 4 << 10, 16 << 10];

/// The encoding that the first bytes of a page declare, in a `meta` element or an XML declaration.
pub(super) fn prescan(body: &[u8]) -> Option<&'static Encoding> {
    if body.starts_with(b"\x3c\x00\x3f\x00\x78\x00") {
        return Some(UTF_16LE);
    }
    if body.starts_with(b"\x00\x3c\x00\x3f\x00\x78") {
        return Some(UTF_16BE);
    }
    let heads = LENGTHS.map(|length| body.get(..length).unwrap_or(body));
    heads.iter().find_map(|head| of_markup(head)).or_else(|| xml_encoding(heads[2]))
}

/// The first encoding declared by a `meta` element.
fn of_markup(head: &[u8]) -> Option<&'static Encoding> {
    // Markup is ASCII, whatever the text around it.
    let text = String::from_utf8_lossy(head);
    let mut tokens = Tokens::new(&text);
    while let Some(token) = tokens.next(false) {
        if let Token::Start(tag) = token
            && tag.name == Name::Meta
            && let Some(encoding) = meta_encoding(&tokens.attributes)
        {
            return Some(encoding);
        }
    }
    None
}

/// The encoding declared by one `meta` element.
fn meta_encoding(attributes: &[Attribute]) -> Option<&'static Encoding> {
    let first = |name: &str| attributes.iter().find(|it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value);
    if let Some(label) = first("charset") {
        return Encoding::for_label(label.as_bytes()).map(as_declared);
    }
    let is_pragma = first("http-equiv").is_some_and(|pragma| pragma.eq_ignore_ascii_case("content-type"));
    let content = first("content").filter(|_| is_pragma)?;
    charset_in_content(content.to_ascii_lowercase().as_bytes()).map(as_declared)
}

/// "Extracting a character encoding from a meta element", on the lower-cased value of `content`.
fn charset_in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    let value = loop {
        rest = &rest[memmem::find(rest, b"charset")? + 7..];
        let after = rest.trim_ascii_start();
        if let Some(value) = after.strip_prefix(b"=") {
            break value.trim_ascii_start();
        }
        rest = after;
    };
    let label = match value.first() {
        Some(&quote @ (b'"' | b'\'')) => {
            value[1..].split(|&byte| byte == quote).next().filter(|_| value[1..].contains(&quote))?
        }
        Some(_) => value.split(|&byte| byte.is_ascii_whitespace() || byte == b';').next()?,
        None => return None,
    };
    Encoding::for_label(label)
}

/// "Get an XML encoding": the declaration at the very start of the page.
pub(super) fn xml_encoding(head: &[u8]) -> Option<&'static Encoding> {
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

/// A page whose declaration is readable as ASCII is not UTF-16, whatever it declares.
fn as_declared(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}
