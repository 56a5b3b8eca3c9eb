//! Expands what a user names as an archive: files, folders with everything below, patterns, and Kafka topics. Inputs
//! come in the order of their names, with numbers by value. Folders are listed only when needed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seine_formats::Format;
use seine_formats::format::Files;
use seine_system::folders;
use walkdir::{DirEntry, WalkDir};

use super::detect::{self, Detected};
use super::name_order::by_name;
use super::topic::{self, Partition, TopicError};
use super::transfer_state;
use super::trees::Trees;
use crate::sinks::rolling::is_named_by;
use crate::sinks::{dead_letters, location_notes, pagestore, staging};

/// Folders that sinks use internally, next to their output.
const OF_SINKS: [&str; 3] = [staging::WRITING, pagestore::INDEX_FOLDER, location_notes::FOLDER];

/// One input: a file or a partition.
#[derive(Debug, Clone)]
pub struct ArchiveInput {
    /// Path or address, for people and for finding it again.
    pub name: Arc<str>,
    pub input: InputKind,
    /// Stored size in bytes; 0 if unknown.
    pub bytes: u64,
}

#[derive(Debug, Clone)]
pub enum InputKind {
    File {
        path: PathBuf,
        format: Format,
    },
    /// Each message names its own format.
    Topic(Partition),
}

/// What was found while expanding the names.
#[derive(Debug, Clone)]
pub enum FoundInput {
    Input(ArchiveInput),
    /// Something in a folder that is not read.
    PassedOver {
        name: Arc<str>,
        why: SkipReason,
    },
}

impl FoundInput {
    fn file(path: PathBuf, format: Format) -> FoundInput {
        let (name, bytes) = (path.display().to_string().into(), size(&path));
        FoundInput::Input(ArchiveInput { name, input: InputKind::File { path, format }, bytes })
    }

    fn passed_over(path: &Path, why: SkipReason) -> FoundInput {
        FoundInput::PassedOver { name: path.display().to_string().into(), why }
    }
}

/// Why something is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It does not belong to an archive.
    Other(String),
    /// An empty file that is named like a file of pages.
    Emptied,
    /// There may be pages in it, but it cannot be read, or only its name is that of a file of pages.
    Unread(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::Other(why) | SkipReason::Unread(why) => f.write_str(why),
            SkipReason::Emptied => f.write_str("empty"),
        }
    }
}

/// Options for reading an archive.
#[derive(Debug, Clone, Default)]
pub struct InputOptions {
    /// The format of all files. None: detect it from the content of each.
    pub format: Option<Format>,
    /// For topics: properties of librdkafka besides the servers, for example for TLS.
    pub kafka: BTreeMap<String, String>,
    /// The output folder, which must not be read.
    pub without: Option<PathBuf>,
}

impl InputOptions {
    /// Whether the path is in the excluded folder. The folder may be created later, so this looks each time.
    fn is_without(&self, path: &Path) -> bool {
        let folder = self.without.as_ref().and_then(|folder| folder.canonicalize().ok());
        folder.is_some_and(|folder| path.canonicalize().is_ok_and(|path| path.starts_with(folder)))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{path}: {source}; name a file, a folder, a pattern, or kafka://HOST:PORT/TOPIC")]
    Missing { path: String, source: std::io::Error },
    #[error("{path} is a pipe or a device, but an archive is read more than once; copy it to a file first")]
    NoFile { path: String },
    #[error("{path} is in the output folder; choose another output folder")]
    Destination { path: String },
    #[error("{pattern}: {problem}; * and ? stand for any characters, ** for any folders")]
    Pattern { pattern: String, problem: String },
    #[error("{path}: reading it failed: {source}")]
    Read { path: String, source: std::io::Error },
    #[error(
        "{path} is in none of the known formats: it {begins}; looked for {} (plain, zlib or gzip); or name it with --format",
        Format::names()
    )]
    Unknown { path: String, begins: String },
    #[error(transparent)]
    Topic(#[from] TopicError),
}

/// The inputs of everything named, in order.
pub struct ArchiveInputs {
    options: InputOptions,
    named: VecDeque<Named>,
    walk: Option<walkdir::IntoIter>,
    /// The folder being walked, with symbolic links resolved.
    root: Option<PathBuf>,
    trees: Trees,
}

enum Named {
    /// A file that was named itself, so it must be readable.
    File(PathBuf),
    Folder(PathBuf),
    Partition(Partition),
}

