//! `seine dead-letters`: lists, re-sends or deletes the pages that a destination refused for good.

mod replay;
mod selection;

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use seine_formats::base64;
use seine_formats::letters::Note;
use seine_formats::text::{IsoTime, text_of};
use seine_parse::page::{Outcome, PageEvent, Response};
use serde_json::json;

use self::selection::{LetterSelection, SinkArgs, lock};
use super::destination::Destination;
use super::{is_closed_pipe, print};
use crate::crawl::letters::lock_all;
use crate::sinks::dead_letters::{self, LetterAction};
use crate::telemetry::progress::grouped;

/// List, re-send or delete pages that a destination refused for good.
///
/// A dead letter stays until you delete it or it is delivered. While the crawl runs, its newest file can only be read;
/// replay and drop skip it. Dead letters of a destination that writes files can be replayed only while the crawl is
/// stopped.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print one line per dead letter: time, number of refusals, URL, reason.
    List {
        #[command(flatten)]
        sink_args: SinkArgs,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Print whole dead letters, event and content, one JSON object per line.
    Show {
        #[command(flatten)]
        sink_args: SinkArgs,
        #[command(flatten)]
        selection: LetterSelection,
    },
    /// Deliver them again. Those refused again stay, and the exit status is 5.
    Replay {
        #[command(flatten)]
        sink_args: SinkArgs,
        #[command(flatten)]
        selection: LetterSelection,
        #[command(flatten)]
        destination: Destination,
    },
    /// Delete them.
    Drop {
        #[command(flatten)]
        sink_args: SinkArgs,
        #[command(flatten)]
        selection: LetterSelection,
    },
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let result = match args.action {
        Action::List { sink_args, json } => list(&sink_args.folder()?, json),
        Action::Show { sink_args, selection } => show(&sink_args.folder()?, &selection),
        Action::Replay { sink_args, selection, destination } => {
            return replay::replay(&sink_args, &selection, &destination);
        }
        Action::Drop { sink_args, selection } => return drop_letters(&sink_args.folder()?, &selection),
    };
    match result {
        Err(error) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
        other => other,
    }
}

fn list(folder: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let code = each(folder, &mut |note, _| {
        let time = serde_json::to_value(IsoTime(note.time))?;
        if json {
            let line =
                json!({"id": note.id, "url": note.url, "time": time, "attempts": note.attempts, "reason": note.reason});
            writeln!(out, "{line}")?;
        } else {
            let (time, reason) = (time.as_str().unwrap_or_default(), note.reason.escape_debug());
            writeln!(out, "{time}  {}  {}x  {}\n    {reason}", note.id, note.attempts, note.url)?;
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(code)
}

fn show(folder: &Path, selection: &LetterSelection) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut found = HashSet::new();
    let code = each(folder, &mut |note, event| {
        if selection.has(&note) {
            let line = letter_line(&note, &event()?)?;
            writeln!(out, "{line}")?;
            found.insert(note.id);
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(if code == ExitCode::SUCCESS { selection.check(&found) } else { code })
}

/// The event with its body as received, as text if possible. Credentials are removed from its request: events of old
/// versions, and events kept for WARC, contain them.
fn letter_line(note: &Note, event: &PageEvent) -> anyhow::Result<serde_json::Value> {
    let mut event = event.clone();
    event.request_headers = std::mem::take(&mut event.request_headers).redacted();
    if let Outcome::Response(Response { wire: Some(wire), .. }) = &mut event.outcome {
        wire.request = bytes::Bytes::new();
    }
    let mut line = json!({
        "id": note.id, "url": note.url, "time": IsoTime(note.time), "attempts": note.attempts, "reason": note.reason,
        "event": event,
    });
    if let Some(response) = event.response() {
        match text_of(response.content_type(), &response.body) {
            Some(text) => line["content"] = text.into(),
            None => line["content_base64"] = base64::encode(&response.body).into(),
        }
    }
    Ok(line)
}

type Event<'a> = dyn FnMut() -> anyhow::Result<PageEvent> + 'a;

/// Visits every dead letter. Unreadable ones are reported, and the exit status is 1.
fn each(folder: &Path, visit: &mut dyn FnMut(Note, &mut Event<'_>) -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for path in dead_letters::files(folder)? {
        let mut failed = Ok(());
        let read = dead_letters::for_each(&path, &mut |note, reader| {
            if failed.is_ok() {
                failed = visit(note, &mut || Ok(reader.event()?));
            }
            Ok(())
        });
        failed?;
        if let Err(error) = read {
            eprintln!("seine: {}: {error}", path.display());
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn drop_letters(folder: &Path, selection: &LetterSelection) -> anyhow::Result<ExitCode> {
    let _alone = lock_all(folder)?;
    let mut dropped = HashSet::new();
    for path in dead_letters::files(folder)? {
        let Some(_lock) = lock(&path)? else { continue };
        dead_letters::rewrite(&path, &mut |note| {
            if !selection.has(note) {
                return LetterAction::Keep(note.clone());
            }
            dropped.insert(note.id.clone());
            LetterAction::Dropped
        })?;
    }
    print(&format!("{} deleted\n", grouped(dropped.len() as u64)))?;
    Ok(selection.check(&dropped))
}
