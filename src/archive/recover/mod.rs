//! Saves what is intact in a damaged file: every complete record goes to a clean file of the same format, and the lost
//! byte ranges are listed.
//!
//! * `scan`: finds where compressed streams and lines start again after damage.
//! * `lines`: formats with one record per line. The other formats find their records themselves.

mod lines;
mod report;
pub(super) mod scan;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use seine_formats::recovery::{DamagedFile, RecoveryError, RecoveryMethod, Salvage};
use seine_formats::{Format, pagestore};

pub use self::report::RecoveryReport;
use super::detect::{self, Detected};
use super::trees::Trees;
use crate::sinks::whole_file::WholeFile;

/// zlib's default level.
const LEVEL: u32 = 6;

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{0} is not a file; copy it to a file first")]
    NoFile(PathBuf),
    #[error("{0} already exists; name another file")]
    Exists(PathBuf),
    #[error(
        "{path}: its beginning is in none of the known formats, it {begins}; say with --format what it was: {}",
        Format::names()
    )]
    Unknown { path: PathBuf, begins: String },
    #[error(
        "{0} has the format {1}, where each page has its own file, so there is nothing to recover; seine verify tells which files are intact"
    )]
    SmallFiles(PathBuf, Format),
    #[error("{0} is empty: there is nothing to recover")]
    Empty(PathBuf),
}

/// Saves records found by a format's own codec.
struct CodecSalvage<'a> {
    output: &'a mut WholeFile,
    recovery: &'a mut RecoveryReport,
    tick: &'a mut dyn FnMut(u64, u64),
}

impl Salvage for CodecSalvage<'_> {
    fn save(&mut self, record: &[u8], end: u64) -> std::io::Result<()> {
        self.output.write_all(record)?;
        self.recovery.records += 1;
        (self.tick)(self.recovery.records, end);
        Ok(())
    }

    fn lose(&mut self, from: u64, to: u64, why: &str) {
        self.recovery.lose(from, to, why);
    }
}

/// Saves the intact records of `damaged` to `out`, which must not exist and appears only when it is complete. `format`
/// replaces detection by the first bytes, which may be damaged. Calls `tick` now and then with the records and bytes so
/// far.
pub fn recover(
    damaged: &Path,
    out: &Path,
    format: Option<Format>,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<RecoveryReport, RecoverError> {
    let read_error = |source| RecoverError::File { action: "reading", path: damaged.into(), source };
    if out.exists() {
        return Err(RecoverError::Exists(out.into()));
    }
    if !std::fs::metadata(damaged).map_err(read_error)?.is_file() {
        return Err(RecoverError::NoFile(damaged.into()));
    }
    let format = match format {
        Some(format) => format,
        None => match detect::detect(damaged, &mut Trees::default()).map_err(read_error)? {
            Detected::Format(format) => format,
            Detected::Beside => return Err(RecoverError::SmallFiles(damaged.into(), pagestore::FORMAT)),
            Detected::Empty => return Err(RecoverError::Empty(damaged.into())),
            Detected::Unknown(begins) => return Err(RecoverError::Unknown { path: damaged.into(), begins }),
        },
    };
    if matches!(format.recovery, RecoveryMethod::Nothing) {
        return Err(RecoverError::SmallFiles(damaged.into(), format));
    }
    let file = File::open(damaged).map_err(read_error)?;
    let length = file.metadata().map_err(read_error)?.len();
    let write_error = |source| RecoverError::File { action: "writing", path: out.into(), source };
    let mut output = WholeFile::create(out, format.is_stream().then_some(LEVEL)).map_err(write_error)?;
    let mut recovery = RecoveryReport::new(format, length);
    let input = scan::DamagedInput { file: &file, length };
    let saved = match format.recovery {
        RecoveryMethod::Lines(shape) => lines::save(input, shape, &mut output, &mut recovery, tick),
        RecoveryMethod::Itself(save) => {
            let open = || Ok(Box::new(File::open(damaged)?) as _);
            let mut saving = CodecSalvage { output: &mut output, recovery: &mut recovery, tick };
            save(&DamagedFile { open: &open, length }, &mut saving)
        }
        RecoveryMethod::Nothing => Ok(()),
    };
    saved.map_err(|problem| match problem {
        RecoveryError::Read(source) => read_error(source),
        RecoveryError::Write(source) => write_error(source),
    })?;
    output.finish().map_err(write_error)?;
    Ok(recovery)
}
