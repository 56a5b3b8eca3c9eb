//! Counts of requests and their results since the start, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use seine_parse::page::FailureReason;

use super::stages::Stages;

/// All requests: pages, redirects, sitemaps and robots.txt.
#[derive(Debug, Default)]
pub struct RequestCounts {
    /// Requests without a usable response, by [`FailureReason::ALL`].
    failed: [AtomicU64; FailureReason::ALL.len()],
    pub stages: Stages,
}

impl RequestCounts {
    pub(super) fn count_failure(&self, reason: FailureReason) {
        if let Some(place) = FailureReason::ALL.iter().position(|it| *it == reason) {
            self.failed[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Failed requests by reason, for all reasons that a request can have.
    pub fn failed(&self) -> impl Iterator<Item = (FailureReason, u64)> {
        let counted = FailureReason::ALL.into_iter().zip(&self.failed);
        counted
            .filter(|(reason, _)| is_of_a_request(*reason))
            .map(|(reason, count)| (reason, count.load(Ordering::Relaxed)))
    }
}

/// The other reasons are decided before a request or from its response.
fn is_of_a_request(reason: FailureReason) -> bool {
    use FailureReason::*;
    match reason {
        Dns | PrivateAddress | Connect | Tls | Timeout | Protocol | UnwantedType | BadUrl | Resolver | NoRoute
        | OpenFiles | ConnectionRefused | ConnectionBroken => true,
        RobotsDenied | RobotsUnreachable | TooManyRedirects | BadRedirect | HostBusy | HostUnreachable
        | UnknownHost | OutOfScope | Alias | Cut | Fault => false,
    }
}
