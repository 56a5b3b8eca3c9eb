//! Whoever is asked, and how: calls may block, so none is made where others wait.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use super::problem::Refusal;
use super::rates::Rates;
use super::said::work::{ClientStatus, Leasing, PageSent, PagesTaken, Released, Renewed, Work};
use super::said::{Done, HostStatus, Hosts, HostsQuery, Order, Ordered, Reloaded, Sample, SeedsAdded, Status, Why};
use super::uploads::Uploads;
use crate::config::Config;

/// What is served, asked anew for every request. Calls may block.
pub trait Service: WorkDesk + Send + Sync + 'static {
    /// The text of `/metrics`.
    fn metrics(&self) -> String;
    /// Ready, with what should be known all the same, or what is in the way and that; one line each.
    fn ready(&self) -> Result<Vec<String>, Vec<String>>;
    /// Alive, or what makes the process one that could as well be started anew.
    fn alive(&self) -> Result<(), String>;
    /// What is in force: who may ask, and who may order.
    fn config(&self) -> Arc<Config>;
    fn status(&self) -> Result<Status, Refusal>;
    /// The last day, the oldest first.
    fn history(&self) -> Vec<Sample>;
    fn hosts(&self, query: &HostsQuery) -> Result<Hosts, Refusal>;
    fn host(&self, host: &str) -> Result<HostStatus, Refusal>;
    /// `places`: ask destinations, too, where they have it.
    fn why(&self, url: &str, places: bool) -> Result<Why, Refusal>;
    /// The last orders, the latest first.
    fn orders(&self) -> Result<Vec<Ordered>, Refusal>;
    /// Reads the configuration again.
    fn reload(&self, by: &str) -> Result<Reloaded, Refusal>;
    fn order(&self, order: Order, by: &str) -> Result<Done, Refusal>;
    /// A copy of the crawl is written to `out`: `backup/` says of what.
    fn backup(&self, out: &mut dyn std::io::Write, by: &str);
    /// URLs as people write them.
    fn add_seeds(&self, urls: &[String], by: &str) -> Result<SeedsAdded, Refusal>;
}

/// Whoever gives work out to other crawlers. Calls may block.
pub trait WorkDesk {
    fn max_body_bytes(&self) -> u64;
    /// Hosts that are due now, up to so many; each comes when it is known what its robots.txt says, or never.
    fn lease(&self, client: &str, hosts: usize) -> Result<Vec<Leasing>, Refusal>;
    /// What every lease comes with.
    fn terms(&self) -> Work;
    /// Marked changed when there may be more to lease.
    fn changed(&self) -> watch::Receiver<()>;
    fn renew(&self, client: &str, lease: &str) -> Result<Renewed, Refusal>;
    fn release(&self, client: &str, lease: &str) -> Result<Released, Refusal>;
    /// Takes a page; or why not.
    fn take(&self, client: &str, page: PageSent, taken: &mut PagesTaken);
    /// Whether the client has this lease; or why not.
    fn has_lease(&self, client: &str, lease: &str) -> Result<(), Refusal>;
    /// The same as [`WorkDesk::take`] with all pages of a file of WARC records.
    fn take_warc(&self, client: &str, lease: &str, warc: Vec<u8>, taken: &mut PagesTaken) -> Result<(), Refusal>;
    fn clients(&self) -> Vec<ClientStatus>;
}

/// Nothing of a body comes for so long, and the rest is not waited for.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(20);
pub(super) const BROKEN_OFF: &str = "the rest of the body did not come in time";

#[derive(Clone)]
pub(super) struct App {
    pub service: Arc<dyn Service>,
    /// It listens on this machine's own address and on no other.
    pub is_loopback: bool,
    /// Places of those who follow what happens.
    pub followers: Arc<Semaphore>,
    /// Places of those who send pages.
    pub uploads: Arc<Uploads>,
    /// How often each has asked.
    pub rates: Arc<Rates>,
    /// Of those who take a backup.
    pub backups: Arc<Semaphore>,
}

impl App {
    /// Asks the service, which may block, where others do not wait for it.
    pub(super) async fn on<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Service) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let service = self.service.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&*service)).await;
        asked.unwrap_or_else(|panic| Err(Refusal::Failed(format!("the crawl could not say: {panic}"))))
    }

    pub(super) async fn answer<T: Serialize + Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Service) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<Response, Refusal> {
        self.on(ask).await.map(json)
    }
}

pub(super) fn json<T: Serialize>(said: T) -> Response {
    // What was said is true now, and not for a cache.
    ([(header::CACHE_CONTROL, "no-store")], Json(said)).into_response()
}
