//! `seine demo`: crawls a website that the program itself serves on loopback.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use super::exit;
use crate::config::{self, Loaded, StartedWith};
use crate::crawl::Crawl;
use crate::demo;
use crate::telemetry::logging;
use crate::telemetry::progress::Screen;

/// Watch a crawl: seine serves a small website on this machine and crawls it.
///
/// The website has several hosts, robots.txt, sitemaps, redirects and a redirect loop, compressed bodies, five
/// charsets, a slow page, failing pages and an endless calendar.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Data folder; an earlier demo in it is replaced.
    #[arg(short, long, value_name = "DIR", default_value = "data/demo")]
    output: PathBuf,
    /// Only serve the website, until Ctrl-C.
    #[arg(long)]
    serve: bool,
}

/// Marks the folder of a demo. Only such folders are replaced.
const MARK: &str = "made-by-seine-demo";

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // The website has its own runtime, so the crawler's load does not slow it down.
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
    let (loaded, started_with) = configuration(&site)?;
    logging::start(&loaded.config.logging, &screen)?;
    screen.print(&format!("Crawling a website of {} hosts that seine serves on this machine.\n\n", site.hosts.len()));
    let crawl = Crawl {
        loaded,
        started_with,
        folder: args.output,
        seeds: site.seeds.clone(),
        patience: Some(super::crawl::patience()),
        screen: screen.clone(),
    };
    let summary = crawl.run()?;
    screen.print(&summary.to_string());
    Ok(exit::status(&summary, false).into())
}

/// The configuration of the demo: keys that override the defaults, like a user's options.
fn configuration(site: &demo::DemoSite) -> anyhow::Result<(Loaded, StartedWith)> {
    let millis = |time: Duration| time.as_millis().to_string();
    let hosts: Vec<&str> = site.hosts.keys().map(String::as_str).collect();
    let mut keys = vec![
        ("crawler_id", "demo".to_owned()),
        ("http.enabled", "false".to_owned()),
        ("link_storage.scheduler.host_min_access_interval", millis(demo::HOST_DELAY)),
        // Each host of the demo has an address of its own.
        ("link_storage.scheduler.ip_min_access_interval", "0".to_owned()),
        ("link_storage.scheduler.backoff_base", millis(demo::BACKOFF_BASE)),
        ("crawler_manager.downloader.max_retry_count", demo::MAX_RETRIES.to_string()),
        ("link_storage.link_classifier.max_depth", demo::MAX_DEPTH.to_string()),
        ("link_storage.max_pages_per_domain", demo::MAX_PAGES_PER_HOST.to_string()),
        ("crawler_manager.downloader.allow_private_addresses", "true".to_owned()),
        ("crawler_manager.downloader.user_agent.url", "https://seine.test/bot".to_owned()),
        ("link_storage.link_strategy.scope_hosts", hosts.join(",")),
        ("logging.filter", "warn".to_owned()),
    ];
    let addresses: Vec<_> = site.hosts.iter().map(|(name, ips)| config::static_host(name, ips)).collect();
    keys.extend(addresses.iter().map(|(key, ips)| (key.as_str(), ips.clone())));
    Ok((config::load_with(None, &[], &keys)?, StartedWith::new(None, &[], &keys)))
}

fn clear_earlier(folder: &Path) -> anyhow::Result<()> {
    if folder.join(MARK).exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove the earlier demo in {}", folder.display()))?;
    } else if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} has files that are not from a demo; choose another folder with -o", folder.display());
    }
    let made = seine_system::folders::make_private(folder).and_then(|()| std::fs::write(folder.join(MARK), ""));
    made.with_context(|| format!("cannot make the data folder {}; choose a writable one with -o", folder.display()))
}
