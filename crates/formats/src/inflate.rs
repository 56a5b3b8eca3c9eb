//! Reads input that may be zlib (RFC 1950), gzip (RFC 1952) or uncompressed, as its first bytes show. Streams may
//! follow one another and may be cut. Memory is constant: 128 KB plus deflate's window.

use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};

const BUFFER: usize = 64 << 10;
/// The largest window of deflate, 32 KB, as its logarithm.
const WINDOW_BITS: u8 = 15;

/// A stream that cannot be read further. Offsets count compressed bytes from the start of the input.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("reading at byte {offset} failed: {source}")]
    Io { offset: u64, source: std::io::Error },
    #[error("the compressed data is damaged at or shortly before byte {offset}: {what}")]
    Damaged { offset: u64, what: String },
    #[error("neither zlib, gzip nor text at byte {offset} (found {found:02x?})")]
    Unknown { offset: u64, found: Vec<u8> },
}

/// Decompresses on demand.
pub struct Inflating<R> {
    input: R,
    compressed: Buffer,
    /// Compressed bytes used so far.
    offset: u64,
    /// Start of the last compressed stream.
    stream: Option<u64>,
    coding: Coding,
    plain: Buffer,
    /// Damage after data that was not yet returned.
    damage: Option<StreamError>,
    truncated: bool,
    any_text: bool,
}

/// The kind of the bytes at `offset`.
enum Coding {
    /// Unknown: a new stream may start here.
    Start,
    None,
    Deflate(Box<Decompress>),
    End,
}

/// A buffer of fixed size; `start..end` is filled and unused.
pub(super) struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl<R: Read> Inflating<R> {
    pub fn new(input: R) -> Inflating<R> {
        Inflating {
            input,
            compressed: Buffer::new(),
            offset: 0,
            stream: None,
            coding: Coding::Start,
            plain: Buffer::new(),
            damage: None,
            truncated: false,
            any_text: false,
        }
    }

    /// Uncompressed input may be any text, not only JSON.
    pub fn of_text(input: R) -> Inflating<R> {
        Inflating { any_text: true, ..Inflating::new(input) }
    }

    /// The next decompressed bytes; empty at the end. The same bytes are returned until they are
    /// [consumed](Self::consume). After an error nothing more is returned.
    pub fn chunk(&mut self) -> Result<&[u8], StreamError> {
        while self.plain.is_empty() {
            if let Some(damage) = self.damage.take() {
                self.coding = Coding::End;
                return Err(damage);
            }
            if matches!(self.coding, Coding::End) {
                break;
            }
            if let Err(error) = self.advance() {
                self.coding = Coding::End;
                return Err(error);
            }
        }
        Ok(self.plain.filled())
    }

    /// Skips line ends; a file may consist of gigabytes of them. Returns how many bytes they were, and how many of them
    /// line feeds.
    pub(crate) fn skip_line_ends(&mut self) -> Result<(u64, u64), StreamError> {
        let (mut bytes, mut feeds) = (0, 0);
        loop {
            let chunk = self.chunk()?;
            let count = line_ends(chunk);
            if count == 0 {
                return Ok((bytes, feeds));
            }
            feeds += memchr::memchr_iter(b'\n', &chunk[..count]).count() as u64;
            bytes += count as u64;
            self.consume(count);
        }
    }

    /// Uses `count` bytes of the last chunk.
    pub fn consume(&mut self, count: usize) {
        self.plain.consume(count);
    }

    /// Start of the last compressed stream; none in uncompressed input.
    pub fn stream(&self) -> Option<u64> {
        self.stream
    }

    /// Whether the input ended inside a stream, as when its writer was killed. Known at the end of the input.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// One step: reads input, makes output, or changes state.
    fn advance(&mut self) -> Result<(), StreamError> {
        // The magic has two bytes, which may arrive one by one.
        let wanted = if matches!(self.coding, Coding::Start) { 2 } else { 1 };
        let offset = self.offset;
        let at_end = self
            .compressed
            .fill(&mut self.input, wanted)
            .map_err(|source| StreamError::Io { offset: offset + self.compressed.filled().len() as u64, source })?;
        match &mut self.coding {
            Coding::Start => self.start(),
            Coding::None => {
                let bytes = self.compressed.filled();
                self.plain.bytes[..bytes.len()].copy_from_slice(bytes);
                self.plain.set_filled(bytes.len());
                self.use_up(self.plain.end);
                if at_end {
                    self.coding = Coding::End;
                }
                Ok(())
            }
            Coding::Deflate(inflate) => {
                let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                let result = inflate.decompress(self.compressed.filled(), &mut self.plain.bytes, FlushDecompress::None);
                let used = (inflate.total_in() - before_in) as usize;
                let made = (inflate.total_out() - before_out) as usize;
                self.use_up(used);
                self.plain.set_filled(made);
                self.judge(result, used + made > 0, at_end);
                Ok(())
            }
            Coding::End => Ok(()),
        }
    }

    /// Determines what starts here.
    fn start(&mut self) -> Result<(), StreamError> {
        self.coding = match *self.compressed.filled() {
            [] => Coding::End,
            [0x1f, 0x8b, ..] => Coding::Deflate(Box::new(Decompress::new_gzip(WINDOW_BITS))),
            [first, second, ..] if is_zlib(first, second) => Coding::Deflate(Box::new(Decompress::new(true))),
            // The first byte of a compressed stream whose second byte was never written.
            [0x1f | 0x78] => {
                self.truncated = true;
                Coding::End
            }
            [b'{' | b' ' | b'\t' | b'\r' | b'\n', ..] => Coding::None,
            [b'!'..=b'~' | 0xef, ..] if self.any_text => Coding::None,
            ref other => {
                let found = other.iter().take(4).copied().collect();
                return Err(StreamError::Unknown { offset: self.offset, found });
            }
        };
        if let Coding::Deflate(_) = self.coding {
            self.stream = Some(self.offset);
        }
        Ok(())
    }

    /// Handles the result of a decompressor call.
    fn judge(&mut self, result: Result<Status, flate2::DecompressError>, progress: bool, at_end: bool) {
        match result {
            Ok(Status::StreamEnd) => self.coding = Coding::Start,
            Ok(_) if progress => {}
            Ok(_) if at_end => {
                self.truncated = true;
                self.coding = Coding::End;
            }
            Ok(_) => self.set_damage("the decompressor makes no progress".into()),
            Err(error) => self.set_damage(error.to_string()),
        }
    }

    fn set_damage(&mut self, what: String) {
        self.damage = Some(StreamError::Damaged { offset: self.offset, what });
    }

    fn use_up(&mut self, count: usize) {
        self.compressed.consume(count);
        self.offset += count as u64;
    }
}

