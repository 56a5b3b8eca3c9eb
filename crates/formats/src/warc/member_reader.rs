//! Decompresses a WARC file member by member, and finds the next member after damage.
//!
//! Only the content of a damaged member is lost. The search for the next member starts at the beginning of the damaged
//! one, because a decompressor can run far into the following members before it notices. For this, up to [`KEPT`] bytes
//! are kept.

use std::io::{ErrorKind, Read};

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use crate::inflate::StreamError;

/// Size of pieces for reading and decompressing.
const PIECE: usize = 64 << 10;
/// Most compressed bytes of a member that are kept for the search after damage.
const KEPT: usize = 8 << 20;
/// Bytes that are searched to identify a file whose first bytes do not.
const BEGINNING: usize = 1 << 20;
/// ID1, ID2 and CM of RFC 1952.
const MAGIC: &[u8] = b"\x1f\x8b\x08";
/// Bytes of a possible member that are tried: enough for the start of a record.
const TRIED: usize = 1 << 10;
const WINDOW_BITS: u8 = 15;

/// The result of asking for more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    Bytes,
    /// The gzip member is complete; [`MemberReader::next_member`] continues.
    MemberEnd,
    /// The end of the input.
    End,
}

/// Decompressed bytes, one member at a time.
pub(super) struct MemberReader<R> {
    input: R,
    /// Bytes of the file from `raw_base` on. The first `raw_start` of them are used but kept.
    raw: Vec<u8>,
    raw_start: usize,
    raw_base: u64,
    input_ended: bool,
    coding: Coding,
    member_start: u64,
    /// Bytes decompressed from this member so far.
    member_made: u64,
    /// Decompressed bytes; those from `plain_start` on are unused.
    plain: Vec<u8>,
    plain_start: usize,
    /// Damage after bytes that were not yet returned.
    damaged: Option<StreamError>,
    truncated: bool,
    /// Bytes before this were decompressed twice, and are not decompressed again.
    searched: u64,
}

enum Coding {
    /// The bytes at `raw_start` are not yet identified.
    Between,
    Plain,
    Gzip(Box<Decompress>),
}

impl<R: Read> MemberReader<R> {
    pub(super) fn new(input: R) -> MemberReader<R> {
        MemberReader {
            input,
            raw: Vec::new(),
            raw_start: 0,
            raw_base: 0,
            input_ended: false,
            coding: Coding::Between,
            member_start: 0,
            member_made: 0,
            plain: Vec::new(),
            plain_start: 0,
            damaged: None,
            truncated: false,
            searched: 0,
        }
    }

    /// Unused decompressed bytes of the current member.
    pub(super) fn available(&self) -> &[u8] {
        &self.plain[self.plain_start..]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.plain_start = (self.plain_start + count).min(self.plain.len());
    }

    /// Puts bytes back in front of the available ones.
    pub(super) fn unread(&mut self, bytes: &[u8]) {
        self.plain.splice(..self.plain_start, bytes.iter().copied());
        self.plain_start = 0;
    }

    /// Whether the available bytes come from a gzip member, even if it has ended.
    pub(super) fn is_compressed(&self) -> bool {
        !matches!(self.coding, Coding::Plain)
    }

    /// File offset and position within the member of the first available byte.
    pub(super) fn location(&self) -> (u64, u64) {
        let inner = self.member_made.saturating_sub(self.available().len() as u64);
        match self.coding {
            Coding::Plain => (self.member_start + inner, 0),
            _ => (self.member_start, inner),
        }
    }

    /// Compressed bytes used so far.
    pub(super) fn offset(&self) -> u64 {
        match self.coding {
            Coding::Plain => self.location().0,
            _ => self.raw_base + self.raw_start as u64,
        }
    }

    /// Whether the input ended inside a member.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }

    /// Makes more bytes of the current member available, or tells why not. After damage, call
    /// [`recover`](Self::recover).
    pub(super) fn more(&mut self) -> Result<More, StreamError> {
        if self.plain_start > PIECE {
            self.plain.drain(..self.plain_start);
            self.plain_start = 0;
        }
        match &self.coding {
            Coding::Between => Ok(More::MemberEnd),
            Coding::Plain => self.more_plain(),
            Coding::Gzip(_) => self.more_inflated(),
        }
    }

    /// Continues after a complete member. Returns false at the end of the input.
    pub(super) fn next_member(&mut self) -> Result<bool, StreamError> {
        self.coding = Coding::Between;
        self.drop_used();
        self.fill(10)?;
        let rest = &self.raw[self.raw_start..];
        // Some writers pad their last block with zeros.
        if self.input_ended && rest.iter().all(|byte| *byte == 0) {
            return Ok(false);
        }
        if rest.starts_with(&MAGIC[..rest.len().min(MAGIC.len())]) {
            self.begin_member(self.raw_start);
        } else if rest.starts_with(b"WARC/") || self.is_plain_from_here()? {
            self.begin_member(self.raw_start);
            self.coding = Coding::Plain;
        } else {
            return Err(self.damage("there is other data before a gzip member".into()));
        }
        Ok(true)
    }

    /// Whether the file is uncompressed although its first bytes are unusual.
    fn is_plain_from_here(&mut self) -> Result<bool, StreamError> {
        if self.raw_base + self.raw_start as u64 > 0 {
            return Ok(false);
        }
        self.fill(BEGINNING)?;
        Ok(!begins_compressed(&self.raw[self.raw_start..]))
    }

