//! Which dead letters are meant.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

use crate::formats::letters::Note;
use crate::sinks::dead_letters;
use crate::telemetry::progress::say;

#[derive(clap::Args)]
pub(super) struct SinkArgs {
    /// The destination: kafka, elasticsearch, filesystem_html …
    #[arg(long, value_name = "NAME")]
    pub sink: String,
    /// The data folder.
    #[arg(short, long, value_name = "DIR", default_value = super::super::DATA_FOLDER)]
    pub output: PathBuf,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct LetterSelection {
    /// The letters of these events.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All of them.
    #[arg(long)]
    all: bool,
}

impl SinkArgs {
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        let folder = self.output.join(&self.sink);
        if self.sink.contains(std::path::is_separator) || !folder.is_dir() {
            bail!(
                "{} holds nothing of a destination {}; name the folder that was given to -o, and one of its sinks",
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

    /// Says which of the ids asked for are not there.
    pub fn check(&self, found: &HashSet<String>) -> ExitCode {
        let missing: Vec<_> = self.ids.iter().filter(|id| !found.contains(*id)).collect();
        for id in &missing {
            say("ERROR", &format!("there is no dead letter {id} (or a running crawl still writes its file)"));
        }
        if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Only one command at a time changes a sink's letters: two replays would clear away each other's refusals. None if the sink has no
/// letters.
pub(super) fn lock_all(sink_folder: &Path) -> anyhow::Result<Option<File>> {
    if dead_letters::files(sink_folder)?.is_empty() {
        return Ok(None);
    }
    match dead_letters::lock_all(sink_folder)? {
        None => bail!(
            "another `seine dead-letters replay` or `drop` is working through the letters in {}; wait until it has ended, and \
             try again",
            sink_folder.display()
        ),
        lock => Ok(lock),
    }
}

pub(super) fn lock(path: &Path) -> anyhow::Result<Option<File>> {
    let lock = dead_letters::lock(path)?;
    if lock.is_none() {
        say("ERROR", &format!("{} is left out: a running crawl writes to it", path.display()));
    }
    Ok(lock)
}
