//! How far a command over archives is: a live line on a terminal, a plain line every few seconds elsewhere. And what could not be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::read::Problem;
use crate::telemetry::progress::{PLAIN_EVERY, Screen, bytes, grouped};

/// An archive of nothing but bad records must not fill the screen.
const MAX_TOLD: u64 = 100;
const LIVE_EVERY: Duration = Duration::from_millis(100);

/// Tells from a thread of its own: from one record to the next may be gigabytes. Whoever reads keeps the figures up to date.
pub(super) struct Ticker {
    pub screen: Screen,
    figures: Arc<Figures>,
    /// Ends when its sender is dropped.
    teller: Option<(Sender<()>, JoinHandle<()>)>,
    /// Problems, those that were told by name and those that were not.
    told: u64,
    untold: u64,
}

struct Figures {
    /// What is counted: pages, records; empty: bytes alone.
    what: &'static str,
    started: Instant,
    count: AtomicU64,
    /// Bytes from disk.
    read: Arc<AtomicU64>,
    /// To be read in all; 0 when nobody knows.
    total: u64,
}

impl Ticker {
    /// For the pages of what is named.
    pub fn new(names: &[String], options: &InputOptions, quiet: bool) -> Ticker {
        let screen = Screen::new(quiet);
        let total = if screen.is_live() { ArchiveInputs::measure(names, options) } else { 0 };
        Ticker::start(screen, "pages", total)
    }

    /// `what`: is counted. `total`: bytes to be read; 0 when nobody knows.
    pub fn start(screen: Screen, what: &'static str, total: u64) -> Ticker {
        let (count, read) = (AtomicU64::new(0), Arc::default());
        let figures = Arc::new(Figures { what, started: Instant::now(), count, read, total });
        let teller = (!screen.is_quiet()).then(|| {
            let (end, ended) = channel();
            let (screen, figures) = (screen.clone(), figures.clone());
            (end, std::thread::spawn(move || tell(&screen, &figures, &ended)))
        });
        Ticker { screen, figures, teller, told: 0, untold: 0 }
    }

    /// Has the bytes read from disk added.
    pub fn read(&self) -> &Arc<AtomicU64> {
        &self.figures.read
    }

    /// So many so far.
    pub fn count(&self, count: u64) {
        self.figures.count.store(count, Ordering::Relaxed);
    }

    /// Tells of a problem, of the first of them by name.
    pub fn problem(&mut self, problem: &Problem) {
        if self.told == MAX_TOLD {
            self.untold += 1;
            return;
        }
        self.told += 1;
        self.screen.print(&format!("seine: {problem}\n"));
    }

    /// How many problems there were besides.
    pub fn tell_untold(&self) {
        if self.untold > 0 {
            self.screen.print(&format!("seine: and {} more that could not be read\n", grouped(self.untold)));
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.figures.started.elapsed()
    }

    /// Nothing more is told, and the live line is taken away.
    pub fn end(&mut self) {
        let Some((end, teller)) = self.teller.take() else { return };
        drop(end);
        // One that panicked has said so itself.
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
        // Who reads what we print may have stopped to look at it: no word while nothing happens.
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
