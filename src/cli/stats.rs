//! `seine stats`: the sizes of the data model's three tables, from the stores' own counters.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};

use crate::crawl::{self, CrawlError};
use crate::frontier::Counts;
use crate::page_log::{Books, LogError, LogStatus};
use crate::sinks::dead_letters;
use crate::telemetry::progress::grouped;

/// Show how far a crawl is: work_proposed, page_proposed, page, processed, remaining, by state.
///
/// Reads counters, not tables: as quick for 600 million URLs as for six. For a crawl that is running, see its /metrics.
#[derive(clap::Args)]
pub struct Args {
    /// The data folder.
    #[arg(value_name = "DIR", default_value = super::DATA_FOLDER)]
    folder: PathBuf,
    /// One JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if !args.folder.join("frontier").is_dir() {
        bail!(
            "{} holds no crawl: there is no frontier/ in it; name the folder that was given to -o",
            args.folder.display()
        );
    }
    let (counts, log) = crawl::stats(&args.folder).map_err(|error| match error {
        CrawlError::Log(LogError::Locked { .. }) => {
            anyhow!("the crawl in {} is running; its /metrics have these figures", args.folder.display())
        }
        other => other.into(),
    })?;
    let text = match args.json {
        true => format!("{}\n", as_json(&args.folder, &counts, &log)),
        false => as_table(&args.folder, &counts, &log),
    };
    super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(folder: &Path, counts: &Counts, log: &LogStatus) -> serde_json::Value {
    let page_proposed = log.page_proposed();
    let sink = |(name, books): (&str, Books)| {
        serde_json::json!({
            "name": name, "accepted": books.accepted, "delivered": books.delivered, "skipped": books.skipped,
            "dead_lettered": books.dead, "damaged": books.damaged, "pending": books.pending,
            "dead_letter_bytes": letters(folder, name), "missed": missed(log, name),
        })
    };
    let sinks: Vec<_> = log.sinks().map(sink).collect();
    serde_json::json!({
        "work_proposed": counts.work_proposed, "page_proposed": page_proposed, "page": counts.page,
        "processed": counts.page + page_proposed, "remaining": counts.work_proposed, "frontier": counts, "sinks": sinks,
    })
}

fn as_table(folder: &Path, counts: &Counts, log: &LogStatus) -> String {
    let page_proposed = log.page_proposed();
    let tables = [
        ("work_proposed", counts.work_proposed, "URLs to fetch"),
        ("  first time", counts.first_time, "never fetched yet"),
        ("page_proposed", page_proposed, "accepted, not yet validated"),
        ("page", counts.page, "validated"),
        ("  live", counts.live, "there at the last look"),
        ("  gone", counts.gone, "were there before"),
        ("  refused", counts.refused, "answered, but not with a page"),
        ("  failed", counts.failed, "given up for good"),
        ("  withheld", counts.withheld, "ask not to be indexed"),
        ("  aliases", counts.alias, "lead to pages of other URLs"),
        ("processed", counts.page + page_proposed, "page + page_proposed"),
        ("remaining", counts.work_proposed, "work_proposed"),
        ("hosts", counts.hosts, ""),
    ];
    let mut text: String = tables.map(|(name, count, what)| row(name, count, what)).concat();
    if counts.live > 0 {
        let links = counts.links_seen as f64 / counts.live as f64;
        text += &format!("{:<16} {links:>13.1}   links found, by page\n", "links per page");
    }
    log.sinks().for_each(|(name, books)| text += &sink_rows(folder, log, name, &books));
    text
}

fn sink_rows(folder: &Path, log: &LogStatus, name: &str, books: &Books) -> String {
    let mut text = format!(
        "sink {:<11} {:>13}   delivered, {} not held by the format, {} dead letters, {} lost to a damaged disk, \
         {} pending, of {} accepted\n",
        name,
        grouped(books.delivered),
        grouped(books.skipped),
        grouped(books.dead),
        grouped(books.damaged),
        grouped(books.pending),
        grouped(books.accepted),
    );
    let missed = missed(log, name);
    if missed > 0 {
        text += &row("  came later", missed, "events before it were not in the page log any more");
    }
    let bytes = letters(folder, name);
    if bytes > 0 {
        text += &row("  dead letters", bytes, "bytes on disk; see seine dead-letters");
    }
    text
}

fn row(name: &str, count: u64, what: &str) -> String {
    format!("{name:<16} {:>13}   {what}\n", grouped(count))
}

/// Events that the log did not hold any more when the sink came.
fn missed(log: &LogStatus, sink: &str) -> u64 {
    log.readers.iter().find(|reader| reader.name == sink).map_or(0, super::sinks::missed)
}

/// Bytes of a sink's dead letters on disk.
fn letters(folder: &Path, sink: &str) -> u64 {
    dead_letters::size(&folder.join(sink)).map_or(0, |size| size.bytes)
}
