//! Makes a data folder from a backup, so that the crawl can continue in it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use seine_frontier::{CopiedRecord, EmbeddedFrontier};
use seine_system::folders::make_private;
use zstd::stream::read::Decoder;

use super::draft::{Draft, RESTORE_MARK};
use super::error::BackupError;
use super::manifest::{FILE, Manifest};
use super::receive::{COMPRESSED, TABLES, refuse_inside};

/// In a restored folder, until the crawl has taken note of it ([`was_restored`]).
const RESTORED: &str = "restored";
/// Keys and values of a frontier are shorter.
const LONGEST: usize = 64 << 20;

/// Makes the data folder `to` from the backup in `from`. First compares every file of the backup with its digest. The
/// folder is complete and durable when this returns; after an error nothing is left. Adds the bytes read to `read`;
/// each file is read twice.
pub(crate) fn restore(from: &Path, to: &Path, read: &AtomicU64) -> Result<Manifest, BackupError> {
    let manifest = Manifest::load(from)?;
    refuse_inside(to, from)?;
    let draft = Draft::begin(to, RESTORE_MARK)?;
    manifest.files.iter().try_for_each(|file| file.check(&from.join(&file.path), read))?;
    let (tables, others): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|file| file.path.starts_with(TABLES));
    for file in others {
        let (path, copy) = (from.join(&file.path), draft.folder.join(&file.path));
        let folder = copy.parent().unwrap_or(&draft.folder);
        make_private(folder).map_err(BackupError::file("making", folder))?;
        // Copies the file's permissions as well.
        fs::copy(&path, &copy).map_err(BackupError::file("copying", &path))?;
        read.fetch_add(file.bytes, Ordering::Relaxed);
    }
    let mut left: Vec<PathBuf> = tables.into_iter().map(|file| from.join(&file.path)).collect();
    // None if the version that took the backup did not have this table.
    let table = |name: &str| {
        let path = from.join(TABLES).join(name).with_extension(COMPRESSED);
        let at = left.iter().position(|left| *left == path);
        at.map(|at| Table::open(left.swap_remove(at), read)).transpose()
    };
    EmbeddedFrontier::make_of_copy(&draft.folder.join(TABLES), table)?;
    if let Some(unknown) = left.first() {
        let problem = format!("it contains {}, which this version of seine does not know", unknown.display());
        return Err(BackupError::Manifest { path: from.join(FILE), problem });
    }
    let mark = draft.folder.join(RESTORED);
    File::create(&mark).map_err(BackupError::file("making", &mark))?;
    draft.finish(|_| Ok(()))?;
    Ok(manifest)
}

/// Whether the folder was restored, and no crawl has called [`noticed`] since.
pub(crate) fn was_restored(folder: &Path) -> bool {
    folder.join(RESTORED).exists()
}

/// The crawl knows that its destinations may be ahead of it.
pub(crate) fn noticed(folder: &Path) -> std::io::Result<()> {
    fs::remove_file(folder.join(RESTORED))
}

/// Reads a table of the frontier, record by record.
struct Table {
    path: PathBuf,
    records: BufReader<Decoder<'static, BufReader<File>>>,
}

impl Table {
    fn open(path: PathBuf, read: &AtomicU64) -> Result<Table, BackupError> {
        let failed = || BackupError::file("reading", &path);
        let file = File::open(&path).map_err(failed())?;
        read.fetch_add(file.metadata().map_err(failed())?.len(), Ordering::Relaxed);
        let decoder = Decoder::new(file).map_err(failed())?;
        Ok(Table { path, records: BufReader::new(decoder) })
    }

    /// None at the end.
    fn read(&mut self) -> std::io::Result<Option<CopiedRecord>> {
        if self.records.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let (mut key, mut value) = (vec![0; self.length()?], vec![0; self.length()?]);
        self.records.read_exact(&mut key)?;
        self.records.read_exact(&mut value)?;
        Ok(Some((key, value)))
    }

    fn length(&mut self) -> std::io::Result<usize> {
        let mut bytes = [0; 4];
        self.records.read_exact(&mut bytes)?;
        let length = u32::from_le_bytes(bytes) as usize;
        match length <= LONGEST {
            true => Ok(length),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }
}

impl Iterator for Table {
    type Item = Result<CopiedRecord, BackupError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read().map_err(|error| {
            let problem = format!("one of its records cannot be read ({error})");
            BackupError::Damaged { path: self.path.clone(), problem }
        });
        read.transpose()
    }
}
