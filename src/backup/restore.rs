//! A data folder made of a backup, in which a crawl goes on.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use zstd::stream::read::Decoder;

use super::draft::Draft;
use super::error::BackupError;
use super::manifest::{FILE, Manifest};
use super::receive::{COMPRESSED, TABLES, refuse_inside};
use crate::folders::make_private;
use crate::frontier::{CopiedRecord, EmbeddedFrontier};

/// No key and no value of a frontier is longer.
const LONGEST: usize = 64 << 20;

/// Makes the data folder `to` of the backup in `from`. Every file of it is compared with its digest before anything is made. Whole and
/// durable when this returns; nothing is left behind an error. `read`: has the backup's bytes added as they are read, twice each.
pub fn restore(from: &Path, to: &Path, read: &AtomicU64) -> Result<Manifest, BackupError> {
    let manifest = Manifest::load(from)?;
    refuse_inside(to, from)?;
    let draft = Draft::of_restored(to)?;
    manifest.check(from, read)?;
    let (tables, others): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|file| file.path.starts_with(TABLES));
    for file in others {
        let (path, copy) = (from.join(&file.path), draft.folder.join(&file.path));
        let folder = copy.parent().unwrap_or(&draft.folder);
        make_private(folder).map_err(BackupError::file("making", folder))?;
        // With its rights.
        fs::copy(&path, &copy).map_err(BackupError::file("copying", &path))?;
        read.fetch_add(file.bytes, Ordering::Relaxed);
    }
    let mut tables = Tables {
        left: tables.into_iter().map(|file| from.join(&file.path)).collect(),
        from: from.join(TABLES),
        open: None,
        read,
    };
    EmbeddedFrontier::make_of_copy(&draft.folder.join(TABLES), |table| tables.next(table))?;
    if let Some(unknown) = tables.left.first() {
        let problem = format!("it has {}, which this seine does not know", unknown.display());
        return Err(BackupError::Manifest { path: from.join(FILE), problem });
    }
    draft.finish(|_| Ok(()))?;
    Ok(manifest)
}

/// The tables of the frontier, one after the other.
struct Tables<'a> {
    from: PathBuf,
    /// Not read yet.
    left: Vec<PathBuf>,
    open: Option<Table>,
    read: &'a AtomicU64,
}

struct Table {
    name: &'static str,
    path: PathBuf,
    records: BufReader<Decoder<'static, BufReader<File>>>,
}

impl Tables<'_> {
    /// The next record of a table; none behind its last one, and of a table that the backup's version did not have.
    fn next(&mut self, name: &'static str) -> Result<Option<CopiedRecord>, BackupError> {
        if self.open.as_ref().is_none_or(|table| table.name != name) {
            let path = self.from.join(name).with_extension(COMPRESSED);
            let Some(at) = self.left.iter().position(|left| *left == path) else { return Ok(None) };
            self.open = Some(Table::open(name, self.left.remove(at))?);
            let bytes = self.open.as_ref().and_then(|table| table.path.metadata().ok()).map_or(0, |it| it.len());
            self.read.fetch_add(bytes, Ordering::Relaxed);
        }
        match &mut self.open {
            Some(table) => table.next().map_err(|error| {
                let problem = format!("a record of it cannot be read ({error})");
                BackupError::Damaged { path: table.path.clone(), problem }
            }),
            None => Ok(None),
        }
    }
}

impl Table {
    fn open(name: &'static str, path: PathBuf) -> Result<Table, BackupError> {
        let decoder = File::open(&path).and_then(Decoder::new).map_err(BackupError::file("reading", &path))?;
        Ok(Table { name, path, records: BufReader::new(decoder) })
    }

    fn next(&mut self) -> std::io::Result<Option<CopiedRecord>> {
        let Some(key_bytes) = self.length()? else { return Ok(None) };
        let value_bytes = self.length()?.ok_or(ErrorKind::UnexpectedEof)?;
        let (mut key, mut value) = (vec![0; key_bytes], vec![0; value_bytes]);
        self.records.read_exact(&mut key)?;
        self.records.read_exact(&mut value)?;
        Ok(Some((key.into(), value.into())))
    }

    /// None at the end.
    fn length(&mut self) -> std::io::Result<Option<usize>> {
        use std::io::BufRead;
        if self.records.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut bytes = [0; 4];
        self.records.read_exact(&mut bytes)?;
        let length = u32::from_le_bytes(bytes) as usize;
        match length <= LONGEST {
            true => Ok(Some(length)),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }
}
