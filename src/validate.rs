//! The validator: the first reader of the page log. It compares each entry of `page_proposed` with `page`, stores it if
//! it is new or changed, and adds its links to `work_proposed` (see ARCHITECTURE.md). A batch, its links and its offset
//! are applied atomically.

mod aliases;
mod faults;
mod focus;
mod kept;
mod looks;
mod proposals;
mod traps;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use aliases::{is_to_be_read, reached};
use faults::Lost;
use focus::Focus;
pub use focus::{rank_again, remembered};
use kept::{attempt, keep_validators, made_of, texts_given};
pub use looks::Looks;
pub use proposals::by_depth;
use seine_delivery::Entry;
use seine_frontier::scope::CurrentScope;
use seine_frontier::{
    Batch, Change, Frontier, FrontierError, Health, HostPause, PageRecord, PageState, Verdict, WHEN_MET_AGAIN,
};
use seine_page_log::{LogError, Reader};
use seine_parse::Derived;
use seine_parse::page::{Again, Doubt, EpochMs, FailureReason, Outcome, PageChange, PageEvent, Withheld};
use seine_policies::budgets::Amounts;
use seine_policies::revisit::{History, Trust};
use seine_system::blocking::Idle;
use seine_system::clock::{self, now_ms};
use traps::Watch;

use crate::config::{FrontierConfig, Redirects};
use crate::supervisor::Beat;
use crate::telemetry::Metrics;
use crate::visit::retry::{self, Whose};

/// What the validator needs; one for the whole crawl.
pub struct Validator {
    frontier: Arc<dyn Frontier>,
    scope: Arc<CurrentScope>,
    config: FrontierConfig,
    metrics: Arc<Metrics>,
    looks: Looks,
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

/// An event, what is derived from it, and the earlier record.
#[derive(Clone, Copy)]
struct Seen<'e> {
    event: &'e PageEvent,
    derived: &'e Derived,
    before: Option<&'e PageRecord>,
    /// Reliability of its host's hints, if the page has or gives hints.
    trust: Option<&'e Trust>,
}

impl Seen<'_> {
    /// What earlier fetches showed; none if the record is from this very event.
    fn known(&self) -> Option<History> {
        self.before.filter(|before| before.event_id != self.event.id)?.history()
    }
}

const BATCH_EVENTS: usize = 128;
const BATCH_BYTES: usize = 4 << 20;
/// Maximum bytes of links in a batch; one page may exceed it.
const LINK_BYTES: usize = 8 << 20;
/// Bytes of a link besides its URL.
const LINK: usize = 64;
const IDLE: Duration = Duration::from_millis(200);
/// Deferred URLs released per batch.
const RELEASED: usize = 1024;

impl Validator {
    pub fn new(
        frontier: Arc<dyn Frontier>,
        scope: Arc<CurrentScope>,
        config: FrontierConfig,
        metrics: Arc<Metrics>,
    ) -> Result<Validator, FrontierError> {
        let looks = Looks::open(&*frontier, &config, now_ms())?;
        let focus = Focus::open(&*frontier, config.focus)?;
        // Traps are switched off, so deferred URLs are released.
        while !config.traps && frontier.release_held(RELEASED, now_ms())? > 0 {}
        let watch = Mutex::new(Watch::new(config.traps));
        Ok(Validator { frontier, scope, config, metrics, looks, focus, watch, lost: Mutex::default() })
    }

