//! `seine migrate`: archives in an old form made new.

use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::ProgressBar;

use crate::archive::migrate::{self, DetailsTable};

/// Make an archive in an old form new, in place.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Pagestore(PagestoreArgs),
}

/// Give the META files of an old pagestore the ids, kinds and languages that new ones have.
///
/// What a line lacks comes from the table, else from looking at the page: a feed is known by its contents, a language by
/// what the page says of itself (und: nothing), and ids go on behind the largest that is known. contents.html is never
/// touched. Each META is put in its place whole; a migration that was broken off is simply run again. Exit status 1 when
/// there were lines that say nothing that could be understood: they stay as they are.
#[derive(clap::Args)]
struct PagestoreArgs {
    /// The base folder, with the folders of the years in it.
    #[arg(value_name = "FOLDER")]
    base: PathBuf,
    /// What is known from elsewhere: a line a page, `url id kind language`, kind being url or rss.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let What::Pagestore(args) = args.what;
    let table = args.table.as_deref().map_or(Ok(DetailsTable::new()), migrate::read_table)?;
    // Draws at a terminal only.
    let bar = ProgressBar::new_spinner();
    let done = migrate::migrate(&args.base, &table, |list| {
        bar.set_message(list.display().to_string());
        bar.tick();
    })?;
    bar.finish_and_clear();
    let new = done.from_table + done.by_looking;
    super::print(&format!(
        "{} lists read, {} written anew\n{new} lines enriched: {} from the table, {} by looking; {} had it all\n",
        done.lists, done.rewritten, done.from_table, done.by_looking, done.kept
    ))?;
    for line in done.unreadable.iter().take(100) {
        eprintln!("seine: left as it is: {line}");
    }
    if done.unreadable.len() > 100 {
        eprintln!("seine: and {} more", done.unreadable.len() - 100);
    }
    Ok(if done.unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
