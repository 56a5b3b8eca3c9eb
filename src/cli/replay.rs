//! `seine replay`: an archive's pages to a destination, as if they came from a crawl.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::archive::{FilterArgs, ReadingArgs, Told};
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::transfer::Transfer;
use crate::archive::transfer_state::TransferState;
use crate::config::{self, Destination, StartedWith};
use crate::parse::DeriveOptions;
use crate::sinks::{SinkContext, SinkError};
use crate::telemetry::logging;
use crate::telemetry::progress::{grouped, say};

/// Send an archive's pages to a destination, as if they came from a crawl.
///
/// The destination is set up by the configuration (-c), as for a crawl. Progress is kept under -o with every
/// acknowledgement: a replay that was stopped, or killed, goes on where its destination had acknowledged when the same
/// command is run again. What a server refuses for good is kept there too: seine dead-letters list --sink NAME -o DIR.
///
/// Exit status: 0; 1 when something failed, could not be read or was refused; 2 for arguments that are not understood.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", required = true)]
    from_names: Vec<String>,
    /// The destination: kafka, elasticsearch, files, stdout, or another that a crawl can have.
    #[arg(long, value_name = "SINK")]
    to: String,
    /// Where progress and dead letters are kept, in a folder named after the destination; files are written there too.
    #[arg(short, long, value_name = "DIR", default_value = "replay")]
    output: PathBuf,
    /// At most so many pages a second.
    #[arg(long, value_name = "PAGES/S", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Send everything once more, although an earlier replay is done or was broken off.
    #[arg(long)]
    again: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    filter_args: FilterArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

const EXAMPLES: &str = "\
Examples:
  seine replay data/files --to kafka -c config                 years later, to a broker
  seine replay data/files --to elasticsearch -c config --rate 200
  seine replay old.deflate --to stdout | jq .title
  seine replay kafka://localhost:9092/pages --to elasticsearch --from 2026-11-01";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (config, sink) = args.reading.with_sink(&args.to)?;
    let folder = args.output.join(sink.name());
    let options = InputOptions { without: Some(folder.clone()), ..args.reading.source_options()? };
    let ticker = Ticker::new(&args.from_names, &options, args.quiet);
    let mut told = Told { ticker, to: sink.format.filter(|_| !args.quiet) };
    logging::start(&config.logging, &told.ticker.screen)?;
    let (state, state_file) = match sink.destination {
        // What was printed cannot be taken back, and whoever read it may not have it any more.
        Destination::Stdout | Destination::Void => (TransferState::default(), None),
        _ => {
            keep_for_letters(&args)?;
            let state_file = args.output.join(format!("{}.json", sink.name()));
            (begin(&args, &state_file)?, Some(state_file))
        }
    };
    if state.done {
        let pages = grouped(state.cursor.position.index);
        say("INFO", &format!("all {pages} pages were delivered before; --again delivers them once more"));
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
        read: told.ticker.read().clone(),
    };
    let summary = match transfer.run(&mut told) {
        Err(error) if matches!(error.downcast_ref(), Some(SinkError::ReaderGone)) => return Ok(ExitCode::SUCCESS),
        Err(error) if state_file.is_some() => {
            told.ticker.end();
            return Err(error.context("the replay stopped; run the same command again to go on"));
        }
        ran => ran?,
    };
    if !args.quiet {
        told.summary(&summary, &name, &folder);
    }
    Ok(told.status(&summary))
}

/// `seine dead-letters replay` goes where this goes. A crawl's own folder has what the crawl was started with.
fn keep_for_letters(args: &Args) -> anyhow::Result<()> {
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
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
