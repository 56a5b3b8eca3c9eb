//! The same year with sitemaps that say when their pages changed: of hosts that tell the truth, and of hosts that lie. Every
//! change is drawn here, as hints are about changes and not about rates; the same ones whoever looks. A sitemap is looked at like a
//! page, and its looks are counted with the others.

use std::time::Duration;

use seine_parse::page::PageChange;
use seine_policies::revisit::{Budget, History, RevisitPolicy, Trust};

use super::{DAY, HOUR, MEAN, YEAR, days};

const PAGES_A_HOST: usize = 100;

/// What the sitemaps say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Says {
    /// But they change as often as their pages.
    Nothing,
    /// Of 100 changes, so many; and of 100 times it says, so many are of a change.
    Truth { told: f64, right: f64 },
    /// It claims at every request that every page has just changed.
    Now,
    /// As many times as there are changes, of no change.
    Nonsense,
}

pub struct Year {
    pub fresh: f64,
    pub looks_a_day: f64,
    /// Size of the stored history of a page.
    pub bytes_a_page: f64,
}

#[derive(Clone)]
struct Page {
    history: History,
    looked: u64,
    due: u64,
    /// When it first changed after the last look.
    stale: Option<u64>,
    next_change: u64,
    next_lie: u64,
    /// Changes are drawn by a generator of their own, so that they are the same beside any lies.
    changes: fastrand::Rng,
    lies: fastrand::Rng,
}

#[derive(Clone)]
struct Sitemap {
    history: History,
    looked: u64,
    /// It is another one than at the last look, whatever it says of its pages.
    has_changed: bool,
    /// The dates that are new since then.
    news: Vec<(u32, u64)>,
}

struct World<'r> {
    rates: &'r [f64],
    says: Says,
    lies_a_change: f64,
    policy: RevisitPolicy,
    budget: Budget,
    pages: Vec<Page>,
    sitemaps: Vec<Sitemap>,
    trust: Vec<Option<Trust>>,
    /// By the hour: what happens, which pages and which sitemaps are due.
    events: Vec<Vec<u32>>,
    due: Vec<Vec<u32>>,
    sitemaps_due: Vec<Vec<u32>>,
    fresh_ms: f64,
    looks: u64,
}

const BEGIN: u64 = MEAN;
const END: u64 = BEGIN + YEAR;

/// Pages are looked at `mean` apart on average.
pub fn live_through(rates: &[f64], says: Says, mean: u64) -> Year {
    let mut world = World::new(rates, says, mean);
    for hour in 0..=(YEAR / HOUR) as usize {
        // One may bring another in the same hour.
        while let Some(page) = world.events[hour].pop() {
            world.happen(page as usize, hour);
        }
        for host in std::mem::take(&mut world.sitemaps_due[hour]) {
            world.look_at_sitemap(host as usize, hour);
        }
        for page in std::mem::take(&mut world.due[hour]) {
            world.look(page as usize, hour);
        }
    }
    for page in &world.pages {
        world.fresh_ms += fresh_ms(page, END);
    }
    let bytes: usize = world.pages.iter().map(|page| bytes(&page.history)).sum();
    Year {
        fresh: world.fresh_ms / (rates.len() as u64 * YEAR) as f64,
        looks_a_day: world.looks as f64 / days(YEAR),
        bytes_a_page: bytes as f64 / rates.len() as f64,
    }
}

/// Without hints, and with hints that are right as often as they are wanted, where that is as fresh.
pub fn equally_fresh(rates: &[f64]) -> (Year, Year) {
    let without = live_through(rates, Says::Nothing, MEAN);
    let (mut low, mut high) = (1.0, 2.0);
    loop {
        let stretch = (low + high) / 2.0;
        let with = live_through(rates, Says::Truth { told: 0.8, right: 0.8 }, (MEAN as f64 * stretch) as u64);
        let is_close = high - low < 0.05 && with.fresh >= without.fresh;
        if is_close || high - low < 0.01 {
            return (without, with);
        }
        if with.fresh >= without.fresh { low = stretch } else { high = stretch }
    }
}

/// As a record has it: its time as so long before another.
fn bytes(history: &History) -> usize {
    minicbor::to_vec(History { alive_ms: 0, ..*history }).map_or(0, |bytes| bytes.len())
}

/// Since the last look, within the year.
fn fresh_ms(page: &Page, until: u64) -> f64 {
    page.stale.unwrap_or(until).min(until).saturating_sub(page.looked.max(BEGIN)) as f64
}

/// Never, at a rate of 0.
fn next(at: u64, random: &mut fastrand::Rng, rate: f64) -> u64 {
    at.saturating_add((-(1.0 - random.f64()).ln() / rate * DAY as f64) as u64)
}

fn list(buckets: &mut [Vec<u32>], at: u64, earliest: usize, item: usize) {
    let hour = (at.saturating_sub(BEGIN).div_ceil(HOUR) as usize).max(earliest);
    if let Some(bucket) = buckets.get_mut(hour) {
        bucket.push(item as u32);
    }
}

