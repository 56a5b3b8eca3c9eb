//! The validator: the first reader of the page log. It judges each event against the record of its URL, and
//! writes the new record, the links and the next due time (see ARCHITECTURE.md). A batch, its links and its offset
//! are applied atomically.

mod deferred;
mod faults;
mod focus;
mod history;
mod mirrors;
mod proposals;
mod recheck_times;
mod traps;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub use deferred::{release_by_larger_allowance, release_deferred};
use faults::Lost;
use focus::Focus;
pub use focus::{load_model, rank_again};
use history::{attempt, result_name};
use parking_lot::Mutex;
pub(crate) use proposals::by_depth;
pub(crate) use recheck_times::RecheckTimes;
use seine_delivery::Entry;
use seine_frontier::scope::CurrentScope;
use seine_frontier::{Batch, Change, FrontierError, PageRecord, PageState, Validation, Verdict, WHEN_LINKED_AGAIN};
use seine_page_log::{LogError, Reader};
use seine_policies::budgets::Amounts;
use seine_system::blocking::Idle;
use seine_system::clock::{self, now_ms};
use traps::Watch;

use crate::config::FrontierConfig;
use crate::judge::alias::{may_have_new_links, reached};
use crate::judge::record::{self, Recheck, Ruling, Seen, Settings, is_alive};
use crate::supervisor::Beat;
use crate::telemetry::Metrics;

/// The services of the validator; one for the whole crawl.
pub struct Validator {
    frontier: Arc<dyn Validation>,
    scope: Arc<CurrentScope>,
    config: FrontierConfig,
    metrics: Arc<Metrics>,
    recheck_times: RecheckTimes,
    focus: Option<Focus>,
    watch: Mutex<Watch>,
    lost: Mutex<Lost>,
}

#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error(transparent)]
    Log(#[from] LogError),
}

const BATCH_EVENTS: usize = 128;
const BATCH_BYTES: usize = 4 << 20;
/// Maximum bytes of links in a batch; one page may exceed it.
const LINK_BYTES: usize = 8 << 20;
/// Bytes of a link besides its URL.
const PER_LINK: usize = 64;
const IDLE: Duration = Duration::from_millis(200);

impl Validator {
    pub fn new(
        frontier: Arc<dyn Validation>,
        scope: Arc<CurrentScope>,
        config: FrontierConfig,
        metrics: Arc<Metrics>,
    ) -> Result<Validator, FrontierError> {
        let recheck_times = RecheckTimes::open(&*frontier, &config, now_ms())?;
        let focus = Focus::open(&*frontier, config.focus)?;
        let watch = Mutex::new(Watch::new(&config));
        Ok(Validator { frontier, scope, config, metrics, recheck_times, focus, watch, lost: Mutex::default() })
    }

    /// Reads the log until it is closed and read to its end, or `is_old` says that the configuration was replaced.
    /// Then the last batch may be read, but not validated. Notifies `applied` after every batch.
    pub fn run(
        &self,
        reader: &mut Reader,
        beat: &Beat,
        is_old: &dyn Fn() -> bool,
        applied: &dyn Fn(),
    ) -> Result<(), ValidateError> {
        let mut idle = Idle::woken(IDLE);
        while !reader.is_closed_and_drained() && !is_old() {
            let entries = reader.next(BATCH_EVENTS, BATCH_BYTES, idle.time())?;
            if is_old() {
                break; // the links of these pages must be judged by the new configuration
            }
            if entries.is_empty() {
                self.pass_damage(reader)?;
                self.requeue_lost_events(reader)?;
                self.release(reader)?; // a segment may have been closed since
                beat.idle();
                continue;
            }
            self.validate_each(&entries, reader)?;
            self.requeue_lost_events(reader)?;
            self.release(reader)?;
            beat.progress();
            applied();
        }
        Ok(())
    }

    /// Also passes events at the log's end that the disk has lost. Their URLs are still in work_proposed and are
    /// fetched again.
    fn pass_damage(&self, reader: &Reader) -> Result<(), ValidateError> {
        let read = reader.position();
        if read.index > self.frontier.cursor()?.index {
            self.frontier.apply(&Batch { cursor: read, ..Batch::default() }, now_ms())?;
        }
        Ok(())
    }

    /// Lets the log delete validated segments. Only for that must the frontier be durable; an fsync per batch would
    /// delay releases of hosts.
    fn release(&self, reader: &mut Reader) -> Result<(), ValidateError> {
        let done = self.frontier.cursor()?;
        if reader.would_free(done) {
            self.frontier.durable_cursor()?;
        }
        reader.release(done);
        Ok(())
    }

    /// Validates entries in one batch, or in several if they have many links. Doing it again changes nothing.
    pub fn validate(&self, mut entries: &[Arc<Entry>]) -> Result<(), ValidateError> {
        // Events accepted just before a crash are later than the frontier's latest time.
        clock::never_before(entries.iter().map(|entry| entry.event.ended_ms).max().unwrap_or_default());
        while !entries.is_empty() {
            let validated = self.validate_some(entries)?;
            entries = &entries[validated..];
        }
        Ok(())
    }

