//! `seine replay`: sends the pages of an archive to a destination.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use seine_parse::DeriveOptions;

use super::archive::{FilterArgs, ReadingArgs, TransferOutput};
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::transfer::Transfer;
use crate::archive::transfer_state::{self, TransferState};
use crate::config::{self, StartedWith};
use crate::sinks::{SinkContext, SinkError};
use crate::telemetry::logging;
use crate::telemetry::progress::{grouped, say};

/// Send the pages of an archive to a destination, as a crawl would.
///
/// The configuration (-c) sets up the destination, as for a crawl. Progress is saved under -o with every
/// acknowledgement, so the same command continues an interrupted replay. Pages that a server refuses for good are kept
/// as dead letters: seine dead-letters list --sink NAME -o DIR.
///
/// Exit status: 0; 1 if something failed, could not be read or was refused; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", required = true)]
    from_names: Vec<String>,
    /// Destination: kafka, elasticsearch, files, stdout, or any other sink of a crawl.
    #[arg(long, value_name = "SINK")]
    to: String,
    /// Folder for progress, dead letters and written files; each destination has a subfolder.
    #[arg(short, long, value_name = "DIR", default_value = "replay")]
    output: PathBuf,
    /// Maximum number of pages per second.
    #[arg(long, value_name = "PAGES/S", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Send everything again, even if an earlier replay finished or was interrupted.
    #[arg(long)]
    again: bool,
    /// Print only errors.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    filter_args: FilterArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

const EXAMPLES: &str = "\
Examples:
  seine replay data/files --to kafka -c config                 to a Kafka broker
  seine replay data/files --to elasticsearch -c config --rate 200
  seine replay old.deflate --to stdout | jq .title
  seine replay kafka://localhost:9092/pages --to elasticsearch --from 2026-11-01";

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (config, sink) = args.reading.with_sink(&args.to)?;
    let folder = args.output.join(sink.name());
    let options = InputOptions { without: Some(folder.clone()), ..args.reading.source_options()? };
    let ticker = Ticker::new(&args.from_names, &options, args.quiet);
    let mut output = TransferOutput { ticker, to: sink.format.filter(|_| !args.quiet) };
    logging::start(&config.logging, &output.ticker.screen)?;
    let (state, state_file, _lock) = match sink.destination.keeps_pages() {
        // Printed lines may be lost after an interruption, so a replay to stdout always starts at the beginning.
        false => (TransferState::default(), None, None),
        true => {
            transfer_state::refuse_crawling(&args.output)?;
            let lock = transfer_state::lock(&folder)?;
            keep_for_letters(&args)?;
            let state_file = args.output.join(format!("{}.json", sink.name()));
            (begin(&args, &state_file)?, Some(state_file), lock)
        }
    };
    if state.done {
        let pages = grouped(state.cursor.position.index);
        say("INFO", &format!("all {pages} pages were already delivered; --again delivers them again"));
        return Ok(ExitCode::SUCCESS);
    }
    let name = sink.name.clone();
    let transfer = Transfer {
        source: ArchiveInputs::open(&args.from_names, options)?,
        wanted: args.filter_args.wanted(),
        sink,
        context: SinkContext::new(&folder),
        derive: DeriveOptions::from(&config),
        state,
        state_file: state_file.clone(),
        rate: args.rate,
        read: output.ticker.read().clone(),
    };
    let summary = match transfer.run(&mut output) {
        Err(error) if matches!(error.downcast_ref(), Some(SinkError::ReaderGone)) => return Ok(ExitCode::SUCCESS),
        Err(error) if state_file.is_some() => {
            output.ticker.end();
            return Err(error.context("the replay stopped; run the same command again to continue"));
        }
        ran => ran?,
    };
    if !args.quiet {
        output.summary(&summary, &name, &folder);
    }
    Ok(output.status(&summary))
}

/// Stores the settings, so that `seine dead-letters replay` uses the same destination. A crawl's folder has them
/// already.
fn keep_for_letters(args: &Args) -> anyhow::Result<()> {
    let folder = &args.output;
    if folder.join("log").is_dir() {
        return Ok(());
    }
    let options = [("target_storage.data_formats", args.to.to_ascii_uppercase())];
    Ok(StartedWith::new(args.reading.config.as_deref(), &config::environment(), &options).save(folder)?)
}

fn begin(args: &Args, state_file: &std::path::Path) -> anyhow::Result<TransferState> {
    let task = args.filter_args.task("replay", &args.from_names, args.to.to_ascii_lowercase());
    if args.again && state_file.exists() {
        std::fs::remove_file(state_file).with_context(|| format!("removing {}", state_file.display()))?;
    }
    Ok(TransferState::load(state_file, task)?)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().unwrap_or(f64::NAN);
    (rate > 0.0 && rate.is_finite()).then_some(rate).ok_or_else(|| "a number above 0".into())
}
