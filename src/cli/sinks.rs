//! `seine sinks`: lists, pauses, refills and removes the sinks of a crawl.

use std::process::ExitCode;

use seine_system::clock::now_ms;

use super::asked::{Asked, ago};
use super::folder::Folder;
use super::steer::order;
use crate::api::schema::{Order, SinkStatus};
use crate::telemetry::progress::{bytes, grouped};

/// List the sinks of a crawl: events pending for each, bytes kept in the page log, and why a sink is stuck.
///
/// The page log keeps every event until all sinks have it, including sinks that later runs do not use.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    folder: Folder,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Remove a sink. Seine no longer keeps events for it. Its output and its dead letters stay.
    Remove {
        /// Name in the list: kafka, elasticsearch, files …
        name: String,
    },
    /// Deliver all pages again to a destination that lost them (backfill): from an archive, or with --refetch from the
    /// web. The sink's counters start at zero.
    ///
    /// The crawl continues meanwhile; a stopped crawl does this at its next start. Pages that are gone now are not
    /// delivered.
    Refill {
        name: String,
        /// Archive of this crawl: a file, folder, pattern or topic. Default: the archive that another sink of the crawl
        /// writes.
        #[arg(long, value_name = "ARCHIVE", conflicts_with = "refetch")]
        from_archive: Vec<String>,
        /// Refetch every page, without conditional requests.
        #[arg(long)]
        refetch: bool,
    },
    /// Stop deliveries to a sink. The page log keeps events for it until you resume it.
    Pause {
        name: String,
    },
    Resume {
        name: String,
    },
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.action {
        None => list(&args.folder, args.json),
        Some(Action::Remove { name: sink }) => order(&args.folder.output, &Order::RemoveSink { sink }),
        Some(Action::Refill { name: sink, from_archive, refetch }) => {
            let absolute = |name: String| match name.contains("://") {
                true => Ok(name),
                false => std::path::absolute(&name).map(|path| path.display().to_string()),
            };
            let archives = from_archive.into_iter().map(absolute).collect::<Result<_, _>>()?;
            order(&args.folder.output, &Order::RefillSink { sink, archives, refetch })
        }
        Some(Action::Pause { name: sink }) => order(&args.folder.output, &Order::PauseSink { sink }),
        Some(Action::Resume { name: sink }) => order(&args.folder.output, &Order::ResumeSink { sink }),
    }
}

fn list(folder: &Folder, as_json: bool) -> anyhow::Result<ExitCode> {
    let status = Asked::of(&folder.output)?.status()?;
    let mut text = String::new();
    for sink in &status.sinks {
        text += &if as_json { object(sink)? } else { lines(folder, sink) };
    }
    if text.is_empty() && !as_json {
        text = "this log has no sinks\n".into();
    }
    super::print(&text)
}

fn lines(folder: &Folder, sink: &SinkStatus) -> String {
    let mut text = format!(
        "{:<16} {:>13} delivered, {} pending ({} in the log), {} dead letters ({} on disk)\n",
        sink.name,
        grouped(sink.delivered),
        grouped(sink.pending),
        bytes(sink.kept_bytes),
        grouped(sink.dead_lettered),
        bytes(sink.dead_letter_bytes),
    );
    let mut more = |said: String| text += &format!("{:<16} {said}\n", "");
    let (name, folder) = (&sink.name, folder.output.display());
    let missed = grouped(sink.missed);
    if let (Some(at), Some(why)) = (sink.anew_ms, &sink.anew_because) {
        more(format!("started again {}: {why}", ago(at, now_ms())));
    }
    match (sink.missed, sink.anew_ms) {
        (0, _) => {}
        (_, None) => more(format!("added later: {missed} earlier events were no longer in the log")),
        (_, Some(_)) => more(format!("{missed} earlier events were no longer in the log")),
    }
    if sink.is_paused {
        more(format!("paused: seine sinks resume {name} -o {folder}"));
    }
    if let Some(error) = &sink.error {
        more(format!("waits: {error}"));
    }
    if !sink.in_use {
        more(format!("not a sink of the last run; remove it with: seine sinks remove {name} -o {folder}"));
    }
    text
}

/// All fields except `accepted`, which is the sum of the others.
fn object(sink: &SinkStatus) -> anyhow::Result<String> {
    let mut object = serde_json::to_value(sink)?;
    object.as_object_mut().map(|fields| fields.remove("accepted"));
    Ok(format!("{object}\n"))
}
