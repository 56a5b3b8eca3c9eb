//! One exchange with one server: a request, a response read under limits. No redirects, no retries, no robots.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::dns::{Dns, DnsError};
use super::plain::Plain;
use super::tapped::Tapped;
use super::transport::{Incoming, Transport, cause_of};
use crate::config::{Cookie, FetchConfig, UserAgent};
use crate::page::{EpochMs, Failure, FailureReason, Headers, Outcome, Response, Truncated, latin1_to_string};

/// The HTTP client: TLS verified, bodies as received.
pub struct Client {
    transport: Transport,
    dns: Dns,
    limits: Limits,
    mime_types: Vec<String>,
    cookies: Vec<Cookie>,
    /// What every request carries, as it is sent.
    common: Vec<(HeaderName, HeaderValue)>,
}

/// What one exchange may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub total_time: Duration,
    pub body_bytes: u64,
}

/// What a request asks for beyond the URL.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    /// `If-None-Match`.
    pub etag: Option<String>,
    /// `If-Modified-Since`.
    pub last_modified: Option<String>,
}

/// What an exchange brought.
#[derive(Debug)]
pub struct Exchange {
    pub request_headers: Headers,
    pub outcome: Outcome,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    pub started_ms: EpochMs,
    pub ended_ms: EpochMs,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{part} {value:?} cannot be sent in a header: use visible ASCII characters only")]
    Header { part: &'static str, value: String },
    #[error("the HTTP client cannot be set up: {}", cause_of(.0))]
    Setup(#[from] reqwest::Error),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

impl Client {
    /// HTTP/1.1 and 2 by reqwest. Without [`Response::wire`].
    pub fn new(config: &FetchConfig) -> Result<Client, ClientError> {
        Client::over(config, |dns| Ok(Transport::Plain(Plain::new(config, dns)?)))
    }

    /// HTTP/1.1 only, so that responses come with their [`Response::wire`]: for archives that want exact bytes.
    pub fn keeping_wire(config: &FetchConfig) -> Result<Client, ClientError> {
        Client::over(config, |dns| Ok(Transport::Tapped(Box::new(Tapped::new(config, dns)?))))
    }

    fn over(
        config: &FetchConfig,
        transport: impl FnOnce(&Dns) -> Result<Transport, ClientError>,
    ) -> Result<Client, ClientError> {
        // Installing it twice is fine: the first one stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dns = Dns::new(config);
        let transport = transport(&dns)?;
        let user_agent = header_value("user agent", &config.user_agent.header())?;
        for cookie in &config.cookies {
            header_value("a cookie for", cookie.cookie.expose()).map_err(|_| ClientError::Header {
                part: "the cookie for domain", // its value is a secret
                value: cookie.domain.clone(),
            })?;
        }
        Ok(Client {
            transport,
            dns,
            limits: Limits { total_time: config.total_timeout, body_bytes: config.max_body_bytes },
            mime_types: config.mime_types.iter().map(|m| m.to_ascii_lowercase()).collect(),
            cookies: config.cookies.clone(),
            common: vec![
                (header::USER_AGENT, user_agent),
                (header::ACCEPT, HeaderValue::from_static(ACCEPT)),
                (header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPT_ENCODING)),
            ],
        })
    }

    pub fn dns(&self) -> &Dns {
        &self.dns
    }

    /// The limits of a page.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Asks for `url` once. Never fails as a call: what went wrong is in the outcome.
    pub async fn get(&self, url: &url::Url, conditions: &Conditions, limits: Limits) -> Exchange {
        let request_headers = self.request_headers(url, conditions);
        let started_ms = now_ms();
        let mut ip = None;
        let outcome = match self.exchange(url, &request_headers, limits, &mut ip).await {
            Ok(response) => Outcome::Response(response),
            Err(failure) => Outcome::Failure(failure),
        };
        Exchange { request_headers: shown(&request_headers), outcome, ip, started_ms, ended_ms: now_ms() }
    }

    async fn exchange(
        &self,
        url: &url::Url,
        headers: &HeaderMap,
        limits: Limits,
        ip: &mut Option<IpAddr>,
    ) -> Result<Response, Failure> {
        let deadline = Instant::now() + limits.total_time;
        if let Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) = url.host() {
            // The connector asks our resolver for names only.
            self.dns.resolve(url.host_str().unwrap_or_default()).await.map_err(|error| dns_failure(&error))?;
        }
        let answer = self.transport.get(url, headers.clone());
        let (head, mut incoming) = match tokio::time::timeout_at(deadline.into(), answer).await {
            Ok(answer) => answer?,
            Err(_) => return Err(timed_out(limits.total_time)),
        };
        *ip = head.ip;
        let mut kept = Response {
            status: head.status,
            reason: head.reason,
            version: head.version,
            headers: shown(&head.headers),
            body: Bytes::new(),
            truncated: None,
            wire: None,
        };
        if kept.is_success() && !self.is_wanted(kept.content_type()) {
            let sent = kept.content_type().unwrap_or_default();
            return Err(Failure {
                reason: FailureReason::UnwantedType,
                message: format!("media type {sent} is not wanted"),
            });
        }
        let announced = head.announced.unwrap_or(0);
        (kept.body, kept.truncated) = read_body(&mut incoming, announced, deadline, limits.body_bytes).await;
        kept.wire = incoming.wire(kept.body.len());
        Ok(kept)
    }

    fn request_headers(&self, url: &url::Url, conditions: &Conditions) -> HeaderMap {
        let mut headers: HeaderMap = self.common.iter().cloned().collect();
        let mut add = |name, value: &Option<String>| {
            if let Some(value) = value.as_deref().and_then(|v| HeaderValue::from_str(v).ok()) {
                headers.insert(name, value);
            }
        };
        add(header::IF_NONE_MATCH, &conditions.etag);
        add(header::IF_MODIFIED_SINCE, &conditions.last_modified);
        add(header::COOKIE, &self.cookies_for(url));
        headers
    }

    fn cookies_for(&self, url: &url::Url) -> Option<String> {
        let host = url.host_str()?;
        let matching =
            self.cookies.iter().filter(|c| domain_matches(host, &c.domain) && path_matches(url.path(), &c.path));
        let joined = matching.map(|c| c.cookie.expose()).collect::<Vec<_>>().join("; ");
        (!joined.is_empty()).then_some(joined)
    }

    fn is_wanted(&self, content_type: Option<&str>) -> bool {
        let Some(sent) = content_type.filter(|_| !self.mime_types.is_empty()) else { return true };
        let sent = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        self.mime_types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(prefix) => sent.starts_with(prefix),
            None => sent == *wanted,
        })
    }
}

