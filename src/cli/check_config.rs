//! `seine check-config`: prints the configuration in force.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::config;

/// Check a configuration and print all values in force with their sources. Secrets are masked.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Configuration file, or a folder with seine.yml or ache.yml. Without it: defaults and environment.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Print every key with its default and an explanation, as a configuration file.
    #[arg(long, conflicts_with = "config")]
    defaults: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.defaults {
        return super::print(config::DEFAULTS);
    }
    let loaded = config::load(args.config.as_deref(), &config::environment())?;
    super::print(&config::render(&loaded))
}