impl ArchiveInputs {
    /// Finds what is named without reading it. A name that matches nothing is an error.
    pub fn open(names: &[String], options: InputOptions) -> Result<ArchiveInputs, InputError> {
        let mut named = VecDeque::new();
        for name in names {
            named.extend(resolve(name, &options)?);
        }
        let is_without =
            |named: &&Named| matches!(named, Named::File(path) | Named::Folder(path) if options.is_without(path));
        if let Some(Named::File(path) | Named::Folder(path)) = named.iter().find(is_without) {
            return Err(InputError::Destination { path: path.display().to_string() });
        }
        Ok(ArchiveInputs { options, named, walk: None, root: None, trees: Trees::default() })
    }

    /// Fails if a file that was named itself is in no known format. Reads the beginning of each such file.
    pub fn check_files(mut self) -> Result<(), InputError> {
        let mut files = std::mem::take(&mut self.named).into_iter().filter_map(|named| match named {
            Named::File(path) => Some(path),
            Named::Folder(_) | Named::Partition(_) => None,
        });
        files.try_for_each(|path| self.file_by_name(path).map(drop))
    }

    /// Total bytes of the inputs, as far as the file system knows.
    pub fn measure(names: &[String], options: &InputOptions) -> u64 {
        let Ok(source) = ArchiveInputs::open(names, options.clone()) else { return 0 };
        let files = source.named.into_iter().map(|named| match named {
            Named::File(path) => size(&path),
            Named::Folder(path) => walk(&path).filter_map(Result::ok).filter(is_file).map(|it| size(it.path())).sum(),
            Named::Partition(_) => 0,
        });
        files.sum()
    }

    /// The next file of the folder being walked; none at its end.
    fn walk_on(&mut self) -> Option<FoundInput> {
        loop {
            let walk = self.walk.as_mut()?;
            let entry = match walk.next()? {
                Ok(entry) => entry,
                Err(error) => {
                    let why = SkipReason::Unread(error.to_string());
                    return Some(FoundInput::passed_over(error.path().unwrap_or(Path::new("?")), why));
                }
            };
            if is_of_sink(&entry) || entry.file_type().is_dir() && self.options.is_without(entry.path()) {
                walk.skip_current_dir();
                continue;
            }
            if is_of_crawl(&entry) {
                walk.skip_current_dir();
                return Some(FoundInput::passed_over(entry.path(), SkipReason::Other("a crawl's own state".into())));
            }
            if !is_file(&entry) {
                continue;
            }
            if entry.path_is_symlink() && !self.is_inside(entry.path()) {
                let why = "a symbolic link that leads out of the folder; name its target to read it";
                return Some(FoundInput::passed_over(entry.path(), SkipReason::Unread(why.into())));
            }
            if !transfer_state::is_own(entry.file_name()) && !is_index(entry.path()) && !is_letters(entry.path()) {
                let found = self.file_in_folder(entry.into_path());
                if found.is_some() {
                    return found;
                }
            }
        }
    }

    /// Whether a link leads to something inside the folder being walked. An archive made by somebody else must not make
    /// Seine read other files of this machine.
    fn is_inside(&self, path: &Path) -> bool {
        self.root.as_deref().is_some_and(|root| path.canonicalize().is_ok_and(|path| path.starts_with(root)))
    }

    fn detect(&mut self, path: &Path) -> std::io::Result<Detected> {
        match self.options.format {
            Some(format) => Ok(Detected::Format(format)),
            None => detect::detect(path, &mut self.trees),
        }
    }

    /// None for a file that is read through another one.
    fn file_in_folder(&mut self, path: PathBuf) -> Option<FoundInput> {
        let why = match self.detect(&path) {
            Ok(Detected::Format(format)) => return Some(FoundInput::file(path, format)),
            Ok(Detected::Beside) => return None,
            Ok(Detected::Empty) => empty(&path),
            Ok(Detected::Unknown(begins)) if is_named_as_archive(&path) => SkipReason::Unread(format!(
                "in none of the known formats although its name says so, {begins}; seine recover with --format saves the \
                 intact records"
            )),
            Ok(Detected::Unknown(begins)) => SkipReason::Other(format!("in none of the known formats, {begins}")),
            Err(error) => SkipReason::Unread(error.to_string()),
        };
        Some(FoundInput::passed_over(&path, why))
    }

    fn file_by_name(&mut self, path: PathBuf) -> Result<FoundInput, InputError> {
        let name = path.display().to_string();
        let detected = self.detect(&path);
        match detected.map_err(|source| InputError::Read { path: name.clone(), source })? {
            Detected::Format(format) => Ok(FoundInput::file(path, format)),
            Detected::Empty => Ok(FoundInput::passed_over(&path, empty(&path))),
            Detected::Beside => {
                let why = SkipReason::Other("the META file of its day lists it; name that".into());
                Ok(FoundInput::passed_over(&path, why))
            }
            Detected::Unknown(begins) => Err(InputError::Unknown { path: name, begins }),
        }
    }
}

