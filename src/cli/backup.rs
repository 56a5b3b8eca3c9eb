//! `seine backup` and `seine restore`: a copy of a crawl, taken while it runs, and a crawl made of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::asked::Asked;
use super::folder::Folder;
use super::ticker::Ticker;
use crate::backup::{self, Manifest};
use crate::telemetry::progress::{Screen, bytes, grouped};

/// Copy a crawl, running or at rest, into a new folder, from which seine restore makes it again.
///
/// The copy is of one moment: the frontier, the page log with what sinks have still to take, their cursors, dead letters, orders, and what
/// the crawl was started with. The crawl goes on meanwhile. What sinks have written (FILES, WARC …) is not copied: copy it yourself,
/// after this.
///
/// Exit status: 0 when the backup is whole and on the disk; 1 otherwise, and nothing is left behind.
#[derive(clap::Args)]
pub struct Backup {
    /// A folder that is empty or not there yet, outside of the data folder.
    #[arg(value_name = "DEST")]
    to: PathBuf,
    #[command(flatten)]
    folder: Folder,
    /// Leave out the passwords and tokens that the crawl was given as variables or options.
    #[arg(long)]
    without_secrets: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

/// Make a data folder of a backup; seine crawl -o goes on in it.
///
/// Compares every file of the backup with its size and digest before anything is made.
#[derive(clap::Args)]
pub struct Restore {
    /// The folder that seine backup has made.
    #[arg(value_name = "SRC")]
    from: PathBuf,
    /// The new data folder: one that is empty or not there yet.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

pub fn backup(args: Backup) -> anyhow::Result<ExitCode> {
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
                // What goes wrong there is said in the copy, and who hangs up here knows why.
                scope.spawn(move || console.backup(&mut out, super::asked::BY));
                let received = backup::receive(&mut copy, folder, &args.to, with_secrets, ticker.read());
                drop(copy);
                received
            })?
        }
    };
    ticker.end();
    ticker.screen.print(&taken(&manifest, folder, &args.to));
    Ok(ExitCode::SUCCESS)
}

pub fn restore(args: Restore) -> anyhow::Result<ExitCode> {
    let total = Manifest::load(&args.from)?.bytes();
    let mut ticker = Ticker::start(Screen::new(args.quiet), "", total * 2);
    let manifest = backup::restore(&args.from, &args.output, ticker.read())?;
    ticker.end();
    ticker.screen.print(&restored(&manifest, &args.from, &args.output));
    Ok(ExitCode::SUCCESS)
}

fn taken(manifest: &Manifest, folder: &Path, to: &Path) -> String {
    let mut text = format!("\n  {} is copied to {}\n\n{}", folder.display(), to.display(), figures(manifest));
    for sink in &manifest.left_out {
        let sink = folder.join(sink);
        text +=
            &format!("  not in it: {}, which that sink has written; copy it now, after the backup\n", sink.display());
    }
    if !manifest.secrets.is_empty() {
        text += &format!(
            "  it holds passwords or tokens in clear, as the crawl was given them ({}): keep it as secret as they are, or take it \
             with --without-secrets\n",
            manifest.secrets.join(", ")
        );
    }
    text + &format!("\n  This makes the crawl again:\n    seine restore {} -o NEWFOLDER\n", to.display())
}

fn restored(manifest: &Manifest, from: &Path, to: &Path) -> String {
    let mut text = format!("\n  {} is restored to {}\n\n{}", from.display(), to.display(), figures(manifest));
    for sink in &manifest.left_out {
        let (name, place) = (sink.display(), to.join(sink));
        text += &format!(
            "  not in it: what the sink {name} had written; put your copy of it into {} before the crawl goes on\n",
            place.display()
        );
    }
    if !manifest.secrets_left_out.is_empty() {
        let names = manifest.secrets_left_out.join(", ");
        text += &format!("  not in it, on request: the values of {names}; give them again when the crawl goes on\n");
    }
    text + &format!("\n  It goes on by the command that it was started with, with -o {}\n", to.display())
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
