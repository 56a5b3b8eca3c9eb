//! Writes JSON with long texts fast: `serde_json` checks a string byte by byte, this module eight bytes at once.
//!
//! A field with `#[serde(serialize_with = "write_text")]` is serialised as bytes, which [`write()`] writes as a string.
//! With any other serializer it would become a list of numbers.

use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};

/// Appends a value as JSON. The value may contain strings, numbers, and maps with string keys.
pub(super) fn write(value: &impl Serialize, out: &mut Vec<u8>) {
    let mut serializer = serde_json::Serializer::with_formatter(out, Texts);
    value.serialize(&mut serializer).expect("strings and numbers are always JSON, and a Vec takes every byte");
}

pub(super) fn write_text<S: Serializer>(text: &Option<impl AsRef<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => serializer.serialize_bytes(text.as_ref().as_bytes()),
        None => serializer.serialize_none(),
    }
}

/// Writes an object, keeping the order of the pairs.
pub(super) fn write_pairs<S: Serializer, N: Serialize, V: Serialize>(
    pairs: &[(N, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Reads null as the default value.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Like [`CompactFormatter`], except that bytes are written as text.
struct Texts;

impl Formatter for Texts {
    fn write_byte_array<W: ?Sized + io::Write>(&mut self, out: &mut W, text: &[u8]) -> io::Result<()> {
        let mut gathered = Gathered { bytes: [0; ROOM], length: 0 };
        gathered.push(b"\"");
        let mut rest = text;
        while let Some((&byte, behind)) = rest.split_first() {
            if gathered.length > ROOM - 16 {
                gathered.flush(out)?;
            }
            let plain = match rest.first_chunk() {
                Some(eight) => {
                    gathered.bytes[gathered.length..gathered.length + 8].copy_from_slice(eight);
                    plain_length(u64::from_le_bytes(*eight))
                }
                None if matches!(byte, 0..=31 | b'"' | b'\\') => 0,
                None => {
                    gathered.bytes[gathered.length] = byte;
                    1
                }
            };
            gathered.length += plain;
            if plain > 0 {
                rest = &rest[plain..];
            } else {
                let mut escaped = [0; 6];
                let mut room = &mut escaped[..];
                CompactFormatter.write_char_escape(&mut room, escape(byte))?;
                let length = 6 - room.len();
                gathered.push(&escaped[..length]);
                rest = behind;
            }
        }
        gathered.push(b"\"");
        gathered.flush(out)
    }
}

const ROOM: usize = 1 << 10;

/// Collects bytes for one write.
struct Gathered {
    bytes: [u8; ROOM],
    length: usize,
}

impl Gathered {
    fn push(&mut self, few: &[u8]) {
        self.bytes[self.length..self.length + few.len()].copy_from_slice(few);
        self.length += few.len();
    }

    fn flush<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(&self.bytes[..std::mem::take(&mut self.length)])
    }
}

fn escape(byte: u8) -> CharEscape {
    match byte {
        b'"' => CharEscape::Quote,
        b'\\' => CharEscape::ReverseSolidus,
        b'\n' => CharEscape::LineFeed,
        b'\r' => CharEscape::CarriageReturn,
        b'\t' => CharEscape::Tab,
        8 => CharEscape::Backspace,
        12 => CharEscape::FormFeed,
        other => CharEscape::AsciiControl(other),
    }
}

/// Number of bytes, of eight, before the first that needs an escape.
fn plain_length(eight: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Sets the highest bit of each byte below `limit`. After the first such byte the result may have false positives.
    let below = |bytes: u64, limit: u8| bytes.wrapping_sub(ONES * u64::from(limit));
    let is = |byte: u8| below(eight ^ (ONES * u64::from(byte)), 1);
    let escaped = (below(eight, b' ') | is(b'"') | is(b'\\')) & !eight & HIGH;
    escaped.trailing_zeros() as usize / 8
}
