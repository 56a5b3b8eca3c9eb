//! Forgets URLs and hosts. The order is on disk before its first batch, so the next start finishes an interrupted one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seine_frontier::{EmbeddedFrontier, Forgotten, FrontierError, Notes, Verdicts};
use seine_system::blocking;
use seine_system::clock::now_ms;
use serde::{Deserialize, Serialize};

use super::hosts::HostList;
use super::order_log::OrderLog;
use super::why::no_url;
use crate::api::Refusal;
use crate::api::schema::{Done, Forget, Order};
use crate::config::check_seed;
use crate::telemetry::progress::{grouped, some};

/// Orders that are not finished.
const NOTE: &str = "forgetting";
/// URLs forgotten per batch.
const BATCH: usize = 1000;
/// Maximum number of URLs per order; a host may have more.
const MOST: usize = 100_000;
/// How long to wait for fetches in progress and for the validator.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(20);

/// With normalised URLs, and hosts as origins.
#[derive(Serialize, Deserialize)]
struct Pending {
    by: String,
    forget: Forget,
}

#[derive(Clone)]
pub(crate) struct Forgetting {
    pub(super) frontier: Arc<EmbeddedFrontier>,
    pub(super) hosts: HostList,
    pub(super) log: OrderLog,
    /// Locked while something is being forgotten.
    pub(super) one_at_a_time: Arc<Mutex<()>>,
    /// Number of events accepted before this process started.
    pub(super) accepted_before: u64,
}

impl Forgetting {
    pub(super) fn forget(&self, forget: &Forget, by: &str) -> Result<Done, Refusal> {
        let forget = self.normalised(forget)?;
        let _one_after_the_other = self.one_at_a_time.lock();
        let mut pending = self.pending()?;
        pending.push(Pending { by: by.to_owned(), forget });
        self.keep(&pending)?;
        if self.is_behind()? {
            let done = "recorded: the next run forgets it when it has validated the accepted events".to_owned();
            return Ok(Done { done, ..Done::default() });
        }
        let mut last = Done::default();
        while !pending.is_empty() {
            last = self.forget_pending(&mut pending)?;
        }
        Ok(last)
    }

    /// Finishes interrupted orders. A start calls this when all earlier events are validated.
    pub(in crate::crawl) fn finish(&self) -> Result<(), Refusal> {
        let _one_after_the_other = self.one_at_a_time.lock();
        let mut pending = self.pending()?;
        while !pending.is_empty() {
            self.forget_pending(&mut pending)?;
        }
        Ok(())
    }

    /// Executes the first order. After a crash, an order may be executed and recorded twice; this is harmless.
    fn forget_pending(&self, pending: &mut Vec<Pending>) -> Result<Done, Refusal> {
        let Some(Pending { by, forget }) = pending.first() else { return Ok(Done::default()) };
        let forgotten = self.forget_recalled(forget)?;
        let done = description(&forgotten);
        let order = serde_json::to_value(Order::Forget(forget.clone())).unwrap_or_default();
        let warning = self.log.add(by, order, &done);
        pending.remove(0);
        self.keep(pending)?;
        Ok(Done { done, warning, ..Done::default() })
    }

    /// Pauses fetches from the hosts meanwhile.
    fn forget_recalled(&self, forget: &Forget) -> Result<Forgotten, Refusal> {
        let of_urls = forget.urls.iter().filter_map(|url| seine_parse::url::origin(url));
        let origins: BTreeSet<&str> = forget.hosts.iter().map(String::as_str).chain(of_urls).collect();
        origins.iter().for_each(|origin| self.frontier.recall(origin, true));
        let forgotten = self.forget_all(forget);
        origins.iter().for_each(|origin| self.frontier.recall(origin, false));
        forgotten.map_err(|error| match Refusal::from(error) {
            Refusal::Unavailable(why) => Refusal::Unavailable(format!("{why}; the next start forgets the rest")),
            other => other,
        })
    }

    fn forget_all(&self, forget: &Forget) -> Result<Forgotten, FrontierError> {
        let began = Instant::now();
        let mut listed = 0;
        let mut of_hosts = 0;
        loop {
            let (mut busy_listed, mut busy) = (0, 0);
            for urls in forget.urls.chunks(BATCH) {
                let some = self.frontier.forget(urls, now_ms())?;
                listed += some.urls;
                busy_listed += some.busy;
            }
            for host in &forget.hosts {
                let some = self.forget_host(host)?;
                of_hosts += some.urls;
                busy += some.busy;
            }
            busy += busy_listed;
            if busy == 0 || began.elapsed() > PATIENCE {
                self.frontier.flush()?;
                let unknown = (forget.urls.len() as u64).saturating_sub(listed + busy_listed);
                return Ok(Forgotten { urls: listed + of_hosts, busy, unknown });
            }
            blocking::sleep(AGAIN);
        }
    }

    fn forget_host(&self, origin: &str) -> Result<Forgotten, FrontierError> {
        let (mut sum, mut after) = (Forgotten::default(), None);
        loop {
            let (some, last) = self.frontier.forget_host(origin, after, BATCH, now_ms())?;
            sum.urls += some.urls;
            sum.busy += some.busy;
            match last {
                Some(last) => after = Some(last),
                None => return Ok(sum),
            }
        }
    }

    fn normalised(&self, forget: &Forget) -> Result<Forget, Refusal> {
        if forget.urls.is_empty() && forget.hosts.is_empty() {
            return Err(Refusal::Bad("nothing to forget; give URLs or hosts".to_owned()));
        }
        if forget.urls.len() > MOST {
            return Err(Refusal::TooMuch(format!("one order can forget at most {MOST} URLs")));
        }
        let bad = |url: &String| Refusal::Bad(no_url(url));
        // As for seeds: `nonsense` would otherwise become a host name.
        let parse = |url: &String| check_seed(url).ok().and_then(|()| seine_parse::url::parse(url));
        let urls = forget.urls.iter().map(|url| parse(url).ok_or_else(|| bad(url)));
        let mut hosts = Vec::new();
        for host in &forget.hosts {
            hosts.extend(self.hosts.origins_of(host)?);
        }
        Ok(Forget { urls: urls.collect::<Result<_, _>>()?, hosts })
    }

    /// Some events of an earlier process are not validated. They would bring forgotten URLs back.
    fn is_behind(&self) -> Result<bool, Refusal> {
        Ok(self.frontier.cursor()?.index < self.accepted_before)
    }

    fn pending(&self) -> Result<Vec<Pending>, Refusal> {
        let kept = self.frontier.note(NOTE)?;
        Ok(kept.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default())
    }

    fn keep(&self, pending: &[Pending]) -> Result<(), Refusal> {
        self.frontier.set_note(NOTE, &serde_json::to_string(pending).unwrap_or_default())?;
        Ok(self.frontier.flush()?)
    }
}

fn description(forgotten: &Forgotten) -> String {
    let Forgotten { urls, busy, unknown } = *forgotten;
    let mut text = format!("{} forgotten", some(urls, "URL"));
    if unknown > 0 {
        text += &format!(", {} not known", grouped(unknown));
    }
    if busy > 0 {
        text += &format!(", {} left, because they are being fetched; order it again", grouped(busy));
    }
    text
}
