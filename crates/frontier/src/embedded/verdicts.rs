//! Applies verdicts. They need no lease in memory, because after a crash the same log is read again.

use super::changes::Changes;
use super::changes::answer::Answer;
use super::changes::deferred;
use super::changes::pages::attempts_before;
use super::changes::proposals::add_proposals;
use super::changes::queues::Queues;
use super::changes::rechecks;
use super::changes::urls::Urls;
use super::disk::records::{QueuedUrl, UrlState};
use super::memory::leases::Leases;
use crate::deferred::TrapsDone;
use crate::keys::{KeyedUrl, Rank, UrlKey};
use crate::work::PRIORITY_UNKNOWN;
use crate::{
    Applied, Attempt, Attempts, Batch, Cause, Change, FrontierError, HostPause, PageRecord, PageState, UrlHistory,
    Verdict,
};
use seine_parse::page::{Doubt, EpochMs, Kind};
use seine_policies::revisit::History;

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

/// The part of a [`Change::Retry`] that is about the URL itself.
struct Retry {
    due: EpochMs,
    attempt: u16,
    put_off: bool,
    cause: Option<Cause>,
}

impl Subject<'_> {
    fn key(&self) -> (UrlKey, &str) {
        (self.url, self.origin)
    }
}

/// Applies a batch of the validator.
pub(super) fn add_batch(changes: &mut Changes, batch: &Batch) -> Result<Applied, FrontierError> {
    changes.accounts.add_fetched(&batch.verdicts)?;
    let verdicts = add_verdicts(changes, &batch.verdicts)?;
    let urls = &mut changes.urls;
    batch.hints.iter().try_for_each(|hint| rechecks::add_hint(urls, hint))?;
    let (proposed, added) = add_proposals(urls, &batch.proposals, &batch.traps.deferred)?;
    let hosts = batch.traps.hosts.iter().map(|host| deferred::change_traps(urls, &mut changes.traps, host));
    let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
    changes.learned = batch.learned.clone();
    urls.totals.judge(batch.harvest);
    urls.totals.links_seen += batch.proposals.len() as u64;
    urls.totals.cursor = batch.cursor;
    let traps = if hosts.is_empty() { TrapsDone::default() } else { TrapsDone { added, hosts } };
    Ok(Applied { verdicts, proposed, traps })
}

/// Returns how many verdicts changed something.
fn add_verdicts(changes: &mut Changes, verdicts: &[Verdict]) -> Result<u64, FrontierError> {
    let keys = changes.urls.keys;
    let parts = verdicts.iter().map(|verdict| keys.of(&verdict.url)).collect::<Result<Vec<_>, _>>()?;
    let in_flight = changes.urls.hosts.were_in_flight(parts.iter().map(|url| url.key));
    let mut changed = 0;
    for ((verdict, KeyedUrl { key: url, origin, path }), is_in_flight) in verdicts.iter().zip(parts).zip(in_flight) {
        let urls = &changes.urls;
        let (state, page) = (urls.queues.state_of(url)?, urls.pages.get(url, origin)?);
        let is_in_flight = is_in_flight && !urls.hosts.has_verdict(url);
        let subject = Subject { verdict, url, origin, path, state, page, is_in_flight };
        changed += u64::from(add_verdict(changes, &subject)?);
    }
    Ok(changed)
}

fn add_verdict(changes: &mut Changes, subject: &Subject) -> Result<bool, FrontierError> {
    if is_old(&changes.urls, subject) {
        return Ok(false);
    }
    match &subject.verdict.change {
        Change::Page { record, due_again } => add_page(changes, subject, record, *due_again).map(|()| true),
        Change::Retry { at, attempt, put_off, cause, host } => {
            let retry = Retry { due: *at, attempt: *attempt, put_off: *put_off, cause: *cause };
            add_retry(&mut changes.urls, subject, retry, *host)
        }
    }
}