impl<R: Read> Read for Inflating<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let chunk = self.chunk().map_err(std::io::Error::other)?;
        let count = chunk.len().min(buffer.len());
        buffer[..count].copy_from_slice(&chunk[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Whether the first two bytes of a file are those of a compressed stream.
pub fn is_compressed(start: &[u8]) -> bool {
    matches!(start, [0x1f, 0x8b, ..]) || matches!(start, [first, second, ..] if is_zlib(*first, *second))
}

/// RFC 1950 §2.2: the method is deflate, and the two bytes are a multiple of 31.
fn is_zlib(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7 && (u16::from(first) << 8 | u16::from(second)).is_multiple_of(31)
}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        Buffer { bytes: vec![0; BUFFER].into_boxed_slice(), start: 0, end: 0 }
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    fn set_filled(&mut self, end: usize) {
        (self.start, self.end) = (0, end);
    }

    /// Reads until `wanted` bytes are available. Returns whether the input has ended.
    pub(crate) fn fill(&mut self, input: &mut impl Read, wanted: usize) -> std::io::Result<bool> {
        if self.filled().len() < wanted {
            self.bytes.copy_within(self.start..self.end, 0);
            self.set_filled(self.end - self.start);
        }
        while self.filled().len() < wanted {
            match input.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Ok(true),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

/// Number of line ends at the start. Checks many at once, since a file may consist of gigabytes of them.
pub fn line_ends(bytes: &[u8]) -> usize {
    const AT_ONCE: usize = 64;
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let all_are = |piece: &&[u8]| piece.iter().fold(true, |all, byte| all & is_end(byte));
    let whole = bytes.chunks_exact(AT_ONCE).take_while(all_are).count() * AT_ONCE;
    whole + bytes[whole..].iter().take_while(|byte| is_end(byte)).count()
}
