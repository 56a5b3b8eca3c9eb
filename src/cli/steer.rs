//! Orders of an operator: `seine pause`, `resume`, `reload`, `host`, `hosts`, `seeds`, `orders`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use seine_frontier::WhichHosts;
use seine_parse::url::port_problem;
use seine_system::clock::now_ms;

use super::asked::{Asked, ago, warn};
use super::folder::{Folder, NamedFolder};
use super::why::describe_host;
use crate::api::schema::{self, HostsQuery, Order, Ordered, Reloaded, SeedsAdded};
use crate::config::{self, KeyChanged};
use crate::telemetry::progress::grouped;

/// List hosts: which are busy, in trouble or blocked, and when each is due.
#[derive(clap::Args)]
pub(super) struct Hosts {
    #[command(flatten)]
    folder: NamedFolder,
    #[arg(long, value_enum, default_value = "all")]
    which: WhichHosts,
    /// Maximum number of hosts, up to 1000.
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Print one JSON object, as the API does.
    #[arg(long)]
    json: bool,
}

/// Show a host, block or unblock it, or change its delay or its limit of pages.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine host example.com -o data                    show its state
  seine host example.com -o data block              stop fetching from it
  seine host https://example.com:8443 delay 30s     set its delay
  seine host example.com delay default              use the configured delay again
  seine host example.com pages 200                  limit its pages")]
pub(super) struct Host {
    /// Host: example.com or https://example.com:8443.
    host: String,
    #[command(subcommand)]
    action: Option<HostAction>,
    #[command(flatten)]
    folder: Folder,
}

#[derive(clap::Subcommand)]
enum HostAction {
    /// Stop fetching from it; its URLs stay queued.
    Block,
    Unblock,
    /// Limit the pages of this host; default: as configured.
    Pages {
        pages: String,
    },
    /// Set the delay between two requests, such as 30s; default: as configured. A longer delay in robots.txt still
    /// applies.
    Delay {
        delay: String,
    },
}

/// Add seeds to a crawl, running or stopped. Their hosts come into scope.
#[derive(clap::Args)]
pub(super) struct Seeds {
    #[command(subcommand)]
    action: SeedsAction,
}

#[derive(clap::Subcommand)]
enum SeedsAction {
    Add {
        #[arg(value_name = "URL")]
        urls: Vec<String>,
        /// File with URLs, one per line. -: standard input.
        #[arg(short, long, value_name = "FILE")]
        seeds: Option<PathBuf>,
        #[command(flatten)]
        folder: Folder,
    },
}

/// List orders and who gave them, latest first.
#[derive(clap::Args)]
pub(super) struct Orders {
    #[command(flatten)]
    folder: NamedFolder,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub(super) fn reload(folder: &Path) -> anyhow::Result<ExitCode> {
    let Reloaded { changed, done, warning } = Asked::of(folder)?.reload()?;
    warn(&warning);
    let mut text = String::new();
    for KeyChanged { key, before, now, .. } in &changed {
        let values = if before == now { "changed (not shown)".to_owned() } else { format!("{before} → {now}") };
        text += &format!("{key}: {values}\n");
    }
    super::print(if changed.is_empty() { format!("{done}\n") } else { text }.as_str())
}

pub(super) fn order(folder: &Path, order: &Order) -> anyhow::Result<ExitCode> {
    let done = Asked::of(folder)?.order(order)?;
    warn(&done.warning);
    super::print(&format!("{}\n", done.done))
}

pub(super) fn hosts(args: Hosts) -> anyhow::Result<ExitCode> {
    let query = HostsQuery { which: Some(args.which), limit: Some(args.limit) };
    let hosts = Asked::of(args.folder.path())?.hosts(&query)?;
    super::print(&super::as_text(&hosts, args.json, hosts_in_words)?)
}

fn hosts_in_words(hosts: &schema::Hosts) -> String {
    let (with_work, known) = (grouped(hosts.with_work), grouped(hosts.known));
    let mut text = format!("{with_work} hosts have work, of {known} known; {} blocked\n", grouped(hosts.blocked));
    for troubled in &hosts.troubled {
        let (hosts, urls) = (grouped(troubled.hosts), grouped(troubled.urls));
        text += &format!("  in trouble: {hosts} hosts with {urls} URLs: {}\n", troubled.cause);
    }
    let now = now_ms();
    hosts.hosts.iter().for_each(|host| text += &format!("{}\n", describe_host(host, now)));
    text
}

pub(super) fn host(args: Host) -> anyhow::Result<ExitCode> {
    let Host { host, action, folder } = args;
    // None: as configured.
    let given = |text: String| Some(text).filter(|text| text != "default");
    let wanted = match action {
        None => {
            let status = Asked::of(&folder.output)?.host(&host)?;
            return super::print(&format!("{}\n", describe_host(&status, now_ms())));
        }
        Some(HostAction::Block) => Order::BlockHost { host },
        Some(HostAction::Unblock) => Order::UnblockHost { host },
        Some(HostAction::Pages { pages }) => {
            Order::SetHostPages { host, pages: given(pages).as_deref().map(host_pages).transpose()? }
        }
        Some(HostAction::Delay { delay }) => {
            Order::SetHostDelay { host, delay_ms: given(delay).as_deref().map(delay_ms).transpose()? }
        }
    };
    order(&folder.output, &wanted)
}

fn host_pages(text: &str) -> anyhow::Result<u64> {
    text.parse().map_err(|_| anyhow::anyhow!("{text:?} is neither a number of pages nor `default`"))
}

fn delay_ms(text: &str) -> anyhow::Result<u64> {
    let delay = config::parse_duration(text).map_err(|wanted| anyhow::anyhow!("{text:?} is not a delay: {wanted}"))?;
    Ok(delay.as_millis() as u64)
}

pub(super) fn seeds(args: Seeds) -> anyhow::Result<ExitCode> {
    let SeedsAction::Add { mut urls, seeds, folder } = args.action;
    if let Some(file) = seeds {
        urls.extend(config::read_seeds(&file)?);
    }
    anyhow::ensure!(!urls.is_empty(), "no seeds; give URLs, or a file of URLs with -s");
    let SeedsAdded { added, known, bad, bad_count, warning } = Asked::of(&folder.output)?.add_seeds(&urls)?;
    warn(&warning);
    let mut text = format!("{} new; {} already known, to be refetched\n", grouped(added), grouped(known));
    if bad_count > 0 {
        text += &format!(
            "{} left out, not http or https URLs; write them like https://example.com/: {}\n",
            grouped(bad_count),
            bad.iter().map(|url| format!("{url}{}", port_problem(url))).collect::<Vec<_>>().join(" ")
        );
    }
    super::print(&text)?;
    Ok(if bad_count > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(super) fn orders(args: Orders) -> anyhow::Result<ExitCode> {
    let now = now_ms();
    let mut text = String::new();
    for ordered in Asked::of(args.folder.path())?.orders()? {
        let words = |it: &Ordered| format!("{:>12}  {}: {}\n", ago(it.at_ms, now), it.by, it.done);
        text += &super::as_text(&ordered, args.json, words)?;
    }
    super::print(&text)
}
