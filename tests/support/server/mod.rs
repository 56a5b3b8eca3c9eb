//! A small HTTP/1.1 server: several loopback addresses, one port, one handler, and any answers that the handler wants.
//! Only our own crawler connects to it, so it has no limits against hostile clients.

mod answer;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use answer::{Answer, Ask, Body, Handler};
pub use seine::demo::listen::{Listeners, ServeError, bind};
use wire::{Override, Pieces, Socket};

/// How long [`Server::stop`] lets running exchanges end by themselves.
const GRACE: Duration = Duration::from_millis(250);
/// Pause after a connection could not be accepted, so that a lack of file descriptors does not cause a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A running server. Dropping it closes every connection at once; [`Server::stop`] lets exchanges end.
#[derive(Debug)]
pub struct Server {
    pub port: u16,
    stop: watch::Sender<bool>,
    listeners: JoinSet<()>,
}

/// Binds every address to one ephemeral port and serves them.
pub async fn serve(addresses: &[IpAddr], handler: Handler) -> Result<Server, ServeError> {
    Ok(answer_on(bind(addresses).await?, handler))
}

/// Starts answering, on the current Tokio runtime.
pub fn answer_on(bound: Listeners, handler: Handler) -> Server {
    let (stop, stopped) = watch::channel(false);
    let mut listeners = JoinSet::new();
    for socket in bound.sockets {
        listeners.spawn(accept(socket, handler.clone(), stopped.clone()));
    }
    Server { port: bound.port, stop, listeners }
}

impl Server {
    /// Takes no more requests, lets running exchanges end for 250 ms, then closes their connections.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.listeners.join_next().await.is_some() {}
    }
}

/// Runs one listener: accepts until told to stop, then ends its connections.
async fn accept(socket: TcpListener, handler: Handler, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(converse(stream, handler.clone(), stopped.clone())); }
                // No file descriptors left, or the client has disconnected. The listener itself still works.
                Err(error) => {
                    tracing::warn!(%error, "test server: a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(socket);
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

/// Serves one connection: exchanges with keep-alive, until either side ends it.
async fn converse(stream: TcpStream, handler: Handler, mut stopped: watch::Receiver<bool>) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    let replacement: Override = Arc::new(Mutex::new(None));
    let io = TokioIo::new(Socket::new(stream, replacement.clone()));
    let service = service_fn(move |request| exchange(request, local.ip(), handler.clone(), replacement.clone()));
    let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    // An error means that the client disconnected, or that the connection was closed on purpose.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The error that makes hyper close a connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("closed without an answer, as asked")]
struct Closed;

async fn exchange(
    request: Request<Incoming>,
    address: IpAddr,
    handler: Handler,
    replacement: Override,
) -> Result<Response<Pieces>, Closed> {
    let answer = handler(&ask(request, address));
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    match &answer.body {
        Body::Close => Err(Closed),
        Body::Raw(bytes) => Ok(replaced_by(bytes.clone(), &replacement)),
        Body::Cut { bytes, announced } => {
            let whole = [answer.head(*announced).as_slice(), bytes].concat();
            Ok(replaced_by(whole.into(), &replacement))
        }
        _ => Ok(respond(answer)),
    }
}

fn ask(request: Request<Incoming>, address: IpAddr) -> Ask {
    let (parts, _) = request.into_parts();
    let host = parts.headers.get(http::header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase();
    let path_and_query = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    Ask { method: parts.method, host, address, path_and_query, headers: parts.headers }
}

/// A response for hyper; the socket writes `bytes` instead of it, and closes.
fn replaced_by(bytes: Bytes, replacement: &Override) -> Response<Pieces> {
    *replacement.lock() = Some(bytes);
    let mut response = Response::new(Pieces::Whole(Bytes::new()));
    response.headers_mut().insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn respond(answer: Answer) -> Response<Pieces> {
    build(answer).unwrap_or_else(|wrong| {
        // An error answer makes the failure of the test clear. Raw answers are for what HTTP does not allow.
        let mut response =
            Response::new(Pieces::Whole(Bytes::from(format!("the handler's answer is not HTTP: {wrong}\n"))));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn build(answer: Answer) -> Result<Response<Pieces>, http::Error> {
    let mut response = Response::new(pieces(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status)?;
    if let Some(reason) = answer.reason.and_then(|reason| ReasonPhrase::try_from(reason).ok()) {
        response.extensions_mut().insert(reason);
    }
    for (name, value) in answer.headers {
        response.headers_mut().append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    Ok(response)
}

fn pieces(body: Body) -> Pieces {
    match body {
        Body::Whole(bytes) => Pieces::Whole(bytes),
        Body::Trickle { bytes, piece, every } => Pieces::trickle(bytes, piece, every),
        Body::Endless(piece) => Pieces::Endless(piece),
        // `exchange` has handled these.
        Body::Cut { .. } | Body::Raw(_) | Body::Close => Pieces::Whole(Bytes::new()),
    }
}
