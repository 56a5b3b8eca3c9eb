//! Listens on a network address, and on the socket in the data folder for the owner's commands.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use seine_system::folders::if_there;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_io_timeout::TimeoutStream;
use tower::Service as _;

use super::access::Peer;
use super::connection_slots::{ConnectionSlot, ConnectionSlots, RequestSlot};
use super::routes::router;
use super::service::Service;
use super::slow_body::SlowBody;

#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address} for metrics and the API: {source}; choose another with --listen or http.host and http.port, or set \
     http.enabled: false for none"
)]
pub struct ListenError {
    address: SocketAddr,
    source: std::io::Error,
}

/// A connection without a request for this long is closed.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection whose client reads nothing for this long is closed.
const UNREAD: Duration = Duration::from_secs(20);
/// Pause after a connection cannot be accepted, because no file descriptor is left, for example.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// In the data folder.
const SOCKET: &str = "api.sock";

/// A port that is already open. Clients wait in its backlog until [`Port::serve`].
pub struct Port {
    listener: TcpListener,
    pub address: SocketAddr,
}

/// Listens on `address`.
pub async fn listen(address: SocketAddr) -> Result<Port, ListenError> {
    let failed = |source| ListenError { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Port { listener, address })
}

impl Port {
    /// Serves until the runtime ends. Must be called on the runtime.
    pub fn serve(self, service: Arc<dyn Service>) {
        let app = router(service, self.address.ip().is_loopback());
        let slots = ConnectionSlots::new();
        tokio::spawn(async move {
            loop {
                let slot = slots.take().await;
                match self.listener.accept().await {
                    Ok((stream, address)) => {
                        let slot = Arc::new(slot);
                        let connection = answer(stream, app.clone(), Peer::Network(address), Some(slot.clone()));
                        tokio::spawn(async move {
                            tokio::select! {
                                () = connection => {}
                                () = slot.wanted() => {}
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "web server: cannot accept a connection");
                        tokio::time::sleep(ACCEPT_AGAIN).await;
                    }
                }
            }
        });
    }
}

/// The socket in a data folder.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

/// Removes the socket when it is dropped.
pub(crate) struct Presence {
    path: PathBuf,
}

/// The socket of the crawl in `folder`. The path of a socket is limited to 107 bytes, so it goes through an open
/// descriptor of the folder.
pub(super) fn socket_in(folder: &Path) -> std::io::Result<(std::fs::File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let opened = std::fs::File::open(folder)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd()));
    Ok((opened, path))
}

/// Whether a crawl that runs in `folder` accepts connections.
pub(crate) fn is_answered(folder: &Path) -> bool {
    socket_in(folder).and_then(|(_folder, path)| std::os::unix::net::UnixStream::connect(path)).is_ok()
}

/// Listens in the data folder, which is ours: replaces a file or empty folder that an earlier process left.
/// [`DirectoryNotEmpty`](std::io::ErrorKind::DirectoryNotEmpty): a folder with content is in the way.
pub(crate) fn listen_in(folder: &Path) -> std::io::Result<Socket> {
    let path = folder.join(SOCKET);
    let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
    let removed = if is_folder { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) };
    if_there(removed)?;
    let (_folder, short) = socket_in(folder)?;
    let listener = UnixListener::bind(short)?;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
    Ok(Socket { listener, path })
}

impl Socket {
    /// Serves until the runtime ends. Must be called on the runtime. The socket exists as long as the returned value,
    /// because at the end of the process tasks are no longer run.
    pub(crate) fn serve(self, service: Arc<dyn Service>) -> Presence {
        let app = router(service, false);
        let Socket { listener, path } = self;
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(answer(stream, app.clone(), Peer::Owner, None))),
                    Err(error) => {
                        tracing::warn!(%error, "the data folder's socket: cannot accept a connection");
                        tokio::time::sleep(ACCEPT_AGAIN).await;
                    }
                }
            }
        });
        Presence { path }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A client that follows the live status may stay connected without limit.
const ENDLESS: &str = "text/event-stream";

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    app: Router,
    peer: Peer,
    slot: Option<Arc<ConnectionSlot>>,
) {
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer.clone());
        request.extensions_mut().insert(RequestSlot(slot.clone()));
        let (mut app, slot) = (app.clone(), slot.clone());
        let request = request.map(|body| SlowBody { body, slot: slot.clone() });
        async move {
            slot.iter().for_each(|slot| slot.is_busy());
            let response = app.call(request).await?;
            if response.headers().get(header::CONTENT_TYPE).is_none_or(|content| content != ENDLESS) {
                slot.iter().for_each(|slot| slot.is_idle());
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(UNREAD));
    // The client disconnected.
    let _ = http.serve_connection(TokioIo::new(Box::pin(stream)), service).await;
}
