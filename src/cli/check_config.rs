//! `seine check-config`: what a configuration means, before anything runs.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::config;

/// Check a configuration and show what is in force, each value with where it comes from. Secrets are masked.
#[derive(clap::Args)]
pub struct Args {
    /// A configuration file, or a folder with seine.yml or ache.yml in it; without it, defaults and environment.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Print every key with its default and what it does, as a configuration file.
    #[arg(long, conflicts_with = "config")]
    defaults: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.defaults {
        return super::print(config::DEFAULTS);
    }
    let loaded = config::load(args.config.as_deref(), &config::environment())?;
    super::print(&config::render(&loaded))
}
