//! The status of a running crawl, for the API and commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use seine_frontier::{Counts, Harvest, Scheduler, Standing, Verdicts};
use seine_system::blocking;
use seine_system::clock::now_ms;

use super::console::LiveStatus;
use super::readers;
use super::running::Running;
use super::spending::spent_of_crawl;
use super::stillness::trouble;
use crate::api::schema::{
    Done, HarvestStatus, HostStatus, Hosts, HostsQuery, Live, Order, Ordered, OutcomeCount, Pending, Reloaded, Sample,
    SeedsAdded, Status, Why,
};
use crate::api::{Refusal, Service};
use crate::config::Config;
use crate::telemetry::metrics::Snapshot;
use crate::telemetry::progress::Figures;
use crate::telemetry::rates::Counters;
use crate::visit::outage::Part;

impl Running {
    pub(super) fn figures(&self) -> Figures {
        let counts = self.frontier.counts();
        let log = self.log.status();
        let mut notice = (!log.room).then(|| "the page log is full; fetching waits for the sinks".to_owned());
        if self.pauses.is_crawl_paused() {
            notice = Some("paused: seine resume".to_owned());
        } else if self.room.lacks().is_some() {
            notice = Some("the disk is full; fetching waits".to_owned());
        } else if self.shutdown.is_finishing() {
            notice = Some("finishing".to_owned());
        } else if let Some(away) = self.visitor().services.outage.pause(now_ms()) {
            notice = notice.or(Some(away.notice(now_ms())));
        } else if let Some(budget) = spent_of_crawl(self.frontier.as_ref()) {
            notice = notice.or(Some(format!("budget spent: {budget}")));
        } else if let Some(due) = self.frontier.next_due().filter(|_| counts.hosts_leased == 0) {
            let wait = due.saturating_sub(now_ms()) / 1000;
            notice = notice.or((wait > 5).then(|| format!("next URL due in {wait} s")));
        }
        Figures {
            pages: counts.live + log.page_proposed(),
            bytes: self.metrics.bytes_fetched(),
            hosts: counts.hosts,
            queue: counts.work_proposed,
            pending: log.sinks().map(|(name, books)| (name.to_owned(), books.pending)).collect(),
            notice,
        }
    }
}

