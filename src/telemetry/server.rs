//! The service's own web server: `/metrics`, `/healthz` (alive), `/readyz` (progressing).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address} for metrics: {source}; choose another with --listen or http.host and http.port, or set http.enabled: false for none"
)]
pub struct ListenError {
    address: SocketAddr,
    source: std::io::Error,
}

/// Who connects and does not ask for so long, the first time or again, is hung up on.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// What the server shows, asked anew for every request.
pub trait Status: Send + Sync + 'static {
    /// The text of `/metrics`.
    fn metrics(&self) -> String;
    /// Ready, with what should be known all the same, or what is in the way and that; one line each.
    fn ready(&self) -> Result<Vec<String>, Vec<String>>;
    /// Alive, or what makes the process one that could as well be started anew.
    fn alive(&self) -> Result<(), String>;
}

/// A port of our own, before there is anything to show: clients wait in the backlog until [`Port::serve`].
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
    /// Serves until the runtime ends. To be called on one.
    pub fn serve(self, status: Arc<dyn Status>) {
        tokio::spawn(accept(self.listener, status));
    }
}

async fn accept(listener: TcpListener, status: Arc<dyn Status>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let status = status.clone();
                let service = service_fn(move |request| answer(request, status.clone()));
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
            // Out of file descriptors, for example: the next connection may go better.
            Err(error) => {
                tracing::warn!(%error, "metrics server: cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer<B>(request: Request<B>, status: Arc<dyn Status>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = |code, body: String| reply(code, "text/plain; charset=utf-8", body);
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => {
            reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", status.metrics())
        }
        (&Method::GET | &Method::HEAD, "/healthz") => match status.alive() {
            Ok(()) => text(StatusCode::OK, "alive\n".to_owned()),
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, why + "\n"),
        },
        (&Method::GET | &Method::HEAD, "/readyz") => match status.ready() {
            Ok(notes) => text(
                StatusCode::OK,
                ["ready".to_owned()].into_iter().chain(notes).collect::<Vec<_>>().join("\n") + "\n",
            ),
            Err(reasons) => text(StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n"),
        },
        _ => text(StatusCode::NOT_FOUND, "here are /metrics, /healthz and /readyz\n".to_owned()),
    })
}

fn reply(code: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response
}
