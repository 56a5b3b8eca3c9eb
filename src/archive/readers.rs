//! The readers of all formats, opened on files.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::recover::scan;
use crate::formats::Format;
use crate::formats::held::Lacks;
use crate::formats::records::{ArchiveReader, ArchiveRecord, ReadSeek, ReaderInput};

/// Opens a file of this format. `counter`: has the bytes read added. `is_check`: to see whether it is whole; where records
/// state digests these are compared.
pub(super) fn open_file(
    path: &Path,
    format: Format,
    counter: &Arc<AtomicU64>,
    is_check: bool,
) -> std::io::Result<Box<dyn ArchiveReader>> {
    let records = open_file_at(path, format, 0, counter, is_check)?;
    Ok(Box::new(SoundReader { records, path: path.into(), known: None, has_ended: false }))
}

/// Opens a file of this format at a place where a record begins, as if the file began there.
pub(super) fn open_file_at(
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

/// Opens what lies beside a file, and not what a symbolic link there leads out to.
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

/// A file that was still being written when it was listed may have lost its `.open` since.
fn open_or_renamed(path: &Path) -> std::io::Result<File> {
    match (File::open(path), path.extension()) {
        (Err(error), Some(open)) if error.kind() == ErrorKind::NotFound && open == "open" => {
            File::open(path.with_extension(""))
        }
        (opened, _) => opened,
    }
}

/// What of a file is behind a place. Its reading is counted, each byte once.
struct CountedFile {
    file: File,
    start: u64,
    counter: Arc<AtomicU64>,
    /// From `start` on, as what follows.
    at: u64,
    /// Up to here it was read before.
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

const DISTRUSTED: &str = "the compressed data around it is damaged, so that what follows may be anything: seine recover saves \
    what is behind the damage";

/// Records as long as what is read is what was written: behind a bad one in a stream that is not sound, nothing is. By the
/// same rule `seine recover` saves it.
struct SoundReader {
    records: Box<dyn ArchiveReader>,
    path: PathBuf,
    /// The stream that was looked at last, by its place, and whether it is sound.
    known: Option<(u64, bool)>,
    has_ended: bool,
}

impl SoundReader {
    fn is_sound(&mut self, stream: u64) -> bool {
        if let Some((known, is_sound)) = self.known
            && known == stream
        {
            return is_sound;
        }
        let is_sound = open_or_renamed(&self.path).and_then(|file| scan::is_sound(&file, stream)).unwrap_or(false);
        self.known = Some((stream, is_sound));
        is_sound
    }
}

impl ArchiveReader for SoundReader {
    fn next(&mut self) -> Option<ArchiveRecord> {
        if self.has_ended {
            return None;
        }
        Some(match (self.records.next()?, self.records.stream()) {
            (ArchiveRecord::Problem(problem), Some(stream)) if !self.is_sound(stream) => {
                self.has_ended = true;
                ArchiveRecord::Problem(format!("{problem}; {DISTRUSTED}"))
            }
            (item, _) => item,
        })
    }

    fn offset(&self) -> Option<u64> {
        self.records.offset()
    }

    fn lacks(&self) -> Lacks {
        self.records.lacks()
    }

    fn truncated(&self) -> bool {
        self.records.truncated()
    }
}
