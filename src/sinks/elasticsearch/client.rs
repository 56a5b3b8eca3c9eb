//! The hosts of the cluster, used in turn; credentials; one request and its answer.

use std::iter::successors;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use elasticsearch::auth::Credentials;
use elasticsearch::cert::{Certificate, CertificateValidation};
use elasticsearch::http::Method;
use elasticsearch::http::headers::{CONTENT_TYPE, HeaderMap, HeaderValue};
use elasticsearch::http::transport::{SingleNodeConnectionPool, Transport, TransportBuilder};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use url::Url;

use crate::config::ElasticConfig;
use crate::sinks::sink::SinkError;

/// The sink's name in errors.
const SINK: &str = "elasticsearch";
pub(super) const JSON: &str = "application/json";
pub(super) const NDJSON: &str = "application/x-ndjson";
const LONGEST_REASON: usize = 500;
/// A host that gave no answer, or an answer that is not the cluster's, comes after the others for this long; each further time
/// for twice as long.
const REST: Duration = Duration::from_secs(10);
const LONGEST_REST: Duration = Duration::from_secs(300);

/// A server that the simulation uses instead of the configured hosts.
pub trait ElasticServer: Send + Sync {
    /// Answers a request, possibly later. If the client drops the future, the request may still have been carried out.
    fn ask(
        &self,
        method: Method,
        path: String,
        body: Option<Bytes>,
    ) -> BoxFuture<'static, Result<ServerReply, NoAnswer>>;
}

pub(super) struct Client {
    hosts: Vec<Host>,
    replacement: Option<Arc<dyn ElasticServer>>,
    socket_timeout: Duration,
    /// The host that the next request tries first.
    turn: AtomicUsize,
    connect_timeout: Duration,
}

struct Host {
    transport: Transport,
    /// For messages.
    url: Url,
    /// The host answered last time. Otherwise the connection is tested first.
    is_known: AtomicBool,
    rest: Mutex<Option<Rest>>,
}

/// Other hosts come first until then.
#[derive(Clone, Copy)]
struct Rest {
    until: Instant,
    time: Duration,
}

/// The answer of a server.
#[derive(Debug)]
pub struct ServerReply {
    pub status: u16,
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// No host could be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The request was in progress and broke or took too long.
    #[error("{0}")]
    Broken(String),
}

impl Client {
    pub(super) fn new(config: &ElasticConfig) -> Result<Client, SinkError> {
        let certificate = config.ca_file.as_deref().map(read_certificate).transpose()?;
        let hosts = config.hosts.iter().map(|url| Host::new(url, config, certificate.as_deref()));
        Ok(Client {
            hosts: hosts.collect::<Result<_, _>>()?,
            replacement: seine_simulation_hooks::outside::replacement(),
            socket_timeout: config.socket_timeout,
            turn: AtomicUsize::new(0),
            connect_timeout: config.connect_timeout,
        })
    }

    /// Sends a request to the next host that can be reached, and after an answer that is not the cluster's to the one after it.
    /// `path` includes the query, in URL form.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(Bytes, &'static str)>,
    ) -> Result<ServerReply, NoAnswer> {
        if let Some(server) = &self.replacement {
            return self.ask_replacement(server.as_ref(), method, path, body).await;
        }
        let (mut problems, mut nonsense) = (Vec::new(), None);
        for host in self.in_turn() {
            if let Err(problem) = host.reach(self.connect_timeout).await {
                problems.push(format!("{}: {problem}", host.url));
                continue;
            }
            let reply = host.ask(method, path, body.clone()).await;
            let is_good = reply.as_ref().is_ok_and(ServerReply::is_the_clusters);
            host.judge(is_good);
            match reply {
                Ok(reply) if is_good => return Ok(reply),
                Ok(reply) => nonsense = Some(reply),
                // The request itself may be at fault, so no other host gets it at once.
                Err(problem) => return Err(NoAnswer::Broken(format!("{}: {problem}", host.url))),
            }
        }
        nonsense.ok_or_else(|| NoAnswer::Unreachable(problems.join("; ")))
    }

    async fn ask_replacement(
        &self,
        server: &dyn ElasticServer,
        method: Method,
        path: &str,
        body: Option<(Bytes, &'static str)>,
    ) -> Result<ServerReply, NoAnswer> {
        let asked = server.ask(method, path.to_owned(), body.map(|(body, _)| body));
        let answered = tokio::time::timeout(self.socket_timeout, asked).await;
        answered.unwrap_or_else(|_| Err(NoAnswer::Broken(format!("no answer within {:?}", self.socket_timeout))))
    }

    /// All hosts once, starting with another one each time; skipped hosts come last.
    fn in_turn(&self) -> Vec<&Host> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % self.hosts.len().max(1);
        let now = Instant::now();
        let (before, after) = self.hosts.split_at(first);
        let mut hosts: Vec<&Host> = after.iter().chain(before).collect();
        hosts.sort_by_key(|host| host.rest.lock().is_some_and(|rest| rest.until > now));
        hosts
    }
}

