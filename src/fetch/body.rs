//! A body while it is read. A long one has pages of memory of its own, which the system has back as soon as nobody has the body
//! any more: of blocks of many megabytes that one thread made and another freed, the allocator kept two for each in use.

use bytes::{Bytes, BytesMut};
use memmap2::MmapMut;

use crate::large;

/// What a server announces is no reason to set aside more memory than this before it comes.
const MAX_RESERVED: u64 = large::SMALL;

pub(super) enum Body {
    Short(BytesMut),
    Long(Long),
}

/// The first `length` bytes of its pages.
pub(super) struct Long {
    pages: MmapMut,
    length: usize,
}

impl Body {
    /// `announced`: its length, as far as the server says; 0 when it does not.
    pub fn begin(announced: u64) -> Body {
        // Copied out of the connection's buffer: that is larger, and used again as soon as nothing points into it.
        Body::Short(BytesMut::with_capacity(announced.min(MAX_RESERVED) as usize))
    }

    pub fn len(&self) -> u64 {
        match self {
            Body::Short(bytes) => bytes.len() as u64,
            Body::Long(long) => long.length as u64,
        }
    }

    pub fn push(&mut self, piece: &[u8]) {
        let end = self.len() as usize + piece.len();
        if matches!(self, Body::Long(long) if end > long.pages.len()) {
            self.make_room(end.saturating_mul(2));
        }
        match self {
            Body::Short(bytes) => bytes.extend_from_slice(piece),
            Body::Long(long) => {
                long.pages[long.length..end].copy_from_slice(piece);
                long.length = end;
            }
        }
    }

    /// It is going to be long, of so many bytes. Pages that are not written to cost nothing; where none are to be had, the
    /// allocator has the body.
    pub fn make_room(&mut self, bytes: usize) {
        let so_far: &[u8] = match &*self {
            Body::Short(bytes) => bytes,
            Body::Long(long) => long.as_ref(),
        };
        let length = so_far.len();
        *self = match MmapMut::map_anon(bytes.max(length)) {
            Ok(mut pages) => {
                pages[..length].copy_from_slice(so_far);
                Body::Long(Long { pages, length })
            }
            Err(_) => Body::Short(BytesMut::from(so_far)),
        };
    }

    pub fn freeze(self) -> Bytes {
        match self {
            Body::Short(bytes) => bytes.freeze(),
            Body::Long(long) => Bytes::from_owner(long),
        }
    }
}

impl AsRef<[u8]> for Long {
    fn as_ref(&self) -> &[u8] {
        &self.pages[..self.length]
    }
}
