//! The page log through its public interface: every accepted event is there, once, in order, whatever happens.

mod administration;
mod damage;
#[path = "../../../parse/tests/support/event.rs"]
mod event;
mod full_disk;
mod kill;
mod queue;
mod readers;
mod recovery;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seine_delivery::{Cursor, Entry, Offset};
use seine_page_log::LogConfig;
use seine_page_log::{Counters, LogError, PageLog, Reader, Recovery};
use seine_parse::DeriveOptions;
use seine_parse::page::PageEvent;

/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(30);

fn config(segment_bytes: u64) -> LogConfig {
    LogConfig { segment_bytes, max_bytes: 1 << 40, commit_interval: Duration::from_millis(1), reserve_bytes: 0 }
}

/// A folder for one test, in memory if possible: thousands of fsyncs on a busy disk take minutes.
fn folder() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.unwrap_or_else(|_| tempfile::tempdir().expect("a temporary folder"))
}

/// Event `n`, with its number in the URL and in every byte of its body.
fn event(n: u64, body: usize) -> PageEvent {
    let page = event::page(format!("http://example.com/{n}"), &[("content-type", "text/html")], vec![n as u8; body]);
    PageEvent { id: event::id(n), started_ms: n, ended_ms: n + 1, ..page }
}

fn number(entry: &Entry) -> u64 {
    let number = entry.event.url.rsplit('/').next().and_then(|number| number.parse().ok());
    let number = number.unwrap_or_else(|| panic!("not an event of this test: {}", entry.event.url));
    let body = &entry.event.response().expect("a response").body;
    assert!(body.iter().all(|&b| b == number as u8), "event {number} has another one's body");
    number
}

fn numbers(entries: &[std::sync::Arc<Entry>]) -> Vec<u64> {
    entries.iter().map(|entry| number(entry)).collect()
}

/// Whether every accepted event is accounted for.
fn balance(books: Counters) -> bool {
    books.accepted == books.delivered + books.skipped + books.dead + books.damaged + books.pending
}

/// A log with its writer in a thread.
struct Running {
    log: PageLog,
    recovery: Recovery,
    writer: JoinHandle<Result<(), LogError>>,
}

impl Running {
    fn open(dir: &Path, config: &LogConfig) -> Running {
        let (log, recovery) = open_log(dir, config).expect("the log opens");
        let writer = start_writer(&log);
        Running { log, recovery, writer }
    }

    /// Appends and waits until all are accepted.
    fn append(&self, events: Range<u64>, body: usize) -> Vec<Offset> {
        append(&self.log, events, body)
    }

    /// Number of events in the log.
    fn kept(&self) -> u64 {
        let status = self.log.status();
        status.end.index - status.oldest.index
    }

    fn close(self) {
        self.log.close();
        self.writer.join().expect("the writer does not panic").expect("the writer ends well");
    }
}

/// Waits for a lock that was just released. A child started by another test holds it, too, until it has started its
/// program.
fn open_log(dir: &Path, config: &LogConfig) -> Result<(PageLog, Recovery), LogError> {
    let began = Instant::now();
    loop {
        match PageLog::open(dir, config, DeriveOptions::default()) {
            Err(LogError::Locked { .. }) if began.elapsed() < Duration::from_secs(2) => std::thread::yield_now(),
            opened => return opened,
        }
    }
}

fn start_writer(log: &PageLog) -> JoinHandle<Result<(), LogError>> {
    let log = log.clone();
    std::thread::spawn(move || log.run_writer(&mut || ()))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("in time") })
}

fn append(log: &PageLog, events: Range<u64>, body: usize) -> Vec<Offset> {
    block_on(async {
        let mut tickets = Vec::new();
        for n in events {
            tickets.push(log.append(event(n, body), None).await.expect("the log takes events"));
        }
        let mut positions = Vec::new();
        for ticket in tickets {
            positions.push(ticket.accepted().await.expect("the event is accepted").0);
        }
        positions
    })
}

/// Everything accepted after the reader's position.
fn read_to_end(log: &PageLog, reader: &mut Reader) -> Vec<std::sync::Arc<Entry>> {
    let end = log.status().end;
    let mut all = Vec::new();
    // Damage at the very end gives no entry, so this does not wait for one.
    loop {
        let entries = reader.next(100, 1 << 20, Duration::ZERO).expect("the reader reads");
        if entries.is_empty() {
            return all;
        }
        all.extend(entries);
        assert!(all.last().is_none_or(|last| last.end <= end));
    }
}

/// The reader's cursor, moved to `position` with `delivered` more delivered. The log ignores the fields that it
/// maintains itself.
fn moved(reader: &Reader, position: Offset, delivered: u64) -> Cursor {
    let now = reader.cursor().clone();
    Cursor { position, delivered: now.delivered + delivered, from: 777, damaged: 777, ..now }
}

/// Segment files with their start positions, in order.
fn segments(dir: &Path) -> Vec<(PathBuf, Offset)> {
    let paths = std::fs::read_dir(dir).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "log")).collect();
    found.sort();
    let start = |path: &Path| {
        let (first, offset) = path.file_stem()?.to_str()?.split_once('-')?;
        Some(Offset { index: first.parse::<u64>().ok()? - 1, offset: offset.parse().ok()? })
    };
    found.into_iter().map(|path| (path.clone(), start(&path).expect("a segment's name"))).collect()
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_dir(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}