    /// Reads the log until it is closed and read to its end, or `is_old` says that the configuration was replaced.
    /// Notifies `applied` after every batch.
    pub fn run(
        &self,
        reader: &mut Reader,
        beat: &Beat,
        is_old: &dyn Fn() -> bool,
        applied: &dyn Fn(),
    ) -> Result<(), ValidateError> {
        let mut idle = Idle::told(IDLE);
        while !reader.is_closed_and_drained() && !is_old() {
            let entries = reader.next(BATCH_EVENTS, BATCH_BYTES, idle.time())?;
            if entries.is_empty() {
                self.pass_damage(reader)?;
                self.look_for_lost(reader)?;
                self.release(reader)?; // a segment may have been closed since
                beat.idle();
                continue;
            }
            self.validate_each(&entries, reader)?;
            self.look_for_lost(reader)?;
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
                record.is_to_be_reread |= record.fetched_ms == event.ended_ms && self.is_passed_over(event, &derived);
            }
            let lead = match learned_to < entry.end {
                true => self.learn(seen, &change, &mut batch.harvest)?,
                false => None,
            };
            let worth = self.watch(seen, &change)?;
            if let Change::Page { record, .. } = &change {
                if let (true, Some(known)) = (is_alive(event, record), seen.known()) {
                    self.looks.count(&*self.frontier, &event.url, &known, seen.trust, event.ended_ms)?;
                }
                if is_to_be_read(record, before.as_ref()) {
                    self.propose_links(entry, &derived, (record.canonical.as_deref(), lead), &mut batch.proposals);
                    self.hold_links(event, worth, &mut batch.proposals, links_before)?;
                    self.looks.add_hints(&*self.frontier, (event, &derived), &mut batch.hints)?;
                    if record.state == PageState::Changed {
                        let links = &batch.proposals[links_before..];
                        self.looks.add_linked(&*self.frontier, links, event.ended_ms, &mut batch.hints)?;
                    }
                }
                judged.insert(&event.url, record.clone());
            }
            changes.push(made_of(event, &change));
            batch.verdicts.push(Verdict {
                url: event.url.clone(),
                kind: event.kind,
                event_id: event.id.clone(),
                reached: reached(event),
                attempt: attempt(event, &change),
                brought: Amounts::of(event, derived.body.len() as u64),
                change,
            });
            batch.cursor = entry.end;
            link_bytes += batch.proposals[links_before..].iter().map(|link| link.url.len() + LINK).sum::<usize>();
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
        let Seen { event, before, trust, .. } = seen;
        // The record is from this very event, read again after a crash: the verdict stays.
        if let Some(before) = before.filter(|before| before.event_id == event.id) {
            return Change::Page { record: before.clone(), due_again: self.due_again(event, before, trust) };
        }
        // Older events do not have the worker's decision.
        let own = || retry::retry_at(event, &self.config).map(|at| Again { at, counts: true, ..Again::default() });
        if let Some(Again { at, counts, host_is_well }) = event.again.or_else(own) {
            let (attempt, put_off) = (event.attempt + u16::from(counts), !counts);
            let cause = Some(retry::cause_of(&event.outcome));
            let host = self.host_pause(event, !counts && !host_is_well);
            return Change::Retry { at, attempt, put_off, cause, host };
        }
        let record = match &event.withheld {
            Some(Withheld::Alias { target, .. }) => self.alias(seen, target),
            _ => self.record(seen),
        };
        let due_again = self.due_again(event, &record, trust);
        Change::Page { record, due_again }
    }

    /// The pause of the host that the worker decided, in case a crash lost it: one failure.
    fn host_pause(&self, event: &PageEvent, is_hosts: bool) -> HostPause {
        let was_asked = !event.request_headers.0.is_empty();
        if !was_asked || !is_of_its_host(event) {
            return HostPause::default();
        }
        let PageEvent { outcome, ended_ms, url, .. } = event;
        let whose = if is_hosts { Whose::Host } else { Whose::Page };
        let health = retry::health_after(outcome, whose, url, *ended_ms, None, &self.config);
        let trouble = health.and_then(Health::trouble);
        let (origin, delay) = (seine_parse::url::origin(url).unwrap_or_default(), self.config.host_delay);
        let not_before = retry::host_not_before(outcome, *ended_ms, delay, trouble.as_ref(), origin, &self.config);
        HostPause { not_before, trouble }
    }

    /// When the URL is rechecked. Live and gone pages always are. A URL that failed with its host waits for the host,
    /// and one that is out of scope for a new scope.
    fn due_again(&self, event: &PageEvent, record: &PageRecord, trust: Option<&Trust>) -> Option<EpochMs> {
        let reason = event.failure().map(|failure| failure.reason);
        if reason == Some(FailureReason::OutOfScope) {
            return None;
        }
        // It was accepted before the scope changed.
        if record.state.is_there()
            && !self.scope.now().keeps(&event.url, event.kind, record.depth, self.config.max_depth)
        {
            return Some(event.ended_ms);
        }
        let is_with_its_host = matches!(reason, Some(FailureReason::HostUnreachable | FailureReason::UnknownHost));
        if is_with_its_host && is_of_its_host(event) {
            return Some(WHEN_MET_AGAIN);
        }
        self.looks.due(record, trust, event.ended_ms)
    }