impl Service for Running {
    fn metrics(&self) -> String {
        let client = self.visitor().services.client.clone();
        let dns = client.dns().counts();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let overdue = self.frontier.next_due().map_or(0, |due| now_ms().saturating_sub(due));
        let away = self.visitor().services.outage.away();
        let is_away = |part| away.iter().any(|away| away.part == part);
        self.metrics.expose(&Snapshot {
            counts: self.frontier.counts(),
            overdue: Duration::from_millis(overdue),
            log: &self.log.status(),
            log_limit: self.config().log.max_bytes,
            budgets: &self.frontier.budgets(now_ms()),
            lacks_room: self.room.is_reported_to_lack(),
            frontier_away: self.alive().is_err(),
            is_stalled: self.stall.reason().is_some(),
            parts: &self.supervisor.status(),
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
        for part in self.supervisor.status() {
            if part.is_stuck {
                reasons.push(format!("{}: no progress for {} s", part.name, part.since_last_sign.as_secs()));
            }
            if part.is_down {
                reasons.push(format!("{}: failed: {}", part.name, part.last_error.unwrap_or_default()));
            }
        }
        if !self.log.status().room {
            reasons.push("page log: at its disk limit (page_log.max_size), fetching waits for the sinks".to_owned());
        }
        for away in self.visitor().services.outage.away() {
            reasons.push(format!(
                "{} away for {} s: {}",
                away.part,
                now_ms().saturating_sub(away.since) / 1000,
                away.example
            ));
        }
        reasons.extend(self.room.lacks());
        reasons.extend(self.stall.reason());
        let is_ready = reasons.is_empty();
        reasons.extend(readers::left_behind(&self.log.status(), &self.config(), &self.folder));
        if is_ready { Ok(reasons) } else { Err(reasons) }
    }

    fn alive(&self) -> Result<(), String> {
        match self.frontier.standing() {
            Standing::Away(why) => Err(why),
            Standing::Well | Standing::NoRoom(_) => Ok(()),
        }
    }

    fn config(&self) -> Arc<Config> {
        self.config()
    }

    fn status(&self) -> Result<Status, Refusal> {
        let errors = self.watches.keys().filter_map(|name| Some((name.clone(), trouble(self, name)?)));
        Ok(self.console().status.now(LiveStatus { live: Some(self.live()), errors: errors.collect() }))
    }

    fn history(&self) -> Vec<Sample> {
        self.rates.samples()
    }

    fn hosts(&self, query: &HostsQuery) -> Result<Hosts, Refusal> {
        Ok(self.console().hosts.list(query))
    }

    fn host(&self, host: &str) -> Result<HostStatus, Refusal> {
        self.console().hosts.show(host)
    }

    fn why(&self, url: &str, places: bool) -> Result<Why, Refusal> {
        self.console().urls.why(url, places)
    }

    fn orders(&self) -> Result<Vec<Ordered>, Refusal> {
        self.console().order_log.latest()
    }

    fn reload(&self, by: &str) -> Result<Reloaded, Refusal> {
        self.read_again(by)
    }

    fn order(&self, order: Order, by: &str) -> Result<Done, Refusal> {
        let mut done = self.console().orders.give(&order, by);
        if matches!(order, Order::SetLimit { .. } | Order::ResetLimit { .. }) {
            done = done.and_then(|done| self.limit_anew().map(|()| done));
        }
        self.visitor().services.changed.send_replace(());
        self.shutdown.wake();
        done
    }

    fn backup(&self, out: &mut dyn std::io::Write, by: &str) {
        // An error is in the log and in the output.
        let _ = self.console().backups.write(out, by);
    }

    fn add_seeds(&self, urls: &[String], by: &str) -> Result<SeedsAdded, Refusal> {
        let added = self.console().seeds.add(urls, by);
        self.visitor().services.changed.send_replace(());
        added
    }
}

/// Time spans of the rates.
const SPANS: [Duration; 4] =
    [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(900), Duration::from_secs(3600)];

impl Running {
    /// Records counts for the rates. Call it often.
    pub(super) fn note_rates(&self) {
        let pending = || {
            let log = self.log.status();
            log.sinks().map(|(sink, books)| Pending { sink: sink.to_owned(), events: books.pending }).collect()
        };
        self.rates.note(now_ms(), || self.counters(), pending);
    }

    /// Saves the counts of links refused by the scope. Call it often.
    pub(super) fn keep_refused(&self) {
        let (visitor, frontier) = (self.visitor(), self.frontier.clone());
        if !visitor.services.scope.refused.is_to_be_kept() {
            return;
        }
        blocking::beside(move || {
            if let Err(error) = visitor.services.scope.refused.keep(&*frontier) {
                tracing::debug!(%error, "the list of refused links could not be saved; Seine tries again");
            }
        });
    }

    fn counters(&self) -> Counters {
        let Harvest { judged, relevant } = self.metrics.harvested.all();
        let bytes = self.metrics.bytes_fetched();
        let mut counters = Counters { bytes, judged, relevant, ..Counters::default() };
        for (outcome, count) in self.metrics.outcomes() {
            counters.attempts += count;
            match outcome {
                "2xx" => counters.pages += count,
                "3xx" => {}
                _ => counters.failures += count,
            }
        }
        counters
    }

    /// None if the crawl is not focused.
    fn harvest(&self) -> Option<HarvestStatus> {
        let Counts { judged, relevant, .. } = self.frontier.counts();
        let (life, last) = (Harvest { judged, relevant }.ratio(), self.metrics.harvested.last().ratio());
        self.config().is_focused().then_some(HarvestStatus { life, last })
    }

    fn live(&self) -> Live {
        let phase = match () {
            () if self.shutdown.is_finishing() => "finishing",
            () if self.pauses.is_crawl_paused() => "paused",
            () => "running",
        };
        let outcomes = self.metrics.outcomes().into_iter();
        Live {
            started_ms: self.started_ms,
            phase: phase.to_owned(),
            notice: self.figures().notice,
            rates: self.rates.over(&SPANS, self.counters()),
            outcomes: outcomes.map(|(outcome, count)| OutcomeCount { outcome: outcome.to_owned(), count }).collect(),
            parts: self.supervisor.status(),
            harvest: self.harvest(),
        }
    }
}
