//! Orders of the operator. Each order survives restarts and is recorded with its author.

use std::sync::Arc;

use seine_frontier::{EmbeddedFrontier, HostOrder};

use super::forget::Forgetting;
use super::host_orders::HostOrders;
use super::order_log::OrderLog;
use super::retry;
use super::sink_orders::SinkOrders;
use crate::api::Refusal;
use crate::api::schema::{Done, Order};
use crate::config::Config;
use crate::crawl::clients::{self, Clients};
use crate::crawl::limits::OrderedLimits;
use crate::crawl::pauses::Pauses;
use crate::telemetry::progress::grouped;

pub(crate) struct Orders {
    pub(super) config: Arc<Config>,
    pub(super) frontier: Arc<EmbeddedFrontier>,
    pub(super) pauses: Arc<Pauses>,
    pub(super) limits: Arc<OrderedLimits>,
    /// Remote workers; none for a stopped crawl.
    pub(super) clients: Option<Arc<Clients>>,
    pub(super) hosts: HostOrders,
    pub(super) sinks: SinkOrders,
    pub(super) forgetting: Forgetting,
    pub(super) log: OrderLog,
}

impl Orders {
    /// Obeys, and records the order.
    pub(crate) fn give(&self, order: &Order, by: &str) -> Result<Done, Refusal> {
        let done = self.obey(order, by)?;
        let is_a_question = matches!(order, Order::Retry(retry) if retry.dry_run);
        // Forgetting records each order when it is done.
        if is_a_question || matches!(order, Order::Forget(_)) {
            return Ok(done);
        }
        let warning = self.log.add(by, serde_json::to_value(order).unwrap_or_default(), &done.done);
        Ok(Done { warning, ..done })
    }

    fn obey(&self, order: &Order, by: &str) -> Result<Done, Refusal> {
        let frontier = &*self.frontier;
        let done = match order {
            Order::Pause {} | Order::Resume {} => self.pause_crawl(*order == Order::Pause {})?.to_owned(),
            Order::PauseSink { sink } => self.sinks.pause(sink, true)?,
            Order::ResumeSink { sink } => self.sinks.pause(sink, false)?,
            Order::RemoveSink { sink } => self.sinks.remove(sink)?,
            Order::RefillSink { sink, archives, refetch } => self.sinks.refill(sink, archives, *refetch)?,
            Order::BlockHost { host } => self.hosts.give(host, HostOrder::Block)?,
            Order::UnblockHost { host } => self.hosts.unblock(host)?,
            Order::SetHostDelay { host, delay_ms } => self.hosts.set_delay(host, *delay_ms)?,
            Order::SetHostPages { host, pages } => self.hosts.set_pages(host, *pages)?,
            Order::SetLimit { limit, most } => {
                let name = self.limits.order(frontier, limit, Some(*most))?;
                match most {
                    Some(most) => format!("{name}: at most {}, instead of the configured value", grouped(*most)),
                    None => format!("{name}: no limit, instead of the configured value"),
                }
            }
            Order::ResetLimit { limit } => {
                format!("{}: as configured", self.limits.order(frontier, limit, None)?)
            }
            Order::ReadmitClient { client } => self.readmit(client)?,
            Order::Forget(forget) => return self.forgetting.forget(forget, by),
            Order::Retry(retry) => {
                let counts = retry::queue(frontier, retry)?;
                let urls: u64 = counts.iter().map(|count| count.urls).sum();
                let done = match retry.dry_run {
                    true => format!("{} would be retried", grouped(urls)),
                    false => format!("{} queued", grouped(urls)),
                };
                return Ok(Done { done, counts, warning: None });
            }
        };
        Ok(Done { done, ..Done::default() })
    }

    fn pause_crawl(&self, pause: bool) -> Result<&'static str, Refusal> {
        let has_changed = self.pauses.pause_crawl(&self.frontier, pause)?;
        Ok(match (pause, has_changed) {
            (true, true) => "the crawl is paused: fetches in progress end and are delivered",
            (true, false) => "the crawl was already paused",
            (false, true) => "the crawl continues",
            (false, false) => "the crawl was not paused",
        })
    }

    fn readmit(&self, client: &str) -> Result<String, Refusal> {
        let names: Vec<&str> = self.config.work.clients.iter().map(|(name, _)| name.as_str()).collect();
        if !names.contains(&client) {
            let known = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            return Err(Refusal::NotFound(format!("no remote worker is named {client:?}; work.clients has {known}")));
        }
        match &self.clients {
            Some(clients) => clients.readmit(client)?,
            None => clients::readmit(&self.config.work, &self.frontier, client)?,
        }
        Ok(format!("{client} is admitted again; Seine fetches all of its pages itself until it is trusted"))
    }
}
