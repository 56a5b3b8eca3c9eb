//! Progress of commands for archives: a live line on a terminal, otherwise a line every few seconds. Also reports
//! unreadable parts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::read::Problem;
use crate::telemetry::progress::{PLAIN_EVERY, Screen, bytes, grouped};

/// Maximum number of problems to print, so that a bad archive does not fill the screen.
const MAX_PRINTED: u64 = 100;
const LIVE_EVERY: Duration = Duration::from_millis(100);

/// Prints progress from a thread of its own, because one record may take long to read. The reader updates the figures.
pub(super) struct Ticker {
    pub screen: Screen,
    figures: Arc<Figures>,
    /// The thread ends when its sender is dropped.
    teller: Option<(Sender<()>, JoinHandle<()>)>,
    /// Number of problems printed, and of further ones.
    printed: u64,
    not_printed: u64,
}

struct Figures {
    /// What is counted: pages, records. Empty: only bytes.
    what: &'static str,
    started: Instant,
    count: AtomicU64,
    /// Bytes read from disk.
    read: Arc<AtomicU64>,
    /// Total bytes to read; 0 if unknown.
    total: u64,
}

impl Ticker {
    /// For reading the pages of the named archives.
    pub(super) fn new(names: &[String], options: &InputOptions, quiet: bool) -> Ticker {
        let screen = Screen::new(quiet);
        let total = if screen.is_live() { ArchiveInputs::measure(names, options) } else { 0 };
        Ticker::start(screen, "pages", total)
    }

    /// `what` is counted. `total` is the number of bytes to read; 0 if unknown.
    pub(super) fn start(screen: Screen, what: &'static str, total: u64) -> Ticker {
        let (count, read) = (AtomicU64::new(0), Arc::default());
        let figures = Arc::new(Figures { what, started: Instant::now(), count, read, total });
        let teller = (!screen.is_quiet()).then(|| {
            let (end, ended) = channel();
            let (screen, figures) = (screen.clone(), figures.clone());
            (end, std::thread::spawn(move || tell(&screen, &figures, &ended)))
        });
        Ticker { screen, figures, teller, printed: 0, not_printed: 0 }
    }

    /// The reader adds the bytes read from disk here.
    pub(super) fn read(&self) -> &Arc<AtomicU64> {
        &self.figures.read
    }

    /// Sets the number of pages or records so far.
    pub(super) fn count(&self, count: u64) {
        self.figures.count.store(count, Ordering::Relaxed);
    }

    /// Prints one of the first problems, and counts the others.
    pub(super) fn problem(&mut self, problem: &Problem) {
        if self.printed == MAX_PRINTED {
            self.not_printed += 1;
            return;
        }
        self.printed += 1;
        self.screen.print(&format!("seine: {problem}\n"));
    }

    /// Prints how many problems were not printed.
    pub(super) fn print_rest(&self) {
        if self.not_printed > 0 {
            self.screen.print(&format!("seine: and {} more that could not be read\n", grouped(self.not_printed)));
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.figures.started.elapsed()
    }

    /// Stops printing and clears the live line.
    pub(super) fn end(&mut self) {
        let Some((end, teller)) = self.teller.take() else { return };
        drop(end);
        // If the thread panicked, the panic was already printed.
        let _ = teller.join();
        self.screen.clear();
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.end();
    }
}

fn tell(screen: &Screen, figures: &Figures, ended: &Receiver<()>) {
    let every = if screen.is_live() { LIVE_EVERY } else { PLAIN_EVERY };
    let mut told = (0, 0);
    while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        // If the reader of our output has stopped it, nothing changes, and repeated lines would pile up.
        let now = (figures.count.load(Ordering::Relaxed), figures.read.load(Ordering::Relaxed));
        if now != told {
            told = now;
            screen.now_and_then(|| figures.line(now));
        }
    }
}

impl Figures {
    fn line(&self, (count, read): (u64, u64)) -> String {
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let each = count as f64 / seconds;
        let mut line = match self.what {
            "" => format!("{}  {}/s", bytes(read), bytes((read as f64 / seconds) as u64)),
            what => format!("{} {what}  {each:.0}/s  {} read", grouped(count), bytes(read)),
        };
        if self.total > 0 {
            let share = (read as f64 / self.total as f64).min(1.0);
            let left = if share > 0.0 { seconds / share - seconds } else { 0.0 };
            line += &format!("  {:.0} %  {left:.0} s left", share * 100.0);
        }
        line
    }
}
