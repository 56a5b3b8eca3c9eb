//! A WARC record of any writer.

use bytes::Bytes;
use uuid::Uuid;

use crate::text::{IsoTime, parse_iso};
use seine_parse::page::{EpochMs, Headers};

/// A record with its fields and block.
#[derive(Debug, Clone, PartialEq)]
pub struct WarcRecord {
    /// The version after `WARC/` in its first line: `1.1`, `1.0`, `0.17`.
    pub version: String,
    /// Fields in order, including repeated and unknown ones. Values are UTF-8, or Latin-1 if they are not valid UTF-8.
    pub fields: Headers,
    pub block: Bytes,
    /// Where it was read.
    pub location: WarcLocation,
}

/// The position of a record in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarcLocation {
    /// Offset of its first byte, or of the first byte of its gzip member.
    pub offset: u64,
    /// Uncompressed bytes of the gzip member before the record; 0 if each record has its own member, as it should.
    pub inner: u64,
    /// Bytes of the file up to the next record. None if the record has no gzip member of its own.
    pub length: Option<u64>,
}

impl WarcRecord {
    /// A field's first value; names are compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// `WARC-Type`, such as `response`; empty if absent.
    pub fn kind(&self) -> &str {
        self.get("WARC-Type").unwrap_or_default()
    }

    /// `WARC-Record-ID` without its angle brackets.
    pub fn id(&self) -> Option<&str> {
        self.get("WARC-Record-ID").map(without_brackets)
    }

    /// `WARC-Target-URI` without the angle brackets that WARC/1.0 writers put around it.
    pub fn target_uri(&self) -> Option<&str> {
        self.get("WARC-Target-URI").map(without_brackets)
    }

    /// `WARC-Date`; a date without a time means its start.
    pub fn date(&self) -> Option<EpochMs> {
        let date = self.get("WARC-Date")?;
        parse_iso(date).or_else(|| parse_iso(&format!("{date}T00:00:00Z")))
    }

    /// The media type of the block, without parameters.
    pub(crate) fn block_type(&self) -> &str {
        self.get("Content-Type").and_then(|it| it.split(';').next()).unwrap_or_default().trim()
    }

    /// Whether the block is an HTTP message.
    pub(crate) fn is_http(&self) -> bool {
        self.block_type().eq_ignore_ascii_case("application/http")
    }

    /// Appends the record, uncompressed. `Content-Length` is set to the block's length; everything else is unchanged.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("WARC/{}\r\n", self.version).as_bytes());
        let mut has_length = false;
        for (name, value) in &self.fields.0 {
            if !name.eq_ignore_ascii_case("Content-Length") {
                push_field(out, name, value);
            } else if !has_length {
                push_field(out, name, &self.block.len().to_string());
                has_length = true;
            }
        }
        if !has_length {
            push_field(out, "Content-Length", &self.block.len().to_string());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.block);
        out.extend_from_slice(RECORD_END);
    }
}

/// The bytes after a block.
pub(super) const RECORD_END: &[u8] = b"\r\n\r\n";

/// `<urn:uuid:…>` → `urn:uuid:…`
pub(super) fn without_brackets(text: &str) -> &str {
    text.strip_prefix('<').and_then(|it| it.strip_suffix('>')).unwrap_or(text)
}

/// Appends a field and its line end. Replaces line ends in the value, which would start another field.
pub(super) fn push_field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    let line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    match value.bytes().any(|byte| line_end(&byte)) {
        false => out.extend_from_slice(value.as_bytes()),
        true => out.extend(value.bytes().map(|byte| if line_end(&byte) { b' ' } else { byte })),
    }
    out.extend_from_slice(b"\r\n");
}

/// A `WARC-Date` with milliseconds, as WARC/1.1 allows; after the year 9999 its last millisecond.
pub(super) fn date(at: EpochMs) -> String {
    IsoTime(at).text().unwrap_or_else(|| "9999-12-31T23:59:59.999Z".into())
}

/// Appends a field with a URI. Characters that a URI cannot contain (RFC 3986) are percent-encoded.
pub(super) fn push_uri(out: &mut Vec<u8>, name: &str, uri: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    push_escaped(out, uri);
    out.extend_from_slice(b"\r\n");
}

pub(super) fn push_escaped(out: &mut Vec<u8>, uri: &str) {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    const NEVER: &AsciiSet = &CONTROLS.add(b' ').add(b'<').add(b'>').add(b'"');
    utf8_percent_encode(uri, NEVER).for_each(|piece| out.extend_from_slice(piece.as_bytes()));
}

pub(super) fn urn(id: &Uuid) -> String {
    format!("<urn:uuid:{id}>")
}
