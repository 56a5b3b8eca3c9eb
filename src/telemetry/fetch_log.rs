//! The fetch log: one JSON line for each fetch of a page or sitemap and each request for a robots.txt, in files of
//! limited size and number.
//!
//! Fetching never waits for it: lines go through a bounded channel to a thread. If the channel is full, because the
//! disk is slow or full, lines are dropped, counted and reported.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use seine_formats::text::IsoTime;
use seine_parse::page::{EpochMs, Outcome, PageEvent};
use seine_parse::url::origin;
use seine_system::folders::{if_there, make_private};
use serde::Serialize;

use crate::config::FetchLogConfig;
use crate::fetch::client::Exchange;

/// In the data folder.
pub(crate) const FOLDER: &str = "fetch_log";
/// Maximum number of lines in the channel.
const WAITING: usize = 1024;
/// Lines are flushed after this time at the latest.
const FLUSH: Duration = Duration::from_secs(1);
/// Pause after a file could not be written.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Time for the remaining lines at the end.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
#[error("fetch log {path}: {source}; make the folder writable, or set fetch_log.enabled: false")]
pub struct FetchLogError {
    path: PathBuf,
    source: io::Error,
}

/// Accepts fetches from any thread.
pub struct FetchLog {
    sender: SyncSender<Word>,
    counts: Arc<LineCounts>,
    reported: AtomicU64,
}

/// Lines since the start.
#[derive(Debug, Default)]
struct LineCounts {
    written: AtomicU64,
    dropped: AtomicU64,
}

enum Word {
    Line(Box<Line>),
    /// The end; answered when everything is written.
    End(std::sync::mpsc::Sender<()>),
}

/// A line as written. Times are in milliseconds.
#[serde_with::skip_serializing_none]
#[derive(Default, Serialize)]
struct Line {
    time: IsoTime,
    url: String,
    host: String,
    /// `page`, `sitemap`, `robots`.
    kind: &'static str,
    status: Option<u16>,
    /// Why there is no response, or the kind of the wall that it is …
    reason: Option<&'static str>,
    /// … and the details.
    cause: Option<String>,
    /// Size of the body as received.
    bytes: usize,
    ms: u64,
    /// From 1.
    attempt: Option<u32>,
    depth: Option<u16>,
    redirects: usize,
    /// The redirect target.
    final_url: Option<String>,
    /// It will be retried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    again: bool,
}

impl Line {
    fn of(url: &str, kind: &'static str, outcome: &Outcome, times: (EpochMs, EpochMs)) -> Line {
        let (response, failure) = match outcome {
            Outcome::Response(response) => (Some(response), None),
            Outcome::Failure(failure) => (None, Some(failure)),
        };
        let wall = response.and_then(|response| response.wall.as_deref());
        Line {
            time: IsoTime(times.0),
            url: url.to_owned(),
            host: origin(url).unwrap_or_default().to_owned(),
            kind,
            status: response.map(|response| response.status),
            reason: failure.map(|failure| failure.reason.name()).or(wall.map(|wall| wall.kind.name())),
            cause: failure.map(|failure| failure.message.clone()).or(wall.map(|wall| wall.evidence.clone())),
            bytes: response.map_or(0, |response| response.body.len()),
            ms: times.1.saturating_sub(times.0),
            ..Line::default()
        }
    }
}

impl FetchLog {
    /// Opens the log in the data folder, after the lines of earlier runs. None unless it is enabled.
    pub fn open(folder: &Path, config: &FetchLogConfig) -> Result<Option<FetchLog>, FetchLogError> {
        if !config.enabled {
            return Ok(None);
        }
        let folder = folder.join(FOLDER);
        let failed = |source| FetchLogError { path: folder.clone(), source };
        make_private(&folder).map_err(failed)?;
        let counts = Arc::new(LineCounts::default());
        let files = Files { folder: folder.clone(), config: *config, open: None, counts: counts.clone() };
        files.remove_beyond().map_err(failed)?;
        let (sender, words) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("fetch log".to_owned());
        thread.spawn(move || files.write_all(&words)).map_err(failed)?;
        Ok(Some(FetchLog { sender, counts, reported: AtomicU64::new(0) }))
    }

    /// One fetch of a page or sitemap.
    pub fn attempt(&self, event: &PageEvent) {
        let line = Line::of(&event.url, event.kind.name(), &event.outcome, (event.started_ms, event.ended_ms));
        self.send(Line {
            attempt: Some(u32::from(event.attempt) + 1),
            depth: Some(event.depth),
            redirects: event.hops.len(),
            final_url: Some(event.final_url.clone()).filter(|_| !event.hops.is_empty()),
            again: event.again.is_some(),
            ..line
        });
    }