impl World<'_> {
    fn new(rates: &[f64], says: Says, mean: u64) -> World<'_> {
        let policy = RevisitPolicy {
            interval: Some(Duration::from_millis(mean)),
            min_interval: Duration::from_millis(HOUR),
            max_interval: Duration::from_millis(180 * DAY),
            confirm_gone: Duration::from_millis(DAY),
            ..RevisitPolicy::default()
        };
        // As many as the hints' being right allows.
        let lies_a_change = match says {
            Says::Truth { told, right } => told * (1.0 - right) / right,
            Says::Nonsense => 1.0,
            Says::Nothing | Says::Now => 0.0,
        };
        let buckets = vec![Vec::new(); (YEAR / HOUR) as usize + 1];
        let hosts = rates.len().div_ceil(PAGES_A_HOST);
        let mut world = World {
            rates,
            says,
            lies_a_change,
            policy,
            budget: Budget::new(mean, None, BEGIN),
            pages: Vec::with_capacity(rates.len()),
            sitemaps: Vec::with_capacity(hosts),
            trust: vec![None; hosts],
            events: buckets.clone(),
            due: buckets.clone(),
            sitemaps_due: buckets,
            fresh_ms: 0.0,
            looks: 0,
        };
        let mut random = fastrand::Rng::with_seed(9);
        for (index, rate) in rates.iter().enumerate() {
            // Looked at before the year, like all.
            let looked = random.u64(0..MEAN);
            let (history, due, stale) = (History::new(looked), looked + MEAN, None);
            let mut changes = fastrand::Rng::with_seed(2 * index as u64);
            let mut lies = fastrand::Rng::with_seed(2 * index as u64 + 1);
            let next_change = next(looked, &mut changes, *rate);
            let next_lie = next(looked, &mut lies, rate * world.lies_a_change);
            world.pages.push(Page { history, looked, due, stale, next_change, next_lie, changes, lies });
            world.list_next(index, 0);
            list(&mut world.due, due, 0, index);
        }
        for host in 0..hosts {
            let looked = random.u64(0..MEAN);
            let history = History { tells: Some(PAGES_A_HOST as u32), ..History::new(looked) };
            world.sitemaps.push(Sitemap { history, looked, has_changed: false, news: Vec::new() });
            list(&mut world.sitemaps_due, looked + MEAN, 0, host);
        }
        world
    }

    fn list_next(&mut self, index: usize, hour: usize) {
        let Page { next_change, next_lie, .. } = self.pages[index];
        list(&mut self.events, next_change.min(next_lie), hour, index);
    }

    fn happen(&mut self, index: usize, hour: usize) {
        let rate = self.rates[index];
        let page = &mut self.pages[index];
        let is_change = page.next_change < page.next_lie;
        let (now, is_told) = match is_change {
            true => {
                let now = page.next_change;
                page.stale.get_or_insert(now);
                page.next_change = next(now, &mut page.changes, rate);
                (now, matches!(self.says, Says::Truth { told, .. } if page.lies.f64() < told))
            }
            false => {
                let now = page.next_lie;
                page.next_lie = next(now, &mut page.lies, rate * self.lies_a_change);
                (now, true)
            }
        };
        let sitemap = &mut self.sitemaps[index / PAGES_A_HOST];
        sitemap.has_changed = true;
        if is_told {
            sitemap.news.push((index as u32, now));
        }
        self.list_next(index, hour);
    }

    fn look_at_sitemap(&mut self, host: usize, hour: usize) {
        let now = BEGIN + hour as u64 * HOUR;
        self.looks += 1;
        let mut news = std::mem::take(&mut self.sitemaps[host].news);
        let first = host * PAGES_A_HOST;
        if self.says == Says::Now {
            let last = (first + PAGES_A_HOST).min(self.pages.len());
            news.extend((first..last).map(|page| (page as u32, now)));
        }
        let has_changed = std::mem::take(&mut self.sitemaps[host].has_changed) || self.says == Says::Now;
        let change = if has_changed { PageChange::Changed } else { PageChange::Unchanged };
        for (page, told) in news {
            self.tell(page as usize, told, hour);
        }
        let trust = self.trust[host];
        let sitemap = &mut self.sitemaps[host];
        let outlook = sitemap.history.outlook(trust.as_ref());
        let is_late = self.policy.is_late(sitemap.history.belief, outlook, self.budget.price(), now - sitemap.looked);
        self.budget.count_recheck(now, self.rates.len() as u64, is_late);
        sitemap.history = sitemap.history.seen(now, change, None);
        sitemap.looked = now;
        let next = now + self.policy.interval_ms(sitemap.history.belief, outlook, self.budget.price());
        list(&mut self.sitemaps_due, next, hour + 1, host);
    }

    /// As the validator does it.
    fn tell(&mut self, index: usize, told: u64, hour: usize) {
        let page = &mut self.pages[index];
        let Some(history) = page.history.after_hint(told) else { return };
        page.history = history;
        let outlook = history.outlook(self.trust[index / PAGES_A_HOST].as_ref());
        let due = page.looked + self.policy.interval_ms(history.belief, outlook, self.budget.price());
        if due < page.due {
            page.due = due.max(BEGIN + hour as u64 * HOUR);
            list(&mut self.due, page.due, hour, index);
        }
    }

    fn look(&mut self, index: usize, hour: usize) {
        let now = BEGIN + hour as u64 * HOUR;
        let page = &mut self.pages[index];
        // A hint has moved it, before or since.
        if page.due > now || page.looked == now {
            return;
        }
        let trust = &mut self.trust[index / PAGES_A_HOST];
        self.looks += 1;
        self.fresh_ms += fresh_ms(page, now);
        let change = if page.stale.take().is_some() { PageChange::Changed } else { PageChange::Unchanged };
        let outlook = page.history.outlook(trust.as_ref());
        let is_late = self.policy.is_late(page.history.belief, outlook, self.budget.price(), now - page.looked);
        self.budget.count_recheck(now, self.rates.len() as u64, is_late);
        if let Some(lesson) = page.history.lesson(now, change) {
            *trust = Some(trust.unwrap_or_default().after(lesson));
        }
        page.history = page.history.seen(now, change, trust.as_ref());
        page.looked = now;
        let outlook = page.history.outlook(trust.as_ref());
        page.due = now + self.policy.interval_ms(page.history.belief, outlook, self.budget.price());
        list(&mut self.due, page.due, hour + 1, index);
    }
}
