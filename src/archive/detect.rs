//! Detects the format of a file from its first bytes, after decompression. A few formats name files after the pages in
//! them, and such a page can have any content. For these, the name and the neighbouring files count, too
//! ([`super::trees`]).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use seine_formats::sniff::{LOOK_BYTES, Prefix, decompressed};
use seine_formats::{Format, pagestore};

use super::trees::Trees;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    Format(Format),
    /// An empty file; there is nothing to read.
    Empty,
    /// A page of a pagestore. It is read through the `META` file that lists it.
    Beside,
    /// None of the formats; the text describes its beginning, for people.
    Unknown(String),
}

/// Looks at the beginning and the name of a file; if these are not enough, at the neighbouring files.
pub fn detect(path: &Path, trees: &mut Trees) -> std::io::Result<Detected> {
    if pagestore::meta_path(path).is_some() {
        return Ok(Detected::Format(pagestore::FORMAT));
    }
    if is_in_store(path) {
        return Ok(Detected::Beside);
    }
    let mut start = Vec::new();
    File::open(path)?.take(LOOK_BYTES).read_to_end(&mut start)?;
    Ok(trees.format_of(path, &decompressed(&start)).map_or_else(|| by_content(&start), Detected::Format))
}

/// Detects the format from the first bytes of a file.
pub fn by_content(start: &[u8]) -> Detected {
    if start.is_empty() {
        return Detected::Empty;
    }
    let plain = decompressed(start);
    match Format::sniff(&Prefix::new(&plain)) {
        Some(format) => Detected::Format(format),
        None => Detected::Unknown(describe(start, &plain)),
    }
}

/// Whether a `META` file above lists the file, or could.
fn is_in_store(path: &Path) -> bool {
    let is_contents = path.file_name().is_some_and(|name| name == pagestore::CONTENTS);
    let meta = path.parent().and_then(Path::parent).map(|folder| folder.join(pagestore::META));
    is_contents && meta.is_some_and(|meta| pagestore::meta_path(&meta).is_some() && meta.is_file())
}

/// Describes the beginning of a file: as text if it is text, otherwise in hex.
fn describe(start: &[u8], plain: &[u8]) -> String {
    const SHOWN: usize = 24;
    let head = &plain[..plain.len().min(SHOWN)];
    let packed = if start.len() >= 2 && start[..2] != plain[..plain.len().min(2)] { "is compressed and " } else { "" };
    let is_text = |byte: &u8| (0x20..0x7f).contains(byte) || byte.is_ascii_whitespace();
    if !head.is_empty() && head.iter().all(is_text) {
        return format!("{packed}begins {:?}", String::from_utf8_lossy(head));
    }
    let hex: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{packed}begins with the bytes {}", hex.join(" "))
}
