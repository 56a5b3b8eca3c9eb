//! `seine status` and `seine top`: what a crawl is doing.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use super::asked::{Asked, ago};
use super::folder::NamedFolder;
use super::stats::as_table;
use crate::api::schema::{HarvestStatus, Live, Rate, Status};
use crate::supervisor::Phase;
use crate::telemetry::progress::{bytes, grouped};

/// Show what a crawl is doing: its rate, failures, and the progress of each sink. For a stopped crawl: its progress.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    folder: NamedFolder,
    /// Print one JSON object, as the API does.
    #[arg(long)]
    json: bool,
}

/// Show the status of a running crawl continuously, until Ctrl-C.
#[derive(clap::Args)]
pub(super) struct Top {
    #[command(flatten)]
    folder: NamedFolder,
    /// Seconds between two updates.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let status = Asked::of(args.folder.path())?.status()?;
    super::print(&super::as_text(&status, args.json, shown)?)
}

pub(super) fn top(args: Top) -> anyhow::Result<ExitCode> {
    let is_terminal = std::io::stdout().is_terminal();
    loop {
        // Connect again each time, because the crawl may have restarted.
        let asked = Asked::of(args.folder.path())?;
        let text = shown(&asked.status()?);
        let text = match is_terminal {
            // Move to the top left, clear each line to its end, then clear the rest of the screen.
            true => format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n")),
            false => format!("{text}\n"),
        };
        if !super::is_printed(&text)? || !asked.is_running() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_secs(args.interval));
    }
}

fn shown(status: &Status) -> String {
    let mut text = match &status.running {
        None if status.is_paused => {
            format!("{} is stopped and paused; resume it with: seine resume -o {0}\n", status.folder)
        }
        None => format!("{} is stopped; continue it with: seine crawl -o {0}\n", status.folder),
        Some(live) => head(status, live),
    };
    if status.clock_ahead_ms > 0 {
        text += &format!("  {}\n", crate::crawl::clock_is_ahead(Duration::from_millis(status.clock_ahead_ms)));
    }
    text += "\n";
    text + &as_table(status)
}

fn head(status: &Status, live: &Live) -> String {
    let mut text = format!("{} is {}, started {}\n", status.folder, live.phase, ago(live.started_ms, status.now_ms));
    if let Some(notice) = &live.notice {
        text += &format!("  {notice}\n");
    }
    for Rate { seconds, attempts, pages, failures, bytes: received, .. } in &live.rates {
        text += &format!(
            "  {:<16} {attempts:>9.1} attempts/s, {pages:.1} pages/s, {failures:.1} failures/s, {}/s\n",
            format!("last {}", span(*seconds)),
            bytes(*received as u64)
        );
    }
    if let Some(HarvestStatus { life, last }) = live.harvest {
        let percent = |part: Option<f64>| part.map_or("none".to_owned(), |part| format!("{:.1} %", part * 100.0));
        text += &format!(
            "  {:<16} of the latest pages are relevant: {}; of all: {}\n",
            "harvest",
            percent(last),
            percent(life)
        );
    }
    for outcome in &live.outcomes {
        let meaning = crate::crawl::meaning(&outcome.outcome);
        text += &format!("    {:<16} {:>9}   {meaning}\n", outcome.outcome, grouped(outcome.count));
    }
    for part in live.parts.iter().filter(|part| part.is_stuck || part.phase == Phase::BackingOff) {
        let error = part.last_error.as_deref().unwrap_or("no progress");
        text += &format!("  {}: {} ({} restarts)\n", part.name, error, part.restarts);
    }
    if status.log.is_full {
        text += "  the page log is full: fetching waits for the sinks\n";
    }
    text
}

fn span(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}
