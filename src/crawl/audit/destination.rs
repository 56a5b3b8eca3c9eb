//! Audits the destinations.

use std::path::Path;

use seine_frontier::{Counts, EmbeddedFrontier};
use seine_page_log::Counters;

use super::pages::{Compared, compare, compare_files, compare_whole, holds_each_page};
use super::sink_reader::SinkReader;
use super::{Audit, Check};
use crate::config::{ElasticConfig, Removed, SinkConfig, Upkeep};
use crate::crawl::error::CrawlError;
use crate::sinks::on_disk::{PagesOnDisk, ReadKeys};
use crate::sinks::{self, Counted};

const PAGES_GONE: &str = "files were moved or deleted: put them back, or seine sinks refill NAME delivers pages again";
const PAGES_LEFT: &str = "a replay or another program wrote them, or they left while the sink was removed or kept them: send a tombstone for each";
const DOCUMENTS_LEFT: &str = "a replay or another program wrote them, or they left while the sink was removed or kept them: delete them by their ids";

impl Audit {
    pub(super) fn destination(
        &mut self,
        config: &SinkConfig,
        folder: &Path,
        reader: &SinkReader,
        counts: &Counts,
    ) -> Result<(), CrawlError> {
        let mut expected = reader.expected.clone();
        expected.sort_unstable();
        expected.dedup();
        let row = sinks::row(config);
        let Some(held) = (row.count)(config, &folder.join(&reader.name), &expected)? else { return Ok(()) };
        let name = format!("at {}", reader.name);
        let books = &reader.counters;
        let replayed = reader.letters.tally.replayed;
        let delivered = match row.counted {
            Counted::Pages => ("pages delivered", pages_delivered(books, counts, config.upkeep)),
            Counted::DeliveriesAndReplays => ("delivered and replayed", books.delivered + replayed),
            Counted::Deliveries => ("delivered", books.delivered),
        };
        let removed = Some(("removed since", held.removed)).filter(|_| held.removed > 0);
        let parts: Vec<_> = [(held.what, held.count)].into_iter().chain(removed).collect();
        self.checks.push(Check::new(&*name, delivered, &parts, row.missing).at_least());
        if let Some(found) = held.found.filter(|_| reader.gets.is_some()) {
            let total = ("delivered and still in the log", expected.len() as u64);
            // A deleted dead letter is an event that may still be in the log but is at no destination.
            let dropped = Some(("dropped", reader.letters.tally.dropped)).filter(|(_, count)| *count > 0);
            let parts: Vec<_> = [("found there by id", found)].into_iter().chain(dropped).chain(removed).collect();
            self.checks.push(Check::new(format!("{name} by id"), total, &parts, row.missing).at_least());
        }
        self.notes.extend(held.notes);
        Ok(())
    }

    /// For an index: checks that each page has a document.
    pub(super) fn index(
        &mut self,
        (elastic, config): (&ElasticConfig, &SinkConfig),
        reader: &SinkReader,
        frontier: &EmbeddedFrontier,
    ) -> Result<(), CrawlError> {
        let compared = compare(frontier, (elastic, config.upkeep), &reader.passed())?;
        let name = format!("at {} by id", reader.name);
        self.pages(name, reader, &compared, "with a document", sinks::row(config).missing);
        let gone = ("documents of pages that have left", compared.left_over);
        self.checks.push(Check::new(format!("at {}, gone", reader.name), gone, &[], DOCUMENTS_LEFT));
        self.notes.extend(compared.notes);
        Ok(())
    }

    /// Checks a sink with one file per page.
    pub(super) fn pages_on_disk(
        &mut self,
        pages: &PagesOnDisk,
        config: &SinkConfig,
        reader: &SinkReader,
        frontier: &EmbeddedFrontier,
    ) -> Result<(), CrawlError> {
        let compared = compare_files(frontier, pages, config, &reader.passed())?;
        self.pages(format!("at {} by page", reader.name), reader, &compared, "with a file", PAGES_GONE);
        self.notes.extend(compared.notes);
        Ok(())
    }

    /// For a destination that is read as a whole: checks that it has each page.
    pub(super) fn whole(
        &mut self,
        read: &ReadKeys<'_>,
        config: &SinkConfig,
        reader: &SinkReader,
        frontier: &EmbeddedFrontier,
    ) -> Result<(), CrawlError> {
        let compared = compare_whole(frontier, read, config, &reader.passed())?;
        if holds_each_page(config) && compared.elsewhere == 0 {
            let name = format!("at {} by page", reader.name);
            self.pages(name, reader, &compared, "found there", sinks::row(config).missing);
        }
        if config.destination.is_server() {
            let gone = ("pages that have left", compared.left_over);
            self.checks.push(Check::new(format!("at {}, gone", reader.name), gone, &[], PAGES_LEFT));
        }
        self.notes.extend(compared.notes);
        Ok(())
    }

    /// Checks that each live page that was delivered is `there`, except for those that are known to be missing.
    fn pages(
        &mut self,
        name: String,
        reader: &SinkReader,
        compared: &Compared,
        there: &'static str,
        remedy: &'static str,
    ) {
        let missing = [
            ("dropped", reader.letters.tally.dropped),
            ("lost to a damaged disk", reader.counters.damaged),
            ("removed by the topic's retention", compared.removed),
        ];
        let missing = missing.into_iter().filter(|(_, count)| *count > 0);
        let parts: Vec<_> = [(there, compared.found)].into_iter().chain(missing).collect();
        self.checks.push(Check::new(name, ("live pages delivered", compared.live), &parts, remedy).at_least());
    }
}

/// Minimum number of documents in the index: one per page, however often it was delivered. Documents of pages that are
/// gone may be missing. For a sink that was added after the start of the crawl nothing is known.
fn pages_delivered(books: &Counters, counts: &Counts, upkeep: Upkeep) -> u64 {
    let undelivered = books.dead + books.damaged + books.pending;
    let kept = if upkeep.removed == Removed::Keep { counts.gone } else { 0 };
    let left_out = if upkeep.skip_duplicates { counts.duplicates } else { 0 };
    let from_the_beginning = (counts.live + kept).saturating_sub(left_out).saturating_sub(undelivered);
    let came_later = books.delivered + books.skipped + undelivered < counts.page;
    if came_later { 0 } else { from_the_beginning.min(books.delivered) }
}
