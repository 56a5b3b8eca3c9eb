//! Connections, and how many idle ones are kept. A client is made anew from time to time, so that they are bounded for the
//! whole process: pools know a bound for each host, and no other. The old client's idle connections end with it; requests
//! under way go on.

use std::collections::HashSet;
use std::time::Duration;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::error::{ClientError, cause_of};
use crate::config::FetchConfig;
use crate::descriptors::Shares;

pub(super) const MAX_IDLE_TIME: Duration = Duration::from_secs(20);

/// How long a connection may take. Less than the head of an answer: then it is known which of the two did not come.
pub(super) fn connect_time(config: &FetchConfig) -> Duration {
    config.connect_timeout.min(config.header_timeout.min(config.total_timeout).mul_f64(0.9))
}

pub(super) struct Renewed<C> {
    make: Box<dyn Fn() -> Result<C, ClientError> + Send + Sync>,
    /// Origins that one client visits, and may keep connections to.
    most: usize,
    now: Mutex<Generation<C>>,
}

struct Generation<C> {
    client: C,
    /// By their hashes.
    origins: HashSet<u64>,
}

impl<C: Clone> Renewed<C> {
    /// `make`: the next after `first`.
    pub fn new(first: C, make: impl Fn() -> Result<C, ClientError> + Send + Sync + 'static) -> Renewed<C> {
        let first = Generation { client: first, origins: HashSet::new() };
        Renewed { make: Box::new(make), most: Shares::now().idle, now: Mutex::new(first) }
    }

    /// The client to ask `url` with: the same for one origin after the other, until they are too many.
    pub fn client(&self, url: &url::Url) -> C {
        let origin = xxh3_64(url.origin().ascii_serialization().as_bytes());
        let mut now = self.now.lock();
        if now.origins.len() >= self.most && !now.origins.contains(&origin) {
            match (self.make)() {
                Ok(client) => *now = Generation { client, origins: HashSet::new() },
                // It goes on, with more connections than it should have.
                Err(error) => tracing::warn!(error = cause_of(&error), "no new HTTP client can be made"),
            }
        }
        now.origins.insert(origin);
        now.client.clone()
    }
}
