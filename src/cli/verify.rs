//! `seine verify`: checks that archives are intact.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use serde_json::json;

use super::archive::{NOTHING_READ, ReadingArgs};
use super::is_closed_pipe;
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInputs, FoundInput, SkipReason};
use crate::archive::verify::{VerifyReport, verify};
use crate::telemetry::progress::{bytes, grouped};

/// Check that archives are intact: structure, lengths, checksums. One line per file.
///
/// A file is whole; open: still being written, and intact so far; cut: it ends early; or damaged. seine recover saves
/// the intact records of files that are cut or damaged. Formats without checksums (one file per page, JSON lines, CSV)
/// do not show a changed byte inside a text. An emptied file named after its page is recognised by the files beside it.
///
/// Exit status: 0 if every file is whole or open; 1 if one is not, could not be read, or is a sink's file without any
/// known content, or if there was no file; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", required = true)]
    from_names: Vec<String>,
    /// Print one JSON object per file instead of a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: ReadingArgs,
}

const EXAMPLES: &str = "\
Examples:
  seine verify data/files
  seine verify backup --json | jq -r 'select(.verdict == \"damaged\").file'";

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match check(&args) {
        // The reader closed the pipe, so not every file was checked.
        Err(error) if is_closed_pipe(&error) => Ok(ExitCode::FAILURE),
        checked => checked,
    }
}

fn check(args: &Args) -> anyhow::Result<ExitCode> {
    let options = args.reading.source_options()?;
    let mut ticker = Ticker::new(&args.from_names, &options, false);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut files, mut bad, mut unread, mut pages) = (0_u64, 0_u64, 0_u64, 0);
    for found in ArchiveInputs::open(&args.from_names, options)? {
        let input = match found? {
            FoundInput::Input(input) => input,
            FoundInput::PassedOver { name, why } => {
                unread += u64::from(matches!(why, SkipReason::Unread(_) | SkipReason::Emptied));
                ticker.screen.print(&format!("seine: {name}: skipped, {why}\n"));
                continue;
            }
        };
        let report = verify(&input, ticker.read(), &mut |so_far| ticker.count(pages + so_far))?;
        files += 1;
        pages += report.pages;
        bad += u64::from(!report.verdict.is_fine());
        let text = if args.json { json_line(&report) } else { lines(&report) };
        ticker.screen.above(|| out.write_all(text.as_bytes()).and_then(|()| out.flush()))?;
    }
    ticker.end();
    let is_nothing = files + unread == 0;
    if is_nothing {
        ticker.screen.print(NOTHING_READ);
    }
    let files = grouped(files);
    let others = if unread > 0 { format!(", {} more could not be read", grouped(unread)) } else { String::new() };
    ticker.screen.print(&format!("\n  {files} files, {} pages, {bad} cut or damaged{others}\n", grouped(pages)));
    Ok(if bad + unread == 0 && !is_nothing { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn lines(report: &VerifyReport) -> String {
    let verdict = report.verdict.name();
    let format = report.format.map_or("", |format| format.name);
    let mut text = format!(
        "{verdict:<8} {format:<8} {:>9} pages {:>9}  {}\n",
        grouped(report.pages),
        bytes(report.bytes),
        report.input
    );
    for problem in &report.problems {
        text += &format!("         {}\n", problem.text);
    }
    let unnamed = report.damaged - report.problems.len() as u64;
    if unnamed > 0 {
        text += &format!("         and {} more\n", grouped(unnamed));
    }
    text
}

fn json_line(report: &VerifyReport) -> String {
    let problems: Vec<_> = report.problems.iter().map(|it| &it.text).collect();
    let line = json!({
        "file": &*report.input,
        "format": report.format.map(|it| it.name),
        "verdict": report.verdict.name(),
        "pages": report.pages,
        "other_records": report.others,
        "bytes": report.bytes,
        "damaged_records": report.damaged,
        "problems": problems,
    });
    format!("{line}\n")
}
