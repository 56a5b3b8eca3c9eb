//! A file that is complete or missing: written under a temporary name, then renamed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use seine_formats::zlib_stream::ZlibStream;
use seine_system::folders;
use tempfile::TempPath;

/// Suffix of an incomplete file.
pub(crate) const UNFINISHED: &str = ".tmp";

pub(crate) struct WholeFile {
    path: PathBuf,
    /// Deleted unless it is renamed.
    copy: TempPath,
    file: BufWriter<File>,
    stream: Option<ZlibStream>,
    pending: Vec<u8>,
}

impl WholeFile {
    /// `level`: zlib level for a compressed stream; none: not compressed.
    pub(crate) fn create(path: &Path, level: Option<u32>) -> io::Result<WholeFile> {
        let mut copy = path.to_path_buf();
        copy.as_mut_os_string().push(UNFINISHED);
        let copy = TempPath::try_from_path(copy)?;
        let file = BufWriter::new(File::create(&copy)?);
        Ok(WholeFile { path: path.into(), copy, file, stream: level.map(ZlibStream::new), pending: Vec::new() })
    }

    /// Replaces the file of this name. Durable when this returns.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(stream) = &mut self.stream {
            stream.finish(&mut self.pending)?;
            self.file.write_all(&self.pending)?;
        }
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        folders::move_to(self.copy, &self.path)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(stream) = &mut self.stream else { return self.file.write(bytes) };
        stream.write(bytes, &mut self.pending)?;
        self.file.write_all(&self.pending)?;
        self.pending.clear();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
