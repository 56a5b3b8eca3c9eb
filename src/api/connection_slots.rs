//! Limits the number of connections. At the limit, the connection that has been idle longest is closed. Idle means: no
//! request, a request body that does not arrive, or a remote worker waiting for work. So idle connections never block
//! health checks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Maximum number of connections; more wait in the backlog of the system.
const CONNECTIONS: usize = 256;
/// A connection is not closed so soon after its start or its last answer, because a request may be on its way.
const IDLE: Duration = Duration::from_millis(500);
/// How often to look for an idle connection.
const AGAIN: Duration = Duration::from_millis(50);

pub(super) struct ConnectionSlots {
    room: Arc<Semaphore>,
    taken: Mutex<SlotsInUse>,
}

#[derive(Default)]
struct SlotsInUse {
    last: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

struct Connection {
    /// Since when it is idle; none while a request is in progress.
    idle_since: Mutex<Option<Instant>>,
    /// Notified when it must close.
    wanted: Notify,
}

/// Freed when it is dropped.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    connection: Arc<Connection>,
    _permit: OwnedSemaphorePermit,
}

/// The place of a request's connection, for handlers that let the client wait; none for the owner's socket.
#[derive(Clone)]
pub(super) struct RequestSlot(pub Option<Arc<ConnectionSlot>>);

impl ConnectionSlots {
    pub(super) fn new() -> Arc<ConnectionSlots> {
        Arc::new(ConnectionSlots { room: Arc::new(Semaphore::new(CONNECTIONS)), taken: Mutex::default() })
    }

    /// Waits for a free place.
    pub(super) async fn take(self: &Arc<Self>) -> ConnectionSlot {
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
            return ConnectionSlot { slots: self.clone(), number, connection, _permit: permit };
        }
    }

    /// Asks the connection that has been idle longest to close.
    fn want_one(&self) {
        let taken = self.taken.lock();
        let idle = taken.connections.values().filter_map(|it| Some((it.idle_since.lock().as_ref().copied()?, it)));
        let idlest = idle.min_by_key(|(since, _)| *since).filter(|(since, _)| since.elapsed() >= IDLE);
        if let Some((_, connection)) = idlest {
            connection.wanted.notify_one();
        }
    }
}

impl ConnectionSlot {
    /// A request has arrived. The connection stays until [`ConnectionSlot::is_idle`].
    pub(super) fn is_busy(&self) {
        *self.connection.idle_since.lock() = None;
    }

    pub(super) fn is_idle(&self) {
        *self.connection.idle_since.lock() = Some(Instant::now());
    }

    /// The request waits for the rest of its body, or for work, so the connection counts as idle.
    pub(super) fn waits(&self) {
        self.connection.idle_since.lock().get_or_insert_with(Instant::now);
    }

    /// Waits until the connection must close.
    pub(super) async fn wanted(&self) {
        self.connection.wanted.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.taken.lock().connections.remove(&self.number);
    }
}
