//! A stream of files in pieces. A piece has its kind (1 byte), its length (4 bytes, little-endian), and its content.
//!
//! Kinds: `f` starts a file, with its name in the backup; `d` has bytes of that file; `x` aborts, with the reason; `e`
//! ends the stream, with [`Facts`]. A stream without `e` is incomplete.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};

use super::error::BackupError;

const FILE: u8 = b'f';
const DATA: u8 = b'd';
const FAILED: u8 = b'x';
const END: u8 = b'e';
/// Largest piece.
const PIECE_BYTES: usize = 256 << 10;

/// Facts about a copy. Numbers are indices of accepted events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The frontier contains events up to this one.
    pub validated: u64,
    /// The log has events after this one …
    pub oldest: u64,
    /// … up to this one.
    pub accepted: u64,
    /// The readers of the log.
    pub readers: Vec<String>,
}

pub(super) struct Pieces<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
}

impl<'a> Pieces<'a> {
    pub(super) fn to(out: &'a mut dyn Write) -> Pieces<'a> {
        Pieces { out, buffer: Vec::with_capacity(PIECE_BYTES) }
    }

    /// Starts a file; the data that follows belongs to it.
    pub(super) fn begin(&mut self, name: &str) -> io::Result<()> {
        self.flush_data()?;
        self.piece(FILE, name.as_bytes())
    }

    pub(super) fn end(&mut self, facts: &Facts) -> io::Result<()> {
        self.flush_data()?;
        self.piece(END, &serde_json::to_vec(facts)?)?;
        self.out.flush()
    }

    pub(super) fn fail(&mut self, why: &str) -> io::Result<()> {
        self.buffer.clear();
        self.piece(FAILED, &why.as_bytes()[..why.len().min(PIECE_BYTES)])?;
        self.out.flush()
    }

    fn flush_data(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            let data = std::mem::take(&mut self.buffer);
            self.piece(DATA, &data)?;
            self.buffer = data;
            self.buffer.clear();
        }
        Ok(())
    }

    fn piece(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(&[kind])?;
        self.out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.out.write_all(bytes)
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() == PIECE_BYTES {
            self.flush_data()?;
        }
        let taken = bytes.len().min(PIECE_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush_data()
    }
}

pub(super) enum Piece {
    File(String),
    Data(Vec<u8>),
    End(Facts),
}

/// The next piece. The end of the stream is an error.
pub(super) fn next(input: &mut dyn Read) -> Result<Piece, BackupError> {
    let broken = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => BackupError::BrokenOff("the data ends too early".to_owned()),
        _ => BackupError::BrokenOff(error.to_string()),
    };
    let mut head = [0; 5];
    input.read_exact(&mut head).map_err(broken)?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > PIECE_BYTES {
        return Err(BackupError::Foreign("a piece is too long"));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).map_err(broken)?;
    match head[0] {
        DATA => Ok(Piece::Data(bytes)),
        FILE => String::from_utf8(bytes).map(Piece::File).map_err(|_| BackupError::Foreign("a file name is not text")),
        FAILED => Err(BackupError::Refused(String::from_utf8_lossy(&bytes).into_owned())),
        END => serde_json::from_slice(&bytes)
            .map(Piece::End)
            .map_err(|_| BackupError::Foreign("its final piece has unknown fields")),
        _ => Err(BackupError::Foreign("a piece is of an unknown kind")),
    }
}