impl Iterator for ArchiveInputs {
    type Item = Result<FoundInput, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.walk_on() {
                return Some(Ok(found));
            }
            match self.named.pop_front()? {
                Named::File(path) => return Some(self.file_by_name(path)),
                Named::Folder(path) => {
                    self.root = path.canonicalize().ok();
                    self.walk = Some(walk(&path));
                }
                Named::Partition(partition) => {
                    let name = partition.to_string().into();
                    let input = InputKind::Topic(partition);
                    return Some(Ok(FoundInput::Input(ArchiveInput { name, input, bytes: 0 })));
                }
            }
        }
    }
}

/// Expands one name.
fn resolve(name: &str, options: &InputOptions) -> Result<Vec<Named>, InputError> {
    if name.starts_with(topic::SCHEME) {
        let partitions = topic::partitions(name, &options.kafka)?;
        return Ok(partitions.into_iter().map(Named::Partition).collect());
    }
    match std::fs::metadata(name) {
        Ok(metadata) => Ok(vec![named(name.into(), &metadata)?]),
        Err(error) if error.kind() == ErrorKind::NotFound && name.contains(['*', '?', '[']) => matching(name),
        Err(source) => Err(InputError::Missing { path: name.into(), source }),
    }
}

fn named(path: PathBuf, metadata: &Metadata) -> Result<Named, InputError> {
    match (metadata.is_dir(), metadata.is_file()) {
        (true, _) => Ok(Named::Folder(path)),
        (_, true) => Ok(Named::File(path)),
        _ => Err(InputError::NoFile { path: path.display().to_string() }),
    }
}

fn matching(pattern: &str) -> Result<Vec<Named>, InputError> {
    let wrong = |problem: String| InputError::Pattern { pattern: pattern.into(), problem };
    let paths = glob::glob(pattern).map_err(|error| wrong(error.to_string()))?;
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    if paths.is_empty() {
        return Err(wrong("no file matches".into()));
    }
    paths.sort_by(|a, b| by_name(&a.to_string_lossy(), &b.to_string_lossy()));
    let found = |path: PathBuf| match std::fs::metadata(&path) {
        Ok(metadata) => named(path, &metadata),
        Err(source) => Err(InputError::Read { path: path.display().to_string(), source }),
    };
    paths.into_iter().map(found).collect()
}

fn walk(folder: &Path) -> walkdir::IntoIter {
    let order =
        |a: &DirEntry, b: &DirEntry| by_name(&a.file_name().to_string_lossy(), &b.file_name().to_string_lossy());
    WalkDir::new(folder).sort_by(order).into_iter()
}

/// Whether this belongs to a crawl: its frontier, its page log, or its fetch log. None of these are archives.
fn is_of_crawl(entry: &DirEntry) -> bool {
    let is_locked = |folder: &Path| entry.file_type().is_dir() && folder.join("lock").is_file();
    match entry.file_name().to_str() {
        Some("fetch_log") => is_locked(&entry.path().with_file_name("log")),
        name => matches!(name, Some("frontier" | "log")) && is_locked(entry.path()),
    }
}

fn is_of_sink(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_str().map(|name| name.strip_suffix(folders::DRAFT).unwrap_or(name));
    entry.depth() > 0 && entry.file_type().is_dir() && name.is_some_and(|name| OF_SINKS.contains(&name))
}

/// Whether this is the CDXJ index of the file next to it.
fn is_index(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "cdxj") && path.with_extension("").is_file()
}

/// Whether this file has dead letters of a sink, or their number.
fn is_letters(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent().is_some_and(|folder| folder.ends_with(dead_letters::FOLDER))
        && name.is_some_and(dead_letters::is_kept)
}

/// A file, or a link to a file. Links to folders are not followed.
fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_file() || (entry.path_is_symlink() && entry.path().is_file())
}

/// Size of the file; links are followed.
fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |it| it.len())
}

fn empty(path: &Path) -> SkipReason {
    if is_named_as_archive(path) { SkipReason::Emptied } else { SkipReason::Other("empty".into()) }
}

/// Files with an `.open` name are excluded: they may still be empty.
fn is_named_as_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Format::ALL.iter().any(|format| matches!(&format.files, Files::Rolling(layout) if is_named_by(layout, &name)))
}
