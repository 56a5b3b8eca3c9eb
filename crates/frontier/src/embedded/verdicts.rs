//! Applies verdicts. They need no lease in memory, because after a crash the same log is read again.

use super::changes::Changes;
use super::records::{QueuedUrl, Source, UrlState};
use super::targets::Answer;
use crate::keys::{Rank, UrlKey};
use crate::work::PRIORITY_UNKNOWN;
use crate::{Attempt, Attempts, Cause, Change, FrontierError, HostPause, PageRecord, PageState, UrlHistory, Verdict};
use seine_parse::page::EpochMs;

/// The URL of a verdict, with all that is known of it.
struct Subject<'v> {
    verdict: &'v Verdict,
    url: UrlKey,
    origin: &'v str,
    path: &'v str,
    state: Option<UrlState>,
    page: Option<PageRecord>,
    /// Leased by this process, without an earlier verdict in this batch.
    is_in_flight: bool,
}

impl Changes<'_> {
    /// Returns how many verdicts changed something.
    pub fn add_verdicts(&mut self, verdicts: &[Verdict]) -> Result<u64, FrontierError> {
        let keys = self.memory.keys;
        let parts = verdicts.iter().map(|verdict| keys.of(&verdict.url)).collect::<Result<Vec<_>, _>>()?;
        // One call for all, because leases need this lock too.
        let in_flight: Vec<bool> = {
            let schedule = self.memory.schedule.lock();
            parts.iter().map(|(url, ..)| schedule.is_in_flight(*url)).collect()
        };
        let mut changed = 0;
        for ((verdict, (url, origin, path)), is_in_flight) in verdicts.iter().zip(parts).zip(in_flight) {
            let (state, page) = (self.state_of(url)?, self.page(url, origin)?);
            let is_in_flight = is_in_flight && !self.has_verdict(url);
            changed +=
                u64::from(self.add_verdict(Subject { verdict, url, origin, path, state, page, is_in_flight })?);
        }
        Ok(changed)
    }

    fn add_verdict(&mut self, subject: Subject) -> Result<bool, FrontierError> {
        if self.is_old(&subject) {
            return Ok(false);
        }
        match &subject.verdict.change {
            Change::Page { record, due_again } => self.add_page(&subject, record, *due_again),
            Change::Retry { at, attempt, put_off, cause, host } => {
                self.add_retry(&subject, (*at, *attempt, *put_off, *cause), *host)
            }
        }
    }

    /// Event ids are in order of time. A verdict that is not newer than the record was applied before. For a URL in
    /// flight a verdict is expected, and then a smaller id only means that the clock was set back.
    fn is_old(&self, subject: &Subject) -> bool {
        let Some(page) = &subject.page else { return false };
        let id = subject.verdict.event_id.as_str();
        let awaited = || self.memory.schedule.lock().is_in_flight(subject.url);
        id == page.event_id || (id < page.event_id.as_str() && !awaited())
    }

    /// Creates the host, and counts a URL that was unknown.
    fn meet(&mut self, subject: &Subject) -> Result<(), FrontierError> {
        let host = self.host(subject.url.host, subject.origin)?;
        host.finished.push(subject.url);
        host.record.pages += u64::from(subject.state.is_none() && subject.verdict.kind.is_delivered());
        Ok(())
    }

    fn add_page(
        &mut self,
        subject: &Subject,
        record: &PageRecord,
        due_again: Option<EpochMs>,
    ) -> Result<bool, FrontierError> {
        self.meet(subject)?;
        let url = subject.url;
        let lesson = subject.page.as_ref().and_then(|before| record.lesson(before));
        if let (Some(lesson), Some(host)) = (lesson, self.hosts.get_mut(&url.host)) {
            let trust = host.record.trust.take().unwrap_or_default();
            host.record.trust = Some(Box::new(trust.after(lesson)));
        }
        let url_history = self.url_history(subject, record)?;
        self.leave_queue(subject);
        let reached = subject.verdict.reached.as_deref();
        let look = Answer { url, before: subject.page.as_ref(), record };
        let is_at_once = self.turn_to(look, reached)? | self.compare(look)?;
        let due_again = if is_at_once { Some(self.now) } else { due_again };
        match due_again {
            Some(due) => {
                let rank = self.rank_of(subject.state, PRIORITY_UNKNOWN);
                let item = QueuedUrl::revisit(subject.path, subject.verdict.kind, record.depth);
                self.enqueue_later(url, due, rank, &item);
            }
            None => drop(self.states.insert(url, Some(UrlState::Done))),
        }
        // A sitemap is recorded, so that it is not fetched again, but it is not a page.
        if subject.verdict.kind.is_delivered() {
            self.totals.count_pages(subject.page.as_ref(), Some(record));
        }
        let must_refetch = record.must_refetch || missed_the_mark(subject, record);
        self.pages.insert(url, Some(PageRecord { url_history, must_refetch, ..record.clone() }));
        Ok(true)
    }

    fn add_retry(
        &mut self,
        subject: &Subject,
        (at, attempt, put_off, cause): (EpochMs, u16, bool, Option<Cause>),
        pause: HostPause,
    ) -> Result<bool, FrontierError> {
        let queued = self.queued_of(subject)?;
        if let Some(item) = &queued {
            let is_there = matches!(subject.state, Some(UrlState::Later { due, .. }) if due == at);
            if item.attempt > attempt || (item.attempt == attempt && is_there) {
                return Ok(false);
            }
        }
        self.meet(subject)?;
        self.leave_queue(subject);
        let rank = self.rank_of(subject.state, PRIORITY_UNKNOWN);
        let item = queued.unwrap_or_else(|| {
            let depth = subject.page.as_ref().map_or(0, |page| page.depth);
            QueuedUrl::revisit(subject.path, subject.verdict.kind, depth)
        });
        let mut attempts = attempts_before(Some(item.attempts), subject.page.as_ref());
        attempts.push(subject.verdict.attempt);
        let (kind, revisit) = (subject.verdict.kind, subject.page.is_some());
        let item = QueuedUrl { kind, attempt, put_off, cause, attempts, revisit, ..item };
        self.enqueue_later(subject.url, at, rank, &item);
        self.totals.first_time += u64::from(subject.page.is_none());
        self.host(subject.url.host, subject.origin)?.pause(pause);
        Ok(true)
    }

    fn leave_queue(&mut self, subject: &Subject) {
        let Some(state) = subject.state else { return };
        let was_first_time = state != UrlState::Done && subject.page.is_none();
        self.totals.first_time = self.totals.first_time.saturating_sub(u64::from(was_first_time));
        self.dequeue(subject.url, state);
    }

    /// A URL keeps its rank while it is queued. `priority`: for a URL in no queue.
    pub(super) fn rank_of(&mut self, state: Option<UrlState>, priority: u8) -> Rank {
        if let Some(rank) = state.and_then(UrlState::rank) {
            return rank;
        }
        let rank = self.next_rank(priority);
        if state.is_none() {
            self.sources.insert(rank.sequence(), Source::default());
        }
        rank
    }

    fn queued_of(&self, subject: &Subject) -> Result<Option<QueuedUrl>, FrontierError> {
        Ok(subject.state.map(|state| self.queued(subject.url, state)).transpose()?.flatten())
    }

    /// Attempts since the last answer. For a URL in flight they were read with its lease.
    fn attempts_queued(&self, subject: &Subject) -> Result<Option<Attempts>, FrontierError> {
        if subject.is_in_flight {
            return Ok(self.memory.leases.attempts_of(subject.url));
        }
        Ok(self.queued_of(subject)?.map(|queued| queued.attempts))
    }

    /// The history that the URL's new record keeps.
    fn url_history(&self, subject: &Subject, record: &PageRecord) -> Result<UrlHistory, FrontierError> {
        let before = subject.page.as_ref();
        let mut attempts = attempts_before(self.attempts_queued(subject)?, before);
        if !attempts.is_empty() {
            // The digest in the record is from another attempt.
            let is_of_it = record.fetched_ms == subject.verdict.attempt.at && record.state.is_found();
            let digest = record.digest.filter(|digest| is_of_it && before.and_then(|it| it.digest) != Some(*digest));
            let digest = digest.and_then(|digest| digest.first_chunk().copied());
            attempts.push(Attempt { digest, ..subject.verdict.attempt });
        }
        let queued_as = || subject.state.and_then(UrlState::rank).map(Rank::sequence);
        let proposed_as = before.map_or_else(queued_as, |before| before.url_history.proposed_as);
        let was_delivered_at = || before.and_then(|before| before.url_history.delivered_at.or(before.passed_at));
        let is_delivered = record.fetched_ms == subject.verdict.attempt.at && record.state != PageState::Unchanged;
        let delivered_at = if is_delivered { None } else { was_delivered_at() };
        Ok(UrlHistory { proposed_as, attempts, delivered_at })
    }
}

/// The page was marked to be refetched after the record before the answer had been read, and the answer, such as a 304,
/// has no content. So the mark stays.
fn missed_the_mark(subject: &Subject, record: &PageRecord) -> bool {
    let has_content = || record.fetched_ms == subject.verdict.attempt.at && (200..300).contains(&record.status);
    subject.page.as_ref().is_some_and(|page| page.must_refetch) && !has_content()
}

/// Earlier attempts: those since the last answer are in the queue entry, then those in the record. A single attempt is
/// the record itself.
pub(super) fn attempts_before(queued: Option<Attempts>, page: Option<&PageRecord>) -> Attempts {
    let queued = queued.filter(|attempts| !attempts.is_empty());
    let mut attempts = queued.or_else(|| page.map(|page| page.url_history.attempts.clone())).unwrap_or_default();
    if let Some(page) = page.filter(|_| attempts.is_empty()) {
        attempts.push(page.last_attempt());
    }
    attempts
}
