//! Logs on standard error: text, or one JSON object per line.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use tracing_subscriber::filter::FilterExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use super::progress::{self, Screen};
use super::repeats::Repeats;
use crate::config::LoggingConfig;

#[derive(Debug, thiserror::Error)]
#[error("log filter {filter:?} is not understood: {source}; write for example \"info\" or \"seine=debug,warn\"")]
pub(crate) struct LoggingError {
    filter: String,
    source: tracing_subscriber::filter::ParseError,
}

/// For the log of this process.
static REPEATS: OnceLock<Repeats> = OnceLock::new();
static FILTER: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging for the whole process. Lines are printed above the progress line of `screen`.
pub(crate) fn start(config: &LoggingConfig, screen: &Screen) -> Result<(), LoggingError> {
    let (filter, handle) = reload::Layer::new(parsed(&config.filter)?);
    let filter = filter.and(REPEATS.get_or_init(Repeats::default).clone());
    let screen = screen.clone();
    let line = move || LineWriter { screen: screen.clone(), line: Vec::new() };
    let lines = tracing_subscriber::fmt::layer().with_writer(line);
    let lines = match config.json {
        true => lines.json().boxed(),
        false => lines.with_target(false).with_ansi(std::io::stderr().is_terminal()).boxed(),
    };
    // A second start in one process (tests) keeps the first.
    let started = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    if started.is_ok() {
        let _ = FILTER.set(handle);
    }
    if started.is_ok() && config.json {
        progress::speak_json();
        std::panic::set_hook(Box::new(log_panic));
    }
    Ok(())
}

/// Replaces the filter.
pub(crate) fn filter_by(text: &str) -> Result<(), LoggingError> {
    let filter = parsed(text)?;
    // Without a log there is nothing to filter.
    let _ = FILTER.get().map(|handle| handle.reload(filter));
    Ok(())
}

fn parsed(filter: &str) -> Result<EnvFilter, LoggingError> {
    EnvFilter::try_new(filter).map_err(|source| LoggingError { filter: filter.to_owned(), source })
}

/// Reports lines that were counted instead of written; all of them if the log `is_over`.
pub(crate) fn log_repeats(is_over: bool) {
    if let Some(repeats) = REPEATS.get() {
        repeats.tell(is_over);
    }
}

/// A panic as a JSON object.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let backtrace = Backtrace::capture(); // as RUST_BACKTRACE says
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    let location = panic.location().map(ToString::to_string);
    let message = panic.payload_as_str().unwrap_or("unknown cause");
    tracing::error!(thread = thread.name(), location, backtrace, "panic: {message}");
}

/// Writes a whole log line through the screen.
struct LineWriter {
    screen: Screen,
    line: Vec<u8>,
}

impl std::io::Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        self.screen.log_line(&String::from_utf8_lossy(&self.line));
    }
}
