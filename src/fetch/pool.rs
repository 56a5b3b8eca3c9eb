//! Limits idle connections for the whole process. Connection pools only have a limit per host, so the client is
//! replaced from time to time. The old client's idle connections end with it; requests in progress continue.

use std::collections::HashSet;
use std::time::Duration;

use parking_lot::Mutex;
use seine_system::descriptors::Shares;
use xxhash_rust::xxh3::xxh3_64;

use super::error::{ClientError, cause_of};
use crate::config::FetchConfig;

pub(super) const MAX_IDLE_TIME: Duration = Duration::from_secs(20);

/// Time limit for a connection. It is shorter than that of the response head, so that a failure shows which of the two
/// it was.
pub(super) fn connect_time(config: &FetchConfig) -> Duration {
    config.connect_timeout.min(config.header_timeout.min(config.total_timeout).mul_f64(0.9))
}

pub(super) struct RotatingClient<C> {
    make: Box<dyn Fn() -> Result<C, ClientError> + Send + Sync>,
    /// Number of origins per client.
    most: usize,
    now: Mutex<Generation<C>>,
}

struct Generation<C> {
    client: C,
    /// Hashes of the origins.
    origins: HashSet<u64>,
}

impl<C: Clone> RotatingClient<C> {
    /// `make` makes the clients after `first`.
    pub(super) fn new(
        first: C,
        make: impl Fn() -> Result<C, ClientError> + Send + Sync + 'static,
    ) -> RotatingClient<C> {
        let first = Generation { client: first, origins: HashSet::new() };
        RotatingClient { make: Box::new(make), most: Shares::now().idle, now: Mutex::new(first) }
    }

    /// The client for `url`: the same one until it has too many origins.
    pub(super) fn client(&self, url: &url::Url) -> C {
        let origin = xxh3_64(url.origin().ascii_serialization().as_bytes());
        let mut now = self.now.lock();
        if now.origins.len() >= self.most && !now.origins.contains(&origin) {
            match (self.make)() {
                Ok(client) => *now = Generation { client, origins: HashSet::new() },
                // The old client continues, with more connections than intended.
                Err(error) => tracing::warn!(error = cause_of(&error), "cannot make a new HTTP client"),
            }
        }
        now.origins.insert(origin);
        now.client.clone()
    }
}
