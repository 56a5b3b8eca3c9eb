//! `seine sinks`: a crawl's sinks: how far each is, what is kept for it, and pausing it or giving it up.

use std::process::ExitCode;

use super::asked::{Asked, ago};
use super::folder::Folder;
use super::steer::order;
use crate::api::said::{Order, SinkStatus};
use crate::clock::now_ms;
use crate::telemetry::progress::{bytes, grouped};

/// List a crawl's sinks: how far behind each is, what the page log keeps for it, and why it does not get on; pause one, or give it up.
///
/// The page log keeps every event until all sinks have it, those too that later runs did without.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    folder: Folder,
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
    /// Fill its destination again, which has lost what it held: from an archive, or with --refetch from the web. Its books begin anew.
    ///
    /// The crawl goes on meanwhile; one at rest does it with its next start. Pages that have left since are not delivered.
    Refill {
        name: String,
        /// An archive of this crawl: a file, a folder, a pattern or a topic. Without any, the one that a sink of the crawl keeps.
        #[arg(long, value_name = "ARCHIVE", conflicts_with = "refetch")]
        from_archive: Vec<String>,
        /// Fetch every page again, without conditions.
        #[arg(long)]
        refetch: bool,
    },
    /// Deliver nothing more to it until it is resumed; what comes is kept for it.
    Pause {
        name: String,
    },
    Resume {
        name: String,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
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
        text = "no sink has a place in this log\n".into();
    }
    super::print(&text)
}

fn lines(folder: &Folder, sink: &SinkStatus) -> String {
    let mut text = format!(
        "{:<16} {:>13} delivered, {} pending ({} kept for it), {} dead letters ({} on disk)\n",
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
        more(format!("began anew {}: {why}", ago(at, now_ms())));
    }
    match (sink.missed, sink.anew_ms) {
        (0, _) => {}
        (_, None) => more(format!("came later: {missed} events before it were not in the log any more")),
        (_, Some(_)) => more(format!("{missed} events before that were not in the log any more")),
    }
    if sink.is_paused {
        more(format!("paused: seine sinks resume {name} -o {folder}"));
    }
    if let Some(error) = &sink.error {
        more(format!("waits: {error}"));
    }
    if !sink.in_use {
        more(format!("not among the last run's sinks: seine sinks remove {name} -o {folder} gives it up"));
    }
    text
}

/// All but what was accepted, which is the sum of the rest.
fn object(sink: &SinkStatus) -> anyhow::Result<String> {
    let mut object = serde_json::to_value(sink)?;
    object.as_object_mut().map(|fields| fields.remove("accepted"));
    Ok(format!("{object}\n"))
}
