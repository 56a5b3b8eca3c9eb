//! Logs, on standard error: for people, or one JSON object a line.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::progress::Screen;
use crate::config::LoggingConfig;

#[derive(Debug, thiserror::Error)]
#[error("log filter {filter:?} is not understood: {source}; write for example \"info\" or \"seine=debug,warn\"")]
pub struct LoggingError {
    filter: String,
    source: tracing_subscriber::filter::ParseError,
}

/// Starts logging for the whole process. Lines go above the progress line of `screen`, never through it.
pub fn start(config: &LoggingConfig, screen: &Screen) -> Result<(), LoggingError> {
    let filter =
        EnvFilter::try_new(&config.filter).map_err(|source| LoggingError { filter: config.filter.clone(), source })?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(AboveProgress(screen.clone()));
    // A second start in one process (tests) keeps the first.
    let _ = if config.json {
        logs.json().try_init()
    } else {
        logs.with_target(false).with_ansi(std::io::stderr().is_terminal()).try_init()
    };
    Ok(())
}

/// Writes whole log lines through the screen.
struct AboveProgress(Screen);

impl<'a> MakeWriter<'a> for AboveProgress {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        LineWriter { screen: self.0.clone(), line: Vec::new() }
    }
}

pub struct LineWriter {
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
        self.screen.print(&String::from_utf8_lossy(&self.line));
    }
}
