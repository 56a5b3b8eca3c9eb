//! Questions to the crawl in a data folder: through its socket while it runs, otherwise by reading the folder.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use seine_page_log::LogError;
use serde::de::DeserializeOwned;

use crate::api::Refusal;
use crate::api::client::Client;
use crate::api::schema::work::ClientStatus;
use crate::api::schema::{Done, HostStatus, Hosts, HostsQuery, Order, Ordered, Reloaded, SeedsAdded, Status, Why};
use crate::crawl::CrawlError;
use crate::crawl::console::{Console, LiveStatus, no_url};
use crate::telemetry::progress::span;

/// Who gave the order, in the list of orders.
pub(super) const BY: &str = "command line";

/// How long to wait for a crawl that is just starting or ending, and how often to try.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(100);
/// Maximum length of a URL in a request, so that it still fits when all its bytes are escaped.
const NAMEABLE: usize = 16 << 10;
/// Number of seeds sent to a running crawl in one request.
const SEEDS: usize = 20_000;

pub(super) enum Asked {
    Running(Client),
    Resting(Box<Console>),
}

impl Asked {
    pub(super) fn of(folder: &Path) -> anyhow::Result<Asked> {
        let half = |missing, there| CrawlError::Half { folder: folder.to_owned(), missing, there };
        match (folder.join("frontier").is_dir(), folder.join("log").is_dir()) {
            (true, true) => {}
            (true, false) => return Err(half("log", "frontier").into()),
            (false, true) => return Err(half("frontier", "log").into()),
            (false, false) => bail!(
                "{} has no crawl: it has no frontier/ and log/; give the folder that you gave to seine crawl with -o",
                folder.display()
            ),
        }
        let began = Instant::now();
        loop {
            if let Some(client) = Client::connect(folder)? {
                return Ok(Asked::Running(client));
            }
            match Console::of_folder(folder) {
                Ok(console) => return Ok(Asked::Resting(Box::new(console))),
                // The crawl is just starting or ending, or another command is reading the folder.
                Err(error) if is_in_use(&error) && began.elapsed() < PATIENCE => std::thread::sleep(AGAIN),
                Err(error) if is_in_use(&error) => bail!(
                    "a process uses {} and has not answered for {} s: it is starting, ending, or another version; see \
                     its log, or the crawl's /metrics",
                    folder.display(),
                    PATIENCE.as_secs()
                ),
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self, Asked::Running(_))
    }

    /// Asks a running crawl by HTTP, or calls `while_stopped` for a stopped one. `path` is the path of the request.
    fn ask<A: DeserializeOwned>(
        &self,
        path: &str,
        while_stopped: impl FnOnce(&Console) -> Result<A, Refusal>,
    ) -> anyhow::Result<A> {
        Ok(match self {
            Asked::Running(client) => client.get(path)?,
            Asked::Resting(console) => while_stopped(console)?,
        })
    }

    pub(super) fn clients(&self) -> anyhow::Result<Vec<ClientStatus>> {
        self.ask("/clients", |console| console.status.clients_at_rest())
    }

    pub(super) fn status(&self) -> anyhow::Result<Status> {
        self.ask("/status", |console| Ok(console.status.now(LiveStatus::default())))
    }

    pub(super) fn hosts(&self, query: &HostsQuery) -> anyhow::Result<Hosts> {
        self.ask(&format!("/hosts?{}", serde_urlencoded::to_string(query)?), |console| Ok(console.hosts.list(query)))
    }

    pub(super) fn host(&self, host: &str) -> anyhow::Result<HostStatus> {
        let name: String = url::form_urlencoded::byte_serialize(host.as_bytes()).collect();
        self.ask(&format!("/hosts/{name}"), |console| console.hosts.show(host))
    }

    pub(super) fn why(&self, url: &str) -> anyhow::Result<Why> {
        // A longer URL does not fit into a request.
        anyhow::ensure!(url.len() <= NAMEABLE, no_url(url));
        let query = serde_urlencoded::to_string([("url", url), ("delivered", "true")])?;
        self.ask(&format!("/url?{query}"), |console| console.urls.why(url, true))
    }

    pub(super) fn orders(&self) -> anyhow::Result<Vec<Ordered>> {
        self.ask("/orders", |console| console.order_log.latest())
    }

    pub(super) fn order(&self, order: &Order) -> anyhow::Result<Done> {
        Ok(match self {
            Asked::Running(client) => client.post("/orders", order)?,
            Asked::Resting(console) => console.orders.give(order, BY)?,
        })
    }

    /// Only for a running crawl; a stopped one reads the configuration at its next start.
    pub(super) fn reload(&self) -> anyhow::Result<Reloaded> {
        match self {
            Asked::Running(client) => Ok(client.post("/reload", &())?),
            Asked::Resting(console) => bail!(
                "no crawl runs in {}, so there is nothing to reload; the next start reads the configuration",
                console.status.folder.display()
            ),
        }
    }

    pub(super) fn add_seeds(&self, urls: &[String]) -> anyhow::Result<SeedsAdded> {
        Ok(match self {
            Asked::Running(client) => in_parts(client, urls)?,
            Asked::Resting(console) => console.seeds.add(urls, BY)?,
        })
    }
}

/// Sends a long list in parts, so that each request is answered before its timeout.
fn in_parts(client: &Client, urls: &[String]) -> anyhow::Result<SeedsAdded> {
    let mut sum = SeedsAdded::default();
    for part in urls.chunks(SEEDS) {
        sum.add(client.post_list("/seeds", part)?);
    }
    Ok(sum)
}

fn is_in_use(error: &CrawlError) -> bool {
    match error {
        CrawlError::Log(error) => matches!(error, LogError::Locked { .. }),
        CrawlError::Frontier(error) => error.is_in_use(),
        _ => false,
    }
}

/// Prints the part of an order that could not be done.
pub(super) fn warn(warning: &Option<String>) {
    warning.iter().for_each(|warning| crate::telemetry::progress::say("WARN", warning));
}

/// A time relative to now: "5 s ago" or "in 5 s".
pub(super) fn ago(time_ms: u64, now_ms: u64) -> String {
    let is_past = time_ms <= now_ms;
    let span = span(time_ms.abs_diff(now_ms) / 1000);
    if is_past { format!("{span} ago") } else { format!("in {span}") }
}
