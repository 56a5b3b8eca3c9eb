//! Finds where readable data may start again in a damaged file, and reads from there.

use std::fs::File;
use std::io;

use flate2::{Decompress, FlushDecompress, Status};
use seine_formats::inflate;
use seine_system::disk;

/// Bytes read at once, from the second read on.
const BLOCK: usize = 64 << 10;
/// The first bytes are enough to judge most positions.
const FIRST_BLOCK: usize = 4 << 10;
/// Bytes decompressed at once. A small size locates damage more exactly.
const PIECE: usize = 16 << 10;
/// The largest window of deflate, as its logarithm.
const WINDOW_BITS: u8 = 15;

/// The damaged file.
#[derive(Clone, Copy)]
pub(super) struct DamagedInput<'a> {
    pub file: &'a File,
    pub length: u64,
}

/// What may start at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Zlib,
    Gzip,
    /// After a flush inside a zlib stream: deflate data without a header.
    Flush,
    /// A JSON object as text, or in quotes.
    Text,
}

impl Start {
    /// What starts with these bytes, and the number of bytes before it.
    fn of(bytes: &[u8]) -> Option<(Start, u64)> {
        match bytes {
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Some((Start::Zlib, 0)),
            [0x1f, 0x8b, 0x08, ..] => Some((Start::Gzip, 0)),
            [0x00, 0x00, 0xff, 0xff, ..] => Some((Start::Flush, 4)),
            [b'{', rest @ ..] if is_key(rest, b"\"") => Some((Start::Text, 0)),
            [b'"', b'{', rest @ ..] if is_key(rest, b"\"\"") => Some((Start::Text, 0)),
            _ => None,
        }
    }
}

/// Whether an object's key follows, or only blanks are visible.
fn is_key(bytes: &[u8], quote: &[u8]) -> bool {
    let rest = bytes.trim_ascii_start();
    if rest.is_empty() { !bytes.is_empty() } else { rest.starts_with(quote) }
}

impl DamagedInput<'_> {
    /// Reads from `at` until the buffer is full or the file ends.
    pub(super) fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        disk::read_at(self.file, buffer, at)
    }

    /// What starts exactly at `at`.
    pub(super) fn start_at(&self, at: u64) -> io::Result<Option<Start>> {
        let mut bytes = [0; 64];
        let count = self.read(at, &mut bytes)?;
        let start = Start::of(&bytes[..count]).filter(|(_, before)| *before == 0).map(|(start, _)| start);
        // Accepts any window size.
        let is_zlib = inflate::is_compressed(&bytes[..count]) && !bytes.starts_with(&[0x1f, 0x8b]);
        Ok(start.or(is_zlib.then_some(Start::Zlib)))
    }

    /// Whether the file begins like text.
    pub(super) fn is_text(&self) -> io::Result<bool> {
        let mut first = [0];
        Ok(self.read(0, &mut first)? == 1 && matches!(first[0], b'\t' | b'\r' | b'\n' | b' '..=b'~' | 0xef))
    }

    /// The next position between `from` and `until` where something may start; none if there is no further one.
    pub(super) fn next_start(&self, from: u64, until: u64) -> io::Result<Option<(u64, Start)>> {
        const OVERLAP: usize = 3;
        let mut block =
            vec![0; usize::try_from(until.saturating_sub(from)).unwrap_or(BLOCK).saturating_add(64).min(BLOCK)];
        let mut at = from;
        while at < until {
            let count = self.read(at, &mut block)?;
            let bytes = &block[..count];
            let may_begin = |byte: &u8| matches!(byte, 0x78 | 0x1f | 0x00 | b'{' | b'"');
            let found = (0..count).filter(|place| may_begin(&bytes[*place])).find_map(|place| {
                let (start, before) = Start::of(&bytes[place..])?;
                Some((at + place as u64 + before, start))
            });
            if found.is_some() || count < block.len() {
                return Ok(found.filter(|(place, _)| *place < until));
            }
            at += (count - OVERLAP) as u64;
        }
        Ok(None)
    }
}

