//! `seine dead-letters replay`: messages around the replay.

use std::process::ExitCode;

use anyhow::Context;

use super::selection::{LetterSelection, SinkArgs, warn_in_use};
use crate::cli::destination::Destination;
use crate::cli::exit::UNDELIVERED;
use crate::cli::print;
use crate::config::Removed;
use crate::crawl::letters::Replay;
use crate::telemetry::logging;
use crate::telemetry::progress::{Screen, grouped, say};

pub(super) fn replay(
    sink_args: &SinkArgs,
    selection: &LetterSelection,
    destination: &Destination,
) -> anyhow::Result<ExitCode> {
    sink_args.folder()?;
    let loaded = destination.of_crawl(&sink_args.output)?;
    let sink = loaded.config.sinks.iter().find(|sink| sink.name() == sink_args.sink).with_context(|| {
        format!("the configuration has no destination {}; give the crawl's configuration with -c", sink_args.sink)
    })?;
    logging::start(&loaded.config.logging, &Screen::new(true))?;
    let mut replay = Replay::new(&sink_args.output, sink, &loaded.config)?;
    say("INFO", &format!("to {}", replay.destination()));
    if let Some(note) = sink.destination.row().late {
        say("WARN", note);
    }
    if sink.upkeep.removed == Removed::Delete {
        say(
            "WARN",
            "an index remembers deletions only for index.gc_deletes, and until its shard moves or its \
             server restarts; after that, the dead letter of a page that is gone creates its document again",
        );
    }
    let replayed = replay.run(&|note| selection.has(note))?;
    replayed.in_use.iter().for_each(|path| warn_in_use(path));
    let delivered = grouped(replayed.sent.len() as u64 - replayed.refused);
    print(&format!("{delivered} delivered, {} refused again\n", grouped(replayed.refused)))?;
    match replayed.refused {
        0 => Ok(selection.check(&replayed.sent)),
        _ => Ok(ExitCode::from(UNDELIVERED)),
    }
}
