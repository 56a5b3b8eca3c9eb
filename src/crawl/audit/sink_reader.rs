//! The sinks as readers of the log: their offsets, their counts, and the events that must be at their destinations.

use std::collections::HashMap;
use std::path::Path;

use seine_page_log::{Counters, LogStatus};
use seine_parse::page::PageEvent;

use super::pages::Passed;
use crate::config::SinkConfig;
use crate::crawl::error::CrawlError;
use crate::judge::upkeep::{DeliveryAction, has_no_page};
use crate::sinks;
use crate::sinks::dead_letters::{self, Account};

/// A sink: its committed offset, and the counts.
pub(super) struct SinkReader {
    pub name: String,
    /// The offset at which it started, and its offset now.
    pub from: u64,
    pub at: u64,
    pub counters: Counters,
    pub letters: Account,
    /// It started again with empty counters.
    pub anew: bool,
    /// Readable events after its offset …
    pub pending: u64,
    /// … of which this many were refused just before a crash.
    pub refused_ahead: u64,
    /// Decides whether the destination gets an event, if the destination can be asked for ids …
    pub gets: Option<Gets>,
    /// … and the hashed ids of events that are in the log and must be at the destination.
    pub expected: Vec<u64>,
}

impl SinkReader {
    pub(super) fn passed(&self) -> Passed<'_> {
        Passed { from: self.from, at: self.at, anew: self.anew, letters: &self.letters.ids }
    }
}

type Gets = Box<dyn Fn(&PageEvent) -> Option<u64>>;

/// None if the destination has no ids, or its format must parse a page to decide.
pub(super) fn got_by(config: &SinkConfig) -> Option<Gets> {
    let (row, config, is_held) = (sinks::row(config), config.clone(), config.format?.stores_event?);
    Some(Box::new(move |event| {
        let is_got = match config.upkeep.due(event) {
            DeliveryAction::Tombstone | DeliveryAction::Event => true,
            DeliveryAction::Write => is_held(event) && !has_no_page(event),
            DeliveryAction::Touch | DeliveryAction::Skip | DeliveryAction::Delete => false,
        };
        if is_got { (row.key)(&config, event) } else { None }
    }))
}

pub(super) fn sink_readers(folder: &Path, status: &LogStatus) -> Result<Vec<SinkReader>, CrawlError> {
    let places: HashMap<&str, (u64, u64, bool)> =
        status.readers.iter().map(|it| (it.name.as_str(), (it.position.index, it.missed, it.anew.is_some()))).collect();
    let reader = |(name, books): (&str, Counters)| {
        let letters = dead_letters::account(&folder.join(name))?;
        let (at, from, anew) = places.get(name).copied().unwrap_or_default();
        let name = name.to_owned();
        let (gets, expected) = (None, Vec::new());
        Ok(SinkReader { name, from, at, anew, counters: books, letters, pending: 0, refused_ahead: 0, gets, expected })
    };
    status.sinks().map(reader).collect()
}