    /// Takes the first entry, and more within [`LINK_BYTES`]. Returns how many.
    fn validate_some(&self, entries: &[Arc<Entry>]) -> Result<usize, ValidateError> {
        let mut batch = Batch::default();
        let (mut link_bytes, mut changes) = (0, Vec::new());
        let learned_to = self.frontier.cursor()?;
        self.watch.lock().begin();
        // If a URL occurs twice in a batch, the second event is compared with the first, not with the store.
        let mut judged: HashMap<&str, PageRecord> = HashMap::new();
        for entry in entries {
            let event = &*entry.event;
            let derived = entry.facts();
            let links_before = batch.proposals.len();
            let before = match judged.get(event.url.as_str()) {
                Some(record) => Some(record.clone()),
                None => self.frontier.page(&event.url)?,
            };
            // Without hints in the record or the page, the host's reliability is not needed.
            let is_hinted = before.as_ref().is_some_and(PageRecord::is_hinted) || !derived.changed.is_empty();
            let trust = if is_hinted { self.frontier.trust(&event.url)? } else { None };
            let seen = Seen { event, derived: &derived, before: before.as_ref(), trust: trust.as_ref() };
            let mut change = self.judge(seen);
            if let Change::Page { record, .. } = &mut change {
                record.passed_at.get_or_insert(entry.end.index);
                // The page's links were not followed. It is read again if that changes.
                record.must_refetch |= record.fetched_ms == event.ended_ms && self.is_passed_over(event, &derived);
            }
            let lead = match learned_to < entry.end {
                true => self.learn(seen, &change, &mut batch.harvest)?,
                false => None,
            };
            let worth = self.watch(seen, &change)?;
            if let Change::Page { record, .. } = &change {
                if let (true, Some(known)) = (is_alive(event, record), seen.known()) {
                    self.recheck_times.count(&*self.frontier, &event.url, &known, seen.trust, event.ended_ms)?;
                }
                if may_have_new_links(record, before.as_ref()) {
                    self.propose_links(entry, &derived, (record.canonical.as_deref(), lead), &mut batch.proposals);
                    self.defer_links(event, worth, &mut batch.proposals, links_before)?;
                    self.recheck_times.add_hints(&*self.frontier, (event, &derived), &mut batch.hints)?;
                    if record.state == PageState::Changed {
                        let links = &batch.proposals[links_before..];
                        self.recheck_times.add_linked(&*self.frontier, links, event.ended_ms, &mut batch.hints)?;
                    }
                }
                self.propose_owner(entry, &derived, record, &mut batch.proposals);
                judged.insert(&event.url, record.clone());
            }
            changes.push(result_name(event, &change));
            batch.verdicts.push(Verdict {
                url: event.url.clone(),
                kind: event.kind,
                event_id: event.id.clone(),
                reached: reached(seen),
                attempt: attempt(event, &change),
                fetched: Amounts::of(event, derived.body.len() as u64),
                change,
            });
            batch.cursor = entry.end;
            link_bytes += batch.proposals[links_before..].iter().map(|link| link.url.len() + PER_LINK).sum::<usize>();
            if link_bytes > LINK_BYTES {
                break;
            }
        }
        self.apply(&mut batch, &changes)?;
        Ok(batch.verdicts.len())
    }

    fn apply(&self, batch: &mut Batch, changes: &[&str]) -> Result<(), ValidateError> {
        batch.learned = self.focus.as_ref().map(Focus::learned).unwrap_or_default();
        batch.traps = self.watch.lock().finish();
        let applied = self.frontier.apply(batch, now_ms())?;
        self.watch.lock().applied(&batch.traps, &applied.traps, &batch.proposals);
        self.metrics.validated(changes, &applied);
        match &self.focus {
            Some(focus) => Ok(focus.rank_some_again(&*self.frontier, batch.verdicts.len(), now_ms())?),
            None => Ok(()),
        }
    }

    fn judge(&self, seen: Seen) -> Change {
        let settings = Settings { config: &self.config, scope: &self.scope.now() };
        match record::judge(seen, settings) {
            Ruling::Retry { at, attempt, put_off, cause, host } => {
                Change::Retry { at, attempt, put_off, cause: Some(cause), host }
            }
            Ruling::Record { record, recheck } => {
                let now = seen.event.ended_ms;
                let due_again = match recheck {
                    Recheck::Never => None,
                    Recheck::Now => Some(now),
                    Recheck::WithItsHost => Some(WHEN_LINKED_AGAIN),
                    Recheck::ByPolicy => self.recheck_times.due(&record, seen.trust, now),
                };
                Change::Page { record, due_again }
            }
        }
    }
}
