//! A body while it is read. A long body uses memory mapped for it alone, which returns to the system as soon as it is
//! dropped. With the allocator, large blocks allocated in one thread and freed in another kept twice the memory in use.

use bytes::{Bytes, BytesMut};
use memmap2::MmapMut;
use seine_delivery::large;

/// Maximum memory reserved for an announced length before data arrives.
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
    /// `announced`: the length that the server gives; 0 if none.
    pub(super) fn begin(announced: u64) -> Body {
        // Copied out of the connection's buffer, which is larger and can only be reused when nothing points into it.
        Body::Short(BytesMut::with_capacity(announced.min(MAX_RESERVED) as usize))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Body::Short(bytes) => bytes.len() as u64,
            Body::Long(long) => long.length as u64,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
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

    /// The body will have this many bytes. Pages that are not written cost nothing. If no memory can be mapped, the
    /// allocator is used.
    pub(super) fn make_room(&mut self, bytes: usize) {
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

    pub(super) fn freeze(self) -> Bytes {
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
