//! Splits the chunked transfer coding (RFC 9112 §7.1) into body and framing, from which the same bytes can be rebuilt.
//! Works piece by piece and buffers only its output.

use seine_parse::page::wire::Framing;

/// Longest line of a chunk size or a trailer, in bytes.
const MAX_LINE: usize = 16 << 10;
/// Limit for all chunk sizes and trailers of one body. Chunks of one byte need five times the size of the body.
const MAX_FRAMING: usize = 64 << 20;

/// Splits a chunked body.
#[derive(Debug, Default)]
pub struct Dechunker {
    state: ChunkState,
    /// Bytes of the current line.
    line: Vec<u8>,
    /// Framing since the last byte of the body.
    pending: Vec<u8>,
    framing: Vec<Framing>,
    /// Bytes of framing and of body so far.
    framed: usize,
    body: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    #[default]
    Size,
    /// Inside a chunk, with the number of bytes left.
    Data(u64),
    /// At the line end after a chunk.
    DataEnd,
    Trailers,
    Ended,
    Broken,
}

/// A body with invalid chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("after {body} bytes of the body: no valid chunk")]
pub struct BadChunk {
    pub body: u64,
}

impl Dechunker {
    /// Appends the body's bytes in `input` to `body`. Returns how many bytes of `input` were used: all of them, unless
    /// the body ended earlier. After an error every call fails.
    pub fn feed(&mut self, input: &[u8], body: &mut Vec<u8>) -> Result<usize, BadChunk> {
        let mut at = 0;
        while at < input.len() && self.state != ChunkState::Ended {
            let rest = &input[at..];
            at += match self.state {
                ChunkState::Data(left) => self.data(rest, left, body),
                _ => self.line(rest)?,
            };
        }
        Ok(at)
    }

    /// Whether at least one complete chunk size was read.
    pub(super) fn is_begun(&self) -> bool {
        !self.pending.is_empty() || !self.framing.is_empty()
    }

    /// Whether the last chunk and its trailers were read.
    pub fn is_ended(&self) -> bool {
        self.state == ChunkState::Ended
    }

    /// The framing between the bytes of the body. Includes the beginning of a line that was cut.
    pub fn into_framing(mut self) -> Vec<Framing> {
        self.pending.append(&mut self.line);
        self.place_framing();
        self.framing
    }

    fn data(&mut self, rest: &[u8], left: u64, body: &mut Vec<u8>) -> usize {
        self.place_framing();
        let count = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        body.extend_from_slice(&rest[..count]);
        self.body += count as u64;
        self.state = if count as u64 == left { ChunkState::DataEnd } else { ChunkState::Data(left - count as u64) };
        count
    }

    /// Reads up to the next line feed.
    fn line(&mut self, rest: &[u8]) -> Result<usize, BadChunk> {
        let bad = BadChunk { body: self.body };
        let feed = memchr::memchr(b'\n', rest);
        let count = feed.map_or(rest.len(), |at| at + 1);
        if self.state == ChunkState::Broken || self.line.len() + count > MAX_LINE || self.framed + count > MAX_FRAMING {
            self.state = ChunkState::Broken;
            return Err(bad);
        }
        self.line.extend_from_slice(&rest[..count]);
        self.framed += count;
        if feed.is_some() {
            self.state = self.after_line();
            if self.state == ChunkState::Broken {
                self.line.clear(); // it is no framing
                return Err(bad);
            }
            self.pending.append(&mut self.line);
        }
        Ok(count)
    }

    fn after_line(&self) -> ChunkState {
        let line = self.line.trim_ascii();
        match self.state {
            ChunkState::Size => match chunk_size(line) {
                None => ChunkState::Broken,
                Some(0) => ChunkState::Trailers,
                Some(size) => ChunkState::Data(size),
            },
            ChunkState::DataEnd if line.is_empty() => ChunkState::Size,
            ChunkState::Trailers if line.is_empty() => ChunkState::Ended,
            ChunkState::Trailers => ChunkState::Trailers,
            _ => ChunkState::Broken,
        }
    }

    fn place_framing(&mut self) {
        if !self.pending.is_empty() {
            let bytes = std::mem::take(&mut self.pending).into();
            self.framing.push(Framing { at: self.body, bytes });
        }
    }
}

/// Hexadecimal digits, optionally followed by an extension.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, behind) = line.split_at(end);
    if !behind.trim_ascii_start().is_empty() && !behind.trim_ascii_start().starts_with(b";") {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
