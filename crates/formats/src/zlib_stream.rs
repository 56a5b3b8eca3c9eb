//! A zlib stream (RFC 1950) that can be closed long after it was cut. Header, deflate data and Adler-32 are written
//! separately. So a program that knows the checksum of a flushed stream can append its ending.

use flate2::{Compress, CompressError, Compression, FlushCompress, Status};
use zlib_rs::adler32::adler32;

/// Most bytes that deflate may hold back: it emits a block after 16,384 symbols.
const HELD_BACK: u64 = 64 << 10;
/// A full flush costs some compression; at this interval hardly any.
const FORGET_AFTER: u64 = 1 << 20;
/// Space reserved in the output before each call of the compressor.
const ROOM: usize = 32 << 10;

/// Compresses into the caller's buffers.
pub struct ZlibStream {
    deflate: Compress,
    level: u32,
    adler: u32,
    started: bool,
    /// Bytes taken since the last flush.
    unflushed: u64,
    /// Bytes taken since the last full flush.
    unforgotten: u64,
}

impl ZlibStream {
    /// `level`: 0 (none) to 9 (smallest); larger values count as 9.
    pub fn new(level: u32) -> ZlibStream {
        let level = level.min(9);
        ZlibStream {
            deflate: Compress::new(Compression::new(level), false),
            level,
            adler: 1,
            started: false,
            unflushed: 0,
            unforgotten: 0,
        }
    }

    /// Compresses `data` and appends the output so far to `out`. After an error the compressor cannot continue.
    pub fn write(&mut self, mut data: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        self.start(out);
        self.adler = adler32(self.adler, data);
        self.unflushed += data.len() as u64;
        self.unforgotten += data.len() as u64;
        while !data.is_empty() {
            out.reserve(ROOM);
            let before = self.deflate.total_in();
            self.deflate.compress_vec(data, out, FlushCompress::None)?;
            data = &data[(self.deflate.total_in() - before) as usize..];
        }
        Ok(())
    }

    /// Makes everything taken so far readable from `out` (`Z_SYNC_FLUSH`: the output ends at a byte boundary). From
    /// time to time it does a full flush (`Z_FULL_FLUSH`): later data does not refer to earlier data, so that damage
    /// does not spread.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), CompressError> {
        self.start(out);
        let forget = self.unforgotten >= FORGET_AFTER;
        let flush = if forget { FlushCompress::Full } else { FlushCompress::Sync };
        while self.unflushed > 0 {
            out.reserve(ROOM);
            let status = self.deflate.compress_vec(&[], out, flush)?;
            if out.len() < out.capacity() || status == Status::BufError {
                self.unflushed = 0;
                self.unforgotten = if forget { 0 } else { self.unforgotten };
            }
        }
        Ok(())
    }

    /// Ends the stream. Nothing may be written to it afterwards.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), CompressError> {
        self.flush(out)?;
        out.extend_from_slice(&ending(self.adler));
        Ok(())
    }

    /// The Adler-32 of everything taken.
    pub fn adler32(&self) -> u32 {
        self.adler
    }

    /// The most bytes that the output can still grow by, if `more` bytes are added and the stream is ended. Deflate
    /// stores incompressible data with a few bytes per block.
    pub fn at_most_after(&self, more: usize) -> u64 {
        let more = more as u64;
        self.unflushed.min(HELD_BACK) + more + more / 1024 + 64
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        if !self.started {
            self.started = true;
            out.extend_from_slice(&[0x78, level_byte(self.level)]);
        }
    }
}

/// The ending of a flushed stream: an empty last block (fixed Huffman codes) and the checksum of its content.
pub fn ending(adler: u32) -> [u8; 6] {
    let [a, b, c, d] = adler.to_be_bytes();
    [0x03, 0x00, a, b, c, d]
}

/// Whether the last bytes of a file are a flush and an [`ending`], as in every stream finished here.
pub fn looks_finished(last_bytes: &[u8]) -> bool {
    last_bytes.len() == 10 && last_bytes.starts_with(&[0x00, 0x00, 0xff, 0xff, 0x03, 0x00])
}

/// The second byte of the header: FLEVEL, and FCHECK for a window of 32 KB (RFC 1950 §2.2).
fn level_byte(level: u32) -> u8 {
    match level {
        0..=1 => 0x01,
        2..=5 => 0x5e,
        6 => 0x9c,
        _ => 0xda,
    }
}
