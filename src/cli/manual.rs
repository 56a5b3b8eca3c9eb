//! `seine manual`: man pages and shell completions for packages, generated from the definition of the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

/// Write man pages and shell completions, for packages.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder for `man1` and `completions`.
    folder: PathBuf,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut seine = super::Seine::command();
    seine.build();
    let pages = args.folder.join("man1");
    let completions = args.folder.join("completions");
    for folder in [&pages, &completions] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut seine, "seine", &completions)
            .with_context(|| format!("cannot write to {}", completions.display()))?;
    }
    write_pages(seine, &pages)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each command and subcommand: `seine-dead-letters-list.1`.
fn write_pages(command: Command, folder: &Path) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        write_pages(below.clone(), folder)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command.version(env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}
