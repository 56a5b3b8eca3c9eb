//! Selects dead letters.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use seine_formats::letters::Note;

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
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        let folder = self.output.join(&self.sink);
        if self.sink.contains(std::path::is_separator) || !folder.is_dir() {
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
    pub fn has(&self, note: &Note) -> bool {
        self.all || self.ids.contains(&note.id)
    }

    /// Reports ids that were not found.
    pub fn check(&self, found: &HashSet<String>) -> ExitCode {
        let missing: Vec<_> = self.ids.iter().filter(|id| !found.contains(*id)).collect();
        for id in &missing {
            say("ERROR", &format!("there is no dead letter {id} (or a running crawl still writes its file)"));
        }
        if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Locks the dead letters of a sink, because two replays would delete each other's refusals. None if the sink has no
/// dead letters.
pub(super) fn lock_all(sink_folder: &Path) -> anyhow::Result<Option<File>> {
    if dead_letters::files(sink_folder)?.is_empty() {
        return Ok(None);
    }
    match dead_letters::lock_all(sink_folder)? {
        None => bail!(
            "another `seine dead-letters replay` or `drop` is using the dead letters in {}; wait until it ends, and \
             try again",
            sink_folder.display()
        ),
        lock => Ok(lock),
    }
}

pub(super) fn lock(path: &Path) -> anyhow::Result<Option<File>> {
    let lock = dead_letters::lock(path)?;
    if lock.is_none() {
        say("ERROR", &format!("skipped {}: a running crawl writes to it", path.display()));
    }
    Ok(lock)
}
