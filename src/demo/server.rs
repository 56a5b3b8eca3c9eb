//! The website's small HTTP/1.1 server: several loopback addresses, one port. It speaks to our own crawler, so it has no
//! limits against hostile clients.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::site::Site;

/// How often a port is looked for that is free on every address.
const PORT_TRIES: u32 = 32;
/// After a connection that could not be accepted, so that a lack of file descriptors does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("a server needs at least one address to listen on")]
    NoAddress,
    #[error("cannot listen on {address}: {source}; is it an address of this machine?")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("no port is free on all of {addresses} addresses after {PORT_TRIES} tries; run again when less is running")]
    NoCommonPort { addresses: usize },
}

/// Listening sockets of one port, not served yet: clients wait in the backlog.
#[derive(Debug)]
pub struct Listeners {
    pub port: u16,
    pub sockets: Vec<TcpListener>,
}

/// Binds every address to one ephemeral port: pages name it.
pub async fn bind(addresses: &[IpAddr]) -> Result<Listeners, ServeError> {
    let (first, others) = addresses.split_first().ok_or(ServeError::NoAddress)?;
    for _ in 0..PORT_TRIES {
        let socket = listen(*first, 0).await?;
        let port = socket.local_addr().map_err(|source| bind_error(*first, 0, source))?.port();
        if let Some(rest) = listen_all(others, port).await? {
            return Ok(Listeners { port, sockets: std::iter::once(socket).chain(rest).collect() });
        }
    }
    Err(ServeError::NoCommonPort { addresses: addresses.len() })
}

/// None when somebody else has the port on one of them.
async fn listen_all(addresses: &[IpAddr], port: u16) -> Result<Option<Vec<TcpListener>>, ServeError> {
    let mut sockets = Vec::with_capacity(addresses.len());
    for address in addresses {
        match listen(*address, port).await {
            Ok(socket) => sockets.push(socket),
            Err(ServeError::Bind { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(sockets))
}

async fn listen(address: IpAddr, port: u16) -> Result<TcpListener, ServeError> {
    TcpListener::bind((address, port)).await.map_err(|source| bind_error(address, port, source))
}

fn bind_error(address: IpAddr, port: u16, source: io::Error) -> ServeError {
    ServeError::Bind { address: SocketAddr::new(address, port), source }
}

/// Starts answering, on the current Tokio runtime, until what is returned is dropped.
pub(super) fn serve(sockets: Vec<TcpListener>, site: Site) -> JoinSet<()> {
    let site = Arc::new(site);
    sockets.into_iter().map(|socket| accept(socket, site.clone())).collect()
}

async fn accept(socket: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(converse(stream, site.clone())); }
                // Out of file descriptors, or the client left already: the listener itself is well.
                Err(error) => {
                    tracing::warn!(%error, "demo server: a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(stream: TcpStream, site: Arc<Site>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| site.answer(request));
    // An error is a client that left.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
