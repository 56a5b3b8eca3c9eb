//! `seine audit`: checks that the counters of a crawl balance.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use seine_page_log::{LogError, has_reader};

use super::destination::Destination;
use super::folder::NamedFolder;
use crate::config::{self, SinkConfig};
use crate::crawl::CrawlError;
use crate::crawl::audit::{Audit, Check, Figure, Rule, audit};
use crate::telemetry::progress::grouped;

/// Check a stopped crawl: no accepted event may be lost. All counters must balance.
///
/// Counts everything in the page log, the frontier and the dead letters again. This takes minutes for a hundred million
/// URLs. Exit status: 0 if all counters balance, otherwise 1.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    folder: NamedFolder,
    /// Also check the destinations: the records of FILES, the documents of Elasticsearch by id, the events in the Kafka
    /// topic. The topic is read once for each 16 million messages, with at most 128 MiB of memory. FILES and the topic
    /// are read again for each 7 million pages, with some 150 MiB, and compared with the known pages.
    #[arg(long)]
    destinations: bool,
    #[command(flatten)]
    destination: Destination,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    for part in ["frontier", "log"] {
        if !args.folder.path().join(part).is_dir() {
            bail!(
                "{} has no crawl: it has no {part}/; give the folder that you gave to seine crawl with -o",
                args.folder.path().display()
            );
        }
    }
    let destinations = if args.destinations { args.destinations()? } else { Vec::new() };
    let audit = audit(args.folder.path(), &destinations).map_err(|error| match error {
        CrawlError::Log(LogError::Locked { .. }) => anyhow!(
            "the crawl in {} is running, so its counters change; stop it first (its /metrics show the counters \
             meanwhile)",
            args.folder.path().display()
        ),
        other => other.into(),
    })?;
    let text = if args.json { format!("{}\n", json(&audit)) } else { table(&audit) };
    // The exit status does not depend on whether somebody reads the output.
    super::print(&text)?;
    if audit.balances() {
        return Ok(ExitCode::SUCCESS);
    }
    let wrong: Vec<String> = audit.checks.iter().filter(|check| !check.balances()).map(sentence).collect();
    bail!("the counters of {} do not balance: {}", args.folder.path().display(), wrong.join("; "))
}

impl Args {
    /// The destinations of the crawl. FILES needs no configuration.
    fn destinations(&self) -> anyhow::Result<Vec<SinkConfig>> {
        let mut sinks = self.destination.of_crawl(self.folder.path())?.config.sinks;
        let files = SinkConfig::files();
        if !sinks.iter().any(|sink| sink.name() == files.name()) {
            sinks.push(files);
        }
        for name in config::Destination::servers() {
            let is_of_crawl = has_reader(&self.folder.path().join("log"), name);
            if is_of_crawl && !sinks.iter().any(|sink| sink.name() == name) {
                bail!(
                    "the configuration has no destination {name}, but this crawl has; give the crawl's configuration with -c"
                );
            }
        }
        Ok(sinks)
    }
}

/// One line per check, then one per note.
fn table(audit: &Audit) -> String {
    let width = audit.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    let line = |check: &Check| {
        let sign = if check.balances() { '✓' } else { '✗' };
        format!("{sign} {:<width$}  {}\n", check.name, equation(check))
    };
    audit.checks.iter().map(line).chain(audit.notes.iter().map(|note| format!("  {note}\n"))).collect()
}

fn equation(check: &Check) -> String {
    let figure = |figure: &Figure| format!("{} {}", grouped(figure.count), figure.what);
    let parts: Vec<String> = check.parts.iter().map(figure).collect();
    let sign = match check.rule {
        Rule::Equal => '=',
        Rule::AtLeast => '≤',
    };
    format!("{} {sign} {}", figure(&check.total), parts.join(" + "))
}

fn sentence(check: &Check) -> String {
    format!("{} is off by {} ({}): {}", check.name, grouped(check.off_by()), equation(check), check.remedy)
}

fn json(audit: &Audit) -> serde_json::Value {
    let check = |check: &Check| {
        serde_json::json!({
            "name": check.name, "balances": check.balances(), "off_by": if check.balances() { 0 } else { check.off_by() },
            "total": check.total, "rule": if check.rule == Rule::Equal { "equal" } else { "at_least" },
            "parts": check.parts,
        })
    };
    let checks: Vec<_> = audit.checks.iter().map(check).collect();
    // `books` is the name that 0.1.0 used.
    serde_json::json!({ "balances": audit.balances(), "checks": checks, "books": checks, "notes": audit.notes })
}
