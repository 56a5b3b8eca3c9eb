//! The transport for archives that want exact bytes: hyper's client, HTTP/1.1 only, with a tap on each connection.
//! Otherwise as [`super::plain`].

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::header::TRANSFER_ENCODING;
use http::response::Parts;
use http::{HeaderMap, Request, Uri};
use http_body_util::Empty;
use hyper::body::Body;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use seine_parse::page::{Failure, FailureReason};
use tower::util::{BoxCloneSyncService, MapFuture};

use super::answer::{Incoming, MAX_HEADERS};
use super::capture::{Capture, NotCaptured, Recording};
use super::dns::Dns;
use super::error::{ClientError, NO_ROOTS, failure};
use super::pool::{MAX_IDLE_TIME, RotatingClient, connect_time};
use super::stages::timed;
use super::tap::{Tap, TappedStream};
use crate::config::FetchConfig;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Connects, with TLS, within the time limit, and adds a tap.
type Connector = BoxCloneSyncService<Uri, TokioIo<TappedStream>, BoxError>;

pub(super) struct Tapped {
    http: RotatingClient<Client<Connector, Empty<Bytes>>>,
}

impl Tapped {
    pub(super) fn new(config: &FetchConfig, dns: &Dns) -> Result<Tapped, ClientError> {
        let (connector, idle_per_host) = (connector(config, dns)?, config.connections_per_host);
        let make = move || {
            Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(MAX_IDLE_TIME)
                .pool_max_idle_per_host(idle_per_host)
                .http1_max_headers(MAX_HEADERS)
                .http1_ignore_invalid_headers_in_responses(true)
                .build(connector.clone())
        };
        Ok(Tapped { http: RotatingClient::new(make(), move || Ok(make())) })
    }

    pub(super) async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Parts, Incoming), Failure> {
        let request = request(url, headers)?;
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let sent = self.http.client(url).request(request).await;
        let response = sent.map_err(|error| failure(error.is_connect(), &error))?;
        let is_chunked = response.body().size_hint().exact().is_none() && ends_chunked(response.headers());
        let recording = response.extensions().get::<Tap>().ok_or(NotCaptured::Gone).and_then(|tap| {
            let exchanged = tap.exchanged();
            let begun = exchanged.peek(|request, received| {
                Capture::begin(request, &target, received, response.status().as_u16(), is_chunked)
            });
            Ok(Recording { url: url.to_string(), capture: begun.ok_or(NotCaptured::Gone)??, exchanged })
        });
        let recording = recording.inspect_err(|doubt| doubt.tell(url.as_str())).ok();
        Ok(Incoming::of(response.map(reqwest::Body::wrap), recording))
    }
}

fn connector(config: &FetchConfig, dns: &Dns) -> Result<Connector, ClientError> {
    let dns = dns.clone();
    let mut http = HttpConnector::new_with_resolver(tower::service_fn(move |name: Name| {
        let dns = dns.clone();
        async move { dns.resolve_for_connecting(name.as_str()).await }
    }));
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect_time(config)));
    let (https, within) = (HttpsConnector::from((http, tls()?)), connect_time(config));
    Ok(BoxCloneSyncService::new(MapFuture::new(https, move |connecting| {
        let connecting = tokio::time::timeout(within, connecting);
        timed(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
            let connection = connecting.await.map_err(late)??;
            Ok::<_, BoxError>(TokioIo::new(TappedStream::new(connection)))
        })
    })))
}

fn request(url: &url::Url, headers: HeaderMap) -> Result<Request<Empty<Bytes>>, Failure> {
    let bad_url = |message: String| Failure { reason: FailureReason::BadUrl, message };
    let uri: Uri = url.as_str().parse().map_err(|error: http::uri::InvalidUri| bad_url(error.to_string()))?;
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// RFC 9112 §6.3: the last coding of the last header decides.
fn ends_chunked(headers: &HeaderMap) -> bool {
    let last = headers.get_all(TRANSFER_ENCODING).iter().next_back().and_then(|value| value.to_str().ok());
    last.and_then(|codings| codings.rsplit(',').next()).is_some_and(|it| it.trim().eq_ignore_ascii_case("chunked"))
}

/// Trusts the roots of the system, like reqwest.
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
