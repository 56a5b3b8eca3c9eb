//! A zlib stream (RFC 1950) that can be closed long after it was cut off: its header, the deflate data and the
//! Adler-32 are written here one by one, so whoever knows the checksum of a flushed stream can append its ending.

use flate2::{Compress, CompressError, Compression, FlushCompress, Status};
use zlib_rs::adler32::adler32;

/// What deflate may hold back: it emits a block after 16,384 symbols, in no more bytes than this.
const HELD_BACK: u64 = 64 << 10;
/// Forgetting what was before costs some compression: hardly any when so many bytes lie between.
const FORGET_AFTER: u64 = 1 << 20;
/// Room made in the output before each call of the compressor.
const ROOM: usize = 32 << 10;

/// Compresses into buffers of the caller's.
pub struct ZlibStream {
    deflate: Compress,
    level: u32,
    adler: u32,
    started: bool,
    /// Bytes taken since the last flush.
    unflushed: u64,
    /// Bytes taken since the last flush that forgot what was before.
    unforgotten: u64,
}

impl ZlibStream {
    /// `level`: 0 (none) to 9 (smallest); more counts as 9.
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

    /// Takes `data`; appends to `out` what comes of it so far. An error means that the compressor cannot go on.
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

    /// Everything taken so far can be read from `out` on (`Z_SYNC_FLUSH`: the output ends at a byte's edge). Now and then
    /// nothing behind it refers to anything before it (`Z_FULL_FLUSH`), so that damage before it does not reach further.
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

    /// The most that the output still grows by when `more` bytes are taken and the stream is ended: deflate stores what
    /// it cannot compress, with a few bytes for each block.
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

/// What closes a flushed stream: an empty last block (fixed Huffman codes) and the checksum of all it holds.
pub fn ending(adler: u32) -> [u8; 6] {
    let [a, b, c, d] = adler.to_be_bytes();
    [0x03, 0x00, a, b, c, d]
}

/// Whether a file's last bytes are a flush and an [`ending`], as every stream finished here has them.
pub fn looks_finished(last_bytes: &[u8]) -> bool {
    last_bytes.len() == 10 && last_bytes.starts_with(&[0x00, 0x00, 0xff, 0xff, 0x03, 0x00])
}

/// The header's second byte: FLEVEL, and FCHECK for a window of 32 KB (RFC 1950 §2.2).
fn level_byte(level: u32) -> u8 {
    match level {
        0..=1 => 0x01,
        2..=5 => 0x5e,
        6 => 0x9c,
        _ => 0xda,
    }
}
