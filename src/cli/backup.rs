//! `seine backup` and `seine restore`: copy a crawl while it runs, and make a crawl from the copy.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::asked::Asked;
use super::folder::Folder;
use super::ticker::Ticker;
use crate::backup::{self, Manifest};
use crate::telemetry::progress::{Screen, bytes, grouped};

/// Copy a crawl, running or stopped, into a new folder. seine restore makes a crawl from it.
///
/// The copy is a snapshot: the frontier, the page log with all that sinks have not delivered, their offsets, dead
/// letters, orders, and the settings of the start. The crawl continues meanwhile. The output of sinks (FILES, WARC …)
/// is not copied; copy it yourself after the backup.
///
/// Exit status: 0 if the backup is complete and on disk, otherwise 1. After a failure nothing is left behind.
#[derive(clap::Args)]
pub(super) struct Backup {
    /// New or empty folder, outside the data folder.
    #[arg(value_name = "DEST")]
    to: PathBuf,
    #[command(flatten)]
    folder: Folder,
    /// Leave out passwords and tokens that were set by variables or options.
    #[arg(long)]
    without_secrets: bool,
    /// Print only errors.
    #[arg(short, long)]
    quiet: bool,
}

/// Make a data folder from a backup. seine crawl -o continues the crawl in it.
///
/// First checks the size and checksum of every file of the backup.
#[derive(clap::Args)]
pub(super) struct Restore {
    /// Folder made by seine backup.
    #[arg(value_name = "SRC")]
    from: PathBuf,
    /// New or empty data folder.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print only errors.
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn backup(args: Backup) -> anyhow::Result<ExitCode> {
    let folder = &args.folder.output;
    let with_secrets = !args.without_secrets;
    let mut ticker = Ticker::start(Screen::new(args.quiet), "", 0);
    let manifest = match Asked::of(folder)? {
        Asked::Running(client) => {
            let mut copy = client.post_for_stream("/backup")?;
            backup::receive(&mut copy, folder, &args.to, with_secrets, ticker.read())?
        }
        Asked::Resting(console) => {
            let (mut copy, mut out) = std::io::pipe()?;
            std::thread::scope(|scope| {
                // An error there is reported in the copy. If this side ends the copy, it reports the reason itself.
                scope.spawn(move || console.backups.write(&mut out, super::asked::BY));
                let received = backup::receive(&mut copy, folder, &args.to, with_secrets, ticker.read());
                drop(copy);
                received
            })?
        }
    };
    ticker.end();
    if !args.quiet {
        ticker.screen.print(&taken(&manifest, folder, &args.to));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn restore(args: Restore) -> anyhow::Result<ExitCode> {
    let total = Manifest::load(&args.from)?.bytes();
    let mut ticker = Ticker::start(Screen::new(args.quiet), "", total * 2);
    let manifest = backup::restore(&args.from, &args.output, ticker.read())?;
    ticker.end();
    if !args.quiet {
        ticker.screen.print(&restored(&manifest, &args.from, &args.output));
    }
    Ok(ExitCode::SUCCESS)
}

fn taken(manifest: &Manifest, folder: &Path, to: &Path) -> String {
    let mut text = format!("\n  Copied {} to {}\n\n{}", folder.display(), to.display(), figures(manifest));
    for sink in &manifest.left_out {
        let sink = folder.join(sink);
        text += &format!("  not included: {}, the output of a sink; copy it now, after the backup\n", sink.display());
    }
    if !manifest.secrets.is_empty() {
        text += &format!(
            "  it contains passwords or tokens of the crawl in plain text ({}): keep it secret, or make it \
             with --without-secrets\n",
            manifest.secrets.join(", ")
        );
    }
    text + &format!("\n  To restore the crawl:\n    seine restore {} -o NEWFOLDER\n", to.display())
}

fn restored(manifest: &Manifest, from: &Path, to: &Path) -> String {
    let mut text = format!("\n  Restored {} to {}\n\n{}", from.display(), to.display(), figures(manifest));
    for sink in &manifest.left_out {
        let (name, place) = (sink.display(), to.join(sink));
        text += &format!(
            "  not included: the output of the sink {name}; put your copy of it into {} before the crawl continues\n",
            place.display()
        );
    }
    if !manifest.secrets_left_out.is_empty() {
        let names = manifest.secrets_left_out.join(", ");
        text +=
            &format!("  not included, as requested: the values of {names}; set them again when the crawl continues\n");
    }
    text + &format!("\n  To continue, run the command of the crawl with -o {}\n", to.display())
}

fn figures(manifest: &Manifest) -> String {
    let facts = &manifest.facts;
    let log = grouped(facts.accepted - facts.oldest.min(facts.accepted));
    let files = grouped(manifest.files.len() as u64);
    format!(
        "  {files} files, {}\n  {} events accepted, {} of them validated, the last {log} in its page log\n",
        bytes(manifest.bytes()),
        grouped(facts.accepted),
        grouped(facts.validated),
    )
}
