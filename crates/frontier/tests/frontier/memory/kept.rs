//! The durable state: URLs with their queues and pages, hosts, notes, the offset.

use std::collections::BTreeMap;

use seine_delivery::Offset;
use seine_frontier::deferred::{DEFERRED, deferred_under};
use seine_frontier::{
    Change, FrontierError, FrontierOptions, Harvest, Hint, PageRecord, Proposal, Proposed, Robots, Trouble, Verdict,
    WHEN_LINKED_AGAIN, Work,
};
use seine_parse::page::{EpochMs, Kind};
use seine_policies::revisit::Trust;

use super::origin_of;

/// For a URL first seen in a verdict.
const PRIORITY_UNKNOWN: u8 = 128;

#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub urls: BTreeMap<String, Url>,
    pub hosts: BTreeMap<String, KeptHost>,
    /// Hosts as they were written last, if a visit has ended since. Nobody gets them before that is written.
    pub unwritten: BTreeMap<String, KeptHost>,
    pub notes: BTreeMap<String, String>,
    pub cursor: Offset,
    pub links_seen: u64,
    /// Links left out because their domain has too many hosts.
    pub over_hosts: u64,
    pub harvest: Harvest,
    pub sequence: u64,
    /// When the process started.
    pub opened_at: EpochMs,
}

#[derive(Debug, Clone)]
pub(super) struct Url {
    pub origin: String,
    pub kind: Kind,
    pub depth: u16,
    pub attempt: u16,
    pub was_put_off: bool,
    pub rank: (u8, u64),
    pub queue: Queue,
    pub page: Option<PageRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Ready,
    Later(EpochMs),
    None,
}

#[derive(Debug, Clone, Default)]
pub(super) struct KeptHost {
    pub number: usize,
    pub not_before: EpochMs,
    pub trouble: Option<Trouble>,
    pub delay_ms: u64,
    pub pages: u64,
    pub robots: Option<Robots>,
    pub trust: Option<Trust>,
}

impl Kept {
    pub fn waits_for_given_up(&self, url: &Url) -> bool {
        url.queue == Queue::Later(WHEN_LINKED_AGAIN) && self.hosts.get(&url.origin).is_some_and(KeptHost::is_given_up)
    }

    /// `deferred`: see [`seine_frontier::deferred::Traps::deferred`].
    pub fn propose(
        &mut self,
        work: &[Proposal],
        deferred: &[(usize, u32)],
        options: &FrontierOptions,
        is_in_flight: &dyn Fn(&str) -> bool,
        now: EpochMs,
    ) -> Result<Proposed, FrontierError> {
        let (limit, lowers_depths) = (options.max_pages_per_host, options.lowers_depths);
        for proposal in work {
            origin_of(&proposal.url)?;
        }
        let mut proposed = Proposed::default();
        for (number, Proposal { url, kind, depth, priority, .. }) in work.iter().enumerate() {
            let origin = origin_of(url)?;
            // Counted only if it matters, because counting reads every URL.
            let is_troubled = self.hosts.get(&origin).is_some_and(|host| host.trouble.is_some());
            let works = is_troubled && self.work_of(&origin) > 0;
            // DNS servers have just answered that the host does not exist, so another link changes nothing.
            let stays = self.hosts.get(&origin).and_then(|host| host.trouble);
            let stays = stays.is_some_and(|trouble| trouble.is_known_to_be_unknown(self.opened_at, now));
            if let Some(host) = self.hosts.get_mut(&origin).filter(|host| works && host.is_given_up() && !stays) {
                host.trouble = None;
            }
            if let Some(known) = self.urls.get(url) {
                if *kind == Kind::Page && *depth < known.depth && (*depth == 0 || lowers_depths) {
                    self.bring_nearer(url, *depth, lowers_depths, is_in_flight(url), now);
                }
                proposed.known += 1;
                continue;
            }
            let is_seed = *kind == Kind::Page && *depth == 0;
            if !is_seed && self.is_one_too_many(&origin, options.max_hosts_per_domain) {
                proposed.over_hosts += 1;
                self.over_hosts += 1;
                continue;
            }
            let host = self.host(&origin, now);
            if *kind == Kind::Page && limit.is_some_and(|limit| host.pages >= limit) {
                proposed.over_limit += 1;
                continue;
            }
            host.pages += u64::from(*kind == Kind::Page);
            if !works && !stays {
                host.trouble = None;
            }
            let rank = self.next_rank(*priority);
            let mark = deferred.iter().find(|(of, _)| *of == number).map(|(_, mark)| EpochMs::from(*mark));
            let queue = mark.map_or(Queue::Ready, |mark| Queue::Later(DEFERRED + mark));
            let (kind, depth) = (*kind, *depth);
            let new = Url { origin, kind, depth, attempt: 0, was_put_off: false, rank, queue, page: None };
            self.urls.insert(url.clone(), new);
            proposed.added += 1;
        }
        Ok(proposed)
    }

