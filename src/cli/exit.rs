//! The exit status of a crawl. `--help` and the documentation list the same values.

use crate::crawl::{CrawlError, Ended, Summary};

/// Everything is fetched and delivered, or a limit is reached.
pub const DONE: u8 = 0;
/// An error says why.
pub const FAILED: u8 = 1;
/// No seed could be fetched, or hard focus had no relevant page to follow.
pub const NO_SEED: u8 = 3;
/// All remaining URLs wait for hosts, DNS or the network.
pub const WAITING: u8 = 4;
/// Some pages are not delivered: pending or dead letters.
pub const UNDELIVERED: u8 = 5;
/// Only deferred URLs are left, and pages may be behind them.
pub const DEFERRED: u8 = 7;
/// Stopped before the end, by a signal or because standard output was closed.
pub const STOPPED: u8 = 6;

/// Part of the help of commands that crawl.
pub const HELP: &str = "\
Exit status:
  0    done: nothing is left to fetch, the page limit is reached or a budget is used up, and all pages are delivered;
       with --stay: stopped by a signal
  1    failed; the error says why
  2    wrong arguments
  3    no seed could be fetched; with target_storage.hard_focus also: no page is relevant, so no link was followed
  4    all remaining URLs must wait longer than --patience; the same command continues and retries at once
  5    some pages are not delivered: a sink was stuck for --patience (the same command continues), or it has dead letters
       of this or an earlier run (replay or drop them: seine dead-letters)
  6    stopped by a signal, or standard output was closed; the same command continues
  7    only deferred URLs are left: they look endless, but pages may be behind them; --deferred with a larger number
       continues with them
  130  stopped at once by a second signal; the same command continues";

/// `stays`: the crawl was started with `--stay`, so only a signal can end it.
pub fn status(summary: &Summary, stays: bool) -> u8 {
    match summary.ended {
        Ended::Stopped => stopped(stays),
        Ended::ReaderGone => STOPPED,
        _ if summary.has_no_seed() => NO_SEED,
        _ if summary.is_pending() || summary.has_letters() => UNDELIVERED,
        Ended::LogFull => UNDELIVERED,
        Ended::Waiting(_) => WAITING,
        Ended::Done if summary.has_no_relevant_page() => NO_SEED,
        Ended::Done if summary.left_deferred() > 0 => DEFERRED,
        Ended::Done | Ended::PageLimit | Ended::BudgetSpent(_) => DONE,
    }
}

/// For a crawl that ended without a summary.
pub fn status_of_error(error: &CrawlError, stays: bool) -> u8 {
    match error {
        CrawlError::Stopped => stopped(stays),
        _ => FAILED,
    }
}

/// For a crawl that was stopped. With `stays` this is its normal end.
fn stopped(stays: bool) -> u8 {
    if stays { DONE } else { STOPPED }
}

/// The command line of this process, quoted for a shell.
pub(crate) fn this_command() -> String {
    let words: Vec<String> = std::env::args().map(|word| shown(&word)).collect();
    words.join(" ")
}

/// The command line of this process with another value of `--deferred`.
pub(crate) fn this_command_with_deferred(urls: u32) -> String {
    let mut words = Vec::new();
    let mut args = std::env::args();
    while let Some(word) = args.next() {
        match word.as_str() {
            "--deferred" => drop(args.next()),
            other if other.starts_with("--deferred=") => {}
            other => words.push(shown(other)),
        }
    }
    words.extend(["--deferred".to_owned(), urls.to_string()]);
    words.join(" ")
}

fn shown(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
