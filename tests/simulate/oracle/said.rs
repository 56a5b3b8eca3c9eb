//! The reports of the program that the oracle reads.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;
use seine::api::Service;
use seine::api::schema::{SinkStatus, Status};
use seine::crawl::{CrawlError, Summary};
use seine::supervisor::Phase;

#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// By the program's clock.
    pub now_ms: u64,
    pub in_flight: u64,
    /// Events that each sink has still to deliver.
    pub pending: BTreeMap<String, u64>,
    pub is_paused: bool,
    /// Ready, with notes; or not, with reasons.
    pub ready: Result<Vec<String>, Vec<String>>,
    pub parts_stuck: Vec<String>,
    pub parts_failing: Vec<String>,
    /// Pages that are live, as the frontier has it.
    pub live: u64,
}

/// Its answer about one URL (`seine why`).
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub url: String,
    pub state: String,
    /// The state of the page at each sink.
    pub sinks: BTreeMap<String, String>,
}

/// The counters of a sink.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Books {
    pub sink: String,
    pub accepted: u64,
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    pub damaged: u64,
    pub pending: u64,
}

impl Said {
    pub fn of(status: &Status, ready: Result<Vec<String>, Vec<String>>, now_ms: u64) -> Said {
        let parts = status.running.as_ref().map(|live| live.parts.as_slice()).unwrap_or_default();
        let stuck = parts.iter().filter(|part| part.is_stuck).map(|part| part.name.clone());
        let failing = parts.iter().filter(|part| part.phase == Phase::BackingOff).map(|part| part.name.clone());
        Said {
            now_ms,
            in_flight: status.frontier.in_flight,
            pending: status.sinks.iter().map(|sink| (sink.name.clone(), sink.pending)).collect(),
            is_paused: status.is_paused,
            ready,
            parts_stuck: stuck.collect(),
            parts_failing: failing.collect(),
            live: status.frontier.live,
        }
    }
}

/// The end of a process: its exit status, and what its summary says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// 0 to 7, as the command line ends; 1: it failed.
    pub status: u8,
    /// How it ended, in the words of the summary, or the error.
    pub how: String,
    pub books: Vec<Books>,
    /// Dead letters on disk, by sink.
    pub letters: BTreeMap<String, u64>,
    /// Deferred URLs, without those whose pages exist under another URL.
    pub deferred: u64,
    /// Number of live pages.
    pub live: u64,
    /// Attempts of this process by outcome: a class of statuses (`2xx`), or a reason of a failure.
    pub attempts: BTreeMap<String, u64>,
    /// Number of seeds, and the failed ones.
    pub seeds: u64,
    pub failed_seeds: Vec<String>,
}

impl Report {
    pub fn of(summary: &Summary, status: u8) -> Report {
        let letters = summary.sinks.iter().map(|sink| (sink.name.clone(), sink.letters));
        Report {
            status,
            how: summary.how(),
            books: summary.sinks.iter().map(|sink| Books::in_the_end(&sink.name, &sink.counters)).collect(),
            letters: letters.collect(),
            deferred: summary.left_deferred(),
            live: summary.counts.live,
            attempts: summary.outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect(),
            seeds: summary.seeds,
            failed_seeds: summary.failed_seeds.iter().map(|(seed, why)| format!("{seed} ({why})")).collect(),
        }
    }

    /// Of a process that ended without a summary.
    pub fn of_failure(error: &CrawlError, status: u8) -> Report {
        Report { status, how: error.to_string(), ..Report::default() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "exit status {}, {:?}", self.status, self.how)
    }
}

impl Books {
    /// Of the summary.
    fn in_the_end(sink: &str, books: &seine_page_log::Counters) -> Books {
        let seine_page_log::Counters { accepted, delivered, skipped, dead, damaged, pending } = *books;
        Books { sink: sink.to_owned(), accepted, delivered, skipped, dead, damaged, pending }
    }

    pub fn of(sink: &SinkStatus) -> Books {
        Books {
            sink: sink.name.clone(),
            accepted: sink.accepted,
            delivered: sink.delivered,
            skipped: sink.skipped,
            dead: sink.dead_lettered,
            damaged: sink.damaged,
            pending: sink.pending,
        }
    }
}

/// The only URL that a story is about, and the last answer about it.
static TOLD_OF: Mutex<(Option<String>, String)> = Mutex::new((None, String::new()));

pub fn tell_of(url: Option<String>) {
    TOLD_OF.lock().0 = url;
}

pub fn is_told_of(url: &str) -> bool {
    TOLD_OF.lock().0.as_ref().is_none_or(|told| told == url)
}

/// The program's answer about that URL, if it is new.
pub fn tell_why(service: &dyn Service, day: &str) {
    let Some(url) = TOLD_OF.lock().0.clone() else { return };
    let why = match service.why(&url, false) {
        Ok(why) => {
            let page = why
                .page
                .as_ref()
                .map(|page| serde_json::json!([page.doubt, page.alias_of, page.final_url, page.alive_ms]));
            let last = why.attempts.last.last();
            let last =
                last.map(|last| format!(" (attempt: {}{})", last.outcome, if last.counts { "" } else { ", host's" }));
            format!("{}: {}; {}{}", why.state, why.reason, page.unwrap_or_default(), last.unwrap_or_default())
        }
        Err(refusal) => format!("{refusal:?}"),
    };
    let mut told = TOLD_OF.lock();
    if told.1 != why {
        eprintln!("  {day}: {why}");
        told.1 = why;
    }
}
