//! `seine migrate`: upgrades archives in an old form.

use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::ProgressBar;

use crate::archive::migrate::{self, DetailsTable};

/// Upgrade an archive in an old form, in place.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Pagestore(PagestoreArgs),
}

/// Add ids, kinds and languages to the META files of an old pagestore.
///
/// A missing value comes from the table, or from the page: its content shows whether it is a feed, and the page
/// declares its language (und if it does not). New ids follow the largest known one. contents.html is never changed.
/// Each META file is replaced atomically; run an interrupted migration again. Exit status 1 if some lines could not be
/// parsed; they stay as they are.
#[derive(clap::Args)]
struct PagestoreArgs {
    /// Base folder, with the folders of the years.
    #[arg(value_name = "FOLDER")]
    base: PathBuf,
    /// Table with known values: one page per line, `url id kind language`; kind is url or rss.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let What::Pagestore(args) = args.what;
    let table = args.table.as_deref().map_or(Ok(DetailsTable::new()), migrate::read_table)?;
    // Drawn only on a terminal.
    let bar = ProgressBar::new_spinner();
    let done = migrate::migrate(&args.base, &table, |list| {
        bar.set_message(list.display().to_string());
        bar.tick();
    })?;
    bar.finish_and_clear();
    let new = done.from_table + done.by_reading;
    super::print(&format!(
        "{} lists read, {} rewritten\n{new} lines completed: {} from the table, {} from the page; {} were complete\n",
        done.lists, done.rewritten, done.from_table, done.by_reading, done.kept
    ))?;
    for line in done.unreadable.iter().take(100) {
        eprintln!("seine: unchanged: {line}");
    }
    if done.unreadable.len() > 100 {
        eprintln!("seine: and {} more", done.unreadable.len() - 100);
    }
    Ok(if done.unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
