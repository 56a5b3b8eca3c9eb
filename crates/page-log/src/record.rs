//! A record: a header of 24 bytes, then the payload (one event, encoded by `page::codec`). All numbers are
//! little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | magic |
//! | 4 | length of the payload |
//! | 8 | the event's index |
//! | 4 | CRC-32 of the payload |
//! | 4 | CRC-32 of the 20 bytes before and of the record's offset in the log |
//!
//! The second checksum detects a damaged length before it is used. It includes the offset, so a record is valid only
//! where it was written. A page that contains bytes of a page log cannot be mistaken for a record.

pub(super) const HEADER: usize = 24;
pub(super) const MAGIC: [u8; 4] = *b"\xA7Sr\n";
/// The longest payload. Bodies are limited to far less.
pub(super) const MAX_PAYLOAD: usize = 256 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub length: u32,
    pub index: u64,
    pub payload_crc: u32,
}

impl Header {
    /// `offset` is the offset of the record in the log.
    pub(crate) fn to_bytes(self, offset: u64) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.index.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32(&[&bytes[..20], &offset.to_le_bytes()]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// None if these bytes are not the header of a record written at `offset`.
    pub(crate) fn from_bytes(bytes: &[u8], offset: u64) -> Option<Header> {
        let (checked, rest) = bytes.split_first_chunk::<20>()?;
        let crc = u32::from_le_bytes(*rest.first_chunk()?);
        if checked[..4] != MAGIC || crc != crc32(&[checked, &offset.to_le_bytes()]) {
            return None;
        }
        let header = Header {
            length: u32::from_le_bytes(*checked[4..].first_chunk()?),
            index: u64::from_le_bytes(*checked[8..].first_chunk()?),
            payload_crc: u32::from_le_bytes(*checked[16..].first_chunk()?),
        };
        (header.length as usize <= MAX_PAYLOAD).then_some(header)
    }

    /// Length of the whole record in bytes.
    pub(crate) fn record_bytes(self) -> u64 {
        HEADER as u64 + u64::from(self.length)
    }
}

pub(super) fn crc32(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}
