//! Places for connections: so many at a time. When none is left, the connection that has waited for the longest time is closed. Waiting
//! means that nothing is asked, that the body of a request does not come, or that a client waits for work. So connections that do
//! nothing never keep health checks out.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Connections at a time; more wait in the system's backlog.
const CONNECTIONS: usize = 256;
/// Who has just come, or has just been answered, keeps its place: a request, or the next, may be on its way.
const IDLE: Duration = Duration::from_millis(500);
/// While nobody is idle for so long.
const AGAIN: Duration = Duration::from_millis(50);

pub(super) struct Places {
    room: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    last: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

struct Connection {
    /// Since when nothing is asked; none while something is.
    idle_since: Mutex<Option<Instant>>,
    /// Its place is wanted.
    wanted: Notify,
}

/// Given up when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    connection: Arc<Connection>,
    _permit: OwnedSemaphorePermit,
}

/// The place of the connection that a request came by, for handlers that make the client wait; none for the owner's socket.
#[derive(Clone)]
pub(super) struct HeldPlace(pub Option<Arc<Place>>);

impl Places {
    pub fn new() -> Arc<Places> {
        Arc::new(Places { room: Arc::new(Semaphore::new(CONNECTIONS)), taken: Mutex::default() })
    }

    /// Waits for a place.
    pub async fn take(self: &Arc<Self>) -> Place {
        loop {
            if self.room.available_permits() == 0 {
                self.want_one();
            }
            let Ok(Ok(permit)) = timeout(AGAIN, self.room.clone().acquire_owned()).await else { continue };
            let connection =
                Arc::new(Connection { idle_since: Mutex::new(Some(Instant::now())), wanted: Notify::new() });
            let mut taken = self.taken.lock();
            taken.last += 1;
            let number = taken.last;
            taken.connections.insert(number, connection.clone());
            return Place { places: self.clone(), number, connection, _permit: permit };
        }
    }

    /// The place of whoever is idle for the longest time.
    fn want_one(&self) {
        let taken = self.taken.lock();
        let idle = taken.connections.values().filter_map(|it| Some((it.idle_since.lock().as_ref().copied()?, it)));
        let idlest = idle.min_by_key(|(since, _)| *since).filter(|(since, _)| since.elapsed() >= IDLE);
        if let Some((_, connection)) = idlest {
            connection.wanted.notify_one();
        }
    }
}

impl Place {
    /// Something is asked; until [`Place::is_idle`] nobody takes the place away.
    pub fn is_busy(&self) {
        *self.connection.idle_since.lock() = None;
    }

    pub fn is_idle(&self) {
        *self.connection.idle_since.lock() = Some(Instant::now());
    }

    /// It was asked, and the answer waits: for the rest of the question, or for work to come. Others may need the place more.
    pub fn waits(&self) {
        self.connection.idle_since.lock().get_or_insert_with(Instant::now);
    }

    /// Waits until it is to be given up.
    pub async fn wanted(&self) {
        self.connection.wanted.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.lock().connections.remove(&self.number);
    }
}
