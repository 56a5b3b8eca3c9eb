//! The sockets for DNS servers. They count how often no file could be opened, because the resolver does not report that
//! reason.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hickory_resolver::net::runtime::{RuntimeProvider, TokioRuntimeProvider};
use seine_system::descriptors;

#[derive(Clone, Default)]
pub(super) struct Sockets {
    tokio: TokioRuntimeProvider,
    refused: Arc<AtomicU64>,
}

type Opening<S> = Pin<Box<dyn Future<Output = io::Result<S>> + Send>>;

impl Sockets {
    /// Number of sockets that could not be opened because of the limit of open files.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn counted<S: 'static>(&self, opening: Opening<S>) -> Opening<S> {
        let refused = self.refused.clone();
        Box::pin(async move {
            opening.await.inspect_err(|error| {
                refused.fetch_add(u64::from(descriptors::is_exhausted(error)), Ordering::Relaxed);
            })
        })
    }
}

impl RuntimeProvider for Sockets {
    type Handle = <TokioRuntimeProvider as RuntimeProvider>::Handle;
    type Timer = <TokioRuntimeProvider as RuntimeProvider>::Timer;
    type Udp = <TokioRuntimeProvider as RuntimeProvider>::Udp;
    type Tcp = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

    fn create_handle(&self) -> Self::Handle {
        self.tokio.create_handle()
    }

    fn connect_tcp(&self, server: SocketAddr, from: Option<SocketAddr>, limit: Option<Duration>) -> Opening<Self::Tcp> {
        self.counted(self.tokio.connect_tcp(server, from, limit))
    }

    fn bind_udp(&self, from: SocketAddr, server: SocketAddr) -> Opening<Self::Udp> {
        self.counted(self.tokio.bind_udp(from, server))
    }
}
