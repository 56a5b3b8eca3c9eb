//! What people and machines are shown of a running crawl.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::readers;
use super::running::Running;
use crate::clock::now_ms;
use crate::frontier::Standing;
use crate::supervisor::Phase;
use crate::telemetry::metrics::Snapshot;
use crate::telemetry::progress::Figures;
use crate::telemetry::server;
use crate::visit::outage::Part;

impl Running {
    pub(super) fn figures(&self) -> Figures {
        let counts = self.frontier.counts();
        let log = self.log.status();
        let mut notice = (!log.room).then(|| "log full, fetching waits for the sinks".to_owned());
        if self.room.lacks().is_some() {
            notice = Some("disk full, fetching waits for room".to_owned());
        } else if self.shutdown.is_finishing() {
            notice = Some("finishing".to_owned());
        } else if let Some(away) = self.visitor.outage.pause(now_ms()) {
            notice = notice.or(Some(away.notice(now_ms())));
        } else if let Some(budget) = self.crawls_spent() {
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

impl server::Status for Running {
    fn metrics(&self) -> String {
        let dns = self.visitor.client.dns().counts();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let overdue = self.frontier.next_due().map_or(0, |due| now_ms().saturating_sub(due));
        let away = self.visitor.outage.away();
        let is_away = |part| away.iter().any(|away| away.part == part);
        self.metrics.expose(&Snapshot {
            counts: self.frontier.counts(),
            overdue: Duration::from_millis(overdue),
            log: &self.log.status(),
            log_limit: self.config.log.max_bytes,
            budgets: &self.frontier.budgets(now_ms()),
            lacks_room: self.room.is_said_to_lack(),
            frontier_away: self.alive().is_err(),
            parts: &self.supervisor.status(),
            away: [
                ("resolver", is_away(Part::Resolver)),
                ("network", is_away(Part::Network)),
                ("files", is_away(Part::Files)),
            ],
            dns: [
                ("cached", read(&dns.cached)),
                ("asked", read(&dns.asked)),
                ("failed", read(&dns.failed)),
                ("refused_private", read(&dns.refused_private)),
            ],
        })
    }

    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        let mut reasons = Vec::new();
        for part in self.supervisor.status() {
            if part.stuck {
                reasons.push(format!("{}: no progress for {} s", part.name, part.since_last_sign.as_secs()));
            }
            if part.phase == Phase::BackingOff {
                reasons.push(format!("{}: failed: {}", part.name, part.last_error.unwrap_or_default()));
            }
        }
        if !self.log.status().room {
            reasons.push("page log: at its disk limit (page_log.max_size), fetching waits for the sinks".to_owned());
        }
        for away in self.visitor.outage.away() {
            reasons.push(format!(
                "{} away for {} s: {}",
                away.part,
                now_ms().saturating_sub(away.since) / 1000,
                away.example
            ));
        }
        reasons.extend(self.room.lacks());
        let is_ready = reasons.is_empty();
        reasons.extend(readers::left_behind(&self.log.status(), &self.config, &self.folder));
        if is_ready { Ok(reasons) } else { Err(reasons) }
    }

    fn alive(&self) -> Result<(), String> {
        match self.frontier.standing() {
            Standing::Away(why) => Err(why),
            Standing::Well | Standing::NoRoom(_) => Ok(()),
        }
    }
}
