//! `seine recover`: saves the intact records of a damaged file.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use seine_formats::Format;

use super::ticker::Ticker;
use crate::archive::recover::{RecoveryReport, recover};
use crate::telemetry::progress::{Screen, bytes, grouped};

/// Save the intact records of a damaged file in a new file of the same format, and list what is lost.
///
/// The damaged file is not changed. Intact records are copied byte for byte. Losses are listed as ranges of bytes:
/// exact in plain files, to a few kilobytes in compressed files.
///
/// Exit status: 0 if nothing was lost; 1 if something was lost, or on failure; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Damaged file.
    #[arg(value_name = "DAMAGED")]
    damaged: PathBuf,
    /// File to write; it must not exist.
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Format of the file, if its beginning is damaged.
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    format: Option<Format>,
}

const EXAMPLES: &str = "\
Examples:
  seine verify data/files                                               which files are damaged?
  seine recover data/files/crawl_data-1795271825985-3.deflate saved.deflate
  seine recover disk.img saved.deflate --format FILES                   all records that can be found";

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let length = std::fs::metadata(&args.damaged).map_or(0, |it| it.len());
    let mut ticker = Ticker::start(Screen::new(false), "records", length);
    let recovery = recover(&args.damaged, &args.out, args.format, &mut |records, at| {
        ticker.count(records);
        ticker.read().store(at, Ordering::Relaxed);
    });
    ticker.end();
    let recovery = recovery?;
    super::print(&text(&recovery, &args))?;
    Ok(if recovery.ranges == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(recovery: &RecoveryReport, args: &Args) -> String {
    let records = grouped(recovery.records);
    let mut text = format!("{} records of {} saved in {}\n", records, recovery.format, args.out.display());
    for lost in &recovery.lost {
        text += &format!("lost: bytes {} to {} ({}): {}\n", lost.from, lost.to, bytes(lost.to - lost.from), lost.why);
    }
    let unnamed = recovery.ranges - recovery.lost.len() as u64;
    if unnamed > 0 {
        text += &format!("and {} more ranges\n", grouped(unnamed));
    }
    let share = recovery.lost_bytes as f64 / recovery.length.max(1) as f64 * 100.0;
    if recovery.ranges == 0 {
        return text + "nothing was lost\n";
    }
    text + &format!("{} of {} lost, {share:.2} %\n", bytes(recovery.lost_bytes), bytes(recovery.length))
}
