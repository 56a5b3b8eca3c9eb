//! What can be saved of a damaged file: every record that is whole, in a clean file of the same format, and a list of the
//! bytes that are lost.
//!
//! * [`scan`]: where compressed streams and lines begin again behind damage.
//! * [`lines`]: the formats with a record a line. [`records`]: those that find their records themselves.

mod lines;
mod output;
mod records;
pub(super) mod scan;

use std::fs::File;
use std::path::{Path, PathBuf};

use self::lines::Shape;
use super::detect::{self, Detected};
use super::format::Format;
use super::trees::Trees;
use crate::formats::csv_cells::Cells;
use crate::formats::web_index::WebIndexRecord;
use crate::formats::{cdr31, elastic, files};

/// So many ranges are kept by name.
pub const MAX_RANGES: usize = 1000;

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    pub format: Format,
    /// Whole records, all of which are in the new file.
    pub records: u64,
    /// Bytes of the damaged file.
    pub length: u64,
    /// What of it is lost: the first ranges, how many there are, and their bytes.
    pub lost: Vec<Lost>,
    pub ranges: u64,
    pub lost_bytes: u64,
}

/// A range of the damaged file of which nothing could be saved. Inside a compressed stream the edges are those of the
/// nearest few kilobytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub from: u64,
    /// Behind its last byte.
    pub to: u64,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{0} is no file; put its bytes in a file first")]
    NoFile(PathBuf),
    #[error("{0} is there already; name a file that is not")]
    Exists(PathBuf),
    #[error(
        "{path}: its beginning is in none of the known formats, it {begins}; say with --format what it was: {}",
        Format::names()
    )]
    Unknown { path: PathBuf, begins: String },
    #[error("{0} is of {1}, where each page has a file of its own, whole or lost; seine verify tells which are whole")]
    SmallFiles(PathBuf, Format),
    #[error("{0} is empty: there is nothing to recover")]
    Empty(PathBuf),
}

/// What went wrong while saving: with the damaged file, or with the new one.
enum Problem {
    Read(std::io::Error),
    Write(std::io::Error),
}

impl Recovery {
    fn new(format: Format, length: u64) -> Recovery {
        Recovery { format, records: 0, length, lost: Vec::new(), ranges: 0, lost_bytes: 0 }
    }

    fn lose(&mut self, from: u64, to: u64, why: &str) {
        if to <= from {
            return;
        }
        self.lost_bytes += to - from;
        if let Some(last) = self.lost.last_mut().filter(|last| last.to == from && last.why == why) {
            last.to = to;
            return;
        }
        self.ranges += 1;
        if self.lost.len() < MAX_RANGES {
            self.lost.push(Lost { from, to, why: why.to_owned() });
        }
    }
}

/// How records are found again.
enum Method {
    Lines(Shape),
    Tianwang,
    Warc,
}

/// None for formats that have no files of many records.
fn method(format: Format) -> Option<Method> {
    let lines = |is_record| Method::Lines(Shape { is_record, is_row: false });
    Some(match format {
        Format::Files => lines(|line| files::parse_line(line).is_ok()),
        Format::Cdr31 => lines(|line| cdr31::parse_document(line).is_ok()),
        Format::Elastic => lines(|line| elastic::parse_document(line).is_ok()),
        Format::WebIndex => Method::Lines(Shape { is_record: is_row, is_row: true }),
        Format::Tianwang => Method::Tianwang,
        Format::Warc => Method::Warc,
        Format::FilesystemHtml | Format::FilesystemJson | Format::FilesystemCbor | Format::Pagestore => return None,
    })
}

/// A row of the web index, its one cell a record.
fn is_row(line: &[u8]) -> bool {
    let mut cells = Cells::new(line);
    let cell = cells.next().and_then(Result::ok);
    cell.is_some_and(|cell| serde_json::from_slice::<WebIndexRecord>(&cell).is_ok())
}

/// Saves what is whole in `damaged` to `out`, which must not be there; it appears when it is complete. `format`: instead of
/// looking at the beginning, which may be damaged. `tick`: called now and then with records and bytes so far.
pub fn recover(
    damaged: &Path,
    out: &Path,
    format: Option<Format>,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Recovery, RecoverError> {
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
            Detected::Beside => return Err(RecoverError::SmallFiles(damaged.into(), Format::Pagestore)),
            Detected::Empty => return Err(RecoverError::Empty(damaged.into())),
            Detected::Unknown(begins) => return Err(RecoverError::Unknown { path: damaged.into(), begins }),
        },
    };
    let method = method(format).ok_or_else(|| RecoverError::SmallFiles(damaged.into(), format))?;
    let mut file = File::open(damaged).map_err(read_error)?;
    let length = file.metadata().map_err(read_error)?.len();
    let write_error = |source| RecoverError::File { action: "writing", path: out.into(), source };
    let mut output = output::Output::create(out, format == Format::Files).map_err(write_error)?;
    let mut recovery = Recovery::new(format, length);
    let saved = match method {
        Method::Lines(shape) => {
            lines::save(scan::Input { file: &file, length }, shape, &mut output, &mut recovery, tick)
        }
        Method::Warc => records::save_warc(&mut file, &mut output, &mut recovery, tick),
        Method::Tianwang => records::save_tianwang(damaged, &mut file, &mut output, &mut recovery, tick),
    };
    saved.map_err(|problem| match problem {
        Problem::Read(source) => read_error(source),
        Problem::Write(source) => write_error(source),
    })?;
    output.finish().map_err(write_error)?;
    Ok(recovery)
}
