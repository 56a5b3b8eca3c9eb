//! `seine crawl`: runs a crawl.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::destination::{INDEX, SERVERS, TOPIC, TYPE, given};
use super::exit;
use crate::config::{self, StartedWith};
use crate::crawl::{Crawl, CrawlError, Ended};
use crate::telemetry::logging;
use crate::telemetry::progress::Screen;

const MAX_PAGES: &str = "target_storage.visited_page_limit";
const MAX_DEPTH: &str = "link_storage.link_classifier.max_depth";
pub(super) const MODEL: &str = "target_storage.model";
pub(super) const DEFERRED: &str = "link_storage.link_strategy.deferred_per_host";
const DELAY: &str = "link_storage.scheduler.host_min_access_interval";
pub(super) const ALLOW_PRIVATE: &str = "crawler_manager.downloader.allow_private_addresses";
pub(super) const CONCURRENCY: &str = "crawler_manager.downloader.download_thread_pool_size";

/// Crawl from seeds until no URL is left to fetch.
///
/// Without -c, Seine is polite (one request per second and host, robots.txt obeyed), stays on the hosts of the seeds,
/// refuses private addresses, and writes FILES to the data folder. Run it again with the same -o to continue.
#[derive(clap::Args)]
#[command(after_help = exit::HELP)]
pub(super) struct Args {
    /// URL to start from; repeatable.
    #[arg(long = "seed", value_name = "URL")]
    seeds: Vec<String>,
    /// File with URLs to start from, one per line; # begins a comment. -: standard input.
    #[arg(short = 's', long = "seeds", value_name = "FILE")]
    seed_file: Option<PathBuf>,
    /// Data folder.
    #[arg(short, long, value_name = "DIR", default_value = super::DATA_FOLDER)]
    output: PathBuf,
    /// Configuration file, or a folder with seine.yml or ache.yml.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Destination or file format; repeatable. Overrides the configuration.
    #[arg(long = "sink", value_name = "NAME", value_parser = sink_names(), ignore_case = true)]
    sinks: Vec<String>,
    /// Archive of this crawl, such as data/files. A new sink gets from it the pages that the page log no longer has;
    /// repeatable.
    #[arg(long, value_name = "FROM")]
    from_archive: Vec<String>,
    /// Elasticsearch index for --sink elasticsearch.
    #[arg(short, long = "elasticIndex", value_name = "INDEX")]
    elastic_index: Option<String>,
    /// No effect, accepted for ACHE: servers since Elasticsearch 7 have no types.
    #[arg(short = 't', long = "elasticType", value_name = "TYPE")]
    elastic_type: Option<String>,
    /// Topic for --sink kafka.
    #[arg(long, value_name = "TOPIC")]
    kafka_topic: Option<String>,
    /// Bootstrap servers for --sink kafka. Overrides bootstrap.servers in the configuration.
    #[arg(long, value_name = "HOST:PORT,...")]
    kafka_servers: Option<String>,
    /// Which links to follow: those to the hosts of the seeds, to their domains, or all.
    #[arg(long, value_name = "RULE", value_parser = ["host", "domain", "any"])]
    scope: Option<String>,
    /// Folder of a page classifier, ACHE's or made by seine build-model. Its relevance is delivered with each page.
    #[arg(short, long, value_name = "DIR")]
    model: Option<String>,
    /// Stop after this many pages.
    #[arg(long, value_name = "N", value_parser = of_key(MAX_PAGES))]
    max_pages: Option<String>,
    /// Maximum number of links between a seed and a page; a seed has depth 0.
    #[arg(long, value_name = "N", value_parser = of_key(MAX_DEPTH))]
    max_depth: Option<String>,
    /// Fetch up to this many of the URLs of each host that look endless (deferred). Default: 512.
    #[arg(long, value_name = "N", value_parser = of_key(DEFERRED))]
    deferred: Option<String>,
    /// Delay between requests to one host, such as 1s or 500ms; a bare number is milliseconds. robots.txt can ask for
    /// more.
    #[arg(long, value_name = "TIME", value_parser = of_key(DELAY))]
    delay: Option<String>,
    /// Number of hosts fetched from at the same time.
    #[arg(long, value_name = "N", value_parser = of_key(CONCURRENCY))]
    concurrency: Option<String>,
    /// Also fetch from loopback and private addresses.
    #[arg(long)]
    allow_private: bool,
    /// Resolve a host name to this address, without DNS; repeatable.
    #[arg(long = "resolve", value_name = "NAME=IP", value_parser = parse_resolve)]
    resolve: Vec<(String, IpAddr)>,
    /// Serve the API, /metrics, /healthz and /readyz here. Overrides the configuration.
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Keep running when nothing is left to fetch.
    #[arg(long)]
    stay: bool,
    /// If every remaining URL must wait (host, DNS, network or sink down), wait this long, then end.
    #[arg(long, value_name = "TIME", default_value = PATIENCE, value_parser = config::parse_duration, conflicts_with = "stay")]
    patience: Duration,
    /// Print no progress and no summary.
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = args.keys();
    let environment = config::environment();
    let loaded = config::load_with(args.config.as_deref(), &environment, &options)?;
    let started_with = StartedWith::new(args.config.as_deref(), &environment, &options);
    let seeds = read_seeds(&args.seeds, args.seed_file.as_deref())?;
    let patience = (!args.stay).then_some(args.patience);
    start(Crawl { loaded, started_with, folder: args.output, seeds, patience, screen: Screen::new(args.quiet) })
}

