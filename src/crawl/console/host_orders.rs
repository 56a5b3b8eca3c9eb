//! Orders about hosts: block, delay, limit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_frontier::{EmbeddedFrontier, Fetching, HostOrder, PageRecord, Recheck};
use seine_system::blocking;
use seine_system::clock::now_ms;

use super::hosts::HostList;
use crate::api::Refusal;
use crate::telemetry::progress::{grouped, some};
use crate::visit::shorter_delays;

/// How long to wait for the request in progress of a blocked host.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);
const CHECK_EVERY: Duration = Duration::from_millis(10);
/// A visit waits that long itself before its next request.
const SHORT_DELAY_MS: u64 = 2_000;
/// Maximum delay of a host.
const LONGEST_DELAY_MS: u64 = 24 * 3600 * 1000;

pub(super) struct HostOrders {
    pub frontier: Arc<EmbeddedFrontier>,
    pub hosts: HostList,
    /// `link_storage.max_pages_per_domain`
    pub most_pages: Option<u64>,
}

impl HostOrders {
    /// None: the configured delay.
    pub(super) fn set_delay(&self, host: &str, delay_ms: Option<u64>) -> Result<String, Refusal> {
        if delay_ms.is_some_and(|delay| delay > LONGEST_DELAY_MS) {
            return Err(Refusal::Bad("a delay is at most a day; to stop fetching, block the host".to_owned()));
        }
        let delay = delay_ms.map(Duration::from_millis);
        let done = self.give(host, HostOrder::Delay(delay))?;
        let config = &self.hosts.config;
        let now = delay.unwrap_or(config.frontier.host_delay).as_millis() as u64;
        for origin in self.hosts.origins_of(host)? {
            // The visit in progress ends with the delay from before, unless that is so short that it does not matter.
            let before = self.frontier.host_snapshot(&origin)?.map_or(0, |host| host.record.delay_ms);
            if before > now.max(SHORT_DELAY_MS) {
                self.wait_until_released(std::slice::from_ref(&origin))?;
            }
            shorter_delays::bring_forward(&self.frontier, config, Some(&origin))?;
        }
        Ok(done)
    }

    /// None: the configured limit of pages.
    pub(super) fn set_pages(&self, host: &str, pages: Option<u64>) -> Result<String, Refusal> {
        if pages == Some(0) {
            return Err(Refusal::Bad("the limit is at least one page; to stop fetching, block the host".to_owned()));
        }
        let full = self.full(&self.hosts.origins_of(host)?)?;
        let mut done = self.give(host, HostOrder::Pages(pages))?;
        let mut refetched = 0;
        for (origin, admitted) in full {
            if pages.or(self.most_pages).is_none_or(|most| most > admitted) {
                let refetch = |page: &PageRecord| page.state.is_found().then_some(Recheck::Refetch);
                refetched += self.frontier.recheck(Some(&origin), now_ms(), &refetch)?;
            }
        }
        if refetched > 0 {
            done += &format!("; {} of its pages are refetched for links that were left out", grouped(refetched));
        }
        Ok(done)
    }

    /// Those that have as many pages as they may, and how many.
    fn full(&self, origins: &[String]) -> Result<Vec<(String, u64)>, Refusal> {
        let mut full = Vec::new();
        for origin in origins {
            let Some(host) = self.frontier.host_snapshot(origin)? else { continue };
            let pages = host.record.pages;
            if host.record.ordered_pages.or(self.most_pages).is_some_and(|most| pages >= most) {
                full.push((origin.clone(), pages));
            }
        }
        Ok(full)
    }

    /// URLs that redirect to the host are due at once, as are hosts whose robots.txt does.
    pub(super) fn unblock(&self, host: &str) -> Result<String, Refusal> {
        let done = self.give(host, HostOrder::Unblock)?;
        for origin in self.hosts.origins_of(host)? {
            for waiting in self.frontier.hosts_waiting_for(&origin) {
                shorter_delays::bring_forward(&self.frontier, &self.hosts.config, Some(&waiting))?;
            }
        }
        let config = &self.hosts.config.frontier;
        let longest = config.backoff_max + config.host_delay.max(config.backoff_base);
        Ok(match self.frontier.follow_redirects(longest, now_ms())? {
            0 => done,
            urls => format!("{done}; {} with a redirect that had to wait: due now", some(urls, "URL")),
        })
    }

    pub(super) fn give(&self, host: &str, order: HostOrder) -> Result<String, Refusal> {
        let origins = self.hosts.origins_of(host)?;
        for origin in &origins {
            self.frontier.order_host(origin, order, now_ms())?;
        }
        let is_asked = order == HostOrder::Block && !self.wait_until_released(&origins)?;
        let (origin, is) = (origins.join(" and "), if origins.len() > 1 { "are" } else { "is" });
        Ok(match order {
            HostOrder::Block if is_asked => {
                format!("{origin} {is} blocked: a request is still in progress, no other follows")
            }
            HostOrder::Block => format!("{origin} {is} blocked: its URLs wait"),
            HostOrder::Unblock => format!("{origin} {is} not blocked"),
            HostOrder::Delay(Some(delay)) => {
                format!("delay of {} ms for {origin}, or that of its robots.txt if it is longer", delay.as_millis())
            }
            HostOrder::Pages(Some(pages)) => format!("at most {} pages of {origin}", grouped(pages)),
            HostOrder::Pages(None) => format!("the configured limit of pages applies to {origin}"),
            HostOrder::Delay(None) => format!("{origin} {is} fetched with the configured delay"),
        })
    }

    /// Waits briefly until no request to these hosts is in progress. False if one takes longer.
    fn wait_until_released(&self, origins: &[String]) -> Result<bool, Refusal> {
        let began = Instant::now();
        loop {
            let mut is_leased = false;
            for origin in origins {
                is_leased |= self.frontier.host_snapshot(origin)?.is_some_and(|look| look.is_leased);
            }
            if !is_leased || began.elapsed() > RELEASE_TIMEOUT {
                return Ok(!is_leased);
            }
            blocking::sleep(CHECK_EVERY);
        }
    }
}
