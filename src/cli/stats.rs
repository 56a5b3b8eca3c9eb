//! `seine stats`: sizes of the three tables, from the counters of the stores.

use std::process::ExitCode;

use super::asked::Asked;
use super::folder::NamedFolder;
use crate::api::schema::{SinkStatus, Status};
use crate::telemetry::progress::grouped;

/// Show the progress of a crawl: work_proposed, page_proposed, page, processed, remaining, by state.
///
/// Reads counters, so it is as fast for 600 million URLs as for six. It asks a running crawl over its socket.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    folder: NamedFolder,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
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
        ("  deferred", counts.deferred, "belong to crawl traps or mirrors"),
        ("    elsewhere", counts.deferred_elsewhere, "of these: the page exists under another URL"),
        ("page_proposed", *page_proposed, "accepted, not yet validated"),
        ("page", counts.page, "validated"),
        ("  live", counts.live, "answered with a page at the last fetch"),
        ("    duplicates", counts.duplicates, "of these: same content or text as another page"),
        ("    truncated", counts.truncated, "of these: the body ended early; refetched until complete"),
        ("  gone", counts.gone, "were live before"),
        ("  refused", counts.refused, "answered, but not with a page"),
        ("  failed", counts.failed, "all attempts failed"),
        ("  withheld", counts.withheld, "not delivered: noindex, opted out, or not relevant"),
        ("  aliases", counts.alias, "delivered under another URL"),
        ("processed", counts.page + page_proposed, "page + page_proposed"),
        ("remaining", counts.work_proposed, "work_proposed"),
        ("hosts", counts.hosts, ""),
        ("  left out", counts.over_hosts, "links to new hosts above link_storage.max_hosts_per_domain"),
    ];
    let mut text: String = tables.map(|(name, count, what)| row(name, count, what)).concat();
    if counts.live > 0 {
        let links = counts.links_seen as f64 / counts.live as f64;
        text += &format!("{:<16} {links:>13.1}   links found on a page\n", "links per page");
    }
    status.sinks.iter().for_each(|sink| text += &sink_rows(sink));
    text
}

fn sink_rows(sink: &SinkStatus) -> String {
    let mut text = format!(
        "sink {:<11} {:>13}   delivered, {} skipped, {} dead letters, {} lost to a damaged disk, \
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
        let name = if sink.anew_ms.is_some() { "  restarted" } else { "  added later" };
        text += &row(name, sink.missed, "earlier events were no longer in the page log");
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
