//! Progress for people: one live line on a terminal, plain lines now and then elsewhere. For machines (`logging.format: json`)
//! everything on standard error is one JSON object a line.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::clock::wall_ms;
use crate::formats::text::IsoTime;

/// The log of this process is for machines.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on.
pub(crate) fn speak_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Whether every line on standard error is to be a JSON object.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// A line for people as an object like those of the log; `more`: its fields besides the message.
fn object(level: &str, text: &str, more: Value) -> String {
    let mut fields = json!({ "message": text.trim() });
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more);
    }
    let line = json!({ "timestamp": IsoTime(wall_ms()), "level": level, "fields": fields, "target": "seine" });
    format!("{line}\n")
}

/// What a command has to say to whoever started it, where there is no live line.
pub fn say(level: &str, text: &str) {
    match is_json() {
        true => write_error(&object(level, text, Value::Null)),
        false => write_error(&format!("seine: {text}\n")),
    }
}

/// Where progress and logs go: standard error. Cheap to clone.
#[derive(Clone)]
pub struct Screen {
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Whether there is a live line now. Held while anything is written to the terminal.
    shown: Arc<Mutex<bool>>,
}

/// Plain lines come this often.
pub const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub pages: u64,
    pub bytes: u64,
    pub hosts: u64,
    pub queue: u64,
    /// Sink and what is pending for it.
    pub pending: Vec<(String, u64)>,
    /// Anything out of the ordinary: stopping, log full, waiting for a far due time.
    pub notice: Option<String>,
}

/// Turns figures into lines.
pub struct Progress {
    screen: Screen,
    /// When the rate was last taken, and the pages there were.
    window: Option<(Instant, u64)>,
    rate: f64,
    last_plain: Instant,
}

impl Screen {
    /// A live line when standard error is a terminal, lines now and then when it is not, neither when `quiet` is set.
    pub fn new(quiet: bool) -> Screen {
        let shown = Arc::default();
        if quiet || !std::io::stderr().is_terminal() {
            return Screen { bar: None, quiet, shown };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("the template is a constant"));
        Screen { bar: Some(bar), quiet, shown }
    }

    /// Prints whole lines above the live line; for machines, as one object.
    pub fn print(&self, text: &str) {
        self.print_with(text, || Value::Null);
    }

    /// The same; for machines with these fields besides.
    pub fn print_with(&self, text: &str, fields: impl FnOnce() -> Value) {
        match is_json() {
            true => self.log_line(&object("INFO", text, fields())),
            false => self.log_line(text),
        }
    }

    /// Writes a line of the log, as it is, above the live line.
    pub(super) fn log_line(&self, line: &str) {
        self.above(|| write_error(line));
    }

    /// Does something that writes to the terminal, the live line out of its way.
    pub fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.bar {
            // suspend, not println: that one drops lines when the bar is hidden. It would show a bar that was not there.
            Some(bar) if *shown => bar.suspend(write),
            _ => write(),
        }
    }

    /// Shows a line on a terminal, instead of the last; nothing elsewhere.
    pub fn live(&self, line: impl FnOnce() -> String) {
        if let Some(bar) = self.bar.as_ref().filter(|_| !is_json()) {
            *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = true;
            bar.set_message(line());
            bar.tick();
        }
    }

    /// Shows a line instead of the last on a terminal, and prints it elsewhere.
    pub fn now_and_then(&self, line: impl FnOnce() -> String) {
        match &self.bar {
            // Machines are told by the log.
            _ if is_json() => {}
            Some(_) => self.live(line),
            None if !self.quiet => self.print(&format!("{}\n", line())),
            None => {}
        }
    }

    /// Whether nothing is shown of what goes on.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether there is a live line.
    pub fn is_live(&self) -> bool {
        self.bar.is_some() && !is_json()
    }

    /// Takes the live line away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            bar.finish_and_clear();
            *shown = false;
        }
    }
}

fn write_error(text: &str) {
    // Nowhere to complain when standard error is gone.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

impl Progress {
    pub fn new(screen: Screen) -> Progress {
        Progress { screen, window: None, rate: 0.0, last_plain: Instant::now() }
    }

    /// Shows the figures: at once on a terminal, every few seconds elsewhere.
    pub fn show(&mut self, figures: &Figures) {
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

    /// How far it is, in one line. The rate is that of the last [`Progress::show`].
    pub fn line(&self, figures: &Figures) -> String {
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

/// Bytes for people: `12.3 MB`.
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

/// Seconds for people: 40 s, 12 min, 5 h, 3 days.
pub fn span(seconds: u64) -> String {
    match seconds {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// So many of something: `1 host`, `12,000 URLs`.
pub(crate) fn some(count: u64, what: &str) -> String {
    let number = grouped(count);
    if count == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}