    /// The earlier record, if the event does not change what is known of the URL.
    fn kept(&self, event: &PageEvent, before: Option<&PageRecord>, change: Option<PageChange>) -> Option<PageRecord> {
        let says_nothing = change.is_none() && event.withheld.as_ref().is_none_or(Withheld::is_passing);
        let doubt = doubt(event);
        let before = before.filter(|before| match before.state {
            PageState::Gone => true,
            // An alias has no page that could be gone.
            PageState::Alias => {
                doubt.is_none_or(|(doubt, _)| doubt != Doubt::Missing)
                    || !before.as_before(&self.config.revisit, event.ended_ms).believed.takes(Doubt::Missing)
            }
            state => state.is_there(),
        })?;
        let history = before.history().filter(|_| says_nothing)?;
        let doubt = doubt.filter(|_| before.state != PageState::Gone);
        let history = doubt.map_or(history, |(doubt, seen_ms)| history.doubted(doubt, seen_ms)).looked();
        let event_id = event.id.clone();
        Some(PageRecord { event_id, history: Some(history), passed_at: None, ..before.clone() })
    }

    /// The new record after a final answer. A live page is removed only by a confirmed removal (404, 410, or a ban).
    /// Any other answer leaves live and gone pages as they were.
    fn record(&self, Seen { event, derived, before, trust }: Seen) -> PageRecord {
        let (now, status) = (event.ended_ms, event.response().map_or(0, |response| response.status));
        let there = before.filter(|before| before.state.is_there());
        let judged = there.map(|there| there.as_before(&self.config.revisit, now));
        let change = PageChange::judge(event, judged, &derived.digest);
        if let Some(kept) = self.kept(event, before, change) {
            return kept;
        }
        let tells = u32::try_from(derived.changed.len()).ok().filter(|tells| *tells > 0);
        let history = before.and_then(PageRecord::history);
        let history = match PageChange::seen(status, judged, &derived.digest) {
            None => history.filter(|_| change == Some(PageChange::Gone)),
            Some(seen) => kept::history(history, seen, (now, tells), trust),
        };
        let state = match &event.outcome {
            Outcome::Failure(failure) => change.map_or(PageState::Failed(failure.reason), PageState::from),
            Outcome::Response(_) if event.withheld.is_some() => PageState::Withheld,
            Outcome::Response(_) => change.map_or(PageState::Refused, PageState::from),
        };
        let mut record = PageRecord {
            url: event.url.clone(),
            kind: event.kind,
            event_id: event.id.clone(),
            state,
            status,
            digest: before.and_then(|before| before.digest),
            etag: before.and_then(|before| before.etag.clone()),
            last_modified: before.and_then(|before| before.last_modified.clone()),
            fetched_ms: now,
            depth: event.depth,
            history,
            final_url: before.and_then(|before| before.final_url.clone()),
            is_to_be_reread: there.is_some_and(|there| there.is_to_be_reread),
            noindex: event.is_noindex(derived.robots.noindex, there.is_some_and(|there| there.noindex)),
            target: reached(event).filter(|_| state.is_there() && self.config.redirects == Redirects::First),
            texts: texts_given(event, change, there),
            preferences: kept::preferences(event, there),
            canonical: self.canonical(event, derived, there).filter(|_| state.is_there()),
            judged: before.and_then(|before| before.judged.clone()),
            likeness: event.likeness.clone().filter(|_| state.is_live()),
            refused_since: match state {
                PageState::Refused | PageState::Failed(_) => before.and_then(PageRecord::no_page_since).or(Some(now)),
                _ => None,
            },
            ..PageRecord::default()
        };
        if let Some(response) = event.response() {
            keep_validators(&mut record, event, response, derived);
        }
        record
    }
}

/// Whether this fetch found the page.
fn is_alive(event: &PageEvent, record: &PageRecord) -> bool {
    record.state.is_there() && record.history.is_some_and(|history| history.alive_ms == event.ended_ms)
}

/// The sign of removal in an answer, and when it was seen.
fn doubt(event: &PageEvent) -> Option<(Doubt, EpochMs)> {
    if let Some(Withheld::Doubted { doubt, seen_ms }) = event.withheld {
        return Some((doubt, seen_ms));
    }
    let response = event.response()?;
    let doubt = match response.status {
        404 | 410 => Doubt::Missing,
        _ if response.is_cut() => Doubt::Cut,
        _ => return None,
    };
    Some((doubt, event.ended_ms))
}

/// Whether the last request went to the URL's own host, not to the host of a redirect.
fn is_of_its_host(event: &PageEvent) -> bool {
    seine_parse::url::origin(&event.url) == seine_parse::url::origin(&event.final_url)
}
