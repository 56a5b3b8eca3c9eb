//! Dead letters as bytes: an event that a destination rejected for good, with the reason.
//!
//! A letter has a header of 24 bytes, its note as JSON, and the event as encoded by `page::codec`. Numbers are
//! little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | magic |
//! | 4 | length of the note |
//! | 4 | length of the event |
//! | 4 | CRC-32 of the note |
//! | 4 | CRC-32 of the event |
//! | 4 | CRC-32 of the 20 bytes before |
//!
//! A rewritten file ends with a tally that counts the removed letters: the same header with another magic, the tally as
//! JSON, and no event.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use seine_parse::page::codec::{self, CodecError};
use seine_parse::page::{EpochMs, PageEvent};

const HEADER: usize = 24;
const MAGIC: [u8; 4] = *b"\xA7Dl\n";
const TALLY_MAGIC: [u8; 4] = *b"\xA7Dt\n";
/// Longest note. A reason is cut well below this.
const MAX_NOTE: u32 = 1 << 20;
/// The same limit as in the page log.
const MAX_EVENT: u32 = 256 << 20;
const MAX_REASON: usize = 4096;

/// The facts about a letter, without its event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The event's id.
    pub id: String,
    pub url: String,
    /// When it was last rejected.
    pub time: EpochMs,
    /// How often it was rejected: once, and once more with every failed replay.
    pub attempts: u32,
    /// The destination's message, for people.
    pub reason: String,
}

/// How many letters were removed from a file over its lifetime, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Delivered by a replay.
    pub replayed: u64,
    /// Dropped for good.
    pub dropped: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.replayed += other.replayed;
        self.dropped += other.dropped;
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LetterError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Nothing after it can be found.
    #[error("damaged at byte {offset}: {what} does not match its checksum; the rest of the file is not read")]
    Damaged { offset: u64, what: &'static str },
    #[error(transparent)]
    Event(#[from] CodecError),
}

impl Note {
    pub fn new(event: &PageEvent, reason: &str, time: EpochMs) -> Note {
        let reason = reason.chars().take(MAX_REASON).collect();
        Note { id: event.id.clone(), url: event.url.clone(), time, attempts: 1, reason }
    }
}

/// Appends a letter to `out`. `event`: as encoded by `page::codec`.
pub fn write(note: &Note, event: &[u8], out: &mut Vec<u8>) {
    write_record(MAGIC, note, event, out);
}

/// Appends a tally to `out`.
pub fn write_tally(tally: &Tally, out: &mut Vec<u8>) {
    write_record(TALLY_MAGIC, tally, &[], out);
}

fn write_record(magic: [u8; 4], note: &impl Serialize, event: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    serde_json::to_writer(&mut *out, note).expect("strings and numbers are always JSON, and a Vec takes every byte");
    let note_bytes = out.len() - start - HEADER;
    let checksums = [crc32fast::hash(&out[start + HEADER..]), crc32fast::hash(event)];
    let mut header = magic.to_vec();
    for number in [note_bytes as u32, event.len() as u32].into_iter().chain(checksums) {
        header.extend(number.to_le_bytes());
    }
    header.extend(crc32fast::hash(&header).to_le_bytes());
    out[start..start + HEADER].copy_from_slice(&header);
    out.extend_from_slice(event);
}

/// Reads letters in order, and their events on request. An unfinished letter ends the file, since it was never
/// acknowledged.
pub struct LetterReader<R> {
    input: R,
    length: u64,
    /// Offset of the next header.
    offset: u64,
    event: EventOffset,
    tally: Tally,
}

/// A letter or a tally, without the event.
struct Record {
    is_tally: bool,
    json: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct EventOffset {
    offset: u64,
    length: u32,
    crc: u32,
}

impl<R: Read + Seek> LetterReader<R> {
    /// `input` must be at its beginning, and buffered.
    pub fn new(mut input: R) -> Result<LetterReader<R>, LetterError> {
        let length = input.seek(SeekFrom::End(0))?;
        input.seek(SeekFrom::Start(0))?;
        Ok(LetterReader { input, length, offset: 0, event: EventOffset::default(), tally: Tally::default() })
    }

    /// Sum of the tallies read so far; complete when no letters are left.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The note of the next letter. After an error nothing more is read.
    pub fn next_note(&mut self) -> Result<Option<Note>, LetterError> {
        loop {
            let offset = self.offset;
            let damaged = |_| LetterError::Damaged { offset, what: "a note" };
            match self.next_record()? {
                None => return Ok(None),
                Some(Record { is_tally: false, json }) => {
                    return serde_json::from_slice(&json).map_err(damaged).map(Some);
                }
                Some(Record { is_tally: true, json }) => {
                    self.tally += serde_json::from_slice(&json).map_err(damaged)?;
                }
            }
        }
    }

    fn next_record(&mut self) -> Result<Option<Record>, LetterError> {
        let offset = self.offset;
        self.offset = self.length;
        self.input.seek(SeekFrom::Start(offset))?;
        let Some(header) = self.read(offset, HEADER as u64)? else { return Ok(None) };
        let damaged = |what| LetterError::Damaged { offset, what };
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes of a header"));
        let magic = [header[0], header[1], header[2], header[3]];
        if !matches!(magic, MAGIC | TALLY_MAGIC) || number(20) != crc32fast::hash(&header[..20]) {
            return Err(damaged("a header"));
        }
        let (note_bytes, event_bytes) = (number(4), number(8));
        if note_bytes > MAX_NOTE || event_bytes > MAX_EVENT {
            return Err(damaged("a length"));
        }
        let event = offset + HEADER as u64 + u64::from(note_bytes);
        let end = event + u64::from(event_bytes);
        if end > self.length {
            return Ok(None);
        }
        let Some(note) = self.read(offset + HEADER as u64, u64::from(note_bytes))? else { return Ok(None) };
        if number(12) != crc32fast::hash(&note) {
            return Err(damaged("a note"));
        }
        self.event = EventOffset { offset: event, length: event_bytes, crc: number(16) };
        self.offset = end;
        Ok(Some(Record { is_tally: magic == TALLY_MAGIC, json: note }))
    }

    /// The event of the last letter, as bytes.
    pub fn event_bytes(&mut self) -> Result<Bytes, LetterError> {
        let EventOffset { offset, length, crc } = self.event;
        self.input.seek(SeekFrom::Start(offset))?;
        let bytes = self.read(offset, u64::from(length))?.ok_or(ErrorKind::UnexpectedEof).map_err(io::Error::from)?;
        if crc32fast::hash(&bytes) != crc {
            return Err(LetterError::Damaged { offset, what: "an event" });
        }
        Ok(bytes.into())
    }

    /// The event of the last letter.
    pub fn event(&mut self) -> Result<PageEvent, LetterError> {
        Ok(codec::decode(&self.event_bytes()?)?)
    }

    /// None if the file ends earlier.
    fn read(&mut self, offset: u64, length: u64) -> Result<Option<Vec<u8>>, LetterError> {
        if self.length.saturating_sub(offset) < length {
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize];
        self.input.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }
}
