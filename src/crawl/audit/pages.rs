//! Audits pages: a destination must have each live page, and none that was removed.

use std::collections::HashSet;

use seine_formats::stored_fields::{Field, Stored};
use seine_frontier::{EmbeddedFrontier, FrontierError, PageRecord, PageState, Verdicts};

use crate::config::{ElasticConfig, Removed, SinkConfig, Upkeep};
use crate::crawl::error::CrawlError;
use crate::sinks::SinkError;
use crate::sinks::dead_letters::id_hash;
use crate::sinks::elasticsearch::{AT_ONCE, IndexReader};
use crate::sinks::live_keys::{KEYS_AT_ONCE, LiveKeys};
use crate::sinks::on_disk::{PagesOnDisk, ReadKeys};

/// Number of URLs to list.
const NAMED: usize = 5;

/// The events that a sink has consumed.
pub(super) struct Passed<'a> {
    /// The offset at which it started, and its offset now.
    pub from: u64,
    pub at: u64,
    /// It started again with empty counters, so earlier deliveries are not in the index.
    pub anew: bool,
    /// Hashed event ids of its dead letters.
    pub letters: &'a HashSet<u64>,
}

/// Looks up which of these pages the destination has.
type DocumentsOf<'a> = dyn for<'u> Fn(&[&'u str]) -> Result<HashSet<&'u str>, CrawlError> + 'a;

#[derive(Default)]
pub(super) struct Compared {
    /// Live pages that must have a document, and the number found.
    pub live: u64,
    pub found: u64,
    /// Documents of pages that were removed.
    pub left_over: u64,
    /// Live pages that are not there, of a destination that was added or started again when the crawl had pages.
    pub elsewhere: u64,
    /// Messages that retention removed. They may have been pages.
    pub removed: u64,
    pub notes: Vec<String>,
}

/// Looks up every live page in the index, and every document in the frontier.
pub(super) fn compare(
    frontier: &EmbeddedFrontier,
    (config, upkeep): (&ElasticConfig, Upkeep),
    passed: &Passed<'_>,
) -> Result<Compared, CrawlError> {
    let reader = IndexReader::open(config)?;
    let mut compared = Compared::default();
    let wanted = |record: &PageRecord| must_be_there(record, upkeep, passed);
    let missing = compared.ask(frontier, &wanted, &|urls| Ok(reader.documents_of(urls)?))?;
    let left_over = left_over(frontier, &reader, upkeep, passed, &mut compared.left_over)?;
    compared.note("elasticsearch: live pages without a document", &missing);
    compared.note("elasticsearch: documents of pages that have left", &left_over);
    Ok(compared)
}

impl Compared {
    fn note(&mut self, what: &str, urls: &[String]) {
        if !urls.is_empty() {
            self.notes.push(format!("{what}, such as {}", urls.join(", ")));
        }
    }

    /// Looks up every page that must be at the destination. Returns the first missing ones.
    fn ask(
        &mut self,
        frontier: &EmbeddedFrontier,
        wanted: &dyn Fn(&PageRecord) -> bool,
        documents_of: &DocumentsOf<'_>,
    ) -> Result<Vec<String>, CrawlError> {
        let (mut missing, mut after) = (Vec::new(), None::<String>);
        loop {
            let records = frontier.records_after(after.as_deref(), AT_ONCE, wanted)?;
            let urls: Vec<&str> = records.iter().map(|record| record.url.as_str()).collect();
            if urls.is_empty() {
                return Ok(missing);
            }
            let held = documents_of(&urls)?;
            self.live += urls.len() as u64;
            self.found += held.len() as u64;
            let absent = urls.iter().filter(|url| !held.contains(*url)).map(|url| (*url).to_owned());
            missing.extend(absent.take(NAMED - missing.len().min(NAMED)));
            after = records.into_iter().next_back().map(|record| record.url);
        }
    }
}

/// Looks for the file of every live page.
pub(super) fn compare_files(
    frontier: &EmbeddedFrontier,
    pages: &PagesOnDisk,
    config: &SinkConfig,
    passed: &Passed<'_>,
) -> Result<Compared, CrawlError> {
    // A truncated page is not delivered there.
    let wanted = |record: &PageRecord| must_be_there(record, config.upkeep, passed) && !record.is_truncated();
    let mut compared = Compared::default();
    let missing =
        compared.ask(frontier, &wanted, &|urls| Ok(urls.iter().copied().filter(|url| pages.hold(url)).collect()))?;
    compared.note(&format!("{}: live pages without a file", config.name()), &missing);
    Ok(compared)
}

/// Looks up every page of the frontier in a destination that is read as a whole.
pub(super) fn compare_whole(
    frontier: &EmbeddedFrontier,
    read: &ReadKeys<'_>,
    config: &SinkConfig,
    passed: &Passed<'_>,
) -> Result<Compared, CrawlError> {
    let holds_each = holds_each_page(config);
    let removes = config.destination.is_server() && config.upkeep.removed != Removed::Keep;
    // An archive that starts again has what the log still held, and its older files are elsewhere.
    let passed = &Passed { anew: passed.anew && config.destination.is_server(), ..*passed };
    // For a sink that was added later, too, it is unknown which of the earlier pages it got.
    let is_complete = passed.from == 0 || passed.anew;
    let from_the_beginning = &Passed { from: 0, ..*passed };
    let (mut compared, mut missing, mut left_over) = (Compared::default(), Vec::new(), Vec::new());
    let mut pass = Some(LiveKeys::new(KEYS_AT_ONCE));
    while let Some(mut keys) = pass {
        compared.removed = read(&mut keys)?;
        let delivered = |record: &PageRecord| holds_each && must_be_there(record, config.upkeep, from_the_beginning);
        let leaves = |record: &PageRecord| removes && has_left(record, passed);
        let is_of_pass = |record: &PageRecord| keys.cover(&record.url) && (delivered(record) || leaves(record));
        let mut after = None::<String>;
        loop {
            let records = frontier.records_after(after.as_deref(), AT_ONCE, &is_of_pass)?;
            for record in &records {
                let (is_wanted, is_held) = (delivered(record), keys.hold(&record.url));
                match (is_wanted, is_complete) {
                    (false, _) => compared.left_over += u64::from(is_held),
                    (true, false) => compared.elsewhere += u64::from(!is_held),
                    (true, true) => {
                        compared.live += 1;
                        compared.found += u64::from(is_held);
                    }
                }
                let named = if is_wanted { &mut missing } else { &mut left_over };
                if is_wanted != is_held && named.len() < NAMED {
                    named.push(record.url.clone());
                }
            }
            let Some(last) = records.into_iter().next_back() else { break };
            after = Some(last.url);
        }
        pass = keys.next_pass();
    }
    let name = config.name();
    let elsewhere = compared.elsewhere;
    let what = match is_complete {
        true => format!("{name}: live pages that are not there"),
        false => format!(
            "{name} began when the crawl had pages: {elsewhere} live pages are not there (seine sinks refill {name} delivers them)"
        ),
    };
    compared.note(&what, &missing);
    compared.note(&format!("{name}: pages that have left, and are still there"), &left_over);
    Ok(compared)
}

/// Whether the destination must have every live page. Other formats leave out pages of some types, which the frontier does
/// not know.
pub(super) fn holds_each_page(config: &SinkConfig) -> bool {
    config.format.is_some_and(|format| format.holds(Field::OtherTypes) == Stored::Complete)
}

/// The page's last event was delivered.
fn is_passed(record: &PageRecord, passed: &Passed<'_>) -> bool {
    record.passed_at.is_none_or(|at| at <= passed.at) && !passed.letters.contains(&id_hash(&record.event_id))
}

fn must_be_there(record: &PageRecord, upkeep: Upkeep, passed: &Passed<'_>) -> bool {
    // For a sink that was added later, it is unknown which events it got.
    let is_due = passed.from == 0 || passed.anew;
    let is_left_out = upkeep.skip_duplicates && record.duplicate_of().is_some();
    let is_page = record.kind.is_delivered() && record.state.is_live();
    is_page && is_due && !is_left_out && is_passed(record, passed)
}

/// The destination was informed that the page is gone.
fn has_left(record: &PageRecord, passed: &Passed<'_>) -> bool {
    matches!(record.state, PageState::Gone | PageState::Withheld | PageState::Alias) && is_passed(record, passed)
}

/// Counts documents of removed pages, and lists the first.
fn left_over(
    frontier: &EmbeddedFrontier,
    reader: &IndexReader,
    upkeep: Upkeep,
    passed: &Passed<'_>,
    count: &mut u64,
) -> Result<Vec<String>, CrawlError> {
    let mut named = Vec::new();
    if upkeep.removed == Removed::Keep {
        return Ok(named);
    }
    let mut failed: Option<FrontierError> = None;
    let visited = reader.visit(&mut |id| {
        // The id of a long URL is a hash, and other programs may write to the index too.
        let is_ours = seine_parse::url::parse(id).is_some_and(|normal| normal == id);
        let record = if is_ours { frontier.page(id) } else { Ok(None) };
        let record = record.map_err(|error| {
            let problem = error.to_string();
            failed = Some(error);
            SinkError::Other { sink: "elasticsearch", problem, remedy: "see the checks of the frontier above" }
        })?;
        if record.as_ref().is_some_and(|record| has_left(record, passed)) {
            *count += 1;
            if named.len() < NAMED {
                named.push(id.to_owned());
            }
        }
        Ok(())
    });
    match failed {
        Some(error) => Err(error.into()),
        None => visited.map(|()| named).map_err(CrawlError::from),
    }
}
