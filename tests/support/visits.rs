//! A log of requests for a handler: who asked what, and when. Used to check politeness.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use seine_parse::page::EpochMs;

use super::server::{Ask, Handler};
use parking_lot::Mutex;

/// One request, recorded when it arrived.
#[derive(Debug, Clone)]
pub struct Visit {
    pub at: Instant,
    pub epoch_ms: EpochMs,
    /// The `Host` header without its port.
    pub host: String,
    pub address: IpAddr,
    pub path: String,
    pub user_agent: String,
}

/// A growing list of visits, shared by its clones.
#[derive(Debug, Clone, Default)]
pub struct VisitLog(Arc<Mutex<Vec<Visit>>>);

impl VisitLog {
    /// A handler that records every request and then calls `handler`.
    pub fn watch(&self, handler: Handler) -> Handler {
        let log = self.clone();
        Arc::new(move |ask| {
            log.note(ask);
            handler(ask)
        })
    }

    pub fn note(&self, ask: &Ask) {
        let epoch_ms = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as EpochMs;
        let visit = Visit {
            at: Instant::now(),
            epoch_ms,
            host: ask.host.clone(),
            address: ask.address,
            path: ask.path_and_query.clone(),
            user_agent: ask.header("user-agent").unwrap_or_default().to_owned(),
        };
        self.0.lock().push(visit);
    }

    /// All visits so far, in order of arrival.
    pub fn all(&self) -> Vec<Visit> {
        self.0.lock().clone()
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The shortest time between the starts of two visits selected by `counts`; none with fewer than two.
    pub fn min_gap(&self, counts: impl Fn(&Visit) -> bool) -> Option<Duration> {
        let mut starts: Vec<Instant> = self.0.lock().iter().filter(|v| counts(v)).map(|v| v.at).collect();
        starts.sort();
        starts.windows(2).map(|pair| pair[1] - pair[0]).min()
    }
}
