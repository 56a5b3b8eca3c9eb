//! Opens the readers of all formats on files.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seine_formats::Format;
use seine_formats::records::{ArchiveReader, ReadSeek, ReaderInput};

use super::recover::scan;

/// Opens a file of this format at the start of a record, as if the file began there. Adds the bytes read to `counter`.
/// `is_check`: compare digests where records state them.
pub(super) fn open_file(
    path: &Path,
    format: Format,
    start: u64,
    counter: &Arc<AtomicU64>,
    is_check: bool,
) -> std::io::Result<Box<dyn ArchiveReader>> {
    let file = open_or_renamed(path)?;
    let length = file.metadata()?.len().saturating_sub(start);
    let mut bytes = CountedFile::new(file, start, counter);
    bytes.rewind()?;
    let beside = Box::new(opener_beside(path, counter));
    (format.reader)(ReaderInput { bytes: Box::new(bytes), length, path: path.to_owned(), beside, is_check })
}

/// Opens files next to a file, but no symbolic link that leads out of the folder.
fn opener_beside(
    path: &Path,
    counter: &Arc<AtomicU64>,
) -> impl Fn(&Path) -> Result<Option<Box<dyn ReadSeek>>, String> + use<> {
    let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new(".")).to_owned();
    let counter = counter.clone();
    move |name| {
        let path = folder.join(name);
        match File::open(&path) {
            Ok(_) if !is_inside(&path, &folder) => Err("a symbolic link that leads out of the store".into()),
            Ok(file) => Ok(Some(Box::new(CountedFile::new(file, 0, &counter)))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn is_inside(path: &Path, folder: &Path) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    if !is_link(path) && !path.parent().is_some_and(is_link) {
        return true;
    }
    let inside = folder.canonicalize().and_then(|folder| Ok(path.canonicalize()?.starts_with(folder)));
    inside.unwrap_or(false)
}

/// A file that was being written when it was listed may have lost its `.open` since.
fn open_or_renamed(path: &Path) -> std::io::Result<File> {
    match (File::open(path), path.extension()) {
        (Err(error), Some(open)) if error.kind() == ErrorKind::NotFound && open == "open" => {
            File::open(path.with_extension(""))
        }
        (opened, _) => opened,
    }
}

/// The rest of a file after a position. Counts each byte read once.
struct CountedFile {
    file: File,
    start: u64,
    counter: Arc<AtomicU64>,
    /// The current position, relative to `start`.
    at: u64,
    /// Bytes before this were counted already.
    read_to: u64,
}

impl CountedFile {
    fn new(file: File, start: u64, counter: &Arc<AtomicU64>) -> CountedFile {
        CountedFile { file, start, counter: counter.clone(), at: 0, read_to: 0 }
    }
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.at += count as u64;
        self.counter.fetch_add(self.at.saturating_sub(self.read_to), Ordering::Relaxed);
        self.read_to = self.read_to.max(self.at);
        Ok(count)
    }
}

impl Seek for CountedFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => SeekFrom::Start(at + self.start),
            relative => relative,
        };
        self.at = self.file.seek(to)?.checked_sub(self.start).ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Whether the compressed stream at `stream` is intact.
pub(super) fn is_sound(path: &Path, stream: u64) -> bool {
    open_or_renamed(path).and_then(|file| scan::is_sound(&file, stream)).unwrap_or(false)
}