    /// Searches for the next gzip member after damage. Returns false at the end of the input.
    pub(super) fn recover(&mut self) -> Result<bool, StreamError> {
        let high = self.raw_base + self.raw_start as u64;
        // A member found inside bytes that were already decompressed is not searched again. Hostile input could
        // otherwise make the search take for ever.
        let from = if self.member_start < self.searched { high } else { self.member_start + 1 };
        self.searched = self.searched.max(high);
        self.raw_start = usize::try_from(from.saturating_sub(self.raw_base)).unwrap_or(usize::MAX).min(self.raw_start);
        self.coding = Coding::Between;
        self.damaged = None;
        self.plain.clear();
        self.plain_start = 0;
        loop {
            self.fill(TRIED)?;
            let rest = &self.raw[self.raw_start..];
            match memmem::find(rest, MAGIC) {
                Some(at) => {
                    self.raw_start += at;
                    self.fill(TRIED)?;
                    if begins_record(&self.raw[self.raw_start..]) {
                        self.begin_member(self.raw_start);
                        return Ok(true);
                    }
                    self.raw_start += 1;
                }
                None if self.input_ended => {
                    self.raw_start = self.raw.len();
                    return Ok(false);
                }
                // The magic may be split between two pieces.
                None => self.raw_start += rest.len().saturating_sub(MAGIC.len() - 1),
            }
            self.drop_used();
        }
    }

    fn more_plain(&mut self) -> Result<More, StreamError> {
        self.drop_used();
        self.fill(1)?;
        let rest = &self.raw[self.raw_start..];
        if rest.is_empty() {
            return Ok(More::End);
        }
        self.plain.extend_from_slice(rest);
        self.member_made += rest.len() as u64;
        self.raw_start = self.raw.len();
        Ok(More::Bytes)
    }

    fn more_inflated(&mut self) -> Result<More, StreamError> {
        if let Some(damage) = self.damaged.take() {
            return Err(damage);
        }
        loop {
            // A member too long to keep: after damage in it, the search starts where the damage is noticed.
            if self.raw_start > KEPT {
                self.drop_used();
            }
            self.fill(1)?;
            let Coding::Gzip(inflate) = &mut self.coding else { return Ok(More::MemberEnd) };
            let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
            self.plain.reserve(PIECE);
            let result = inflate.decompress_vec(&self.raw[self.raw_start..], &mut self.plain, FlushDecompress::None);
            let used = (inflate.total_in() - before_in) as usize;
            let made = inflate.total_out() - before_out;
            self.raw_start += used;
            self.member_made += made;
            match result {
                // The bytes before the damage may hold the end of the previous record.
                Err(error) if made > 0 => {
                    self.damaged = Some(self.damage(error.to_string()));
                    return Ok(More::Bytes);
                }
                Err(error) => return Err(self.damage(error.to_string())),
                Ok(Status::StreamEnd) => {
                    self.coding = Coding::Between;
                    return Ok(if made > 0 { More::Bytes } else { More::MemberEnd });
                }
                Ok(_) if made > 0 => return Ok(More::Bytes),
                Ok(_) if used > 0 => {}
                Ok(_) if self.input_ended && self.raw_start == self.raw.len() => return self.broken_off(),
                Ok(_) => return Err(self.damage("the decompressor makes no progress".into())),
            }
        }
    }

    /// The input ended inside a member: it was cut, or damaged so that following members were taken for its bytes.
    fn broken_off(&mut self) -> Result<More, StreamError> {
        let from = (self.member_start + 1).saturating_sub(self.raw_base) as usize;
        let is_new = self.member_start >= self.searched && self.member_start >= self.raw_base;
        let rest = self.raw.get(from..).unwrap_or_default();
        if is_new && memmem::find_iter(rest, MAGIC).any(|at| begins_record(&rest[at..])) {
            return Err(self.damage("it does not end where the next gzip member begins".into()));
        }
        self.truncated = true;
        Ok(More::End)
    }

    fn begin_member(&mut self, at: usize) {
        self.member_start = self.raw_base + at as u64;
        self.member_made = 0;
        self.coding = Coding::Gzip(Box::new(Decompress::new_gzip(WINDOW_BITS)));
    }

    fn damage(&self, what: String) -> StreamError {
        StreamError::Damaged { offset: self.raw_base + self.raw_start as u64, what }
    }

    /// Reads until `wanted` bytes are available or the input ends.
    fn fill(&mut self, wanted: usize) -> Result<(), StreamError> {
        while self.raw.len() - self.raw_start < wanted && !self.input_ended {
            let filled = self.raw.len();
            self.raw.resize(filled + PIECE, 0);
            let result = self.input.read(&mut self.raw[filled..]);
            self.raw.truncate(filled + result.as_ref().copied().unwrap_or(0).min(PIECE));
            match result {
                Ok(0) => self.input_ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(StreamError::Io { offset: self.raw_base + self.raw.len() as u64, source });
                }
            }
        }
        Ok(())
    }

    fn drop_used(&mut self) {
        if self.raw_start >= PIECE || self.raw_start == self.raw.len() {
            self.raw.drain(..self.raw_start);
            self.raw_base += self.raw_start as u64;
            self.raw_start = 0;
        }
    }
}

/// Whether a file with damaged first bytes is compressed.
fn begins_compressed(raw: &[u8]) -> bool {
    let plain = memmem::find(raw, b"WARC/").unwrap_or(raw.len());
    memmem::find_iter(&raw[..plain], MAGIC).any(|at| begins_record(&raw[at..]))
}

/// Whether a gzip member of a WARC file seems to start here.
fn begins_record(raw: &[u8]) -> bool {
    let mut first = Vec::with_capacity(64);
    let tried = &raw[..raw.len().min(TRIED)];
    let result = Decompress::new_gzip(WINDOW_BITS).decompress_vec(tried, &mut first, FlushDecompress::None);
    result.is_ok() && first.trim_ascii_start().starts_with(b"WARC/")
}
