//! Version lines: where a record starts, and where reading can continue after damage.

use memchr::memmem;

use seine_parse::page::latin1_to_string;

/// Longest version line, with its end.
pub(super) const VERSION_LINE: usize = 16;
/// The beginning of a version line.
pub(super) const VERSION: &[u8] = b"WARC/";

/// `WARC/1.1` → `1.1`
pub(super) fn version(line: &[u8]) -> Option<String> {
    let rest = line.trim_ascii().strip_prefix(VERSION)?;
    let is_version = rest.first().is_some_and(u8::is_ascii_digit)
        && rest.contains(&b'.')
        && rest.len() <= 8
        && rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_version.then(|| latin1_to_string(rest))
}

/// The position of a version and the end of its line, as far as visible. Bytes before it on the line may be damage.
pub(super) fn find_version(bytes: &[u8]) -> Option<usize> {
    let is_whole_enough = |at: &usize| {
        let line = &bytes[*at..];
        let end = memchr::memchr(b'\n', line);
        end.map_or(line.len() < VERSION_LINE, |end| version(&line[..end]).is_some())
    };
    memmem::find_iter(bytes, VERSION).find(is_whole_enough)
}

/// A version line inside a block.
pub(super) fn find_inner_version(block: &[u8]) -> Option<usize> {
    let is_line = |at: &usize| {
        let line = &block[*at..];
        memchr::memchr(b'\n', line).is_some_and(|end| version(&line[..end]).is_some())
    };
    memmem::find_iter(block, b"\nWARC/").map(|at| at + 1).find(is_line)
}

/// How many of the last bytes may be the beginning of a version.
pub(super) fn tail_of_version(bytes: &[u8]) -> usize {
    let most = bytes.len().min(VERSION.len());
    (1..=most).rev().find(|count| VERSION.starts_with(&bytes[bytes.len() - count..])).unwrap_or(0)
}
