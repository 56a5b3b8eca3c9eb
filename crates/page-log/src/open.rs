//! Opens a log: takes its lock, finds its files, and repairs what a crash left.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use locks::{Mutex, RwLock};
use tokio::sync::{Semaphore, watch};

use super::cursor_file::{self, CursorFile, cursors_dir};
use super::error::LogError;
use super::log::{Inner, PageLog, beyond};
use super::queue::{Active, Writer};
use super::queue::{KEPT_BYTES, QUEUE_BYTES};
use super::segment::{self, FILE_HEADER, Found, SegmentFile};
use super::state::{MOST_DAMAGE, Segment, Slot, State, Tail};
use super::status::{Damage, VALIDATOR};
use crate::LogConfig;
use seine_delivery::{Cursor, Deriver, Offset};
use seine_parse::DeriveOptions;
use seine_system::blocking::Signal;
use seine_system::folders::try_lock;

/// The result of opening the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recovery {
    /// The rest of records that were never accepted. It was cut off.
    pub torn: Option<Torn>,
    /// Damage in the last segment and in headers. Damage in other segments is found when they are read.
    pub damage: Vec<Damage>,
    /// Readers with a cursor on disk. A reader that is not opened keeps the log from its position on.
    pub readers: Vec<(String, Offset)>,
    /// Readers whose cursor cannot be read, with the reason. They keep the whole log.
    pub unreadable: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    pub segment: PathBuf,
    /// End of the last intact record, in that file.
    pub at: u64,
    pub bytes: u64,
}

impl PageLog {
    /// Opens the log in `dir`; creates it if it is missing. Reads only the last segment completely. `derive`: how to
    /// derive data from entries.
    pub fn open(dir: &Path, config: &LogConfig, derive: DeriveOptions) -> Result<(PageLog, Recovery), LogError> {
        let cursors = cursors_dir(dir);
        let is_new = !cursors.exists();
        seine_system::folders::make_private(&cursors).map_err(LogError::io("make", &cursors))?;
        if is_new {
            for dir in dir.ancestors().take(2).filter(|dir| !dir.as_os_str().is_empty()) {
                File::open(dir).and_then(|dir| dir.sync_all()).map_err(LogError::io("sync", dir))?;
            }
        }
        let lock = lock(dir)?;

        let mut recovery = Recovery::default();
        let readers = known_readers(&cursors, &mut recovery)?;
        let Recovered { segments, end, writable } = recover(dir, &mut recovery)?;
        let ahead = readers.values().map(|slot| slot.cursor.position).max().unwrap_or_default();
        let mut state = State {
            end,
            segments,
            tail: Tail::default(),
            readers,
            damage: recovery.damage.iter().take(MOST_DAMAGE).cloned().collect(),
            finished: false,
            holds: 0,
        };
        let mut writer = Writer::default();
        if ahead.index > end.index {
            tracing::error!(
                end = end.index,
                reader = ahead.index,
                "the page log has lost accepted events at its end (readers have seen more); new events are numbered after them"
            );
            state.end = beyond(end, ahead);
        } else if let (Some(file), Some(last)) = (writable, state.segments.back()) {
            // The end was cut and fsynced before, so the writer can append.
            writer.segment = Some(Active { file, path: last.path.clone(), length: last.bytes });
        }
        let inner = Inner {
            dir: dir.to_owned(),
            config: RwLock::new(config.clone()),
            queue: Mutex::default(),
            filled: Signal::default(),
            space: Arc::new(Semaphore::new(QUEUE_BYTES)),
            deriver: RwLock::new(Deriver::keeping(KEPT_BYTES, derive)),
            state: Mutex::new(state),
            administration: Mutex::default(),
            published: Signal::default(),
            moved: watch::Sender::default(),
            full_because: Mutex::default(),
            writer: Mutex::new(writer),
            lock,
            free_bytes: AtomicU64::default(),
        };
        inner.measure_free_space();
        Ok((PageLog { inner: Arc::new(inner) }, recovery))
    }
}

/// The file that a process with the log open has locked.
const LOCK: &str = "lock";

