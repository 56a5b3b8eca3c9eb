//! `seine completions`: shell completions, generated from the definition of the command line.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

/// Print shell completions for seine's commands and options.
///
/// bash: seine completions bash > ~/.local/share/bash-completion/completions/seine zsh: seine completions zsh > a
/// folder of $fpath, as _seine fish: seine completions fish > ~/.config/fish/completions/seine.fish
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    shell: Shell,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Seine::command(), "seine", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
