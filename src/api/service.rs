//! The interface to the crawl. Calls may block, so they run on threads of their own.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use super::problem::Refusal;
use super::rates::Rates;
use super::schema::work::{ClientStatus, LeasedWork, Leasing, PageSent, PagesTaken, Released, RenewedLease};
use super::schema::{Done, HostStatus, Hosts, HostsQuery, Order, Ordered, Reloaded, Sample, SeedsAdded, Status, Why};
use super::uploads::Uploads;
use crate::config::Config;

/// What the API serves. Calls may block.
pub trait Service: Send + Sync + 'static {
    /// The text of `/metrics`.
    fn metrics(&self) -> String;
    /// Ready with notes, or not ready with reasons and notes; one line each.
    fn ready(&self) -> Result<Vec<String>, Vec<String>>;
    /// Alive, or why the process should be restarted.
    fn alive(&self) -> Result<(), String>;
    /// The configuration in force, which has the tokens.
    fn config(&self) -> Arc<Config>;
    fn status(&self) -> Result<Status, Refusal>;
    /// The last day, oldest first.
    fn history(&self) -> Vec<Sample>;
    fn hosts(&self, query: &HostsQuery) -> Result<Hosts, Refusal>;
    fn host(&self, host: &str) -> Result<HostStatus, Refusal>;
    /// `places`: also ask the destinations for the location of the page.
    fn why(&self, url: &str, places: bool) -> Result<Why, Refusal>;
    /// The latest orders first.
    fn orders(&self) -> Result<Vec<Ordered>, Refusal>;
    /// Reads the configuration again.
    fn reload(&self, by: &str) -> Result<Reloaded, Refusal>;
    fn order(&self, order: Order, by: &str) -> Result<Done, Refusal>;
    /// Writes a backup of the crawl to `out`.
    fn backup(&self, out: &mut dyn std::io::Write, by: &str);
    /// URLs as people write them.
    fn add_seeds(&self, urls: &[String], by: &str) -> Result<SeedsAdded, Refusal>;
    /// The interface for remote workers.
    fn work(&self) -> &dyn WorkDesk;
}

/// The interface for remote workers. Calls may block.
pub trait WorkDesk {
    fn max_body_bytes(&self) -> u64;
    /// Leases up to this many hosts that are due. Each arrives when its robots.txt is known, or never.
    fn lease(&self, client: &str, hosts: usize) -> Result<Vec<Leasing>, Refusal>;
    /// The terms that are sent with every lease.
    fn terms(&self) -> LeasedWork;
    /// Changes when there may be more to lease.
    fn changed(&self) -> watch::Receiver<()>;
    fn renew(&self, client: &str, lease: &str) -> Result<RenewedLease, Refusal>;
    fn release(&self, client: &str, lease: &str) -> Result<Released, Refusal>;
    /// Accepts a page, or adds the reason of its refusal.
    fn take(&self, client: &str, page: PageSent, taken: &mut PagesTaken);
    /// Checks that the worker has this lease.
    fn has_lease(&self, client: &str, lease: &str) -> Result<(), Refusal>;
    /// As [`WorkDesk::take`], for all pages of a file of WARC records.
    fn take_warc(&self, client: &str, lease: &str, warc: Vec<u8>, taken: &mut PagesTaken) -> Result<(), Refusal>;
    fn clients(&self) -> Vec<ClientStatus>;
}

/// A request whose body does not arrive for this long is given up.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(20);
pub(super) const BROKEN_OFF: &str = "the rest of the body did not come in time";

#[derive(Clone)]
pub(super) struct App {
    pub service: Arc<dyn Service>,
    /// The server listens only on a loopback address.
    pub is_loopback: bool,
    /// Limits clients that follow the live status.
    pub followers: Arc<Semaphore>,
    /// Limits workers that send pages.
    pub uploads: Arc<Uploads>,
    /// Rate limits.
    pub rates: Arc<Rates>,
    /// Limits backups.
    pub backups: Arc<Semaphore>,
}

impl App {
    /// Calls the service on a thread that may block.
    pub(super) async fn on<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Service) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let service = self.service.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&*service)).await;
        asked.unwrap_or_else(|panic| Err(Refusal::Failed(format!("the request failed by a bug in Seine: {panic}"))))
    }

    pub(super) async fn answer<T: Serialize + Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Service) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<Response, Refusal> {
        self.on(ask).await.map(json)
    }
}

pub(super) fn json<T: Serialize>(said: T) -> Response {
    // Answers are only valid now, so they must not be cached.
    ([(header::CACHE_CONTROL, "no-store")], Json(said)).into_response()
}
