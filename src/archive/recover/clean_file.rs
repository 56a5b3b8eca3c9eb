//! The clean file: written beside its name, and there under it when it is complete.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::formats::zlib_stream::ZlibStream;

/// Zlib's usual one.
const LEVEL: u32 = 6;

pub(super) struct CleanFile {
    path: PathBuf,
    copy: PathBuf,
    /// None once it is finished.
    file: Option<BufWriter<File>>,
    stream: Option<ZlibStream>,
    pending: Vec<u8>,
}

impl CleanFile {
    /// `compressed`: as one zlib stream.
    pub fn create(path: &Path, compressed: bool) -> std::io::Result<CleanFile> {
        let mut copy = path.to_path_buf();
        copy.as_mut_os_string().push(".tmp");
        let file = Some(BufWriter::new(File::create(&copy)?));
        let stream = compressed.then(|| ZlibStream::new(LEVEL));
        Ok(CleanFile { path: path.into(), copy, file, stream, pending: Vec::new() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        match &mut self.stream {
            None => file.write_all(bytes),
            Some(stream) => {
                stream.write(bytes, &mut self.pending)?;
                file.write_all(&self.pending)?;
                self.pending.clear();
                Ok(())
            }
        }
    }

    pub fn finish(mut self) -> std::io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if let Some(stream) = &mut self.stream {
            stream.finish(&mut self.pending)?;
            file.write_all(&self.pending)?;
        }
        let file = file.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        std::fs::rename(&self.copy, &self.path)
    }
}

impl Drop for CleanFile {
    /// What is not complete does not stay.
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.copy);
        }
    }
}