fn lock(dir: &Path) -> Result<File, LogError> {
    let path = dir.join(LOCK);
    let file = File::create(&path).map_err(LogError::io("make", &path))?;
    let locked = try_lock(file).map_err(LogError::io("lock", &path))?;
    locked.ok_or_else(|| LogError::Locked { path: dir.to_owned() })
}

/// Whether a process has the log of this folder open.
pub fn is_in_use(dir: &Path) -> bool {
    File::open(dir.join(LOCK)).is_ok_and(|file| matches!(try_lock(file), Ok(None)))
}

/// All readers with a cursor on disk. A reader whose cursor cannot be read keeps the whole log until it is opened.
fn known_readers(dir: &Path, recovery: &mut Recovery) -> Result<BTreeMap<String, Slot>, LogError> {
    let mut readers = BTreeMap::new();
    for (name, _) in cursor_file::list(dir)? {
        let slot = match CursorFile::load(dir, &name) {
            Ok(Some(file)) => {
                recovery.readers.push((name.clone(), file.stored().cursor.position));
                Slot::new(file.stored().cursor.clone(), file.stored().follower)
            }
            Ok(None) => continue,
            // The frontier has the validator's offset, so its file here is written anew when the validator starts.
            Err(LogError::Cursor { path, problem }) if name == VALIDATOR => {
                tracing::warn!(
                    "page log: {}: {problem}; no data is lost; the next start creates the file again",
                    path.display()
                );
                Slot::new(Cursor::default(), true)
            }
            Err(e) => {
                recovery.unreadable.push((name.clone(), e.to_string()));
                Slot::new(Cursor::default(), false)
            }
        };
        readers.insert(name, slot);
    }
    Ok(readers)
}

/// The segments that an earlier process left.
struct Recovered {
    segments: VecDeque<Segment>,
    /// Of the log.
    end: Offset,
    /// The file of the last segment, if the writer can append to it.
    writable: Option<File>,
}

fn recover(dir: &Path, recovery: &mut Recovery) -> Result<Recovered, LogError> {
    let found = segment::list(dir)?;
    let mut segments = VecDeque::with_capacity(found.len());
    let (mut end, mut writable) = (Offset::default(), None);
    for (number, (start, path)) in found.iter().enumerate() {
        let file = SegmentFile::open(path, *start)?;
        let whole = file.check_header()?;
        if !whole {
            let damage = Damage { segment: path.clone(), offset: 0, bytes: FILE_HEADER, events: 0 };
            recovery.damage.push(damage);
        }
        let on_disk = file.file_bytes()?;
        let mut bytes = on_disk;
        if number + 1 == found.len() {
            end = last_end(&file, on_disk, recovery)?;
            bytes = file.file_offset(end.offset).min(on_disk);
            writable = whole.then_some(cut(path, bytes)?);
        }
        segments.push_back(Segment { path: path.clone(), start: *start, bytes });
    }
    Ok(Recovered { segments, end, writable })
}

/// Finds the end of the last intact record. Records damage before it and a torn end.
fn last_end(file: &SegmentFile, on_disk: u64, recovery: &mut Recovery) -> Result<Offset, LogError> {
    let records = on_disk.saturating_sub(FILE_HEADER);
    let limit = Offset { index: segment::LARGEST, offset: file.start.offset + records };
    let (mut at, mut end) = (file.start, file.start);
    let mut damage = Vec::new();
    while at.offset < limit.offset {
        match file.read(at, limit)? {
            Found::Record { end: behind, .. } => {
                recovery.damage.append(&mut damage);
                (at, end) = (behind, behind);
            }
            Found::Damaged { to } => {
                damage.push(file.damage(at, to));
                at = to;
            }
        }
    }
    if end.offset < limit.offset {
        let bytes = limit.offset - end.offset;
        recovery.torn = Some(Torn { segment: file.path.clone(), at: file.file_offset(end.offset), bytes });
    }
    Ok(end)
}

/// Cuts the last segment to `length` and makes it durable. Its bytes may have been read from the page cache only.
fn cut(path: &Path, length: u64) -> Result<File, LogError> {
    let file = File::options().write(true).open(path).map_err(LogError::io("open", path))?;
    file.set_len(length).map_err(LogError::io("cut", path))?;
    file.sync_all().map_err(LogError::io("sync", path))?;
    Ok(file)
}
