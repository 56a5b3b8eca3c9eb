//! The transport for archives that want exact bytes: the client under reqwest, HTTP/1.1 only, over connections with a
//! tap on them. All else is as [`super::plain`] has it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::TRANSFER_ENCODING;
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Body;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tower_service::Service;

use super::capture::{Capture, Doubt};
use super::dns::Dns;
use super::error::{ClientError, NO_ROOTS, failure};
use super::head::{Head, MAX_HEADERS};
use super::pool::{MAX_IDLE_TIME, Renewed, connect_time};
use super::stages;
use super::tap::{Exchanged, Tap, TappedStream};
use crate::config::FetchConfig;
use crate::descriptors::Shares;
use crate::page::wire::Wire;
use crate::page::{Failure, FailureReason, Truncated};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(super) struct Tapped {
    http: Renewed<Client<TappingConnector, Empty<Bytes>>>,
}

pub(super) struct TappedBody {
    body: hyper::body::Incoming,
    /// For the log.
    url: String,
    /// None once it is in doubt.
    recording: Option<Recording>,
}

struct Recording {
    exchanged: Exchanged,
    capture: Capture,
}

impl Tapped {
    pub fn new(config: &FetchConfig, dns: &Dns) -> Result<Tapped, ClientError> {
        let mut http = HttpConnector::new_with_resolver(dns.clone());
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(connect_time(config)));
        let https = HttpsConnector::from((http, tls()?));
        let (connect_timeout, idle_per_host) = (connect_time(config), config.connections_per_host);
        let make = move || {
            Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(MAX_IDLE_TIME)
                .pool_max_idle_per_host(idle_per_host)
                .http1_max_headers(MAX_HEADERS)
                .http1_ignore_invalid_headers_in_responses(true)
                .build(TappingConnector { https: https.clone(), connect_timeout })
        };
        Ok(Tapped { http: Renewed::new(Shares::now().idle, make(), move || Ok(make())) })
    }

    pub async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Head, TappedBody), Failure> {
        let request = request(url, headers)?;
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let sent = self.http.client(url).request(request).await;
        let response = sent.map_err(|error| failure(error.is_connect(), &error))?;
        let (parts, body) = response.into_parts();
        let announced = body.size_hint().exact();
        let is_chunked = announced.is_none() && ends_chunked(&parts.headers);
        let recording = parts.extensions.get::<Tap>().ok_or(Doubt::Gone).and_then(|tap| {
            let exchanged = tap.exchanged();
            let begun = exchanged.look(|request, received| {
                Capture::begin(request, &target, received, parts.status.as_u16(), is_chunked)
            });
            Ok(Recording { capture: begun.ok_or(Doubt::Gone)??, exchanged })
        });
        let recording = recording.inspect_err(|doubt| log(url.as_str(), *doubt)).ok();
        let head = Head {
            ip: parts.extensions.get::<HttpInfo>().map(|info| info.remote_addr().ip()),
            announced,
            ..Head::new(parts.status, parts.version, parts.headers, &parts.extensions)
        };
        Ok((head, TappedBody { body, url: url.as_str().to_owned(), recording }))
    }
}

impl TappedBody {
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Truncated> {
        loop {
            let frame = match self.body.frame().await {
                Some(Err(_)) => {
                    self.record(|capture, received| capture.end(received, false));
                    return Err(Truncated::Disconnect);
                }
                None => {
                    self.record(|capture, received| capture.end(received, true));
                    return Ok(None);
                }
                Some(Ok(frame)) => frame,
            };
            // Trailers are in the framing.
            if let Ok(piece) = frame.into_data() {
                self.record(|capture, received| capture.body(received, &piece));
                return Ok(Some(piece));
            }
        }
    }

    pub fn wire(self, kept: usize) -> Option<Wire> {
        self.recording.map(|recording| recording.capture.into_wire(kept))
    }

    fn record(&mut self, step: impl FnOnce(&mut Capture, &mut bytes::BytesMut) -> Result<(), Doubt>) {
        let Some(Recording { exchanged, capture }) = &mut self.recording else { return };
        let stepped = exchanged.look(|_, received| step(capture, received)).unwrap_or(Err(Doubt::Gone));
        if let Err(doubt) = stepped {
            log(&self.url, doubt);
            self.recording = None;
        }
    }
}

fn log(url: &str, doubt: Doubt) {
    tracing::debug!(url, %doubt, "the exact bytes of an exchange are not kept");
}

fn request(url: &url::Url, headers: HeaderMap) -> Result<Request<Empty<Bytes>>, Failure> {
    let bad_url = |message: String| Failure { reason: FailureReason::BadUrl, message };
    let uri: Uri = url.as_str().parse().map_err(|error: http::uri::InvalidUri| bad_url(error.to_string()))?;
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// RFC 9112 §6.3: what decides is the last coding of the last header.
fn ends_chunked(headers: &HeaderMap) -> bool {
    let last = headers.get_all(TRANSFER_ENCODING).iter().next_back().and_then(|value| value.to_str().ok());
    last.and_then(|codings| codings.rsplit(',').next()).is_some_and(|it| it.trim().eq_ignore_ascii_case("chunked"))
}

/// Who is trusted: the system's roots, as with reqwest.
fn tls() -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let trusting = match builder()?.with_platform_verifier() {
        Ok(trusting) => trusting,
        Err(error) => {
            tracing::warn!(%error, "{NO_ROOTS}");
            builder()?.with_root_certificates(RootCertStore::empty())
        }
    };
    let mut tls = trusting.with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

/// Connects, TLS and all, within the time limit, and puts a tap on the connection.
#[derive(Clone)]
struct TappingConnector {
    https: HttpsConnector<HttpConnector<Dns>>,
    connect_timeout: Duration,
}

impl Service<Uri> for TappingConnector {
    type Response = TokioIo<TappedStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let started = Instant::now();
        let connecting = tokio::time::timeout(self.connect_timeout, self.https.call(uri));
        Box::pin(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
            let connection = connecting.await.map_err(late)??;
            stages::connected(started.elapsed());
            Ok(TokioIo::new(TappedStream::new(connection)))
        })
    }
}
