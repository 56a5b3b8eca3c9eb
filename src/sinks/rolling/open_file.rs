//! The file being written.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use seine_formats::layout::FileContent;
use seine_formats::zlib_stream::ZlibStream;
use seine_parse::page::EpochMs;
use seine_system::folders::if_there;

use super::gone;
use super::names::RollingOptions;
use super::rollback::Acknowledged;
use super::written::Written;
use crate::sinks::folder::{file_error, rename, sync_folder};
use crate::sinks::sink::SinkError;

/// Bytes collected before each write.
const WRITE_BYTES: usize = 256 << 10;

pub(super) struct OpenFile {
    /// The name of the finished file.
    pub name: String,
    path: PathBuf,
    file: File,
    stream: Option<ZlibStream>,
    /// Number of pages in it.
    pub pages: u64,
    /// Bytes not yet written to `file`.
    pending: Vec<u8>,
    written: Written,
    /// Bytes of `file` that are durable.
    synced: u64,
}

impl OpenFile {
    /// A new file with the first free name. The name is durable before anything in the file is acknowledged.
    pub(super) fn create(folder: &Path, epoch_ms: EpochMs, rolling: &RollingOptions) -> Result<OpenFile, SinkError> {
        let (prefix, digits) = (rolling.prefix(epoch_ms), rolling.layout.serial_digits);
        let mut serial = 0_u32;
        let (name, path, file) = loop {
            let name = format!("{prefix}{serial:0digits$}{}", rolling.suffix);
            let path = folder.join(rolling.written_name(&name));
            if !folder.join(&name).exists() {
                match OpenOptions::new().write(true).create_new(true).open(&path) {
                    Ok(file) => break (name, path, file),
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(file_error("creating", &path, error)),
                }
            }
            serial += 1;
        };
        sync_folder(folder)?;
        let mut written = Written::default();
        written.note(&file).map_err(|e| file_error("looking at", &path, e))?;
        let stream = match rolling.layout.content {
            FileContent::Stream => Some(ZlibStream::new(rolling.level)),
            FileContent::Records(_) => None,
        };
        Ok(OpenFile { name, path, file, stream, pages: 0, pending: Vec::new(), written, synced: 0 })
    }

    /// Its length with pending bytes; unknown for a compressed stream.
    pub(super) fn length(&self) -> Option<u64> {
        self.stream.is_none().then_some(self.written.bytes + self.pending.len() as u64)
    }

    /// The largest size the finished file can have after adding `more` bytes.
    pub(super) fn at_most_after(&self, more: usize) -> u64 {
        let more = self.stream.as_ref().map_or(more as u64, |stream| stream.at_most_after(more));
        self.written.bytes + self.pending.len() as u64 + more
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        for piece in bytes.chunks(WRITE_BYTES) {
            match &mut self.stream {
                Some(stream) => {
                    stream
                        .write(piece, &mut self.pending)
                        .map_err(|e| file_error("compressing for", &self.path, e.into()))?;
                }
                None => self.pending.extend_from_slice(piece),
            }
            if self.pending.len() >= WRITE_BYTES {
                self.write_pending()?;
            }
        }
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<(), SinkError> {
        if let Some(stream) = &mut self.stream {
            stream.flush(&mut self.pending).map_err(|e| file_error("compressing for", &self.path, e.into()))?;
        }
        self.write_pending()?;
        // Written bytes may be unsynced even if none are pending, since much is written before a sync.
        if self.synced < self.written.bytes {
            let synced = self.file.sync_data().and_then(|()| self.written.note(&self.file));
            synced.map_err(|e| file_error("syncing", &self.path, e))?;
            self.synced = self.written.bytes;
        }
        self.check_not_moved()
    }

    /// Fails if the file was deleted or moved, alone or with its folder. Nobody would find what is written to it.
    fn check_not_moved(&self) -> Result<(), SinkError> {
        let looking = |error| file_error("looking at", &self.path, error);
        let ours = self.file.metadata().map_err(looking)?;
        let named = if_there(std::fs::metadata(&self.path)).map_err(looking)?;
        match named.filter(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())) {
            Some(_) => Ok(()),
            None => Err(gone(format!("{} was deleted or moved while it was written", self.path.display()))),
        }
    }

    /// The state at the last [`sync`](OpenFile::sync).
    pub(super) fn acknowledged(&self) -> Acknowledged {
        let adler32 = self.stream.as_ref().map(ZlibStream::adler32);
        Acknowledged { name: self.name.clone(), length: self.written.bytes, adler32 }
    }

    /// Gives the file its final name and returns it.
    pub(super) fn finish(mut self, folder: &Path) -> Result<String, SinkError> {
        if let Some(stream) = &mut self.stream {
            stream.finish(&mut self.pending).map_err(|e| file_error("compressing for", &self.path, e.into()))?;
        }
        self.write_pending()?;
        self.file.sync_all().map_err(|e| file_error("syncing", &self.path, e))?;
        self.check_not_moved()?;
        let done = folder.join(&self.name);
        if self.path != done {
            rename(&self.path, &done)?;
        }
        Ok(self.name)
    }

    /// Fails if somebody else has changed the file since the last write.
    fn write_pending(&mut self) -> Result<(), SinkError> {
        let differs = self.written.difference(&self.file, &self.path);
        match differs.or_else(|error| if_there(Err(error)).map(|_: Option<()>| None)) {
            Ok(None) => {}
            Ok(Some(how)) => return Err(gone(format!("{} {how}", self.path.display()))),
            Err(error) => return Err(file_error("looking at", &self.path, error)),
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&self.pending).and_then(|()| {
            self.written.add(&self.pending);
            self.written.note(&self.file)
        });
        written.map_err(|e| file_error("writing", &self.path, e))?;
        self.pending.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seine_formats::layout::{NameStamp, RollingLayout};

    fn rolling() -> RollingOptions {
        let layout = RollingLayout {
            suffixes: &[".txt"],
            suffix: |_| ".txt",
            index: None,
            stamp: NameStamp::EpochMs,
            serial_digits: 1,
            content: FileContent::Records(|_| Ok(0)),
            record_end: b"",
        };
        RollingOptions { layout, suffix: ".txt", level: 0, max_file_size: u64::MAX }
    }

    /// No file system shows this to a test from outside.
    #[test]
    fn what_was_written_before_anybody_asked_is_synced_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = OpenFile::create(folder.path(), 1, &rolling()).unwrap();
        for size in [WRITE_BYTES, 1, WRITE_BYTES + 1] {
            file.append(&vec![b'x'; size]).unwrap();
            file.sync().unwrap();
            assert_eq!((file.synced, file.pending.len()), (file.written.bytes, 0));
        }
    }

    #[test]
    fn another_time_alone_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = OpenFile::create(folder.path(), 1, &rolling()).unwrap();
        let path = file.path.clone();
        let write = || File::options().write(true).open(&path).unwrap();
        for _ in 0..2 {
            file.append(b"a record\n").unwrap();
            file.sync().unwrap();
            write().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        file.sync().unwrap();
        write().write_all(b"A").unwrap();
        let error = file.sync().unwrap_err();
        assert!(matches!(error, SinkError::Replaced { .. }) && error.to_string().contains("other bytes"), "{error}");
    }
}
