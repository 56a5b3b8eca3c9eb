//! Places of those who send pages: each may hold a page in memory. Every client has its share, so that none takes all of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::work::WARC_BYTES;

/// Requests with pages at a time, of all clients together; each has one at least.
const UPLOADS: usize = 8;

pub(super) struct Uploads {
    /// By client, the places it could take if it were alone.
    places: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// Bytes of all streams of WARC records that are in memory.
    pub room: Arc<Semaphore>,
}

impl Default for Uploads {
    fn default() -> Uploads {
        Uploads { places: Mutex::default(), room: Arc::new(Semaphore::new(WARC_BYTES)) }
    }
}

impl Uploads {
    /// None when it has its share, one of `clients`, already.
    pub fn place(&self, client: &str, clients: usize) -> Option<OwnedSemaphorePermit> {
        let share = (UPLOADS / clients.max(1)).max(1);
        let mut places = self.places.lock();
        let places = places.entry(client.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(UPLOADS)));
        let taken = UPLOADS - places.available_permits();
        places.clone().try_acquire_owned().ok().filter(|_| taken < share)
    }
}
