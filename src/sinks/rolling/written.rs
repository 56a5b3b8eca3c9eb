//! Whether the open file still holds what was written to it. Somebody may shorten or overwrite it in place.
//!
//! A file whose length and time of change are those after our last write is taken as unchanged. Otherwise it is read and compared by its
//! hash, so that a mere `touch` is no change.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

/// Bytes read at a time for a comparison.
const READ_BYTES: usize = 64 << 10;

/// Everything written to one file so far.
#[derive(Default)]
pub(super) struct Written {
    pub bytes: u64,
    hash: Xxh3,
    seen: Stamp,
}

/// Length and time of the last change.
#[derive(Clone, Copy, Default, PartialEq)]
struct Stamp {
    length: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp { length: metadata.len(), seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() }
    }
}

impl Written {
    /// These bytes were appended.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
    }

    /// The file is as we left it. Called after each write and sync, as some file systems change the time when they sync.
    pub(super) fn note(&mut self, file: &File) -> io::Result<()> {
        self.seen = Stamp::of(&file.metadata()?);
        Ok(())
    }

    /// How the file differs from what was written; none if it does not.
    pub(super) fn difference(&mut self, file: &File, path: &Path) -> io::Result<Option<String>> {
        let now = Stamp::of(&file.metadata()?);
        if now == self.seen {
            return Ok(None);
        }
        if now.length != self.bytes {
            return Ok(Some(format!("holds {} bytes, and {} were written to it", now.length, self.bytes)));
        }
        if hash_of(path)? != self.hash.digest() {
            return Ok(Some("holds other bytes than were written to it".to_owned()));
        }
        self.seen = now;
        Ok(None)
    }
}

fn hash_of(path: &Path) -> io::Result<u64> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Xxh3::new(), vec![0; READ_BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest()),
            read => hash.update(&buffer[..read]),
        }
    }
}
