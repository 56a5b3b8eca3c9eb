//! `seine demo`: a real crawl of a website that the program itself serves on loopback.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::config::{Config, ScopeRule, StartedWith, UserAgent};
use crate::crawl::Crawl;
use crate::demo;
use crate::telemetry::logging;
use crate::telemetry::progress::Screen;

/// Watch a crawl: seine serves a small website on loopback and crawls it, until nothing is left.
///
/// The website has several hosts, robots.txt, sitemaps, redirects and a loop of them, compressed bodies, five charsets,
/// a slow page, failing pages and a calendar without end.
#[derive(clap::Args)]
pub struct Args {
    /// The data folder; an earlier demo in it is replaced.
    #[arg(short, long, value_name = "DIR", default_value = "data/demo")]
    output: PathBuf,
    /// Only serve the website, until Ctrl-C.
    #[arg(long)]
    serve: bool,
}

/// Marks a folder as a demo's, so that nothing else is ever replaced.
const MARK: &str = "made-by-seine-demo";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    // The website has threads of its own: what the crawler does to its own runtime does not touch it.
    let site_runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    if args.serve {
        let site = site_runtime.block_on(demo::start_for_visitors())?;
        eprintln!("Serving until Ctrl-C, for browsers, curl and seine:");
        site.seeds.iter().for_each(|seed| eprintln!("  {seed}"));
        if let Some(seed) = site.seeds.first() {
            eprintln!(
                "To crawl it: seine crawl --allow-private --max-depth {} --seed {seed} -o data/town",
                demo::MAX_DEPTH
            );
        }
        site_runtime.block_on(tokio::signal::ctrl_c())?;
        return Ok(ExitCode::SUCCESS);
    }
    let site = site_runtime.block_on(demo::start())?;
    clear_earlier(&args.output)?;
    let screen = Screen::new(false);
    let config = config(&site);
    logging::start(&config.logging, &screen)?;
    screen.print(&format!("Crawling a website of {} hosts that seine serves on this machine.\n\n", site.hosts.len()));
    let crawl = Crawl {
        config,
        started_with: StartedWith::default(),
        folder: args.output,
        seeds: site.seeds.clone(),
        patience: Some(super::crawl::PATIENCE),
        screen: screen.clone(),
    };
    let summary = crawl.run()?;
    screen.print(&summary.to_string());
    Ok(ExitCode::SUCCESS)
}

fn config(site: &demo::DemoSite) -> Config {
    let mut config = Config { crawler_id: "demo".into(), ..Config::default() };
    config.http.listen = None;
    config.frontier.host_delay = demo::HOST_DELAY;
    config.frontier.ip_delay = Some(Duration::ZERO); // a host has an address of its own here
    config.frontier.backoff_base = demo::BACKOFF_BASE;
    config.frontier.max_retries = demo::MAX_RETRIES;
    config.frontier.max_depth = Some(demo::MAX_DEPTH);
    config.frontier.max_pages_per_host = Some(demo::MAX_PAGES_PER_HOST);
    config.fetch.allow_private = true;
    config.fetch.static_hosts = site.hosts.clone();
    config.fetch.user_agent = UserAgent { url: Some("https://seine.test/bot".into()), ..config.fetch.user_agent };
    config.scope.rule = ScopeRule::Host;
    config.scope.hosts = site.hosts.keys().cloned().collect();
    config.logging.filter = "warn".into();
    config
}

fn clear_earlier(folder: &Path) -> anyhow::Result<()> {
    if folder.join(MARK).exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("the earlier demo in {} cannot be removed", folder.display()))?;
    } else if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} holds something that is no demo's; choose another folder with -o", folder.display());
    }
    let made = crate::folders::make_private(folder).and_then(|()| std::fs::write(folder.join(MARK), ""));
    made.with_context(|| {
        format!("data folder {} cannot be made; choose one you may write to with -o", folder.display())
    })
}
