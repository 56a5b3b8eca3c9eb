//! Crawl traps in the validator: rates pages for their URL patterns, defers links, and normalises links with session
//! ids. The statistics of a host are in memory while it is visited. They are stored with every sixteenth page, or when
//! a decision changes. A crash loses a few counts, but no decision.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use seine_frontier::deferred::{Drain, HostTrapsChange, LAST_OF_ALL, Traps, TrapsDone};
use seine_frontier::{Change, FrontierError, PageState, Proposal, Validation};
use seine_parse::page::{Kind, PageEvent, Withheld};
use seine_parse::url::{origin, path_and_query};
use seine_parse::{Derived, media_type};
use seine_policies::traps::{FetchOrder, Fetched, HostTraps, PageWords, Worth, page_words, parameters};

use super::Validator;
use super::mirrors::{self, Comparison};
use crate::config::FrontierConfig;
use crate::judge::record::Seen;

/// A host is watched when it has this many known URLs.
const WATCHED_FROM: u64 = 168;
/// Hosts in memory; the one visited longest ago is removed first.
const HOSTS: usize = 2048;
/// The statistics of a host are stored after this many pages.
const KEPT_EVERY: u32 = 16;
/// When a host leaves the memory, fewer unsaved pages than this are forgotten.
const FORGOTTEN: u32 = 4;

/// The state of the detection.
#[derive(Default)]
pub(super) struct Watch {
    /// False: only parameters learned earlier are removed.
    is_on: bool,
    /// The average interval of rechecks; none: pages are not rechecked.
    every: Option<Duration>,
    /// How many deferred URLs of a host may be fetched though they lead to as many again.
    deferred_per_host: u32,
    hosts: HashMap<String, Watched>,
    visits: u64,
    pages: mirrors::Pages,
    batch: InBatch,
}

struct Watched {
    /// None: the host has too few URLs.
    traps: Option<HostTraps>,
    /// Number of its URLs when last asked.
    known: u64,
    visited: u64,
    /// Pages since it was last stored.
    unkept: u32,
    /// Store it with the next batch.
    is_changed: bool,
}

/// The changes of the present batch.
#[derive(Default)]
struct InBatch {
    deferred: Vec<(usize, u32)>,
    /// Pages without anything new: their hosts, their worth, and the range of their links in the proposals.
    barren: Vec<(String, Worth, std::ops::Range<usize>)>,
    /// Hosts, and how often they were visited.
    visits: BTreeMap<String, u32>,
}

impl InBatch {
    /// Marks a host as part of the batch. Returns its number of visits.
    fn touch(&mut self, host: &str) -> &mut u32 {
        if !self.visits.contains_key(host) {
            self.visits.insert(host.to_owned(), 0);
        }
        self.visits.get_mut(host).expect("it was put there")
    }
}

impl Watched {
    /// Logs decisions, and stores the host with the next batch.
    fn tell(&mut self, host: &str, news: &[String]) {
        self.is_changed |= !news.is_empty();
        for what in news {
            tracing::info!(host, "{what}");
        }
    }
}

impl Watch {
    pub(super) fn new(config: &FrontierConfig) -> Watch {
        let FrontierConfig { traps, deferred_per_host, revisit, .. } = config;
        Watch { is_on: *traps, every: revisit.interval, deferred_per_host: *deferred_per_host, ..Watch::default() }
    }

    /// Before a batch. If the last batch was not applied, the whole memory is dropped.
    pub(super) fn begin(&mut self) {
        if !self.batch.visits.is_empty() || !self.batch.barren.is_empty() || !self.batch.deferred.is_empty() {
            let Watch { is_on, every, deferred_per_host, .. } = *self;
            *self = Watch { is_on, every, deferred_per_host, ..Watch::default() };
        }
    }

    fn host(&mut self, frontier: &dyn Validation, origin: &str) -> Result<&mut Watched, FrontierError> {
        if !self.hosts.contains_key(origin) {
            if self.hosts.len() >= HOSTS {
                self.make_room();
            }
            let stored = frontier.traps(origin)?;
            // Unreadable statistics count as missing.
            let mut traps = stored.statistics.and_then(|statistics| HostTraps::from_bytes(&statistics));
            traps.iter_mut().for_each(|traps| traps.allow(self.deferred_per_host));
            let watched = Watched { traps, known: stored.pages, visited: 0, unkept: 0, is_changed: false };
            self.hosts.insert(origin.to_owned(), watched);
        }
        self.visits += 1;
        let watched = self.hosts.get_mut(origin).expect("it was put there");
        watched.visited = self.visits;
        Ok(watched)
    }