/// Event ids are in order of time. A verdict that is not newer than the record was applied before. For a URL in
/// flight a verdict is expected, and then a smaller id only means that the clock was set back.
fn is_old(urls: &Urls, subject: &Subject) -> bool {
    let Some(page) = &subject.page else { return false };
    let id = subject.verdict.event_id.as_str();
    id == page.event_id || (id < page.event_id.as_str() && !urls.hosts.was_in_flight(subject.url))
}

/// Creates the host, and counts a URL that was unknown.
fn meet(urls: &mut Urls, subject: &Subject) -> Result<(), FrontierError> {
    let host = urls.hosts.change(subject.url.host, subject.origin)?;
    host.finished.push(subject.url);
    host.record.pages += u64::from(subject.state.is_none() && subject.verdict.kind.is_delivered());
    Ok(())
}

fn add_page(
    changes: &mut Changes,
    subject: &Subject,
    record: &PageRecord,
    due_again: Option<EpochMs>,
) -> Result<(), FrontierError> {
    let urls = &mut changes.urls;
    meet(urls, subject)?;
    learn_trust(urls, subject, record)?;
    let attempts = attempts_queued(changes.leases, &urls.queues, subject)?;
    let url_history = url_history(subject, record, attempts);
    let nearer = nearer_since(urls, subject, record)?;
    let depth = nearer.unwrap_or(record.depth);
    let must_reread = nearer.is_some() && record.leads_on();
    leave_queue(urls, subject)?;
    let answer = Answer { url: subject.url, before: subject.page.as_ref(), record };
    let is_at_once =
        changes.add_answer(answer, subject.verdict.reached.as_ref().map(|reached| reached.url.as_str()))?;
    let urls = &mut changes.urls;
    end_doubt_of_target(urls, subject)?;
    let due_again = if is_at_once || must_reread { Some(urls.now) } else { due_again };
    match due_again {
        Some(due) => {
            let rank = urls.rank_of(subject.state, PRIORITY_UNKNOWN);
            let item = QueuedUrl::revisit(subject.path, subject.verdict.kind, depth);
            urls.enqueue_later(subject.key(), due, rank, &item)?;
        }
        None => urls.queues.set_done(subject.url),
    }
    // A sitemap is recorded, so that it is not fetched again, but it is not a page.
    if subject.verdict.kind.is_delivered() {
        urls.totals.count_pages(subject.page.as_ref(), Some(record));
    }
    let must_refetch = record.must_refetch || must_reread || missed_the_mark(subject, record);
    urls.put_page(subject.key(), PageRecord { url_history, must_refetch, depth, ..record.clone() })
}

/// If a redirect has just found the page of its target, an unconfirmed removal of the target's own URL is refuted: its next
/// sign of removal is the first one again.
fn end_doubt_of_target(urls: &mut Urls, subject: &Subject) -> Result<(), FrontierError> {
    let target =
        subject.verdict.reached.as_ref().filter(|reached| reached.has_page && reached.url != subject.verdict.url);
    let Some(target) = target else { return Ok(()) };
    let KeyedUrl { key: url, origin, .. } = urls.keys.of(&target.url)?;
    let Some(page) = urls.pages.get(url, origin)?.filter(|page| page.state.is_live()) else { return Ok(()) };
    // A cut body says nothing about the page, and one that names another page says the same through a redirect.
    if page.doubt().is_none_or(|(doubt, _)| matches!(doubt, Doubt::Cut | Doubt::Named)) {
        return Ok(());
    }
    let history = page.history.map(History::without_doubt);
    urls.put_page((url, origin), PageRecord { history, ..page })
}

/// The depth of a URL that fell while the URL was fetched with its earlier depth; none if it did not.
fn nearer_since(urls: &Urls, subject: &Subject, record: &PageRecord) -> Result<Option<u16>, FrontierError> {
    if !urls.limits.lowers_depths() || record.kind == Kind::Requisite {
        return Ok(None);
    }
    let queued = queued_of(&urls.queues, subject)?.map(|item| (item.kind, item.depth));
    let known = subject.page.as_ref().map(|page| (page.kind, page.depth));
    let depths = queued.into_iter().chain(known).filter(|(kind, _)| *kind == record.kind).map(|(_, depth)| depth);
    Ok(depths.min().filter(|depth| *depth < record.depth))
}

