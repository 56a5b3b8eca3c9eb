//! `seine stats`: the sizes of the data model's three tables, from the stores' own counters.

use std::process::ExitCode;

use super::asked::Asked;
use super::folder::NamedFolder;
use crate::api::said::{SinkStatus, Status};
use crate::telemetry::progress::grouped;

/// Show how far a crawl is: work_proposed, page_proposed, page, processed, remaining, by state.
///
/// Reads counters, not tables: as quick for 600 million URLs as for six. Of a crawl that is running it asks the process.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    folder: NamedFolder,
    /// One JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let status = Asked::of(args.folder.path())?.status()?;
    super::print(&if args.json { format!("{}\n", as_json(&status)) } else { as_table(&status) })
}

fn as_json(status: &Status) -> serde_json::Value {
    let Status { frontier: counts, page_proposed, .. } = status;
    let sink = |sink: &SinkStatus| {
        serde_json::json!({
            "name": sink.name, "accepted": sink.accepted, "delivered": sink.delivered, "skipped": sink.skipped,
            "dead_lettered": sink.dead_lettered, "damaged": sink.damaged, "pending": sink.pending,
            "dead_letter_bytes": sink.dead_letter_bytes, "missed": sink.missed,
        })
    };
    serde_json::json!({
        "work_proposed": counts.work_proposed, "page_proposed": page_proposed, "page": counts.page,
        "processed": counts.page + page_proposed, "remaining": counts.work_proposed, "frontier": counts,
        "sinks": status.sinks.iter().map(sink).collect::<Vec<_>>(),
    })
}

pub(super) fn as_table(status: &Status) -> String {
    let Status { frontier: counts, page_proposed, .. } = status;
    let tables = [
        ("work_proposed", counts.work_proposed, "URLs to fetch"),
        ("  first time", counts.first_time, "never fetched yet"),
        ("  held", counts.held, "their patterns bring nothing new"),
        ("page_proposed", *page_proposed, "accepted, not yet validated"),
        ("page", counts.page, "validated"),
        ("  live", counts.live, "there at the last look"),
        ("    duplicates", counts.duplicates, "of these: the same content or text as another"),
        ("    half pages", counts.half, "of these: the body broke off; fetched again until whole"),
        ("  gone", counts.gone, "were there before"),
        ("  refused", counts.refused, "answered, but not with a page"),
        ("  failed", counts.failed, "given up for good"),
        ("  withheld", counts.withheld, "ask not to be indexed or used, or are not relevant and not wanted"),
        ("  aliases", counts.alias, "lead to pages of other URLs"),
        ("processed", counts.page + page_proposed, "page + page_proposed"),
        ("remaining", counts.work_proposed, "work_proposed"),
        ("hosts", counts.hosts, ""),
        ("  left out", counts.over_hosts, "links to new hosts of domains with link_storage.max_hosts_per_domain"),
    ];
    let mut text: String = tables.map(|(name, count, what)| row(name, count, what)).concat();
    if counts.live > 0 {
        let links = counts.links_seen as f64 / counts.live as f64;
        text += &format!("{:<16} {links:>13.1}   links found, by page\n", "links per page");
    }
    status.sinks.iter().for_each(|sink| text += &sink_rows(sink));
    text
}

fn sink_rows(sink: &SinkStatus) -> String {
    let mut text = format!(
        "sink {:<11} {:>13}   delivered, {} not held by the format, {} dead letters, {} lost to a damaged disk, \
         {} pending, of {} accepted\n",
        sink.name,
        grouped(sink.delivered),
        grouped(sink.skipped),
        grouped(sink.dead_lettered),
        grouped(sink.damaged),
        grouped(sink.pending),
        grouped(sink.accepted),
    );
    if sink.missed > 0 {
        let name = if sink.anew_ms.is_some() { "  began anew" } else { "  came later" };
        text += &row(name, sink.missed, "events before it were not in the page log any more");
    }
    if sink.dead_letter_bytes > 0 {
        text += &row("  dead letters", sink.dead_letter_bytes, "bytes on disk; see seine dead-letters");
    }
    if sink.is_paused {
        text += &format!("{:<16} {:>13}   seine sinks resume {}\n", "  paused", "", sink.name);
    }
    if let Some(error) = &sink.error {
        text += &format!("{:<16} {:>13}   {error}\n", "  waits", "");
    }
    text
}

fn row(name: &str, count: u64, what: &str) -> String {
    format!("{name:<16} {:>13}   {what}\n", grouped(count))
}