impl UserAgent {
    /// The header's value: `Mozilla/5.0 (compatible; NAME/VERSION; +URL; EMAIL)`, or the string that was configured.
    pub fn header(&self) -> String {
        if let Some(whole) = &self.string {
            return whole.clone();
        }
        let mut parts = format!("Mozilla/5.0 (compatible; {}/{}", self.name, env!("CARGO_PKG_VERSION"));
        for (prefix, part) in [("; +", &self.url), ("; ", &self.email)] {
            if let Some(part) = part {
                parts.push_str(prefix);
                parts.push_str(part);
            }
        }
        parts + ")"
    }
}

/// What a server announces is no reason to set aside more memory than this before it comes.
const MAX_RESERVED: u64 = 1 << 20;

/// Reads until the end, the byte limit, the deadline or a break, and says which of the last three it was.
async fn read_body(
    incoming: &mut Incoming,
    announced: u64,
    deadline: Instant,
    limit: u64,
) -> (Bytes, Option<Truncated>) {
    // Copied out of the connection's buffer: that is larger, and used again as soon as nothing points into it.
    let mut body = BytesMut::with_capacity(announced.min(limit).min(MAX_RESERVED) as usize);
    let cut = loop {
        let chunk = match tokio::time::timeout_at(deadline.into(), incoming.piece()).await {
            Err(_) => break Some(Truncated::Time),
            Ok(Err(cut)) => break Some(cut),
            Ok(Ok(None)) => break None,
            Ok(Ok(Some(chunk))) => chunk,
        };
        let left = (limit - body.len() as u64) as usize;
        body.extend_from_slice(chunk.get(..left).unwrap_or(&chunk));
        if chunk.len() > left {
            break Some(Truncated::Length);
        }
    };
    (body.freeze(), cut)
}

/// A failed look-up as a failed fetch.
pub fn dns_failure(error: &DnsError) -> Failure {
    let reason = match error {
        DnsError::NoAddress { .. } => FailureReason::Dns,
        DnsError::Resolver { .. } => FailureReason::Resolver,
        DnsError::Private { .. } => FailureReason::PrivateAddress,
    };
    Failure { reason, message: error.to_string() }
}

pub(super) fn timed_out(limit: Duration) -> Failure {
    Failure { reason: FailureReason::Timeout, message: format!("no response within {} s", limit.as_secs_f32()) }
}

fn header_value(part: &'static str, value: &str) -> Result<HeaderValue, ClientError> {
    HeaderValue::from_str(value).map_err(|_| ClientError::Header { part, value: value.to_owned() })
}

fn shown(headers: &HeaderMap) -> Headers {
    Headers(
        headers.iter().map(|(name, value)| (name.as_str().to_owned(), latin1_to_string(value.as_bytes()))).collect(),
    )
}

/// RFC 6265 §5.1.3: an address has no domains above it.
fn domain_matches(host: &str, domain: &str) -> bool {
    let domain = domain.trim_start_matches('.');
    host.eq_ignore_ascii_case(domain)
        || host.parse::<Ipv4Addr>().is_err()
            && host.len().checked_sub(domain.len() + 1).is_some_and(|dot| {
                host.as_bytes()[dot] == b'.' && host.as_bytes()[dot + 1..].eq_ignore_ascii_case(domain.as_bytes())
            })
}

/// RFC 6265 §5.1.4.
fn path_matches(path: &str, cookie_path: &str) -> bool {
    path.strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || cookie_path.ends_with('/') || rest.starts_with('/'))
}

/// The wall clock, in the unit of every time in an event.
pub fn now_ms() -> EpochMs {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
