//! `seine audit`: recounts everything in the folder of a stopped crawl and checks that the counters balance.
//!
//! It counts rather than trusting counters: pending events in the page log, URLs in the tables of the frontier, dead
//! letters in their files. The counters must agree.

use std::collections::HashMap;
use std::path::Path;

use seine_frontier::{Counts, EmbeddedFrontier, FrontierOptions, Survey, Verdicts};
use seine_page_log::{Counters, LogStatus, PageLog, Recovery, Scan};
use seine_parse::DeriveOptions;
use seine_parse::page::PageEvent;
use serde::Serialize;

use super::audit_index::{Passed, compare, compare_files};
use super::error::CrawlError;
use crate::backup::refuse_half_restored;
use crate::config::{Config, ElasticConfig, Removed, SinkConfig, Upkeep};
use crate::judge::upkeep::{DeliveryAction, has_no_page};
use crate::sinks::dead_letters::{self, Account};
use crate::sinks::on_disk::{PagesAt, PagesOnDisk};
use crate::sinks::{self, Counted};

/// The result of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    pub checks: Vec<Check>,
    /// Remarks that do not affect a balance.
    pub notes: Vec<String>,
}

/// One equation: `total` is the sum of `parts`.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: String,
    pub total: Figure,
    pub parts: Vec<Figure>,
    pub rule: Rule,
    /// Advice if it does not balance.
    pub remedy: &'static str,
}

/// A number and what it counts.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Figure {
    pub what: &'static str,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The sum of the parts equals the total.
    Equal,
    /// The sum of the parts is at least the total; more is not a loss.
    AtLeast,
}

