//! Orders about hosts: block, delay, limit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_frontier::{EmbeddedFrontier, HostOrder};
use seine_system::blocking;
use seine_system::clock::now_ms;

use super::hosts::HostList;
use crate::api::Refusal;
use crate::telemetry::progress::grouped;

/// How long to wait for the request in progress of a blocked host.
const LETTING_GO: Duration = Duration::from_secs(3);
const CHECK_EVERY: Duration = Duration::from_millis(10);
/// Maximum delay of a host.
const LONGEST_DELAY_MS: u64 = 24 * 3600 * 1000;

pub(super) struct HostOrders {
    pub frontier: Arc<EmbeddedFrontier>,
    pub hosts: HostList,
}

impl HostOrders {
    /// None: the configured delay.
    pub(super) fn set_delay(&self, host: &str, delay_ms: Option<u64>) -> Result<String, Refusal> {
        if delay_ms.is_some_and(|delay| delay > LONGEST_DELAY_MS) {
            return Err(Refusal::Bad("a delay is at most a day; to stop fetching, block the host".to_owned()));
        }
        self.give(host, HostOrder::Delay(delay_ms.map(Duration::from_millis)))
    }

    /// None: the configured limit of pages.
    pub(super) fn set_pages(&self, host: &str, pages: Option<u64>) -> Result<String, Refusal> {
        if pages == Some(0) {
            return Err(Refusal::Bad("the limit is at least one page; to stop fetching, block the host".to_owned()));
        }
        self.give(host, HostOrder::Pages(pages))
    }

    pub(super) fn give(&self, host: &str, order: HostOrder) -> Result<String, Refusal> {
        let origins = self.hosts.origins_of(host)?;
        for origin in &origins {
            self.frontier.order_host(origin, order, now_ms())?;
        }
        let is_asked = order == HostOrder::Block && !self.is_let_go(&origins)?;
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
            HostOrder::Pages(Some(pages)) => format!(
                "at most {} pages of {origin}; links that were left out are added when they are found again",
                grouped(pages)
            ),
            HostOrder::Pages(None) => format!("the configured limit of pages applies to {origin}"),
            HostOrder::Delay(None) => format!("{origin} {is} fetched with the configured delay"),
        })
    }

    /// Waits briefly until no request to these hosts is in progress. False if one takes longer.
    fn is_let_go(&self, origins: &[String]) -> Result<bool, Refusal> {
        let began = Instant::now();
        loop {
            let mut is_leased = false;
            for origin in origins {
                is_leased |= self.frontier.host_snapshot(origin)?.is_some_and(|look| look.is_leased);
            }
            if !is_leased || began.elapsed() > LETTING_GO {
                return Ok(!is_leased);
            }
            blocking::sleep(CHECK_EVERY);
        }
    }
}
