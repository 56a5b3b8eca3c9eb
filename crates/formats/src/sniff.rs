//! The beginning of a file, by which formats are recognised.

use std::cell::OnceCell;
use std::io::Read;

use super::inflate::{Inflating, is_compressed};

/// Bytes of a file that are looked at.
pub const LOOK_BYTES: u64 = 64 << 10;
/// Decompressed bytes that are looked at.
const LOOK_PLAIN: u64 = 64 << 10;
/// Number of keys in an object that are looked at.
const MAX_KEYS: usize = 64;

/// The first bytes of a file or a message, decompressed.
pub struct Prefix {
    text: Vec<u8>,
    keys: OnceCell<Vec<String>>,
}

/// How sure a format is that something belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    No,
    /// Yes, unless another format is sure.
    Perhaps,
    Sure,
}

impl Confidence {
    pub(super) fn sure_if(is_so: bool) -> Confidence {
        if is_so { Confidence::Sure } else { Confidence::No }
    }
}

impl Prefix {
    /// Ignores a byte order mark and leading blanks.
    pub fn new(plain: &[u8]) -> Prefix {
        let text = plain.strip_prefix(b"\xef\xbb\xbf").unwrap_or(plain).trim_ascii_start();
        Prefix { text: text.to_vec(), keys: OnceCell::new() }
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether it is a JSON object with one of these keys at its top level, as far as visible.
    pub(super) fn has_key(&self, wanted: &[&str]) -> bool {
        self.keys().iter().any(|key| wanted.contains(&key.as_str()))
    }

    /// The top-level keys of a JSON object, as far as visible; empty for anything else.
    pub(super) fn keys(&self) -> &[String] {
        self.keys.get_or_init(|| if self.text.first() == Some(&b'{') { top_level_keys(&self.text) } else { Vec::new() })
    }
}

/// Decompresses the beginning of a file, if it is compressed.
pub fn decompressed(start: &[u8]) -> Vec<u8> {
    if !is_compressed(start) {
        return start.to_vec();
    }
    let mut plain = Vec::new();
    // An error is fine: what was read until then is enough.
    let _ = Inflating::new(start).take(LOOK_PLAIN).read_to_end(&mut plain);
    plain
}

/// Works in damaged objects, too: an invalid value does not stop the search. Escapes in keys are not decoded.
fn top_level_keys(text: &[u8]) -> Vec<String> {
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

/// Length up to the quote that ends a JSON string; none if it is not there.
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
