//! Files that a writer left unfinished and no saved state knows: what is readable of them, up to the last whole line, is
//! kept as a valid stream. Finished files are left as they are, damaged ones too.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::formats::inflate::{Inflating, StreamError};
use crate::formats::zlib_stream::{self, ZlibStream};
use crate::sinks::folder::{file_error, sync_folder};
use crate::sinks::sink::SinkError;

/// Closes those of the files that are unfinished.
pub(super) fn close_unfinished(files: &[PathBuf], level: u32) -> Result<(), SinkError> {
    for path in files {
        if !ends_finished(path)? {
            close_file(path, level)?;
        }
    }
    Ok(())
}

/// Closes one file, if it is unfinished. Its end is anywhere inside the compressed data, so it is written anew.
pub(super) fn close_file(path: &Path, level: u32) -> Result<(), SinkError> {
    match readable(path)? {
        Readable::Empty => std::fs::remove_file(path).map_err(|e| file_error("removing", path, e)),
        Readable::Finished => Ok(()),
        Readable::Damaged(error) => {
            tracing::warn!(path = %path.display(), %error, "a damaged file was left as it is");
            Ok(())
        }
        Readable::Lines(bytes) => {
            let copy = rewrite(path, bytes, level)?;
            std::fs::rename(&copy, path).map_err(|e| file_error("replacing", path, e))?;
            tracing::info!(path = %path.display(), bytes, "closed a file that an earlier run left unfinished");
            sync_folder(path.parent().unwrap_or(Path::new(".")))
        }
    }
}

/// How much of a file can be read.
enum Readable {
    /// Created, and nothing more.
    Empty,
    Finished,
    /// It breaks off; so many uncompressed bytes are whole lines.
    Lines(u64),
    Damaged(StreamError),
}

/// Whether the last bytes are those of a stream finished here: spares reading the whole file.
fn ends_finished(path: &Path) -> Result<bool, SinkError> {
    let last_bytes = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(10)))?;
        let mut last = Vec::new();
        file.take(10).read_to_end(&mut last)?;
        Ok(last)
    };
    last_bytes().map(|last| zlib_stream::looks_finished(&last)).map_err(|e| file_error("reading", path, e))
}

fn readable(path: &Path) -> Result<Readable, SinkError> {
    let open = || Ok((File::open(path)?, std::fs::metadata(path)?.len()));
    let (file, length) = open().map_err(|e| file_error("reading", path, e))?;
    if length == 0 {
        return Ok(Readable::Empty);
    }
    let mut stream = Inflating::new(file);
    let (mut read, mut lines) = (0, 0);
    loop {
        let chunk = match stream.chunk() {
            Ok(chunk) => chunk,
            Err(StreamError::Io { source, .. }) => return Err(file_error("reading", path, source)),
            Err(damage) => return Ok(Readable::Damaged(damage)),
        };
        if chunk.is_empty() {
            break;
        }
        let count = chunk.len();
        if let Some(at) = memchr::memrchr(b'\n', chunk) {
            lines = read + at as u64 + 1;
        }
        read += count as u64;
        stream.consume(count);
    }
    Ok(if stream.truncated() { Readable::Lines(lines) } else { Readable::Finished })
}

/// Writes the first `left` uncompressed bytes of a file as a finished stream beside it.
fn rewrite(path: &Path, mut left: u64, level: u32) -> Result<PathBuf, SinkError> {
    let mut copy = path.to_path_buf();
    copy.as_mut_os_string().push(".tmp");
    let mut write = || {
        let mut from = Inflating::new(File::open(path)?);
        let mut to = File::create(&copy)?;
        let (mut stream, mut pending) = (ZlibStream::new(level), Vec::new());
        while left > 0 {
            let chunk = from.chunk().map_err(std::io::Error::other)?;
            let count = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if count == 0 {
                return Err(std::io::Error::other("the file became shorter while it was read"));
            }
            stream.write(&chunk[..count], &mut pending)?;
            from.consume(count);
            left -= count as u64;
            to.write_all(&pending)?;
            pending.clear();
        }
        stream.finish(&mut pending)?;
        to.write_all(&pending)?;
        to.sync_all()
    };
    write().map_err(|e| file_error("closing a copy of", path, e))?;
    Ok(copy)
}
