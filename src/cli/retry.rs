//! `seine retry`: puts what failed back into `work_proposed`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use crate::clock::now_ms;
use crate::crawl::meaning;
use crate::frontier::{EmbeddedFrontier, Frontier, FrontierOptions, PageRecord, PageState};
use crate::page::FailureReason;
use crate::telemetry::progress::grouped;

/// Put what failed back among the URLs to fetch, with all of its attempts before it.
///
/// Works on the folder of a crawl that stands still; the next seine crawl with the same -o fetches them. Without --reason,
/// everything that failed; pages that answered that they are not there (refused, gone) only when named.
///
/// Exit status: 0, also when there was nothing; 1 when something failed; 2 for arguments that are not understood.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine retry -o data                              all that failed
  seine retry -o data --reason timeout --reason connect
  seine retry -o data --host example.com           of one host
  seine retry -o data --reason refused --dry-run   how many would be tried again")]
pub struct Args {
    /// The data folder of the crawl.
    #[arg(short, long, value_name = "DIR", default_value = super::DATA_FOLDER)]
    output: PathBuf,
    /// Only what failed for this reason, as the summary of a crawl names it (timeout, connect, host_unreachable, …), or
    /// refused, gone; repeatable.
    #[arg(long = "reason", value_name = "NAME", value_parser = parse_reason)]
    reasons: Vec<String>,
    /// Only URLs of this host, example.com or https://example.com:8443; repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Count, and leave everything as it is.
    #[arg(long)]
    dry_run: bool,
}

/// URLs put back by one batch.
const BATCH: usize = 1000;

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let folder = args.output.join("frontier");
    if !folder.is_dir() {
        bail!("{} holds no crawl; name the folder that was given to seine crawl with -o", args.output.display());
    }
    let now = now_ms();
    let frontier = EmbeddedFrontier::open(&folder, FrontierOptions::default(), now)?;
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut last: Option<String> = None;
    loop {
        let found = frontier.records_after(last.as_deref(), BATCH, &|record| args.wants(record))?;
        for record in &found {
            *counts.entry(name_of(record.state)).or_default() += 1;
        }
        let urls: Vec<String> = found.iter().map(|record| record.url.clone()).collect();
        if !args.dry_run {
            frontier.try_again(&urls, now)?;
        }
        match urls.into_iter().next_back() {
            Some(url) => last = Some(url),
            None => break,
        }
    }
    frontier.flush()?;
    super::print(&args.told(&counts))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn wants(&self, record: &PageRecord) -> bool {
        let is_failure = matches!(record.state, PageState::Failed(_));
        let name = name_of(record.state);
        let is_reason = if self.reasons.is_empty() { is_failure } else { self.reasons.iter().any(|it| it == name) };
        is_reason && (self.hosts.is_empty() || self.hosts.iter().any(|host| is_of(&record.url, host)))
    }

    fn told(&self, counts: &BTreeMap<&'static str, u64>) -> String {
        let mut text = String::new();
        for (name, count) in counts {
            let _ = writeln!(text, "  {:<18} {:>9}   {}", name, grouped(*count), meaning(name));
        }
        let total: u64 = counts.values().sum();
        let _ = match (total, self.dry_run) {
            (0, _) => writeln!(text, "Nothing to try again."),
            (_, true) => writeln!(text, "{} would be tried again.", grouped(total)),
            (_, false) => {
                let folder = self.output.display();
                writeln!(text, "{} to fetch again: seine crawl -o {folder}", grouped(total))
            }
        };
        text
    }
}

/// Its reason for a failure; empty for a page that is there.
fn name_of(state: PageState) -> &'static str {
    match state {
        PageState::New | PageState::Unchanged | PageState::Changed | PageState::Withheld => "",
        PageState::Alias => "alias",
        PageState::Gone => "gone",
        PageState::Refused => "refused",
        PageState::Failed(reason) => reason.name(),
    }
}

/// `host`: a name without a port, or an origin.
fn is_of(url: &str, host: &str) -> bool {
    let host = host.trim_end_matches('/');
    if host.contains("://") {
        return crate::parse::url::origin(url) == Some(host);
    }
    url::Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(|name| name.eq_ignore_ascii_case(host)))
}

fn parse_reason(text: &str) -> Result<String, String> {
    let names = FailureReason::ALL.iter().map(|reason| reason.name()).chain(["refused", "gone"]);
    let names: Vec<&str> = names.collect();
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("one of {}", names.join(", "))),
    }
}