const PATIENCE: &str = "1m";
/// How many times as many deferred URLs the next run is advised to fetch.
const MORE_DEFERRED: u32 = 8;

/// The default, for commands without this option.
pub(super) fn patience() -> Duration {
    config::parse_duration(PATIENCE).expect("it is a duration")
}

/// Runs a crawl and prints its summary. `startCrawl` uses this too.
pub(super) fn start(crawl: Crawl) -> anyhow::Result<ExitCode> {
    let screen = crawl.screen.clone().in_background();
    let ended = run_with(Crawl { screen: screen.clone(), ..crawl });
    screen.finish();
    ended
}

fn run_with(crawl: Crawl) -> anyhow::Result<ExitCode> {
    let (screen, stays) = (crawl.screen.clone(), crawl.patience.is_none());
    logging::start(&crawl.loaded.config.logging, &screen)?;
    super::proxy::tell();
    for warning in &crawl.loaded.warnings {
        tracing::warn!("{warning}");
    }
    let summary = match crawl.run() {
        Err(error @ CrawlError::Stopped) => {
            screen.print(&format!("{error}\n"));
            return Ok(exit::status_of_error(&error, stays).into());
        }
        ran => ran?,
    };
    if !screen.is_quiet() {
        screen.print_with(&summary.to_string(), || summary.to_json());
        let goes_on = match summary.ended {
            Ended::BudgetSpent(_) => Some("continues, as far as budgets allow"),
            Ended::Waiting(_) => Some("continues, and retries all waiting URLs at once"),
            _ if summary.is_pending() => Some("continues and delivers what is pending"),
            _ => None,
        };
        if let Some(goes_on) = goes_on {
            screen.print(&format!("\n  This {goes_on}:\n    {}\n", exit::this_command()));
        } else if summary.left_deferred() > 0 {
            screen.print(&deferred_hint(summary.deferred_per_host));
        }
    }
    Ok(exit::status(&summary, stays).into())
}

/// How to fetch the deferred URLs that a run has left.
fn deferred_hint(allowed: u32) -> String {
    let more = allowed.saturating_mul(MORE_DEFERRED);
    let command = exit::this_command_with_deferred(more);
    format!("\n  This fetches up to {more} deferred URLs of each host, instead of {allowed}:\n    {command}\n")
}

