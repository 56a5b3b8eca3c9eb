//! `seine sinks`: the page log's readers: how far each is, what is kept for it, and giving one up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use serde_json::json;

use crate::config::{Config, STDOUT, StartedWith, environment};
use crate::page_log::{LogError, LogStatus, PageLog, ReaderStatus};
use crate::parse::DeriveOptions;
use crate::sinks::dead_letters;
use crate::telemetry::progress::{bytes, grouped};

/// List a crawl's sinks: how far behind each is, and what the page log keeps for it; or give one up.
///
/// The page log keeps every event until all sinks have it, those too that later runs did without. For a crawl that is
/// running, see its /readyz and /metrics.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// The data folder.
    #[arg(short, long, value_name = "DIR", default_value = super::DATA_FOLDER, global = true)]
    output: PathBuf,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Give a sink up: what it has not delivered is kept for it no longer. What it has written, and its dead letters, stay.
    Remove {
        /// As listed: kafka, elasticsearch, files …
        name: String,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let folder = &args.output;
    if !folder.join("log").is_dir() {
        bail!("{} holds no crawl: there is no log/ in it; name the folder that was given to -o", folder.display());
    }
    let (config, derive) = (Config::default(), DeriveOptions::default());
    let (log, _) = PageLog::open(&folder.join("log"), &config.log, derive).map_err(|error| match error {
        LogError::Locked { .. } => {
            anyhow!(
                "the crawl in {} is running; stop it first (its /readyz and /metrics tell of its sinks)",
                folder.display()
            )
        }
        other => other.into(),
    })?;
    match args.action {
        None => list(folder, &log.status(), args.json),
        Some(Action::Remove { name }) => remove(folder, &log, &name),
    }
}

fn list(folder: &Path, status: &LogStatus, as_json: bool) -> anyhow::Result<ExitCode> {
    let last_run = sinks_of_last_run(folder);
    let mut text = String::new();
    for reader in sinks(status) {
        let is_in_use = last_run.as_ref().is_none_or(|names| names.contains(&reader.name));
        text += &if as_json { object(folder, reader, is_in_use) } else { lines(folder, reader, is_in_use) };
    }
    if text.is_empty() && !as_json {
        text = "no sink has a place in this log\n".into();
    }
    super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn remove(folder: &Path, log: &PageLog, name: &str) -> anyhow::Result<ExitCode> {
    let before = log.status();
    let Some(reader) = sinks(&before).find(|reader| reader.name == name) else {
        let names: Vec<&str> = sinks(&before).map(|reader| reader.name.as_str()).collect();
        bail!("{} has no sink {name}; it has: {}", folder.display(), names.join(", "));
    };
    log.forget(name)?;
    let freed = before.bytes.saturating_sub(log.status().bytes);
    let (given_up, freed) = (grouped(reader.pending), bytes(freed));
    super::print(&format!("{name} is given up, with {given_up} events that it had not delivered; {freed} freed\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn sinks(status: &LogStatus) -> impl Iterator<Item = &ReaderStatus> {
    status.readers.iter().filter(|reader| reader.books.is_some())
}

/// Events that the log did not hold any more when the sink came. Standard output begins with what comes.
pub(super) fn missed(reader: &ReaderStatus) -> u64 {
    if reader.name == STDOUT { 0 } else { reader.missed }
}

/// None when it cannot be told.
fn sinks_of_last_run(folder: &Path) -> Option<BTreeSet<String>> {
    let started_with = StartedWith::load(folder).ok().filter(|kept| *kept != StartedWith::default())?;
    let loaded = started_with.configuration(None, &environment(), &[]).ok()?;
    Some(loaded.config.sinks.iter().map(|sink| sink.name().to_owned()).collect())
}

fn lines(folder: &Path, reader: &ReaderStatus, is_in_use: bool) -> String {
    let books = reader.books.unwrap_or_default();
    let mut text = format!(
        "{:<16} {:>13} delivered, {} pending ({} kept for it), {} dead letters ({} on disk)\n",
        reader.name,
        grouped(books.delivered),
        grouped(reader.pending),
        bytes(reader.unread_bytes),
        grouped(books.dead),
        bytes(letters(folder, &reader.name)),
    );
    if missed(reader) > 0 {
        let missed = grouped(missed(reader));
        text += &format!("{:<16} came later: {missed} events before it were not in the log any more\n", "");
    }
    if !is_in_use {
        text += &format!(
            "{:<16} not among the last run's sinks: seine sinks remove {} -o {} gives it up\n",
            "",
            reader.name,
            folder.display()
        );
    }
    text
}

fn object(folder: &Path, reader: &ReaderStatus, is_in_use: bool) -> String {
    let books = reader.books.unwrap_or_default();
    let object = json!({
        "name": reader.name, "delivered": books.delivered, "skipped": books.skipped, "dead_lettered": books.dead,
        "damaged": books.damaged, "pending": reader.pending, "kept_bytes": reader.unread_bytes, "missed": missed(reader),
        "in_use": is_in_use, "dead_letter_bytes": letters(folder, &reader.name),
    });
    format!("{object}\n")
}

/// Bytes of a sink's dead letters on disk.
fn letters(folder: &Path, sink: &str) -> u64 {
    dead_letters::size(&folder.join(sink)).map_or(0, |size| size.bytes)
}
