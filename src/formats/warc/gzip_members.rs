//! One gzip member a record (ISO 28500, annex D): a reader can begin at any of them.

use flate2::{Compress, Compression, FlushCompress, Status};

const WINDOW_BITS: u8 = 15;

/// Makes gzip members one after the other.
pub(super) struct GzipMembers {
    compress: Compress,
}

impl GzipMembers {
    /// `level`: 0 to 9.
    pub fn new(level: u32) -> GzipMembers {
        GzipMembers { compress: Compress::new_gzip(Compression::new(level.min(9)), WINDOW_BITS) }
    }

    /// Appends a member that holds the pieces one behind the other.
    pub fn write(&mut self, pieces: &[&[u8]], out: &mut Vec<u8>) {
        self.compress.reset();
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        out.reserve(total / 3 + 256);
        for piece in pieces {
            self.feed(piece, FlushCompress::None, out);
        }
        self.feed(&[], FlushCompress::Finish, out);
    }

    fn feed(&mut self, piece: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        let start = self.compress.total_in();
        loop {
            let taken = (self.compress.total_in() - start) as usize;
            let rest = piece.get(taken..).unwrap_or_default();
            let ends = matches!(flush, FlushCompress::Finish);
            if rest.is_empty() && !ends {
                return;
            }
            if out.capacity() - out.len() < 64 {
                out.reserve((out.len() / 2).clamp(4 << 10, 1 << 20));
            }
            let status = self.compress.compress_vec(rest, out, flush);
            match status.expect("deflate of a fresh stream takes every byte") {
                Status::StreamEnd => return,
                Status::Ok | Status::BufError => {}
            }
        }
    }
}
