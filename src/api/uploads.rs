//! Places of those who send pages: each may hold a page in memory. Every client has its share, so that none takes all of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Requests with pages at a time, of all clients together; each has one at least.
const UPLOADS: usize = 8;

/// By client, how many places it has taken.
#[derive(Default)]
pub(super) struct Uploads(Mutex<HashMap<String, usize>>);

/// Given back when it is dropped.
pub(super) struct Place {
    uploads: Arc<Uploads>,
    client: String,
}

impl Uploads {
    /// None when it has its share, one of `clients`, already.
    pub fn place(self: &Arc<Self>, client: &str, clients: usize) -> Option<Place> {
        let share = (UPLOADS / clients.max(1)).max(1);
        let mut places = self.0.lock();
        let taken = places.entry(client.to_owned()).or_default();
        (*taken < share).then(|| {
            *taken += 1;
            Place { uploads: self.clone(), client: client.to_owned() }
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(taken) = self.uploads.0.lock().get_mut(&self.client) {
            *taken -= 1;
        }
    }
}
