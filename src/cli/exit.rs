//! What the exit status of a crawl says; `--help` and the README list the same.

use std::process::ExitCode;

use crate::crawl::{Ended, Summary};

/// Nothing could be fetched: no seed brought a page.
pub const NO_SEED: u8 = 3;
/// Ended while hosts, name servers or the network were waited for.
pub const WAITING: u8 = 4;
/// Ended with pages that a destination has not got: pending, or among its dead letters.
pub const UNDELIVERED: u8 = 5;
/// Told to end by a signal, or by whoever read standard output, before it was done.
pub const STOPPED: u8 = 6;

/// For the help of the commands that crawl.
pub const HELP: &str = "\
Exit status:
  0    done: nothing is left to fetch, or the limit of pages is reached, or a budget is spent, and all of it is delivered;
       with --stay, told to end
  1    it failed; the error says why
  2    the arguments are not understood
  3    no seed brought a page
  4    all that is left waits, for longer than --patience: the same command goes on, and tries it at once
  5    pages are not delivered: a sink has not moved for --patience, and the same command goes on; or it has dead letters,
       of this run or an earlier one, until they are replayed or dropped (seine dead-letters)
  6    stopped by a signal, or nobody read standard output any more: the same command goes on
  130  stopped at once, by a second signal: the same command goes on";

/// `stays`: it was started to be told to end.
pub fn status(summary: &Summary, stays: bool) -> ExitCode {
    let code = match summary.ended {
        Ended::Stopped => return stopped(stays),
        Ended::ReaderGone => STOPPED,
        _ if summary.has_no_seed() => NO_SEED,
        _ if summary.is_pending() || summary.has_letters() => UNDELIVERED,
        Ended::LogFull => UNDELIVERED,
        Ended::Waiting(_) => WAITING,
        Ended::Done | Ended::PageLimit | Ended::BudgetSpent(_) => return ExitCode::SUCCESS,
    };
    ExitCode::from(code)
}

/// Of a crawl that was told to end; one that `stays` was started for that.
pub fn stopped(stays: bool) -> ExitCode {
    if stays { ExitCode::SUCCESS } else { ExitCode::from(STOPPED) }
}

/// The command line of this process as a shell takes it.
pub fn this_command() -> String {
    let words: Vec<String> = std::env::args().map(|word| shown(&word)).collect();
    words.join(" ")
}

fn shown(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
