//! The answers of a running crawl to the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use seine_frontier::{Scheduler, Verdicts};
use seine_system::clock::now_ms;

use super::clients::Desk;
use super::console::LiveStatus;
use super::running::Running;
use super::stuck_sinks::trouble;
use super::{readers, reload, status};
use crate::api::schema::{
    Done, HostStatus, Hosts, HostsQuery, Order, Ordered, Reloaded, Sample, SeedsAdded, Status, Why,
};
use crate::api::{Refusal, Service, WorkDesk};
use crate::config::Config;
use crate::telemetry::metrics::Snapshot;
use crate::visit::outage::Part;

/// Answers the API for a running crawl.
pub(super) struct CrawlService {
    running: Arc<Running>,
    desk: Desk,
}

impl CrawlService {
    pub(super) fn new(running: Arc<Running>) -> CrawlService {
        CrawlService { desk: Desk { running: running.clone() }, running }
    }
}

impl Service for CrawlService {
    fn metrics(&self) -> String {
        let client = self.running.visitor().services.client.clone();
        let dns = client.dns().counts();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let overdue = self.running.frontier.next_due().map_or(0, |due| now_ms().saturating_sub(due));
        let outages = self.running.visitor().services.outage.outages();
        let is_away = |part| outages.iter().any(|outage| outage.part == part);
        self.running.metrics.expose(&Snapshot {
            counts: self.running.frontier.counts(),
            overdue: Duration::from_millis(overdue),
            log: &self.running.log.status(),
            log_limit: self.running.config().log.max_bytes,
            budgets: &self.running.frontier.budgets(now_ms()),
            lacks_room: self.running.room.is_reported_short(),
            frontier_away: self.running.alive().is_err(),
            is_stalled: self.running.stall.reason().is_some(),
            parts: &self.running.supervisor.status(),
            away: [
                ("resolver", is_away(Part::Resolver)),
                ("network", is_away(Part::Network)),
                ("files", is_away(Part::Files)),
            ],
            dns: [
                ("cached", read(&dns.cached)),
                ("answered", read(&dns.asked).saturating_sub(read(&dns.failed))),
                ("failed", read(&dns.failed)),
            ],
            dns_private: read(&dns.refused_private),
            requests: client.counts(),
        })
    }

    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        let mut reasons = Vec::new();
        for part in self.running.supervisor.status() {
            if part.is_stuck {
                reasons.push(format!("{}: no progress for {} s", part.name, part.since_last_sign.as_secs()));
            }
            if part.is_down {
                reasons.push(format!("{}: failed: {}", part.name, part.last_error.unwrap_or_default()));
            }
        }
        if !self.running.log.status().room {
            reasons.push("page log: at its disk limit (page_log.max_size), fetching waits for the sinks".to_owned());
        }
        for outage in self.running.visitor().services.outage.outages() {
            reasons.push(format!(
                "{} away for {} s: {}",
                outage.part,
                now_ms().saturating_sub(outage.since) / 1000,
                outage.example
            ));
        }
        reasons.extend(self.running.room.lacks());
        reasons.extend(self.running.stall.reason());
        let is_ready = reasons.is_empty();
        reasons.extend(readers::left_behind(&self.running.log.status(), &self.running.config(), &self.running.folder));
        if is_ready { Ok(reasons) } else { Err(reasons) }
    }

    fn alive(&self) -> Result<(), String> {
        self.running.alive()
    }

    fn config(&self) -> Arc<Config> {
        self.running.config()
    }

    fn status(&self) -> Result<Status, Refusal> {
        let errors = self.running.watches.keys().filter_map(|name| Some((name.clone(), trouble(&self.running, name)?)));
        Ok(self
            .running
            .console()
            .status
            .now(LiveStatus { live: Some(status::live(&self.running)), errors: errors.collect() }))
    }

    fn history(&self) -> Vec<Sample> {
        self.running.rates.samples()
    }

    fn hosts(&self, query: &HostsQuery) -> Result<Hosts, Refusal> {
        Ok(self.running.console().hosts.list(query))
    }

    fn host(&self, host: &str) -> Result<HostStatus, Refusal> {
        self.running.console().hosts.show(host)
    }

    fn why(&self, url: &str, places: bool) -> Result<Why, Refusal> {
        self.running.console().urls.why(url, places)
    }

    fn orders(&self) -> Result<Vec<Ordered>, Refusal> {
        self.running.console().order_log.latest()
    }

    fn reload(&self, by: &str) -> Result<Reloaded, Refusal> {
        reload::read_again(&self.running, by)
    }

    fn order(&self, order: Order, by: &str) -> Result<Done, Refusal> {
        let mut done = self.running.console().orders.give(&order, by);
        if matches!(order, Order::SetLimit { .. } | Order::ResetLimit { .. }) {
            done = done.and_then(|done| reload::limit_anew(&self.running).map(|()| done));
        }
        self.running.visitor().services.changed.send_replace(());
        self.running.shutdown.wake();
        done
    }

    fn backup(&self, out: &mut dyn std::io::Write, by: &str) {
        // An error is in the log and in the output.
        let _ = self.running.console().backups.write(out, by);
    }

    fn add_seeds(&self, urls: &[String], by: &str) -> Result<SeedsAdded, Refusal> {
        let added = self.running.console().seeds.add(urls, by);
        self.running.visitor().services.changed.send_replace(());
        added
    }

    fn work(&self) -> &dyn WorkDesk {
        &self.desk
    }
}