    /// Removes a quarter of the hosts, the longest unvisited, so that this happens rarely. The next batch stores their
    /// statistics.
    fn make_room(&mut self) {
        let mut visited: Vec<u64> = self.hosts.values().map(|watched| watched.visited).collect();
        let (_, oldest, _) = visited.select_nth_unstable(HOSTS / 4);
        let oldest = *oldest;
        let in_batch = &self.batch.visits;
        self.hosts.retain(|origin, watched| {
            let is_lost = watched.traps.is_none() || (watched.unkept < FORGOTTEN && !watched.is_changed);
            watched.visited > oldest || in_batch.contains_key(origin) || !is_lost
        });
        let leaving = self.hosts.iter_mut().filter(|(_, watched)| watched.visited <= oldest);
        for (origin, watched) in leaving {
            watched.is_changed = true;
            self.batch.visits.entry(origin.clone()).or_default();
        }
    }

    /// Rates an event. None if it says nothing about its pattern.
    fn see(
        &mut self,
        frontier: &dyn Validation,
        event: &PageEvent,
        derived: &Derived,
    ) -> Result<Option<Worth>, FrontierError> {
        let Some(host) = origin(&event.url) else { return Ok(None) };
        let Some(response) = event.response().filter(|response| response.status < 500) else { return Ok(None) };
        let allowed = self.deferred_per_host;
        let watched = self.host(frontier, host)?;
        if watched.traps.is_none() {
            if watched.unkept > 0 && watched.unkept.is_multiple_of(KEPT_EVERY) {
                watched.known = frontier.traps(host)?.pages;
            }
            watched.unkept += 1;
            if watched.known < WATCHED_FROM {
                return Ok(None);
            }
            let mut traps = HostTraps::default();
            traps.allow(allowed);
            watched.traps = Some(traps);
        }
        let Some(traps) = &mut watched.traps else { return Ok(None) };
        let is_page = response.is_success() && !matches!(event.withheld, Some(Withheld::Alias { .. }));
        let is_text = derived.is_html || response.content_type().is_some_and(|it| media_type(it).starts_with("text/"));
        let path = path_and_query(&event.url);
        watched.unkept += 1;
        let (worth, is_comparable) = if is_page && is_text && !traps.wants(path) {
            (traps.pass(path), true)
        } else {
            let words = if is_text { page_words(&derived.body, derived.is_html) } else { PageWords::default() };
            let fetched =
                Fetched { path_and_query: path, words: is_page.then_some(&words), digest: &derived.digest, is_text };
            let mut news = Vec::new();
            let worth = traps.see(&fetched, &mut news);
            watched.tell(host, &news);
            (worth, is_page && words.mark != 0)
        };
        *self.batch.touch(host) += 1;
        if is_comparable {
            self.compare(host, path, &derived.digest);
        }
        Ok(Some(worth))
    }

    /// Compares a page with the page at the same path of another host, to find mirrors.
    fn compare(&mut self, host: &str, path: &str, digest: &[u8; 32]) {
        let Some(Comparison { mirror, of, is_equal }) = self.pages.compare(host, path, digest) else { return };
        if let Some(watched) = self.hosts.get_mut(&mirror)
            && let Some(traps) = &mut watched.traps
        {
            let mut news = Vec::new();
            traps.compared(&of, is_equal, &mut news);
            watched.tell(&mirror, &news);
            // Its deferred URLs must be checked, although it may not be visited any more.
            self.batch.touch(&mirror);
        }
    }