/// Seeds from the command line and from a file, normalised.
pub(super) fn read_seeds(given: &[String], file: Option<&std::path::Path>) -> anyhow::Result<Vec<String>> {
    let in_file = file.map(config::read_seeds).transpose()?.unwrap_or_default();
    let normalised = |seed: &String| {
        // A name alone is read as http, and `ht!tp://` is no name.
        let is_checked = !seed.contains("://") || config::check_seed(seed).is_ok();
        seine_parse::url::parse(seed).filter(|_| is_checked).with_context(|| {
            format!("seed {seed:?} is not an http or https URL; write for example https://example.com/")
        })
    };
    given.iter().chain(&in_file).map(normalised).collect()
}

impl Args {
    /// The keys that the options set, which override the configuration.
    fn keys(&self) -> Vec<(String, String)> {
        let mut keys = given(&[
            (INDEX, &self.elastic_index),
            (TYPE, &self.elastic_type),
            (TOPIC, &self.kafka_topic),
            (SERVERS, &self.kafka_servers),
            (MODEL, &self.model),
            (MAX_PAGES, &self.max_pages),
            (MAX_DEPTH, &self.max_depth),
            (DEFERRED, &self.deferred),
            (DELAY, &self.delay),
            (CONCURRENCY, &self.concurrency),
        ]);
        let mut set = |key: &str, value: String| keys.push((key.to_owned(), value));
        if !self.sinks.is_empty() {
            set("target_storage.data_formats", self.sinks.join(",").to_ascii_uppercase());
        }
        if !self.from_archive.is_empty() {
            set("target_storage.from_archive", config::shown_list(&self.from_archive));
        }
        if self.max_depth.is_some() {
            set("link_storage.link_strategy.outlinks", "true".into());
        }
        if let Some(rule) = &self.scope {
            set("link_storage.link_strategy.use_scope", (rule != "any").to_string());
            if rule != "any" {
                set("link_storage.link_strategy.scope", rule.clone());
            }
        }
        if self.allow_private {
            set(ALLOW_PRIVATE, "true".into());
        }
        for (name, ips) in self.resolved() {
            let (key, ips) = config::static_host(name, &ips);
            set(&key, ips);
        }
        match self.listen {
            Some(listen) => {
                set("http.enabled", "true".into());
                set("http.host", listen.ip().to_string());
                set("http.port", listen.port().to_string());
            }
            // A crawl without a configuration is a trial and needs no server.
            None if self.config.is_none() => set("http.enabled", "false".into()),
            None => {}
        }
        keys
    }

    /// Host names, each with all addresses given for it.
    fn resolved(&self) -> BTreeMap<&str, Vec<IpAddr>> {
        let mut hosts: BTreeMap<&str, Vec<IpAddr>> = BTreeMap::new();
        for (name, ip) in &self.resolve {
            hosts.entry(name).or_default().push(*ip);
        }
        hosts
    }
}

/// Checks a value as its key does, so that the error names the option.
pub(super) fn of_key(key: &'static str) -> impl Fn(&str) -> Result<String, String> + Clone {
    move |text| config::check_value(key, text).map(|()| text.to_owned())
}

/// The words for sinks, in lower case.
fn sink_names() -> PossibleValuesParser {
    let value =
        |(name, about): (&str, &'static str)| PossibleValue::new(&*name.to_ascii_lowercase().leak()).help(about);
    PossibleValuesParser::new(config::sink_words().into_iter().map(value))
}

/// Parses an address or a name of this machine. Of several addresses it takes an IPv4 one, which localhost usually
/// means.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let expected = |why: String| format!("{why}; write HOST:PORT, for example localhost:8080 or 0.0.0.0:8080");
    if text.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
        return Err(expected("the port is no number from 0 to 65535".to_owned()));
    }
    let found: Vec<SocketAddr> = text.to_socket_addrs().map_err(|error| expected(error.to_string()))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| expected(format!("{text} has no address")))
}

fn parse_resolve(text: &str) -> Result<(String, IpAddr), String> {
    let (name, ip) = text.split_once('=').ok_or("write NAME=IP, for example shop.test=127.0.0.2")?;
    let ip = ip.parse().map_err(|_| format!("{ip:?} is not an IP address"))?;
    Ok((name.to_ascii_lowercase(), ip))
}
