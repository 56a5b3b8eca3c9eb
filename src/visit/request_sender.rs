//! Sends requests to a leased host. Each is followed by the delay of the host, and shows whether this machine has an
//! outage.

use std::sync::Arc;
use std::time::Duration;

use seine_system::clock::now_ms;
use url::Url;

use super::leased_host::LeasedHost;
use super::outage::{Evidence, OutageDetector, Sign};
use super::slots::{Slots, UsedSlot};
use super::visitor::{Interrupted, Services};
use super::waits::Waits;
use crate::config::Config;
use crate::fetch::Client;
use crate::fetch::client::{Conditions, Exchange, Limits};
use crate::shutdown::Shutdown;

/// After a stop, a request in progress has this long.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// The way to the network.
#[derive(Clone)]
pub(super) struct RequestSender {
    pub slots: Slots,
    client: Arc<Client>,
    config: Arc<Config>,
    waits: Arc<Waits>,
    outage: Arc<OutageDetector>,
    shutdown: Shutdown,
}

impl RequestSender {
    pub(super) fn new(services: &Services) -> RequestSender {
        let Services { client, config, waits, outage, shutdown, .. } = services.clone();
        RequestSender { slots: Slots::new(services), client, config, waits, outage, shutdown }
    }

    /// The limits of an ordinary request.
    pub(super) fn limits(&self) -> Limits {
        self.client.limits()
    }

    /// One request. After a stop it is given up soon; the URL is still in `work_proposed`.
    pub(super) async fn get(
        &self,
        url: &Url,
        conditions: &Conditions,
        limits: Limits,
    ) -> Result<Exchange, Interrupted> {
        let _wait = self.waits.begin();
        let given_up = async {
            self.shutdown.finishing().await;
            tokio::time::sleep(LAST_ANSWER).await;
        };
        // Boxed, since all futures above have its size otherwise, and each of them is copied when it begins.
        let answer = Box::pin(self.client.get(url, conditions, limits));
        tokio::select! {
            biased;
            exchange = answer => Ok(exchange),
            () = given_up => Err(Interrupted::Stopping),
        }
    }

    /// One request in its politeness slot, and then the delay of the host.
    pub(super) async fn exchange(
        &self,
        host: &mut LeasedHost,
        slot: UsedSlot,
        url: &Url,
        conditions: &Conditions,
        limits: Limits,
    ) -> Result<Exchange, Interrupted> {
        let exchange = self.get(url, conditions, limits).await;
        drop(slot);
        host.visited(exchange.as_ref().map_or_else(|_| now_ms(), |exchange| exchange.ended_ms), &self.config.frontier);
        let exchange = exchange?;
        self.judge_outage(host, url, &exchange).await?;
        Ok(exchange)
    }

    /// Checks for an outage: an error if the failure is this machine's.
    pub(super) async fn judge_outage(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        exchange: &Exchange,
    ) -> Result<(), Interrupted> {
        let sign = match Evidence::of(&exchange.outcome) {
            Evidence::Failed(sign) => sign,
            Evidence::Answered => {
                self.outage.answered(exchange.ended_ms);
                return Ok(());
            }
            Evidence::Nothing => return Ok(()),
        };
        let message = exchange.outcome.failure().map_or("", |failure| &failure.message);
        // Many hosts on one failing address are trouble of one server, so addresses are counted.
        let name = url.host_str().unwrap_or_default();
        let is_silent = matches!(sign, Sign::Silence | Sign::NoRoute);
        let dns = self.client.dns();
        let sign = match is_silent && self.slots.unless_stopping(dns.are_servers_silent(name)).await? {
            true => Sign::NoNetwork,
            false => sign,
        };
        let found = self.slots.unless_stopping(dns.resolve(name)).await?;
        let who = found.map_or_else(|_| name.to_owned(), |ips| ips[0].to_string());
        self.slots.report_failure(host, sign, &who, message)
    }
}