    /// Counts a request of a watched host, and the new content of a recheck.
    fn count(&mut self, host: &str, Seen { event, derived, before, .. }: Seen, change: &Change) {
        let Some(watched) = self.hosts.get_mut(host) else { return };
        let Some(traps) = &mut watched.traps else { return };
        let path = path_and_query(&event.url);
        if let Some(every) = self.every.filter(|_| event.response().is_some()) {
            watched.is_changed |= traps.asked(path, event.ended_ms, every);
        }
        let is_new_text = matches!(change, Change::Page { record, .. } if record.state == PageState::Changed);
        if is_new_text && derived.is_html && before.is_some_and(|before| before.state.is_found()) {
            let words = page_words(&derived.body, derived.is_html);
            let fetched = Fetched { path_and_query: path, words: Some(&words), digest: &derived.digest, is_text: true };
            let mut news = Vec::new();
            traps.see_again(&fetched, &mut news);
            watched.tell(host, &news);
        }
    }

    /// Removes session ids from a link, and decides whether it is deferred.
    fn link<'u>(
        &mut self,
        frontier: &dyn Validation,
        url: &'u str,
        (from, on): (&str, Option<Worth>),
    ) -> Result<(Cow<'u, str>, FetchOrder), FrontierError> {
        let Some(host) = origin(url) else { return Ok((Cow::Borrowed(url), FetchOrder::InOrder)) };
        // The host is not in memory, so nothing was fetched from it recently.
        if !self.hosts.contains_key(host) && on.is_none() {
            return Ok((Cow::Borrowed(url), FetchOrder::InOrder));
        }
        let is_on = self.is_on;
        let Some(traps) = &self.host(frontier, host)?.traps else {
            return Ok((Cow::Borrowed(url), FetchOrder::InOrder));
        };
        let url = match parameters::without(path_and_query(url), traps.sessions()) {
            Some(path) => Cow::Owned(format!("{host}{path}")),
            None => Cow::Borrowed(url),
        };
        let from = (origin(from) == Some(host)).then(|| path_and_query(from));
        let order = if is_on { traps.order(path_and_query(&url), from, on) } else { FetchOrder::InOrder };
        Ok((url, order))
    }

    /// The changes of the batch.
    pub(super) fn finish(&mut self) -> Traps {
        let deferred = std::mem::take(&mut self.batch.deferred);
        let mut hosts = Vec::new();
        for (origin, visits) in &self.batch.visits {
            let Some(watched) = self.hosts.get_mut(origin) else { continue };
            let Some(traps) = &mut watched.traps else { continue };
            let mut release = BTreeMap::new();
            for (mark, count) in (0..*visits).flat_map(|_| traps.visited()) {
                *release.entry(mark).or_insert(0_usize) += count;
            }
            let sweep = traps.sweep_from().map(|from| (from, traps.clone()));
            let is_kept = watched.is_changed || watched.unkept >= KEPT_EVERY || sweep.is_some();
            let record = is_kept.then(|| traps.to_bytes());
            if is_kept {
                (watched.unkept, watched.is_changed) = (0, false);
            }
            let release = release.into_iter().collect();
            let mirror = traps.mirror_of().map(|of| (of.to_owned(), traps.clone()));
            let (at_most, leading, of_others) = (traps.portion(), traps.leading(), traps.of_others());
            let drain = Drain { at_most, leading, of_others, mirror };
            hosts.push(HostTrapsChange { origin: origin.clone(), record, release, sweep, drain });
        }
        Traps { deferred, hosts }
    }

    /// The batch was applied.
    pub(super) fn applied(&mut self, change: &Traps, done: &TrapsDone, proposals: &[Proposal]) {
        for (change, done) in change.hosts.iter().zip(&done.hosts) {
            let Some(watched) = self.hosts.get_mut(&change.origin) else { continue };
            let Some(traps) = &mut watched.traps else { continue };
            if change.sweep.is_some() {
                traps.swept(done.swept_to);
                watched.is_changed = true;
            }
            for (mark, count) in &change.release {
                traps.released(*mark, *count, done.empty.contains(mark));
            }
            if let Some((deferred, released)) = done.drained {
                let mut news = Vec::new();
                watched.is_changed |= traps.let_go(deferred, released, &mut news);
                watched.tell(&change.origin, &news);
            }
        }
        for (host, worth, links) in std::mem::take(&mut self.batch.barren) {
            let Some(traps) = self.hosts.get_mut(&host).and_then(|watched| watched.traps.as_mut()) else { continue };
            let first = done.added.partition_point(|number| *number < links.start);
            let new = done.added[first..].iter().take_while(|number| **number < links.end);
            let is_held =
                |number: &&usize| change.deferred.binary_search_by_key(*number, |(number, _)| *number).is_ok();
            let (deferred, new): (Vec<&usize>, Vec<&usize>) = new.partition(is_held);
            if worth.feeds_itself {
                traps.led_to_deferred(worth, !deferred.is_empty());
            }
            for number in new {
                let Some(proposal) = proposals.get(*number).filter(|proposal| proposal.kind == Kind::Page) else {
                    continue;
                };
                match origin(&proposal.url) == Some(host.as_str()) {
                    true => traps.led_on(worth, path_and_query(&proposal.url)),
                    false => traps.led_away(worth),
                }
            }
        }
        self.batch = InBatch::default();
    }
}

