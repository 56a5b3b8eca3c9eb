//! Progress on standard error: a live line on a terminal, otherwise a line now and then. With `logging.format: json`,
//! every line is a JSON object.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::stderr_thread::StderrThread;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use seine_formats::text::IsoTime;
use seine_system::clock::wall_ms;
use serde_json::{Value, json};

/// The output of this process is JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Switches to JSON.
pub(crate) fn speak_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Whether every line on standard error is a JSON object.
pub(crate) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// A text as a JSON object like those of the log. `more`: its fields besides the message.
fn object(level: &str, text: &str, more: Value) -> String {
    let mut fields = json!({ "message": text.trim() });
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more);
    }
    let line = json!({ "timestamp": IsoTime(wall_ms()), "level": level, "fields": fields, "target": "seine" });
    format!("{line}\n")
}

/// Prints a message of a command without a live line.
pub fn say(level: &str, text: &str) {
    match is_json() {
        true => write_error(&object(level, text, Value::Null)),
        false => write_error(&format!("seine: {text}\n")),
    }
}

/// Standard error, for progress and logs. Cheap to clone.
#[derive(Clone)]
pub struct Screen {
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Writes for a crawl. None: whoever prints something waits until it is written.
    thread: Option<StderrThread>,
    /// Whether there is a live line. Locked while anything is written to the terminal.
    shown: Arc<Mutex<bool>>,
}

/// Interval of plain lines.
pub(crate) const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// The figures of the progress line.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub pages: u64,
    pub bytes: u64,
    pub hosts: u64,
    pub queue: u64,
    /// Sinks with their pending events.
    pub pending: Vec<(String, u64)>,
    /// Anything unusual: stopping, log full, waiting for a distant due time.
    pub notice: Option<String>,
}

/// Turns figures into lines.
pub(crate) struct Progress {
    screen: Screen,
    /// When the rate was last computed, and the number of pages then.
    window: Option<(Instant, u64)>,
    rate: f64,
    last_plain: Instant,
}

impl Screen {
    /// A live line if standard error is a terminal, otherwise a line now and then; neither if `quiet`.
    pub fn new(quiet: bool) -> Screen {
        let shown = Arc::default();
        if quiet || !std::io::stderr().is_terminal() {
            return Screen { bar: None, quiet, thread: None, shown };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("the template is a constant"));
        Screen { bar: Some(bar), quiet, thread: None, shown }
    }

    /// The same for a crawl, which must go on if nobody reads standard error. Call [`Screen::finish`] before the process ends.
    #[must_use]
    pub fn in_background(self) -> Screen {
        let at = self.clone();
        let report = move |lines: u64| {
            let text = format!("{lines} lines were not written, because nobody read standard error");
            let line = if is_json() { object("WARN", &text, Value::Null) } else { format!("seine: {text}\n") };
            at.above(|| write_error(&line));
        };
        Screen { thread: Some(StderrThread::start(report)), ..self }
    }

    /// Waits until everything is written, but not long.
    pub fn finish(&self) {
        if let Some(thread) = &self.thread {
            thread.finish();
        }
    }

    /// Runs code that writes to standard error.
    fn run(&self, write: impl FnOnce(&Screen) + Send + 'static) {
        match &self.thread {
            None => write(self),
            Some(thread) => {
                let at = Screen { thread: None, ..self.clone() };
                thread.write(move || write(&at));
            }
        }
    }

    /// Prints whole lines above the live line; with JSON as one object.
    pub fn print(&self, text: &str) {
        self.print_with(text, || Value::Null);
    }

    /// As [`Screen::print`]; with JSON these fields are added.
    pub(crate) fn print_with(&self, text: &str, fields: impl FnOnce() -> Value) {
        match is_json() {
            true => self.log_line(&object("INFO", text, fields())),
            false => self.log_line(text),
        }
    }

    /// Writes a line of the log above the live line.
    pub(super) fn log_line(&self, line: &str) {
        let line = line.to_owned();
        self.run(move |at| at.above(|| write_error(&line)));
    }

    /// Runs code that writes to the terminal, without the live line.
    pub fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.bar {
            // suspend, because println drops lines when the bar is hidden. suspend would show a bar that was hidden.
            Some(bar) if *shown => bar.suspend(write),
            _ => write(),
        }
    }

    /// Replaces the live line on a terminal; otherwise prints nothing.
    pub fn live(&self, line: impl FnOnce() -> String) {
        let Some(bar) = self.bar.clone().filter(|_| !is_json()) else { return };
        let line = line();
        self.run(move |at| {
            *at.shown.lock().unwrap_or_else(PoisonError::into_inner) = true;
            bar.set_message(line);
            bar.tick();
        });
    }

    /// Replaces the live line on a terminal; otherwise prints the line.
    pub(crate) fn now_and_then(&self, line: impl FnOnce() -> String) {
        match &self.bar {
            // With JSON, the log has the progress.
            _ if is_json() => {}
            Some(_) => self.live(line),
            None if !self.quiet => self.print(&format!("{}\n", line())),
            None => {}
        }
    }

    /// Whether no progress is shown.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether there is a live line.
    pub fn is_live(&self) -> bool {
        self.bar.is_some() && !is_json()
    }

    /// Clears the live line.
    pub fn clear(&self) {
        let Some(bar) = self.bar.clone() else { return };
        self.run(move |at| {
            let mut shown = at.shown.lock().unwrap_or_else(PoisonError::into_inner);
            bar.finish_and_clear();
            *shown = false;
        });
    }
}

fn write_error(text: &str) {
    // If standard error is closed, the error cannot be shown.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

impl Progress {
    pub(crate) fn new(screen: Screen) -> Progress {
        Progress { screen, window: None, rate: 0.0, last_plain: Instant::now() }
    }

    /// Shows the figures: at once on a terminal, otherwise every few seconds.
    pub(crate) fn show(&mut self, figures: &Figures) {
        let (since, pages) = *self.window.get_or_insert_with(|| (Instant::now(), figures.pages));
        if since.elapsed() >= Duration::from_secs(1) {
            self.rate = figures.pages.saturating_sub(pages) as f64 / since.elapsed().as_secs_f64();
            self.window = Some((Instant::now(), figures.pages));
        }
        if self.screen.is_live() || self.last_plain.elapsed() >= PLAIN_EVERY {
            self.last_plain = Instant::now();
            self.screen.now_and_then(|| self.line(figures));
        }
    }

    /// The progress in one line. The rate is that of the last [`Progress::show`].
    pub(crate) fn line(&self, figures: &Figures) -> String {
        let mut line = format!(
            "{} pages  {:.0}/s  {}  {} hosts  {} queued",
            grouped(figures.pages),
            self.rate,
            bytes(figures.bytes),
            grouped(figures.hosts),
            grouped(figures.queue),
        );
        for (sink, pending) in &figures.pending {
            line += &format!("  {sink}: {} pending", grouped(*pending));
        }
        if let Some(notice) = &figures.notice {
            line += &format!("  [{notice}]");
        }
        line
    }
}

/// 1234567 as `1,234,567`.
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Bytes as text: `12.3 MB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Seconds as text: 40 s, 12 min, 5 h, 3 days.
pub fn span(seconds: u64) -> String {
    match seconds {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A number with its noun: `1 host`, `12,000 URLs`.
pub(crate) fn some(count: u64, what: &str) -> String {
    let number = grouped(count);
    if count == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}
