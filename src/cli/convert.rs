//! `seine convert`: an archive's pages as files of another format.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::archive::{FilterArgs, ReadingArgs, Told};
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::transfer::Transfer;
use crate::archive::transfer_state::{self, TransferState};
use crate::config::Destination;
use crate::formats::Format;
use crate::parse::DeriveOptions;
use crate::sinks::SinkContext;

/// Write an archive's pages as files of another format.
///
/// Pages go through the sink that a crawl of that format has, so the files are those that a crawl would have written, with
/// the sizes and settings of the configuration. What the format cannot hold is said, and what it demands and the archive
/// does not hold: that is filled in, and a page without its content left out. A conversion that was killed goes on
/// when the same command is run again: nothing is written twice.
///
/// Exit status: 0; 1 when something failed or could not be read, or there was nothing to read; 2 for arguments that are not understood.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", required = true)]
    from_names: Vec<String>,
    /// The folder to write to: a new or an empty one.
    #[arg(value_name = "TO")]
    to_folder: PathBuf,
    /// The format to write.
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    to: Format,
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
  seine convert data/files index --to WEB_INDEX             what the pages say, as CSV
  seine convert kafka://localhost:9092/pages out --to FILES
  seine convert ache/data_pages out --to CDR31 --host example.com --from 2026-11-01";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (config, mut sink) = args.reading.with_word(args.to.name)?;
    if let Destination::Pagestore { base_folder } = &mut sink.destination {
        // A store of a crawl's is none of ours.
        *base_folder = None;
    }
    let task = args.filter_args.task("convert", &args.from_names, args.to);
    let options = InputOptions { without: Some(args.to_folder.clone()), ..args.reading.source_options()? };
    let ticker = Ticker::new(&args.from_names, &options, args.quiet);
    let mut told = Told { ticker, to: Some(args.to).filter(|_| !args.quiet) };
    let source = ArchiveInputs::open(&args.from_names, options)?;
    // Only now: a name that is wrong begins nothing.
    let state = begin(&args.to_folder, task)?;
    let state_file = args.to_folder.join(transfer_state::FILE_NAME);
    let summary = Transfer {
        source,
        wanted: args.filter_args.wanted(),
        sink,
        context: SinkContext::new(&args.to_folder),
        derive: DeriveOptions::from(&config),
        state,
        state_file: Some(state_file.clone()),
        rate: None,
        read: told.ticker.read().clone(),
    }
    .run(&mut told)
    .context("the conversion stopped; run the same command again to go on")?;
    std::fs::remove_file(&state_file).with_context(|| format!("removing {}", state_file.display()))?;
    if !args.quiet {
        told.summary(&summary, args.to.name, &args.to_folder);
    }
    Ok(told.status(&summary))
}

/// The folder is new, empty, or that of a conversion like this which did not end.
fn begin(folder: &Path, task: Vec<String>) -> anyhow::Result<TransferState> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let state_file = folder.join(transfer_state::FILE_NAME);
    let listed = || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>();
    let names = listed().with_context(|| format!("{} cannot be listed", folder.display()))?;
    let has_state = state_file.exists();
    if !has_state && names.iter().any(|name| !transfer_state::is_own(name)) {
        bail!("{} holds something already; name a new folder to convert into", folder.display());
    }
    let state = TransferState::load(&state_file, task)?;
    // Before the first file, so that a folder with files in it always says what they are.
    state.save(&state_file)?;
    Ok(state)
}