impl Host {
    fn new(url: &Url, config: &ElasticConfig, certificate: Option<&[u8]>) -> Result<Host, SinkError> {
        // Like the Java client: a proxy in the environment is for the web, not for the user's own servers.
        let mut builder = TransportBuilder::new(SingleNodeConnectionPool::new(url.clone()))
            .disable_proxy()
            .enable_meta_header(false)
            .timeout(config.socket_timeout);
        if let Some(pem) = certificate {
            let certificate = Certificate::from_pem(pem).map_err(|error| bad_certificate(config, &error))?;
            builder = builder.cert_validation(CertificateValidation::Full(certificate));
        }
        if let Some(key) = &config.api_key {
            builder = builder.auth(Credentials::EncodedApiKey(key.expose().to_owned()));
        } else if let Some(user) = &config.username {
            let password = config.password.as_ref().map(|password| password.expose().to_owned()).unwrap_or_default();
            builder = builder.auth(Credentials::Basic(user.clone(), password));
        }
        let transport = builder.build().map_err(|error| bad_certificate(config, &error))?;
        Ok(Host { transport, url: url.clone(), is_known: AtomicBool::new(false), rest: Mutex::new(None) })
    }

    /// Tests the connection, unless the host answered last time. The client behind `transport` has no connect timeout
    /// of its own.
    async fn reach(&self, limit: Duration) -> Result<(), String> {
        if self.is_known.load(Ordering::Relaxed) {
            return Ok(());
        }
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(9200);
        let connected = tokio::time::timeout(limit, TcpStream::connect((host, port))).await;
        let reached = match connected {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no connection within {} ms", limit.as_millis())),
        };
        if reached.is_err() {
            self.judge(false);
        }
        reached
    }

    /// After a good answer the host takes its turn again. Otherwise the others come first for a while.
    fn judge(&self, is_good: bool) {
        self.is_known.store(is_good, Ordering::Relaxed);
        let mut rest = self.rest.lock();
        *rest = (!is_good).then(|| {
            let time = rest.map_or(REST, |rest| (rest.time * 2).min(LONGEST_REST));
            Rest { until: Instant::now() + time, time }
        });
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<(Bytes, &'static str)>,
    ) -> Result<ServerReply, String> {
        let mut headers = HeaderMap::new();
        if let Some((_, media_type)) = &body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        let body = body.map(|(body, _)| body);
        let sent = self.transport.send(method, path, headers, None::<&()>, body, None).await;
        let response = sent.map_err(|error| in_full(&error))?;
        let status = response.status_code().as_u16();
        let body = response.bytes().await.map_err(|error| in_full(&error))?;
        Ok(ServerReply { status, body })
    }
}

impl ServerReply {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it looks like the answer of a healthy node, not of a proxy, a node that starts, or another server.
    fn is_the_clusters(&self) -> bool {
        let body = self.body.trim_ascii();
        let is_json = body != b"{}" && matches!(body.first(), Some(b'{' | b'['));
        is_json && matches!(self.status, 200..300 | 400 | 403..=405 | 409 | 413 | 429 | 500)
    }

    /// For messages: the status and the beginning of the body.
    pub fn shown(&self) -> String {
        let text = String::from_utf8_lossy(self.body.get(..2000).unwrap_or(&self.body)).into_owned();
        format!("{} {}", self.status, cut(text.trim()))
    }

    /// An error if the user is unknown or lacks a right.
    pub(super) fn denied(&self) -> Option<SinkError> {
        match self.status {
            401 => Some(other(
                self.shown(),
                "set username and password, or api_key, below target_storage.data_format.elasticsearch.rest",
            )),
            403 => Some(other(self.shown(), "give the user the right to create the index and to write into it")),
            _ => None,
        }
    }
}

/// An error with all its causes. The client's own text omits the cause that matters.
fn in_full(error: &dyn std::error::Error) -> String {
    let causes = successors(error.source(), |cause| cause.source()).map(ToString::to_string);
    causes.fold(error.to_string(), |text, cause| if text.contains(&cause) { text } else { format!("{text}: {cause}") })
}

fn read_certificate(path: &std::path::Path) -> Result<Vec<u8>, SinkError> {
    let remedy = "set target_storage.data_format.elasticsearch.rest.ca_file to a readable PEM file";
    std::fs::read(path).map_err(|source| SinkError::File {
        action: "read",
        path: path.display().to_string(),
        source,
        remedy,
    })
}

fn bad_certificate(config: &ElasticConfig, error: &dyn std::error::Error) -> SinkError {
    let path = config.ca_file.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    other(
        format!("no connection can be set up with the certificates in {path:?}: {}", in_full(error)),
        "set target_storage.data_format.elasticsearch.rest.ca_file to certificates in PEM",
    )
}

pub(super) fn other(problem: String, remedy: &'static str) -> SinkError {
    SinkError::Other { sink: SINK, problem, remedy }
}

/// Cuts a server's text to a length that suits a message.
pub(super) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_REASON)).unwrap_or(text)
}

/// The URL path of a bulk for an index, with the parts of the answer that are needed.
pub(super) fn bulk_path(index: &str) -> String {
    format!("/{index}/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by")
}
