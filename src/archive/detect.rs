//! Which format a file has, by its content: by what its first bytes are once they are decompressed. Only where a format's
//! files are named after the pages in them do the name and the files beside it tell, too ([`super::trees`]): such a page's
//! body may be anything.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::format::Format;
use super::small_files;
use super::trees::Trees;
use crate::formats::cbor;
use crate::formats::inflate::{Inflating, StreamError};

/// As much of a file is looked at.
pub(super) const LOOK_BYTES: u64 = 64 << 10;
/// As much of it decompressed.
const LOOK_PLAIN: usize = 64 << 10;
/// More keys than this in one object tell nothing more.
const MAX_KEYS: usize = 64;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    Format(Format),
    /// Nothing in it, and so nothing to read.
    Empty,
    /// Read with another file: a page of a pagestore, which its `META` lists.
    Beside,
    /// None of the formats; how it begins, for people.
    Unknown(String),
}

/// Looks at the file's start, and at its name; where those do not tell, at the files beside it.
pub fn detect(path: &Path, trees: &mut Trees) -> std::io::Result<Detected> {
    if small_files::meta_place(path).is_some() {
        return Ok(Detected::Format(Format::Pagestore));
    }
    if small_files::is_in_store(path) {
        return Ok(Detected::Beside);
    }
    let mut start = Vec::new();
    File::open(path)?.take(LOOK_BYTES).read_to_end(&mut start)?;
    Ok(trees.format_of(path, &decompressed(&start)).map_or_else(|| by_content(&start), Detected::Format))
}

/// The same for bytes that begin a file.
pub fn by_content(start: &[u8]) -> Detected {
    if start.is_empty() {
        return Detected::Empty;
    }
    let plain = decompressed(start);
    let text = plain.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&plain).trim_ascii_start();
    match by_plain_content(text) {
        Some(format) => Detected::Format(format),
        None => Detected::Unknown(describe(start, &plain)),
    }
}

/// What was looked for, for the error of a file that is none of it.
pub fn looked_for() -> String {
    format!("{} (plain, zlib or gzip)", Format::names())
}

fn by_plain_content(text: &[u8]) -> Option<Format> {
    match text.first()? {
        b'{' => by_keys(&top_level_keys(text)),
        b'"' if text.starts_with(b"\"{\"\"") => {
            memchr::memmem::find(text, b"\"\"original_url\"\"").map(|_| Format::WebIndex)
        }
        b'W' if text.starts_with(b"WARC/") => Some(Format::Warc),
        b'v' | b'V' if text.get(..8).is_some_and(|it| it.eq_ignore_ascii_case(b"version:")) => Some(Format::Tianwang),
        0xa0..=0xbf => cbor::url_at_start(text).map(|_| Format::FilesystemCbor),
        _ => None,
    }
}

/// A JSON object's format. A key that only one of them has decides; FILES is what ACHE's oldest versions wrote as well.
pub(super) fn by_keys(keys: &[String]) -> Option<Format> {
    let has = |wanted: &[&str]| keys.iter().any(|key| wanted.contains(&key.as_str()));
    if has(&["raw_content", "timestamp_crawl", "timestamp_index", "objects"]) {
        return Some(Format::Cdr31);
    }
    if has(&["topPrivateDomain", "retrieved", "wordsMeta", "html", "domain", "_source", "doc"]) {
        return Some(Format::Elastic);
    }
    let is_files =
        has(&["url"]) && has(&["content", "response_body", "redirected_url", "fetch_time", "response_headers"]);
    (is_files || keys == ["url"]).then_some(Format::Files)
}

/// The start as it was before it was compressed, if it was.
pub(super) fn decompressed(start: &[u8]) -> Vec<u8> {
    let mut stream = Inflating::new(start);
    let mut plain = Vec::new();
    while plain.len() < LOOK_PLAIN {
        match stream.chunk() {
            Ok([]) => break,
            Ok(chunk) => {
                let count = chunk.len();
                plain.extend_from_slice(chunk);
                stream.consume(count);
            }
            Err(StreamError::Unknown { offset: 0, .. }) => return start.to_vec(),
            Err(_) => break,
        }
    }
    plain
}

/// The keys of the JSON object that `text` begins with, as far as it goes. Escapes in keys are left as they are.
pub(super) fn top_level_keys(text: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut depth, mut key_next, mut at) = (0_u32, false, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let Some(length) = string_length(&text[at..]) else { break };
                if depth == 1 && key_next {
                    keys.push(String::from_utf8_lossy(&text[at..at + length]).into_owned());
                    key_next = false;
                }
                at += length + 1;
            }
            b'{' | b'[' => {
                depth += 1;
                key_next = depth == 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            b',' => key_next = depth == 1,
            _ => {}
        }
        if keys.len() == MAX_KEYS {
            break;
        }
    }
    keys
}

/// Bytes up to the quote that ends a JSON string; none when it is not there.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at + found] == b'"' {
            return Some(at + found);
        }
        at += found + 2;
    }
}

/// How it begins: text as text, anything else in hex.
fn describe(start: &[u8], plain: &[u8]) -> String {
    const SHOWN: usize = 24;
    let head = &plain[..plain.len().min(SHOWN)];
    let packed = if start.len() >= 2 && start[..2] != plain[..plain.len().min(2)] { "compressed; " } else { "" };
    let is_text = |byte: &u8| (0x20..0x7f).contains(byte) || byte.is_ascii_whitespace();
    if !head.is_empty() && head.iter().all(is_text) {
        return format!("{packed}begins {:?}", String::from_utf8_lossy(head));
    }
    let hex: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{packed}begins with the bytes {}", hex.join(" "))
}