impl Check {
    fn new(
        name: impl Into<String>,
        total: (&'static str, u64),
        parts: &[(&'static str, u64)],
        remedy: &'static str,
    ) -> Check {
        let figure = |&(what, count): &(&'static str, u64)| Figure { what, count };
        let parts = parts.iter().map(figure).collect();
        Check { name: name.into(), total: figure(&total), parts, rule: Rule::Equal, remedy }
    }

    fn at_least(mut self) -> Check {
        self.rule = Rule::AtLeast;
        self
    }

    /// Sum of the parts.
    pub fn sum(&self) -> u64 {
        self.parts.iter().map(|part| part.count).sum()
    }

    pub fn balances(&self) -> bool {
        match self.rule {
            Rule::Equal => self.sum() == self.total.count,
            Rule::AtLeast => self.sum() >= self.total.count,
        }
    }

    /// Difference between the sum of the parts and the total.
    pub fn off_by(&self) -> u64 {
        self.sum().abs_diff(self.total.count)
    }
}

impl Audit {
    pub fn balances(&self) -> bool {
        self.checks.iter().all(Check::balances)
    }
}

const LOST: &str = "accepted events are missing from log/: restore it from a backup, and check this disk";
const PAGES_GONE: &str = "files were moved or deleted: put them back, or seine sinks refill NAME delivers pages again";
const MISCOUNTED: &str =
    "another program changed log/cursors, or this is a bug to report; restore log/cursors from a backup";
const LETTERS_GONE: &str = "files below dead_letters/ are gone or damaged: restore them, and remove letters only \
    with seine dead-letters";
const FRONTIER_OFF: &str = "frontier/ is damaged, or this is a bug to report: restore the whole data folder from a \
    backup (seine restore), or begin anew: move frontier/ and log/ away";

const DOCUMENTS_LEFT: &str = "a replay or another program wrote them, or they left while the sink was removed or kept them: delete them by their ids";

/// Runs the audit. `destinations` are checked too. Fails if the crawl is running, or if something cannot be read.
pub fn audit(folder: &Path, destinations: &[SinkConfig]) -> Result<Audit, CrawlError> {
    refuse_half_restored(folder)?;
    let config = Config::default();
    let (log, recovery) = PageLog::open(&folder.join("log"), &config.log, DeriveOptions::from(&config))?;
    if let Some((_, why)) = recovery.unreadable.first() {
        return Err(CrawlError::Cursor(why.clone()));
    }
    let frontier = EmbeddedFrontier::open(&folder.join("frontier"), FrontierOptions::default(), 0)?;
    let mut audit = Audit::default();
    let readers = audit.log(folder, &log, &recovery, frontier.cursor()?.index, destinations)?;
    let (counts, survey) = (frontier.counts(), frontier.survey()?);
    audit.frontier(&counts, &survey);
    for config in destinations {
        if let Some(reader) = readers.iter().find(|reader| reader.name == config.name()) {
            audit.destination(config, folder, reader, &counts)?;
            match (sinks::row(config).pages)(config, &folder.join(&reader.name))? {
                Some(PagesAt::Index(elastic)) => audit.index((elastic, config), reader, &frontier)?,
                Some(PagesAt::Disk(pages)) => audit.pages_on_disk(&pages, config, reader, &frontier)?,
                None => {}
            }
        }
    }
    Ok(audit)
}

/// A sink: its committed offset, and the counts.
struct SinkReader {
    name: String,
    /// The offset at which it started, and its offset now.
    from: u64,
    at: u64,
    counters: Counters,
    letters: Account,
    /// It started again with empty counters.
    anew: bool,
    /// Readable events after its offset …
    pending: u64,
    /// … of which this many were refused just before a crash.
    refused_ahead: u64,
    /// Decides whether the destination gets an event, if the destination can be asked for ids …
    gets: Option<Gets>,
    /// … and the hashed ids of events that are in the log and must be at the destination.
    expected: Vec<u64>,
}

type Gets = Box<dyn Fn(&PageEvent) -> Option<u64>>;

/// None if the destination has no ids, or its format must parse a page to decide.
fn got_by(config: &SinkConfig) -> Option<Gets> {
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

impl Audit {
    fn log(
        &mut self,
        folder: &Path,
        log: &PageLog,
        recovery: &Recovery,
        validated: u64,
        destinations: &[SinkConfig],
    ) -> Result<Vec<SinkReader>, CrawlError> {
        let status = log.status();
        let mut readers = sink_readers(folder, &status)?;
        for reader in &mut readers {
            reader.gets = destinations.iter().find(|config| config.name() == reader.name).and_then(got_by);
        }
        let mut waiting = 0;
        let scan = log.scan(&mut |end, event| {
            waiting += u64::from(end.index > validated);
            let id = dead_letters::id_hash(&event.id);
            for reader in &mut readers {
                let is_letter = reader.letters.ids.contains(&id);
                if end.index > reader.at {
                    reader.pending += 1;
                    reader.refused_ahead += u64::from(is_letter);
                } else if end.index > reader.from && !is_letter {
                    reader.expected.extend(reader.gets.as_ref().and_then(|gets| gets(event)));
                }
            }
        })?;
        // A reader whose offset is after the end of the log has read events that the log has lost.
        let accepted = status.end.index.max(validated);
        self.note_damage(&scan, recovery);
        let kept = [("no longer needed", status.oldest.index), ("readable", scan.events)];
        self.checks.push(Check::new("page log", ("accepted", accepted), &kept, LOST));
        let parts = [("validated", validated), ("waiting", waiting)];
        self.checks.push(Check::new("validator", ("accepted", accepted), &parts, LOST));
        for reader in &readers {
            self.sink(reader, accepted - status.end.index);
        }
        Ok(readers)
    }

    fn note_damage(&mut self, scan: &Scan, recovery: &Recovery) {
        for damage in &scan.damage {
            let (segment, offset, events) = (damage.segment.display(), damage.offset, damage.events);
            self.notes.push(format!("{segment} is damaged at byte {offset}: {events} events are lost there"));
        }
        if let Some(torn) = &recovery.torn {
            let (segment, bytes) = (torn.segment.display(), torn.bytes);
            self.notes.push(format!("{segment}: cut {bytes} bytes of an incomplete record that was never accepted"));
        }
    }

    /// `beyond`: accepted events after the end of the log as it is now.
    fn sink(&mut self, reader: &SinkReader, beyond: u64) {
        let books = &reader.counters;
        let parts = [
            ("delivered", books.delivered),
            ("skipped", books.skipped),
            ("dead", books.dead),
            ("lost to a damaged disk", books.damaged),
            ("pending", reader.pending),
        ];
        let accepted = ("accepted", books.accepted + beyond);
        self.checks.push(Check::new(format!("sink {}", reader.name), accepted, &parts, MISCOUNTED));
        let tally = reader.letters.tally;
        let on_disk = reader.letters.ids.len() as u64 - reader.refused_ahead;
        if books.dead > 0 || on_disk > 0 || !reader.letters.problems.is_empty() {
            let parts = [("on disk", on_disk), ("replayed", tally.replayed), ("dropped", tally.dropped)];
            let book = Check::new(format!("{} dead letters", reader.name), ("dead", books.dead), &parts, LETTERS_GONE);
            self.checks.push(book.at_least());
        }
        if reader.refused_ahead > 0 {
            let (name, count) = (&reader.name, reader.refused_ahead);
            self.notes.push(format!("{name}: {count} pending events are dead letters already, refused before a crash"));
        }
        for (path, problem) in &reader.letters.problems {
            self.notes.push(format!("{}: {problem}", path.display()));
        }
    }

    fn frontier(&mut self, counts: &Counts, survey: &Survey) {
        let books = [
            ("work_proposed", ("URLs to fetch", counts.work_proposed), vec![("in the queues", survey.queued)]),
            (
                "queues by host",
                ("in the queues", survey.queued),
                vec![("in the hosts' records", survey.queued_by_host)],
            ),
            ("queues by URL", ("in the queues", survey.queued), vec![("known to be queued", survey.known_queued)]),
            ("deferred", ("deferred URLs", counts.deferred), vec![("in the queues", survey.deferred)]),
            ("first time", ("never answered", counts.first_time), vec![("in the queues", survey.first_time())]),
            (
                "page",
                ("pages admitted", survey.admitted_by_host),
                vec![("in page", counts.page), ("never answered", survey.first_time_pages)],
            ),
            (
                "page by URL",
                ("records", survey.records()),
                vec![("known to be done", survey.known_done), ("to be rechecked", survey.revisits)],
            ),
            ("hosts", ("hosts", counts.hosts), vec![("records", survey.hosts)]),
        ];
        self.checks.extend(books.map(|(name, total, parts)| Check::new(name, total, &parts, FRONTIER_OFF)));
        // The survey includes records of sitemaps, which are not pages.
        let states = [
            ("page live", counts.live, survey.live),
            ("page gone", counts.gone, survey.gone),
            ("page refused", counts.refused, survey.refused),
            ("page failed", counts.failed, survey.failed),
            ("page withheld", counts.withheld, survey.withheld),
            ("page alias", counts.alias, survey.alias),
            ("duplicates", counts.duplicates, survey.duplicates),
            ("contents with a content slot", survey.content_slots, survey.firsts),
        ];
        for (name, counted, records) in states {
            self.checks.push(Check::new(name, ("pages", counted), &[("records", records)], FRONTIER_OFF).at_least());
        }
    }

    fn destination(
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
}

impl Audit {
    /// For an index: checks that each page has a document.
    fn index(
        &mut self,
        (elastic, config): (&ElasticConfig, &SinkConfig),
        reader: &SinkReader,
        frontier: &EmbeddedFrontier,
    ) -> Result<(), CrawlError> {
        let (from, at, anew, letters) = (reader.from, reader.at, reader.anew, &reader.letters.ids);
        let compared = compare(frontier, (elastic, config.upkeep), &Passed { from, at, anew, letters })?;
        let name = format!("at {} by id", reader.name);
        let not_there =
            [("dropped", reader.letters.tally.dropped), ("lost to a damaged disk", reader.counters.damaged)];
        let not_there = not_there.into_iter().filter(|(_, count)| *count > 0);
        let parts: Vec<_> = [("with a document", compared.found)].into_iter().chain(not_there).collect();
        self.checks.push(
            Check::new(name, ("live pages delivered", compared.live), &parts, sinks::row(config).missing).at_least(),
        );
        let gone = ("documents of pages that have left", compared.left_over);
        self.checks.push(Check::new(format!("at {}, gone", reader.name), gone, &[], DOCUMENTS_LEFT));
        self.notes.extend(compared.notes);
        Ok(())
    }
}

impl Audit {
    /// Checks a sink with one file per page.
    fn pages_on_disk(
        &mut self,
        pages: &PagesOnDisk,
        config: &SinkConfig,
        reader: &SinkReader,
        frontier: &EmbeddedFrontier,
    ) -> Result<(), CrawlError> {
        let (from, at, anew, letters) = (reader.from, reader.at, reader.anew, &reader.letters.ids);
        let compared = compare_files(frontier, pages, config, &Passed { from, at, anew, letters })?;
        let not_there =
            [("dropped", reader.letters.tally.dropped), ("lost to a damaged disk", reader.counters.damaged)];
        let not_there = not_there.into_iter().filter(|(_, count)| *count > 0);
        let parts: Vec<_> = [("with a file", compared.found)].into_iter().chain(not_there).collect();
        let name = format!("at {} by page", reader.name);
        self.checks.push(Check::new(name, ("live pages delivered", compared.live), &parts, PAGES_GONE).at_least());
        self.notes.extend(compared.notes);
        Ok(())
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

fn sink_readers(folder: &Path, status: &LogStatus) -> Result<Vec<SinkReader>, CrawlError> {
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