    /// Whether a host is new and its domain has `most` hosts already.
    fn is_one_too_many(&self, origin: &str, most: Option<u64>) -> bool {
        let domain_of = |origin: &str| {
            let host = seine_parse::url::host(origin).unwrap_or(origin);
            seine_parse::url::registrable_domain(host).to_owned()
        };
        let domain = domain_of(origin);
        let known = || self.hosts.keys().filter(|other| domain_of(other) == domain).count() as u64;
        most.is_some_and(|most| !self.hosts.contains_key(origin) && known() >= most)
    }

    /// Fewer links lead to a known URL than before.
    fn bring_nearer(&mut self, url: &str, depth: u16, reads_again: bool, is_in_flight: bool, now: EpochMs) {
        let is_known = self.urls.get(url).is_some_and(|known| known.page.is_some() && known.queue == Queue::None);
        let rank = if is_known && reads_again && !is_in_flight { Some(self.next_rank(1)) } else { None };
        let Some(known) = self.urls.get_mut(url) else { return };
        known.depth = depth;
        let Some(page) = &mut known.page else { return };
        page.depth = depth;
        if !reads_again || !page.leads_on() {
            return;
        }
        page.must_refetch = true;
        let is_parked = known.queue == Queue::Later(WHEN_LINKED_AGAIN);
        if !is_in_flight && !is_parked && known.attempt == 0 {
            known.rank = rank.unwrap_or(known.rank);
            known.queue = Queue::Later(now);
        }
    }

    /// Number of queued URLs of the host.
    pub fn work_of(&self, origin: &str) -> usize {
        self.urls.values().filter(|url| url.origin == origin && url.queue != Queue::None).count()
    }

    pub fn host(&mut self, origin: &str, now: EpochMs) -> &mut KeptHost {
        let number = self.hosts.len();
        let new = || KeptHost { number, not_before: now, ..KeptHost::default() };
        self.hosts.entry(origin.to_owned()).or_insert_with(new)
    }

    pub fn next_rank(&mut self, priority: u8) -> (u8, u64) {
        self.sequence += 1;
        (priority, self.sequence)
    }

    /// False if the verdict changes nothing.
    pub fn apply(
        &mut self,
        verdict: &Verdict,
        in_flight: &BTreeMap<String, u64>,
        lowers_depths: bool,
        now: EpochMs,
    ) -> Result<bool, FrontierError> {
        if let Some(url) = self.urls.get(&verdict.url)
            && is_old(url, verdict, in_flight.contains_key(&verdict.url))
        {
            return Ok(false);
        }
        let origin = origin_of(&verdict.url)?;
        let is_unknown = !self.urls.contains_key(&verdict.url);
        let rank = match self.urls.get(&verdict.url) {
            Some(url) if url.queue != Queue::None => url.rank,
            _ => self.next_rank(PRIORITY_UNKNOWN),
        };
        let host = self.host(&origin, now);
        host.pages += u64::from(is_unknown && verdict.kind == Kind::Page);
        let (kind, queue) = (verdict.kind, Queue::None);
        let new = Url { origin, kind, depth: 0, attempt: 0, was_put_off: false, rank, queue, page: None };
        let url = self.urls.entry(verdict.url.clone()).or_insert(new);
        (url.rank, url.kind) = (rank, verdict.kind);
        match &verdict.change {
            Change::Page { record, due_again } => {
                let lesson = url.page.as_ref().and_then(|before| record.lesson(before));
                let is_nearer = lowers_depths && !is_unknown && url.depth < record.depth;
                let must_reread = is_nearer && record.leads_on();
                let has_content = verdict.attempt.at == record.fetched_ms && (200..300).contains(&record.status);
                let is_marked = url.page.as_ref().is_some_and(|page| page.must_refetch) && !has_content;
                let depth = if is_nearer { url.depth } else { record.depth };
                (url.depth, url.attempt, url.was_put_off) = (depth, 0, false);
                url.queue = if must_reread { Some(now) } else { *due_again }.map_or(Queue::None, Queue::Later);
                let must_refetch = record.must_refetch || must_reread || is_marked;
                url.page = Some(PageRecord { depth, must_refetch, ..record.clone() });
                if let (Some(lesson), Some(host)) = (lesson, self.hosts.get_mut(&url.origin)) {
                    host.trust = Some(host.trust.unwrap_or_default().after(lesson));
                }
            }
            Change::Retry { at, attempt, put_off, .. } => {
                (url.attempt, url.was_put_off) = (*attempt, *put_off);
                url.queue = Queue::Later(*at);
            }
        }
        Ok(true)
    }

