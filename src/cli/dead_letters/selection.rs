//! Selects dead letters.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use seine_formats::letters::Note;
use seine_page_log::has_reader;

use crate::sinks::dead_letters;
use crate::telemetry::progress::say;

#[derive(clap::Args)]
pub(super) struct SinkArgs {
    /// Name of the sink: kafka, elasticsearch, filesystem_html …
    #[arg(long, value_name = "NAME")]
    pub sink: String,
    /// Data folder.
    #[arg(short, long, value_name = "DIR", default_value = super::super::DATA_FOLDER)]
    pub output: PathBuf,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct LetterSelection {
    /// Ids of events.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All dead letters.
    #[arg(long)]
    all: bool,
}

impl SinkArgs {
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        let folder = self.output.join(&self.sink);
        // A server's sink has a folder only if it has dead letters.
        let is_of_crawl = || has_reader(&self.output.join("log"), &self.sink);
        if self.sink.contains(std::path::is_separator) || !(folder.is_dir() || is_of_crawl()) {
            bail!(
                "{} has no destination {}; give the folder that you gave to seine crawl with -o, and one of its sinks",
                self.output.display(),
                self.sink
            );
        }
        Ok(folder)
    }
}

impl LetterSelection {
    pub(super) fn has(&self, note: &Note) -> bool {
        self.all || self.ids.contains(&note.id)
    }

    /// Reports ids that were not found.
    pub(super) fn check(&self, found: &HashSet<String>) -> ExitCode {
        let missing: Vec<_> = self.ids.iter().filter(|id| !found.contains(*id)).collect();
        for id in &missing {
            say("ERROR", &format!("there is no dead letter {id} (or a running crawl still writes its file)"));
        }
        if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Locks a file, or says that it is left out.
pub(super) fn lock(path: &Path) -> anyhow::Result<Option<File>> {
    let lock = dead_letters::lock(path)?;
    if lock.is_none() {
        warn_in_use(path);
    }
    Ok(lock)
}

pub(super) fn warn_in_use(path: &Path) {
    say("ERROR", &format!("skipped {}: a running crawl writes to it", path.display()));
}
