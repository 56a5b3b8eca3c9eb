//! `seine work`: runs a remote worker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use crate::config::{self, Secret};
use crate::telemetry::logging;
use crate::telemetry::progress::Screen;
use crate::work::Worker;

/// Run as a remote worker: fetch pages for a crawl on another machine.
///
/// A remote worker stores nothing, so you can run any number of them and kill them at any time. The crawl (the server)
/// decides what to fetch and when. Its configuration has the name and token of each worker (work.clients).
#[derive(clap::Args)]
pub(super) struct Args {
    /// URL of the crawl, such as http://crawl.example:8080.
    #[arg(long, value_name = "URL")]
    server: url::Url,
    /// File with this worker's token. Default: the environment variable SEINE_WORK_TOKEN.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Configuration file, or a folder with seine.yml or ache.yml: how to fetch.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Maximum number of hosts fetched from at the same time. The server may give fewer.
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Also fetch from loopback and private addresses.
    #[arg(long)]
    allow_private: bool,
    /// End if the server cannot be reached for this long.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = config::parse_duration)]
    patience: Duration,
    /// Print no progress and no summary.
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut options = Vec::new();
    let mut set = |key: &str, value: String| options.push((key.to_owned(), value));
    if let Some(hosts) = args.concurrency {
        set(super::crawl::CONCURRENCY, hosts.to_string());
    }
    if args.allow_private {
        set(super::crawl::ALLOW_PRIVATE, "true".into());
    }
    let loaded = config::load_with(args.config.as_deref(), &config::environment(), &options)?;
    let screen = Screen::new(args.quiet);
    logging::start(&loaded.config.logging, &screen)?;
    super::proxy::tell();
    let token = token(args.token_file)?;
    anyhow::ensure!(
        matches!(args.server.scheme(), "http" | "https"),
        "--server must be an http or https URL, not {}",
        args.server
    );
    let worker = Worker {
        server: args.server,
        token,
        fetch: loaded.config.fetch,
        patience: args.patience,
        screen: screen.clone(),
    };
    let done = worker.run()?;
    if !args.quiet {
        screen.print(&format!("{done}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn token(file: Option<PathBuf>) -> anyhow::Result<Secret> {
    const VARIABLE: &str = "SEINE_WORK_TOKEN";
    let token = match file {
        Some(path) => {
            std::fs::read_to_string(&path).with_context(|| format!("cannot read the token file {}", path.display()))?
        }
        None => std::env::var(VARIABLE).ok().with_context(|| {
            format!(
                "no token; give a file with --token-file, or set {VARIABLE}; the token is in the server's work.clients"
            )
        })?,
    };
    // The file may have NAME:TOKEN, copied from the configuration of the server.
    let token = token.trim();
    Ok(Secret::new(token.split_once(':').map_or(token, |(_, token)| token)))
}