    /// `may_move`: it is not in flight.
    pub fn hint(&mut self, hint: &Hint, may_move: bool) {
        let rank = self.next_rank(1);
        let Some(url) = self.urls.get_mut(&hint.url) else { return };
        // A URL that was not a page is fetched again. A URL that waits for a retry, or for its host, is left alone.
        if url.page.as_ref().is_some_and(|page| page.no_page_since().is_some()) {
            let is_sooner = match url.queue {
                Queue::Ready => false,
                Queue::Later(due) => due > hint.due && due != WHEN_LINKED_AGAIN && url.attempt == 0,
                Queue::None => true,
            };
            if is_sooner && may_move {
                url.rank = if url.queue == Queue::None { rank } else { url.rank };
                url.queue = Queue::Later(hint.due);
            }
            return;
        }
        let Queue::Later(due) = url.queue else { return };
        let Some(page) = url.page.as_mut().filter(|page| page.state.is_found()) else { return };
        if due == WHEN_LINKED_AGAIN || url.attempt > 0 {
            return;
        }
        let Some(history) = page.history().and_then(|history| history.after_hint(hint.changed_ms)) else { return };
        page.history = Some(history);
        if may_move {
            url.queue = Queue::Later(due.min(hint.due));
        }
    }
}

/// Whether the verdict was applied before.
fn is_old(url: &Url, verdict: &Verdict, is_in_flight: bool) -> bool {
    let applied = url.page.as_ref().map(|page| &page.event_id);
    let is_old_event = applied.is_some_and(|id| verdict.event_id == *id || verdict.event_id < *id && !is_in_flight);
    let is_old_retry = match verdict.change {
        Change::Retry { at, attempt, .. } if url.queue != Queue::None => {
            url.attempt > attempt || url.attempt == attempt && url.queue == Queue::Later(at)
        }
        _ => false,
    };
    is_old_event || is_old_retry
}

impl KeptHost {
    pub fn is_given_up(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.given_up)
    }
}

impl Url {
    pub fn is_deferred(&self) -> bool {
        matches!(self.queue, Queue::Later(due) if deferred_under(due).is_some())
    }

    /// 0 for a URL that may be fetched any time.
    pub fn due(&self, kept: &Kept) -> EpochMs {
        match self.queue {
            Queue::Later(WHEN_LINKED_AGAIN) => {
                let trouble = kept.hosts.get(&self.origin).and_then(|host| host.trouble);
                trouble.map_or(0, |trouble| trouble.tried_again_at())
            }
            Queue::Later(due) => due,
            Queue::Ready | Queue::None => 0,
        }
    }

    pub fn work(&self, name: &str) -> Work {
        let page = self.page.as_ref().filter(|page| page.state.is_found());
        let is_whole = |page: &&PageRecord| page.digest.is_some() && !page.must_refetch;
        let whole = page.filter(is_whole);
        Work {
            url: name.to_owned(),
            kind: self.kind,
            depth: self.depth,
            priority: self.rank.0,
            attempt: self.attempt,
            was_put_off: self.was_put_off,
            put_off_since: None, // the model's attempts all count
            redirect_waits_since: None,
            was_found: page.is_some(),
            had_page: self.page.as_ref().is_some_and(PageRecord::had_page),
            known: PageRecord {
                etag: whole.and_then(|page| page.etag.clone()),
                last_modified: whole.and_then(|page| page.last_modified.clone()),
                ..page.cloned().unwrap_or_default()
            },
            is_orphan: false,
        }
    }
}
