//! `seine work`: a crawler that works for another.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use crate::config::{self, Secret};
use crate::telemetry::logging;
use crate::telemetry::progress::Screen;
use crate::work::Worker;

/// Fetch for a crawl that runs elsewhere: take hosts from it, send pages back.
///
/// It keeps nothing: as many as you like may run anywhere, and be killed at any time. The crawl (the server) decides what is fetched and
/// when; its configuration names each client with a token (work.clients).
#[derive(clap::Args)]
pub struct Args {
    /// Where the crawl is, as in http://crawl.example:8080.
    #[arg(long, value_name = "URL")]
    server: url::Url,
    /// A file with this client's token. Without it, the environment variable SEINE_WORK_TOKEN.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A configuration file, or a folder with seine.yml or ache.yml in it: how it fetches.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Hosts fetched from at the same time, as far as the server gives them.
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Fetch from loopback and private addresses too.
    #[arg(long)]
    allow_private: bool,
    /// End when the server cannot be reached for so long.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = config::parse_duration)]
    patience: Duration,
    /// No progress and no summary.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
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
        "--server is a URL of http or https, not {}",
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
        Some(path) => std::fs::read_to_string(&path).with_context(|| format!("cannot read the token's file {}", path.display()))?,
        None => std::env::var(VARIABLE)
            .ok()
            .with_context(|| format!("no token: --token-file names a file with it, or {VARIABLE} has it; it is one of the server's work.clients"))?,
    };
    // As it may be copied from there.
    let token = token.trim();
    Ok(Secret::new(token.split_once(':').map_or(token, |(_, token)| token)))
}