/// Whether the page was fetched for the first time, as far as its URL tells.
fn is_first(Seen { event, before, .. }: Seen, change: &Change) -> bool {
    let is_final = matches!(change, Change::Page { .. });
    is_final && event.kind == Kind::Page && event.depth > 0 && before.is_none()
}

impl Validator {
    /// Rates an event for the patterns of its host.
    pub(super) fn watch(&self, seen: Seen, change: &Change) -> Result<Option<Worth>, FrontierError> {
        let event = seen.event;
        let mut watch = self.watch.lock();
        let Some(host) = origin(&event.url) else { return Ok(None) };
        // Parameters learned earlier apply whether the host is watched or not.
        let is_watched = watch.host(&*self.frontier, host)?.traps.is_some();
        if !watch.is_on {
            return Ok(None);
        }
        // Any event may be the last of its host except for deferred URLs, which are then released.
        if is_watched {
            watch.batch.touch(host);
            watch.count(host, seen, change);
        }
        match is_first(seen, change) {
            true => watch.see(&*self.frontier, event, seen.derived),
            false => Ok(None),
        }
    }

    /// A page of a trap that leads out of it, to a page that was never fetched, brings something.
    fn with_way_out(
        &self,
        watch: &mut Watch,
        event: &PageEvent,
        worth: Worth,
        links: &[Proposal],
    ) -> Result<Worth, FrontierError> {
        let Some(host) = origin(&event.url).filter(|_| worth.is_barren && worth.feeds_itself) else { return Ok(worth) };
        let Some(traps) = &watch.host(&*self.frontier, host)?.traps else { return Ok(worth) };
        for Proposal { url, kind, .. } in links {
            let is_out =
                *kind == Kind::Page && origin(url) == Some(host) && traps.leads_out(path_and_query(url), worth);
            if is_out && self.frontier.page(url)?.is_none() {
                return Ok(worth.with_way_out());
            }
        }
        Ok(worth)
    }

    /// Processes the links of a page, in the proposals from `begun` on.
    pub(super) fn defer_links(
        &self,
        event: &PageEvent,
        worth: Option<Worth>,
        proposals: &mut [Proposal],
        begun: usize,
    ) -> Result<(), FrontierError> {
        let mut watch = self.watch.lock();
        let found_on =
            worth.map(|worth| self.with_way_out(&mut watch, event, worth, &proposals[begun..])).transpose()?;
        for (number, proposal) in proposals.iter_mut().enumerate().skip(begun) {
            if proposal.kind != Kind::Page {
                continue;
            }
            let (url, order) = watch.link(&*self.frontier, &proposal.url, (&event.url, found_on))?;
            if let Cow::Owned(url) = url {
                proposal.url = url;
            }
            // URLs in sitemaps are finite and wanted.
            match order {
                _ if event.kind != Kind::Page => {}
                FetchOrder::InOrder => {}
                FetchOrder::Last => proposal.priority = LAST_OF_ALL,
                FetchOrder::Deferred(mark) => {
                    watch.batch.deferred.push((number, mark));
                    // The host may have no other URLs.
                    watch.batch.touch(origin(&proposal.url).unwrap_or_default());
                }
            }
        }
        if let (Some(worth), Some(host)) = (worth.filter(|worth| worth.is_barren), origin(&event.url)) {
            watch.batch.barren.push((host.to_owned(), worth, begun..proposals.len()));
        }
        Ok(())
    }
}
