//! Listens on several loopback addresses, all on one port.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpListener;

/// How often to try for a port that is free on every address.
const PORT_TRIES: u32 = 32;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("a server needs at least one address to listen on")]
    NoAddress,
    #[error("cannot listen on {address}: {source}; is it an address of this machine?")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("no port is free on all of {addresses} addresses after {PORT_TRIES} tries; run again when less is running")]
    NoCommonPort { addresses: usize },
}

/// Listening sockets on one port. Not served yet: clients wait in the backlog.
#[derive(Debug)]
pub struct Listeners {
    pub port: u16,
    pub sockets: Vec<TcpListener>,
}

/// Binds all addresses to one ephemeral port, since the pages contain the port.
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

/// None if another process uses the port on one of the addresses.
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
