//! A record, whoever wrote it.

use bytes::Bytes;
use uuid::Uuid;

use crate::formats::text::{IsoTime, parse_iso};
use crate::page::{EpochMs, Headers};

/// A record with everything that it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct WarcRecord {
    /// What stands behind `WARC/` in its first line: `1.1`, `1.0`, `0.17`.
    pub version: String,
    /// Named fields in order, repeats and unknown ones kept. Values are UTF-8, or Latin-1 when they are not.
    pub fields: Headers,
    pub block: Bytes,
    /// Where it was read.
    pub location: WarcLocation,
}

/// Where a record stands in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarcLocation {
    /// Of its first byte, or of the first byte of its gzip member.
    pub offset: u64,
    /// Uncompressed bytes of the gzip member before it; 0 when each record has a member of its own, as it should.
    pub inner: u64,
    /// Bytes of the file up to the next record. None when the record has no gzip member of its own.
    pub length: Option<u64>,
}

impl WarcRecord {
    /// A field's first value; names are compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// `WARC-Type`, such as `response`; empty when it is absent.
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

    /// `WARC-Date`, whole days taken as their beginning.
    pub fn date(&self) -> Option<EpochMs> {
        let date = self.get("WARC-Date")?;
        parse_iso(date).or_else(|| parse_iso(&format!("{date}T00:00:00Z")))
    }

    /// The media type of the block, without parameters.
    pub fn block_type(&self) -> &str {
        self.get("Content-Type").and_then(|it| it.split(';').next()).unwrap_or_default().trim()
    }

    /// Whether the block is an HTTP message.
    pub fn is_http(&self) -> bool {
        self.block_type().eq_ignore_ascii_case("application/http")
    }

    /// Appends the record, uncompressed. `Content-Length` becomes the block's; everything else is written as it is.
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

/// What follows a block.
pub(super) const RECORD_END: &[u8] = b"\r\n\r\n";

/// `<urn:uuid:…>` → `urn:uuid:…`
pub(super) fn without_brackets(text: &str) -> &str {
    text.strip_prefix('<').and_then(|it| it.strip_suffix('>')).unwrap_or(text)
}

/// Appends a field and its line end. A line end inside the value would begin another field.
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

/// A `WARC-Date` with milliseconds, as WARC/1.1 allows; beyond the year 9999 its last millisecond.
pub(super) fn date(at: EpochMs) -> String {
    IsoTime(at).text().unwrap_or_else(|| "9999-12-31T23:59:59.999Z".into())
}

/// A field that holds a URI: what none can hold (RFC 3986) is percent-encoded.
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
