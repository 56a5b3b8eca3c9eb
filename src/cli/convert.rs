//! `seine convert`: writes the pages of an archive as files of another format.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use seine_formats::Format;
use seine_parse::DeriveOptions;

use super::archive::{FilterArgs, ReadingArgs, TransferOutput};
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::transfer::Transfer;
use crate::archive::transfer_state::{self, TransferState};
use crate::sinks::SinkContext;

/// Write the pages of an archive as files of another format.
///
/// The files are the same as those of a crawl with that format and configuration. Seine reports which fields the format
/// cannot hold, and which required fields the archive does not have; these get a default. Pages whose archive has no
/// content are left out. An interrupted conversion continues when you run the same command again; nothing is written
/// twice.
///
/// Exit status: 0; 1 if something failed or could not be read, or there was nothing to read; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", required = true)]
    from_names: Vec<String>,
    /// Folder to write to: new or empty.
    #[arg(value_name = "TO")]
    to_folder: PathBuf,
    /// Format to write.
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    to: Format,
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
  seine convert data/files index --to WEB_INDEX             facts of the pages, as CSV
  seine convert kafka://localhost:9092/pages out --to FILES
  seine convert ache/data_pages out --to CDR31 --host example.com --from 2026-11-01";

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (config, mut sink) = args.reading.with_word(args.to.name)?;
    // Never write into the page store of a crawl.
    sink.destination.keep_in_own_folder();
    let task = args.filter_args.task("convert", &args.from_names, args.to);
    let options = InputOptions { without: Some(args.to_folder.clone()), ..args.reading.source_options()? };
    let ticker = Ticker::new(&args.from_names, &options, args.quiet);
    let mut output = TransferOutput { ticker, to: Some(args.to).filter(|_| !args.quiet) };
    let source = ArchiveInputs::open(&args.from_names, options)?;
    // Only after all names are checked: a wrong name must not create the folder.
    let _lock = transfer_state::lock(&args.to_folder)?;
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
        read: output.ticker.read().clone(),
    }
    .run(&mut output)
    .context("the conversion stopped; run the same command again to continue")?;
    std::fs::remove_file(&state_file).with_context(|| format!("removing {}", state_file.display()))?;
    if !args.quiet {
        output.summary(&summary, args.to.name, &args.to_folder);
    }
    Ok(output.status(&summary))
}

/// The folder must be new, empty, or that of the same conversion, interrupted.
fn begin(folder: &Path, task: Vec<String>) -> anyhow::Result<TransferState> {
    let state_file = folder.join(transfer_state::FILE_NAME);
    let listed = || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>();
    let names = listed().with_context(|| format!("cannot list {}", folder.display()))?;
    let has_state = state_file.exists();
    if !has_state && names.iter().any(|name| !transfer_state::is_own(name)) {
        bail!("{} is not empty; give a new folder", folder.display());
    }
    let state = TransferState::load(&state_file, task)?;
    // The state is written before the first file, so a folder with files always says which conversion made them.
    state.save(&state_file)?;
    Ok(state)
}
