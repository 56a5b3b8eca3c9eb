//! Limits requests with pages, because each may need a page in memory. Every worker has its share.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::work::WARC_BYTES;

/// Maximum number of such requests of all workers together; each worker has at least one.
const UPLOADS: usize = 8;

pub(super) struct Uploads {
    /// By worker: the requests that it could have alone.
    shares: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// Bytes of all streams of WARC records in memory.
    pub room: Arc<Semaphore>,
}

impl Default for Uploads {
    fn default() -> Uploads {
        Uploads { shares: Mutex::default(), room: Arc::new(Semaphore::new(WARC_BYTES)) }
    }
}

impl Uploads {
    /// None if the worker already has its share; `clients` is the number of workers.
    pub(super) fn permit(&self, client: &str, clients: usize) -> Option<OwnedSemaphorePermit> {
        let share = (UPLOADS / clients.max(1)).max(1);
        let mut shares = self.shares.lock();
        let shares = shares.entry(client.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(UPLOADS)));
        let taken = UPLOADS - shares.available_permits();
        shares.clone().try_acquire_owned().ok().filter(|_| taken < share)
    }
}