/// Whether the host's hints were right about this page.
fn learn_trust(urls: &mut Urls, subject: &Subject, record: &PageRecord) -> Result<(), FrontierError> {
    let Some(lesson) = subject.page.as_ref().and_then(|before| record.lesson(before)) else { return Ok(()) };
    let host = &mut urls.hosts.change(subject.url.host, subject.origin)?.record;
    let trust = host.trust.take().unwrap_or_default();
    host.trust = Some(Box::new(trust.after(lesson)));
    Ok(())
}

fn add_retry(
    urls: &mut Urls,
    subject: &Subject,
    Retry { due, attempt, put_off, cause }: Retry,
    pause: HostPause,
) -> Result<bool, FrontierError> {
    let queued = queued_of(&urls.queues, subject)?;
    if let Some(item) = &queued {
        let is_queued_so = matches!(subject.state, Some(UrlState::Later { due: queued, .. }) if queued == due);
        if item.attempt > attempt || (item.attempt == attempt && is_queued_so) {
            return Ok(false);
        }
    }
    meet(urls, subject)?;
    leave_queue(urls, subject)?;
    let rank = urls.rank_of(subject.state, PRIORITY_UNKNOWN);
    let item = queued.unwrap_or_else(|| {
        let depth = subject.page.as_ref().map_or(0, |page| page.depth);
        QueuedUrl::revisit(subject.path, subject.verdict.kind, depth)
    });
    let mut attempts = attempts_before(Some(item.attempts), subject.page.as_ref());
    attempts.push(subject.verdict.attempt);
    let (kind, revisit) = (subject.verdict.kind, subject.page.is_some());
    let item = QueuedUrl { kind, attempt, put_off, cause, attempts, revisit, ..item };
    urls.enqueue_later(subject.key(), due, rank, &item)?;
    urls.totals.first_time += u64::from(subject.page.is_none());
    urls.hosts.change(subject.url.host, subject.origin)?.pause(pause);
    Ok(true)
}

fn leave_queue(urls: &mut Urls, subject: &Subject) -> Result<(), FrontierError> {
    let Some(state) = subject.state else { return Ok(()) };
    let was_first_time = state != UrlState::Done && subject.page.is_none();
    urls.totals.first_time = urls.totals.first_time.saturating_sub(u64::from(was_first_time));
    urls.dequeue(subject.key(), state)
}

fn queued_of(queues: &Queues, subject: &Subject) -> Result<Option<QueuedUrl>, FrontierError> {
    Ok(subject.state.map(|state| queues.entry(subject.url, state)).transpose()?.flatten())
}

/// Attempts since the last answer. For a URL in flight they were read with its lease.
fn attempts_queued(leases: &Leases, queues: &Queues, subject: &Subject) -> Result<Option<Attempts>, FrontierError> {
    if subject.is_in_flight {
        return Ok(leases.attempts_of(subject.url));
    }
    Ok(queued_of(queues, subject)?.map(|queued| queued.attempts))
}

/// The history that the URL's new record keeps. `queued`: the attempts since the last answer.
fn url_history(subject: &Subject, record: &PageRecord, queued: Option<Attempts>) -> UrlHistory {
    let before = subject.page.as_ref();
    let mut attempts = attempts_before(queued, before);
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
    UrlHistory { proposed_as, attempts, delivered_at }
}

/// The page was marked to be refetched after the record before the answer had been read, and the answer, such as a 304,
/// has no content. So the mark stays.
fn missed_the_mark(subject: &Subject, record: &PageRecord) -> bool {
    let has_content = || record.fetched_ms == subject.verdict.attempt.at && (200..300).contains(&record.status);
    subject.page.as_ref().is_some_and(|page| page.must_refetch) && !has_content()
}