/// Whether a compressed stream is intact up to its end or the end of the file. After damage, decompressed data may look
/// like records that nobody wrote.
pub(in crate::archive) fn is_sound(file: &File, at: u64) -> io::Result<bool> {
    let input = DamagedInput { file, length: file.metadata()?.len() };
    let Some(start) = input.start_at(at)? else { return Ok(false) };
    let mut pieces = Pieces::new(input, at, start);
    loop {
        match pieces.advance()? {
            Got::More => {}
            got => return Ok(got.is_last()),
        }
    }
}

const BREAKS_OFF: &str = "the compressed data is cut off";

/// Decompressed bytes from a position on, piece by piece.
pub(super) struct Pieces<'a> {
    input: DamagedInput<'a>,
    decompress: Option<Decompress>,
    /// The position after the bytes used.
    at: u64,
    block: Vec<u8>,
    used: usize,
    piece: Vec<u8>,
    /// Bytes of the checksum after the compressed data. The decompressor does not read them.
    tail: u64,
}

/// The result of reading a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Got {
    More,
    /// The stream has ended properly.
    End,
    /// Reading cannot continue.
    Broken(&'static str),
}

impl Got {
    /// Whether the data ended without a contradiction: at the end of the stream, or at the end of the file within the
    /// stream.
    pub(super) fn is_last(&self) -> bool {
        matches!(self, Got::End | Got::Broken(BREAKS_OFF))
    }
}

impl<'a> Pieces<'a> {
    pub(super) fn new(input: DamagedInput<'a>, at: u64, start: Start) -> Pieces<'a> {
        let decompress = match start {
            Start::Zlib => Some(Decompress::new(true)),
            Start::Gzip => Some(Decompress::new_gzip(WINDOW_BITS)),
            Start::Flush => Some(Decompress::new(false)),
            Start::Text => None,
        };
        let tail = if start == Start::Flush { 4 } else { 0 };
        Pieces { input, decompress, at, block: Vec::new(), used: 0, piece: Vec::new(), tail }
    }

    /// The current position in the file.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn is_text(&self) -> bool {
        self.decompress.is_none()
    }

    /// The piece read by the last [`advance`](Pieces::advance).
    pub(super) fn piece(&self) -> &[u8] {
        &self.piece
    }

    pub(super) fn advance(&mut self) -> io::Result<Got> {
        self.piece.clear();
        if self.used == self.block.len() {
            self.block.resize(if self.block.is_empty() { FIRST_BLOCK } else { BLOCK }, 0);
            let count = self.input.read(self.at, &mut self.block)?;
            self.block.truncate(count);
            self.used = 0;
        }
        let at_end = self.block.is_empty();
        let Some(decompress) = &mut self.decompress else {
            let end = self.block.len().min(self.used + PIECE);
            self.piece.extend_from_slice(&self.block[self.used..end]);
            self.at += (end - self.used) as u64;
            self.used = end;
            return Ok(if at_end { Got::End } else { Got::More });
        };
        self.piece.resize(PIECE, 0);
        let (before_in, before_out) = (decompress.total_in(), decompress.total_out());
        let result = decompress.decompress(&self.block[self.used..], &mut self.piece, FlushDecompress::None);
        let used = (decompress.total_in() - before_in) as usize;
        let made = (decompress.total_out() - before_out) as usize;
        self.used += used;
        self.at += used as u64;
        self.piece.truncate(made);
        Ok(match result {
            Ok(Status::StreamEnd) => {
                self.at = (self.at + self.tail).min(self.input.length);
                Got::End
            }
            Ok(_) if used + made > 0 => Got::More,
            Ok(_) if at_end => Got::Broken(BREAKS_OFF),
            Ok(_) => Got::Broken("the decompressor makes no progress"),
            Err(error) if error.message().is_some_and(|it| it.contains("check")) => {
                Got::Broken("the checksum does not match: something before it is damaged, but it is unknown what")
            }
            Err(_) => Got::Broken("the compressed data is damaged"),
        })
    }
}
