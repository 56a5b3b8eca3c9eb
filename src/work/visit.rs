//! Fetches the URLs of a leased host one by one, and sends each response at once.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use seine_formats::base64;
use seine_parse::page::Outcome;
use seine_system::clock::now_ms;
use sha2::{Digest, Sha256};
use url::Url;

use super::{Working, rest};
use crate::api::schema::work::{FailureSent, HostLease, PageSent, UrlToFetch};
use crate::fetch::client::{Conditions, Exchange};
use crate::visit::outage::Evidence;

/// Pause before a page is sent again, while the lease lasts.
const SEND_AGAIN: Duration = Duration::from_millis(500);

pub(super) async fn visit(working: &Working, lease: HostLease) {
    let delay = Duration::from_millis(lease.delay_ms);
    let mut ends = Instant::now() + Duration::from_millis(lease.lasts_ms);
    let half = Duration::from_millis(lease.lasts_ms / 2);
    let (mut next, mut left) = (Instant::now(), lease.urls.len());
    for wanted in &lease.urls {
        rest(&working.shutdown, next.saturating_duration_since(Instant::now())).await;
        if working.shutdown.is_finishing() {
            break;
        }
        if ends.saturating_duration_since(Instant::now()) < half
            && let Ok(renewed) = working.server.renew(&lease.lease).await
        {
            ends = Instant::now() + Duration::from_millis(renewed.lasts_ms);
        }
        // The lease has ended, so another worker may have the host.
        if Instant::now() >= ends {
            return;
        }
        let Some(exchange) = ask(working, wanted).await else { break };
        next = Instant::now() + delay;
        if !send(working, page(&lease.lease, wanted, exchange), ends).await {
            break;
        }
        left -= 1;
    }
    if left > 0
        && let Err(error) = working.server.release(&lease.lease).await
    {
        tracing::debug!(host = lease.origin, %error, "releasing a host failed; its lease ends by itself");
    }
}

/// None if the failure is this machine's; then the URL is released.
async fn ask(working: &Working, wanted: &UrlToFetch) -> Option<Exchange> {
    let url = Url::parse(&wanted.url).ok()?;
    let UrlToFetch { etag, last_modified, .. } = wanted.clone();
    let conditions = Conditions { etag, last_modified, cookies: None };
    let exchange = working.client.get(&url, &conditions, working.client.limits()).await;
    let now = now_ms();
    match (Evidence::of(&exchange.outcome), exchange.outcome.failure()) {
        (Evidence::Answered, _) => working.outage.answered(now),
        (Evidence::Failed(sign), Some(failure)) => {
            let who = url.host_str().unwrap_or_default();
            if working.outage.failed(sign, who, true, &failure.message, now) {
                tracing::warn!(
                    why = failure.message,
                    "this machine seems to have no connection; it takes less work until it has"
                );
                return None;
            }
        }
        (Evidence::Failed(_) | Evidence::Nothing, _) => {}
    }
    Some(exchange)
}

fn page(lease: &str, wanted: &UrlToFetch, exchange: Exchange) -> PageSent {
    let Exchange { request_headers, outcome, ip, started_ms, ended_ms, .. } = exchange;
    let page = PageSent {
        lease: lease.to_owned(),
        url: wanted.url.clone(),
        request_headers: request_headers.0,
        ip,
        took_ms: ended_ms.saturating_sub(started_ms),
        ..PageSent::default()
    };
    match outcome {
        Outcome::Failure(failure) => {
            let failure = FailureSent { reason: failure.reason.name().to_owned(), message: failure.message };
            PageSent { failure: Some(failure), ..page }
        }
        Outcome::Response(response) => PageSent {
            status: Some(response.status),
            reason: response.reason,
            version: Some(response.version),
            headers: response.headers.0,
            digest: Some(format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&response.body)))),
            body: base64::encode(&response.body),
            truncated: response.truncated,
            ..page
        },
    }
}

/// False if nothing more of this host may be fetched.
async fn send(working: &Working, page: PageSent, ends: Instant) -> bool {
    let mut is_again = false;
    loop {
        match working.server.send(&page).await {
            Ok(taken) => {
                let done = &working.done;
                done.accepted.fetch_add(taken.accepted, Ordering::Relaxed);
                done.refetched.fetch_add(taken.refetched, Ordering::Relaxed);
                done.refused.fetch_add(taken.refused.len() as u64, Ordering::Relaxed);
                done.bytes.fetch_add(page.body.len() as u64 / 4 * 3, Ordering::Relaxed);
                for refused in &taken.refused {
                    tracing::debug!(url = refused.url, why = refused.why, "a page was refused");
                }
                // The page may have arrived the first time, if only the answer was lost.
                return taken.refused.is_empty() || is_again;
            }
            Err(error) if (error.is_away() || error.is_busy()) && Instant::now() < ends => {
                tracing::debug!(url = page.url, %error, "a page could not be sent; sent again");
                is_again = true;
                tokio::time::sleep(SEND_AGAIN).await;
            }
            Err(error) => {
                tracing::warn!(url = page.url, %error, "a page could not be sent; its URL goes to another worker");
                return false;
            }
        }
    }
}