    /// One request for a robots.txt.
    pub fn robots(&self, url: &str, exchange: &Exchange) {
        self.send(Line::of(url, "robots", &exchange.outcome, (exchange.started_ms, exchange.ended_ms)));
    }

    fn send(&self, line: Line) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(Word::Line(Box::new(line))) {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines since the start, written and dropped.
    pub(super) fn counts(&self) -> [(&'static str, u64); 2] {
        let LineCounts { written, dropped } = &*self.counts;
        [("written", written.load(Ordering::Relaxed)), ("dropped", dropped.load(Ordering::Relaxed))]
    }

    /// Reports the number of lines dropped since the last report.
    pub(crate) fn log_dropped(&self) {
        let dropped = self.counts.dropped.load(Ordering::Relaxed);
        let before = self.reported.swap(dropped, Ordering::Relaxed);
        if dropped > before {
            let lines = dropped - before;
            tracing::warn!(
                state = "lines_dropped",
                lines,
                "fetch log: lines were dropped, because its disk is too \
                slow"
            );
        }
    }

    /// Waits a while until the remaining lines are written.
    pub fn end(&self) {
        let (ended, end) = channel();
        let deadline = Instant::now() + GRACE;
        let mut word = Word::End(ended);
        while let Err(TrySendError::Full(back)) = self.sender.try_send(word) {
            if Instant::now() >= deadline {
                break;
            }
            word = back;
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = end.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        self.log_dropped();
    }
}

/// The newest is `fetches.jsonl`, the one before `fetches.1.jsonl`, and so on.
struct Files {
    folder: PathBuf,
    config: FetchLogConfig,
    open: Option<OpenFile>,
    counts: Arc<LineCounts>,
}

struct OpenFile {
    file: BufWriter<File>,
    bytes: u64,
}

impl Files {
    fn write_all(mut self, words: &Receiver<Word>) {
        let mut not_before = Instant::now();
        loop {
            let line = match words.recv_timeout(FLUSH) {
                Ok(Word::Line(line)) => line,
                Ok(Word::End(ended)) => {
                    self.flush();
                    let _ = ended.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.flush();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            };
            // Such a line can always be written as JSON.
            let mut text = serde_json::to_vec(&line).unwrap_or_default();
            text.push(b'\n');
            if Instant::now() < not_before {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            match self.append(&text) {
                Ok(()) => drop(self.counts.written.fetch_add(1, Ordering::Relaxed)),
                Err(error) => {
                    self.fails(&error);
                    self.counts.dropped.fetch_add(1, Ordering::Relaxed);
                    not_before = Instant::now() + TRY_AGAIN;
                }
            }
        }
    }

    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let length = text.len() as u64;
        let most = self.config.max_file_bytes;
        if self.open.as_ref().is_some_and(|open| open.bytes > 0 && open.bytes + length > most) {
            self.roll()?;
        }
        let path = self.path(0);
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(OpenFile::open(&path)?),
        };
        open.file.write_all(text)?;
        open.bytes += length;
        Ok(())
    }

    fn flush(&mut self) {
        if let Some(Err(error)) = self.open.as_mut().map(|open| open.file.flush()) {
            self.fails(&error);
        }
    }

    fn fails(&mut self, error: &io::Error) {
        tracing::warn!(folder = %self.folder.display(), %error, "fetch log: cannot be written; lines are dropped until it can be");
        // Dropping the buffer would try to write it again to a file that fails.
        if let Some(open) = self.open.take() {
            let _ = open.file.into_parts();
        }
    }

    /// Renames every file to the next number, and deletes the last.
    fn roll(&mut self) -> io::Result<()> {
        if let Some(mut open) = self.open.take() {
            open.file.flush()?;
        }
        for number in (1..self.config.max_files).rev() {
            if_there(std::fs::rename(self.path(number - 1), self.path(number)))?;
        }
        if self.config.max_files == 1 { std::fs::remove_file(self.path(0)) } else { Ok(()) }
    }

    /// Deletes files of a run with a higher limit.
    fn remove_beyond(&self) -> io::Result<()> {
        let beyond = (self.config.max_files..).map(|number| self.path(number));
        beyond.take_while(|path| path.exists()).try_for_each(std::fs::remove_file)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(match number {
            0 => "fetches.jsonl".to_owned(),
            number => format!("fetches.{number}.jsonl"),
        })
    }
}

impl OpenFile {
    fn open(path: &Path) -> io::Result<OpenFile> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(OpenFile { file: BufWriter::with_capacity(64 << 10, file), bytes })
    }
}
