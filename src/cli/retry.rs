//! `seine retry`: puts what failed back into `work_proposed`.

use std::fmt::Write;
use std::process::ExitCode;

use super::asked::{Asked, warn};
use super::folder::NamedFolder;
use crate::api::said::{Order, ReasonCount, Retry};
use crate::crawl::console::reasons;
use crate::crawl::meaning;
use crate::telemetry::progress::grouped;

/// Put what failed back among the URLs to fetch, with all of its attempts before it.
///
/// Of a crawl that runs, they are fetched by it; of one that rests, by the next seine crawl with the same -o. Without --reason,
/// everything that failed, half pages (cut), and what was answered with status 429 or 5xx; other answers (4xx, gone) only when named.
///
/// Exit status: 0, also when there was nothing; 1 when something failed; 2 for arguments that are not understood.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine retry -o data                              all that failed
  seine retry -o data --reason timeout --reason connect
  seine retry -o data --host example.com           of one host
  seine retry -o data --pattern '.*/news/.*'       URLs like these
  seine retry -o data --reason 4xx --dry-run       how many would be tried again")]
pub struct Args {
    #[command(flatten)]
    folder: NamedFolder,
    /// Only what failed for this reason: any name that the summary of a crawl counts by (timeout, connect, 5xx, refused,
    /// gone, …); repeatable.
    #[arg(long = "reason", value_name = "NAME", value_parser = parse_reason)]
    reasons: Vec<String>,
    /// Only URLs of this host, example.com or https://example.com:8443; repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Only URLs that this regular expression matches as a whole, as in scope.
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Count, and leave everything as it is.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { folder, reasons, hosts, pattern, dry_run } = args;
    let asked = Asked::of(folder.path())?;
    let done = asked.order(&Order::Retry(Retry { reasons, hosts, pattern, dry_run }))?;
    warn(&done.warning);
    let mut text = String::new();
    for ReasonCount { reason, urls } in &done.counts {
        let _ = writeln!(text, "  {:<18} {:>9}   {}", reason, grouped(*urls), meaning(reason));
    }
    let total: u64 = done.counts.iter().map(|count| count.urls).sum();
    let _ = match (total, dry_run) {
        (0, _) => writeln!(text, "Nothing to try again."),
        (_, true) => writeln!(text, "{} would be tried again.", grouped(total)),
        (_, false) if asked.is_running() => {
            writeln!(text, "{} to fetch again, by the crawl that is running.", grouped(total))
        }
        (_, false) => {
            writeln!(text, "{} to fetch again: seine crawl -o {}", grouped(total), folder.path().display())
        }
    };
    super::print(&text)
}

fn parse_reason(text: &str) -> Result<String, String> {
    match reasons().contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("one of {}", reasons().join(", "))),
    }
}
