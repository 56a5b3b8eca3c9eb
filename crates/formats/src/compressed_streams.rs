//! Compressed streams made in one call: gzip members of WARC (ISO 28500, annex D) and zlib streams of Tianwang.

use flate2::{Compress, Compression, FlushCompress, Status};

const WINDOW_BITS: u8 = 15;

/// Makes one stream after the other and reuses the compressor's memory.
pub struct CompressedStreams {
    compress: Compress,
}

impl CompressedStreams {
    /// `level`: 0 to 9.
    pub fn gzip(level: u32) -> CompressedStreams {
        CompressedStreams { compress: Compress::new_gzip(Compression::new(level.min(9)), WINDOW_BITS) }
    }

    pub fn zlib() -> CompressedStreams {
        CompressedStreams { compress: Compress::new(Compression::default(), true) }
    }

    /// Appends one stream with the concatenated pieces.
    pub fn write(&mut self, pieces: &[&[u8]], out: &mut Vec<u8>) {
        self.compress.reset();
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        out.reserve(total / 3 + 256);
        for piece in pieces {
            self.feed(piece, FlushCompress::None, out);
        }
        self.feed(&[], FlushCompress::Finish, out);
    }

    fn feed(&mut self, mut piece: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        let is_end = flush == FlushCompress::Finish;
        while is_end || !piece.is_empty() {
            if out.capacity() - out.len() < 64 {
                out.reserve((out.len() / 2).clamp(4 << 10, 1 << 20));
            }
            let before = self.compress.total_in();
            let status = self.compress.compress_vec(piece, out, flush);
            if status.expect("deflate of a fresh stream takes every byte") == Status::StreamEnd {
                return;
            }
            piece = &piece[(self.compress.total_in() - before) as usize..];
        }
    }
}
