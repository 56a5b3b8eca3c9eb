//! The web's name server, which goes away on command.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::support::dns::{NameServer, Say};
use crate::web::Web;

/// Ends when dropped.
pub struct Names {
    server: NameServer,
    trouble: Arc<Mutex<Option<Say>>>,
}

impl Names {
    pub fn start(web: Web) -> Names {
        let trouble = Arc::<Mutex<Option<Say>>>::default();
        let told = trouble.clone();
        let server = NameServer::start(move |name| {
            let known = web.host(name).map_or(Say::NoSuchName, |host| Say::Address(Web::address(host)));
            told.lock().unwrap_or(known)
        });
        Names { server, trouble }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The answer for every name; none: the true one.
    pub fn set(&self, trouble: Option<Say>) {
        *self.trouble.lock() = trouble;
    }
}
