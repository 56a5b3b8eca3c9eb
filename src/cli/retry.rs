//! `seine retry`: queues failed URLs again.

use std::fmt::Write;
use std::process::ExitCode;

use super::asked::{Asked, warn};
use super::folder::NamedFolder;
use crate::api::schema::{Order, ReasonCount, Retry};
use crate::crawl::console::reasons;
use crate::crawl::meaning;
use crate::telemetry::progress::grouped;

/// Queue failed URLs again, with all of their attempts.
///
/// A running crawl fetches them; a stopped one does with the next seine crawl -o. Without --reason: all failed URLs,
/// truncated pages (cut), and answers with status 408, 421, 425, 429 or 5xx. Other answers (4xx, gone) are retried only if you name
/// them.
///
/// Exit status: 0, also if there is nothing to retry; 1 if something failed; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine retry -o data                              all failed URLs
  seine retry -o data --reason timeout --reason connect
  seine retry -o data --host example.com           of one host
  seine retry -o data --pattern '.*/news/.*'       URLs like these
  seine retry -o data --reason 4xx --dry-run       how many would be retried")]
pub(super) struct Args {
    #[command(flatten)]
    folder: NamedFolder,
    /// Only URLs that failed for this reason, as named in the summary of a crawl (timeout, connect, 5xx, refused, gone,
    /// …); repeatable.
    #[arg(long = "reason", value_name = "NAME", value_parser = parse_reason)]
    reasons: Vec<String>,
    /// Only URLs of this host, example.com or https://example.com:8443; repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Only URLs with a match of this regular expression.
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Count only; change nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
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
        (0, _) => writeln!(text, "Nothing to retry."),
        (_, true) => writeln!(text, "{} would be retried.", grouped(total)),
        (_, false) if asked.is_running() => {
            writeln!(text, "{} queued; the running crawl fetches them.", grouped(total))
        }
        (_, false) => {
            writeln!(text, "{} queued; fetch them with: seine crawl -o {}", grouped(total), folder.path().display())
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
