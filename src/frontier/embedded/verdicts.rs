//! Verdicts: what an event makes of its URL. They need no lease in memory: after a crash the same log is read again.

use super::changes::Changes;
use super::records::{QueuedUrl, UrlState};
use crate::frontier::keys::{Rank, UrlKey, split};
use crate::frontier::work::PRIORITY_UNKNOWN;
use crate::frontier::{Cause, Change, FrontierError, HostPause, PageRecord, Verdict};
use crate::page::{EpochMs, Kind};

/// A verdict's URL and all that is known of it.
struct Subject<'v> {
    verdict: &'v Verdict,
    url: UrlKey,
    path: &'v str,
    state: Option<UrlState>,
    page: Option<PageRecord>,
}

impl Changes<'_> {
    /// Returns how many verdicts changed something.
    pub fn add_verdicts(&mut self, verdicts: &[Verdict]) -> Result<u64, FrontierError> {
        let mut changed = 0;
        for verdict in verdicts {
            changed += u64::from(self.add_verdict(verdict)?);
        }
        Ok(changed)
    }

    fn add_verdict(&mut self, verdict: &Verdict) -> Result<bool, FrontierError> {
        let (origin, path) = split(&verdict.url)?;
        let keys = self.frontier.keys;
        let url = keys.url(keys.host(origin), path);
        let subject = Subject { verdict, url, path, state: self.state_of(url)?, page: self.page(url, origin)? };
        if self.is_old(&subject) {
            return Ok(false);
        }
        match &verdict.change {
            Change::Page { record, due_again } => {
                self.meet(&subject, origin)?;
                self.add_page(&subject, record, *due_again)?;
                Ok(true)
            }
            Change::Retry { at, attempt, put_off, cause, host } => {
                self.add_retry(&subject, origin, (*at, *attempt, *put_off, *cause), *host)
            }
        }
    }

    /// Event ids are in order of time. One that is not newer than the record's was applied before; but for a URL in flight
    /// a verdict is awaited, and then a smaller id only says that the clock was set back.
    fn is_old(&self, subject: &Subject) -> bool {
        let Some(page) = &subject.page else { return false };
        let id = subject.verdict.event_id.as_str();
        let awaited = || self.frontier.schedule.lock().is_in_flight(subject.url);
        id == page.event_id || (id < page.event_id.as_str() && !awaited())
    }

    /// Makes the host and, for a URL not heard of before, counts it.
    fn meet(&mut self, subject: &Subject, origin: &str) -> Result<(), FrontierError> {
        let host = self.host(subject.url.host, origin)?;
        host.finished.push(subject.url);
        host.record.pages += u64::from(subject.state.is_none() && subject.verdict.kind == Kind::Page);
        Ok(())
    }

    fn add_page(
        &mut self,
        subject: &Subject,
        record: &PageRecord,
        due_again: Option<EpochMs>,
    ) -> Result<(), FrontierError> {
        let url = subject.url;
        let lesson = subject.page.as_ref().and_then(|before| record.lesson(before));
        if let (Some(lesson), Some(host)) = (lesson, self.hosts.get_mut(&url.host)) {
            let trust = host.record.trust.take().unwrap_or_default();
            host.record.trust = Some(Box::new(trust.after(lesson)));
        }
        self.leave_queue(subject);
        let reached = subject.verdict.reached.as_deref();
        let is_at_once = self.turn_to(url, subject.page.as_ref(), record, reached)?;
        let due_again = if is_at_once { Some(self.now) } else { due_again };
        match due_again {
            Some(due) => {
                let rank = self.rank_of(subject.state);
                let item = QueuedUrl::revisit(subject.path, subject.verdict.kind, record.depth);
                self.enqueue_later(url, due, rank, &item);
            }
            None => {
                self.states.insert(url, UrlState::Done);
            }
        }
        // A sitemap is remembered, so that it is not asked for again, but it is no page.
        if subject.verdict.kind == Kind::Page {
            if let Some(page) = &subject.page {
                self.totals.count_page(page.state, -1);
            }
            self.totals.count_page(record.state, 1);
        }
        self.pages.insert(url, record.clone());
        Ok(())
    }

    fn add_retry(
        &mut self,
        subject: &Subject,
        origin: &str,
        (at, attempt, put_off, cause): (EpochMs, u16, bool, Option<Cause>),
        pause: HostPause,
    ) -> Result<bool, FrontierError> {
        let queued = match subject.state {
            Some(state) => self.queued(subject.url, state)?,
            None => None,
        };
        if let Some(item) = &queued {
            let is_there = matches!(subject.state, Some(UrlState::Later { due, .. }) if due == at);
            if item.attempt > attempt || (item.attempt == attempt && is_there) {
                return Ok(false);
            }
        }
        self.meet(subject, origin)?;
        self.leave_queue(subject);
        let rank = self.rank_of(subject.state);
        let depth = queued.as_ref().map(|item| item.depth).or(subject.page.as_ref().map(|page| page.depth));
        let item = QueuedUrl {
            attempt,
            put_off,
            cause,
            revisit: subject.page.is_some(),
            ..QueuedUrl::revisit(subject.path, subject.verdict.kind, depth.unwrap_or(0))
        };
        self.enqueue_later(subject.url, at, rank, &item);
        self.totals.first_time += u64::from(subject.page.is_none());
        self.host(subject.url.host, origin)?.pause(pause);
        Ok(true)
    }

    fn leave_queue(&mut self, subject: &Subject) {
        let Some(state) = subject.state else { return };
        let was_first_time = state != UrlState::Done && subject.page.is_none();
        self.totals.first_time = self.totals.first_time.saturating_sub(u64::from(was_first_time));
        self.dequeue(subject.url, state);
    }

    /// A URL keeps its rank as long as it is queued.
    fn rank_of(&mut self, state: Option<UrlState>) -> Rank {
        match state {
            Some(UrlState::Ready(rank) | UrlState::Later { rank, .. }) => rank,
            Some(UrlState::Done) | None => self.next_rank(PRIORITY_UNKNOWN),
        }
    }
}
