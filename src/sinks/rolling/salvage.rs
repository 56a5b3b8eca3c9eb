//! Closes unfinished files that no saved state knows. Keeps what is readable up to the last complete line, as a valid
//! stream. Finished files are left unchanged, even damaged ones.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use seine_formats::inflate::{Inflating, StreamError};
use seine_formats::zlib_stream;

use crate::sinks::folder::{file_error, last_bytes};
use crate::sinks::sink::SinkError;
use crate::sinks::whole_file::WholeFile;

/// Closes the unfinished ones of these files.
pub(super) fn close_unfinished(files: &[PathBuf], level: u32) -> Result<(), SinkError> {
    for path in files {
        // Avoids reading the whole file.
        let last = last_bytes(path, 10).map_err(|e| file_error("reading", path, e))?;
        if !zlib_stream::looks_finished(&last) {
            close_file(path, level)?;
        }
    }
    Ok(())
}

/// Closes a file if it is unfinished. It may end anywhere within the compressed data, so it is rewritten.
pub(super) fn close_file(path: &Path, level: u32) -> Result<(), SinkError> {
    let file = File::open(path).map_err(|e| file_error("reading", path, e))?;
    if file.metadata().map_err(|e| file_error("reading", path, e))?.len() == 0 {
        return std::fs::remove_file(path).map_err(|e| file_error("removing", path, e));
    }
    match whole_lines(Inflating::new(file)) {
        Ok(None) => Ok(()),
        Ok(Some(bytes)) => {
            rewrite(path, bytes, level).map_err(|e| file_error("closing a copy of", path, e))?;
            tracing::info!(path = %path.display(), bytes, "closed a file that an earlier run left unfinished");
            Ok(())
        }
        Err(StreamError::Io { source, .. }) => Err(file_error("reading", path, source)),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a damaged file was left as it is");
            Ok(())
        }
    }
}

/// The number of uncompressed bytes in complete lines of a cut stream; none if the stream is finished.
fn whole_lines(mut stream: Inflating<File>) -> Result<Option<u64>, StreamError> {
    let (mut read, mut lines) = (0, 0);
    loop {
        let chunk = stream.chunk()?;
        if chunk.is_empty() {
            return Ok(stream.truncated().then_some(lines));
        }
        let count = chunk.len();
        if let Some(at) = memchr::memrchr(b'\n', chunk) {
            lines = read + at as u64 + 1;
        }
        read += count as u64;
        stream.consume(count);
    }
}

/// Rewrites a file as a finished stream of its first `bytes` uncompressed bytes.
fn rewrite(path: &Path, bytes: u64, level: u32) -> std::io::Result<()> {
    let mut from = Inflating::new(File::open(path)?).take(bytes);
    let mut to = WholeFile::create(path, Some(level))?;
    if std::io::copy(&mut from, &mut to)? < bytes {
        return Err(std::io::Error::other("the file became shorter while it was read"));
    }
    to.finish()
}
