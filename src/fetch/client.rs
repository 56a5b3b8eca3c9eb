//! One request to one server, and its response, within limits. No redirects, no retries, no robots.txt.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::response::Parts;
use seine_delivery::large::{self, BodyRoom};
use seine_parse::page::{
    EpochMs, Failure, FailureReason, Headers, Outcome, Response, Truncated, latin1_to_string, value_bytes,
};
use seine_simulation_hooks::outside::replacement;
use seine_system::clock::now_ms;

use super::answer::{Incoming, http_version, is_part, reason_phrase};
use super::body::Body;
use super::cookies;
use super::counts::RequestCounts;
use super::dns::Dns;
use super::error::ClientError;
use super::network::{Simulated, address_of};
use super::patience::Patience;
use super::plain::Plain;
use super::stages;
use super::tapped::Tapped;
use crate::config::{Cookie, FetchConfig, Secret, UserAgent};

/// The HTTP client. It verifies TLS, and returns bodies as received.
pub struct Client {
    transport: Transport,
    dns: Dns,
    counts: RequestCounts,
    limits: Limits,
    mime_types: Vec<String>,
    cookies: Vec<Cookie>,
    archives_credentials: bool,
    /// Headers of every request.
    common: Vec<(HeaderName, HeaderValue)>,
}

/// Sends a request and reads its response: reqwest, or for archives that want exact bytes our own client on the same
/// hyper. Both behave the same.
enum Transport {
    Plain(Plain),
    Tapped(Box<Tapped>),
    Simulated(Simulated),
}

/// Limits of one request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time until the response head has arrived, including the connection.
    pub head_time: Duration,
    /// Time without a byte of the body.
    pub silence: Duration,
    /// Minimum bytes per second of the body over each `rate_span`; 0: no minimum.
    pub min_rate: u64,
    pub rate_span: Duration,
    /// Time for the whole request, if no other limit applies before.
    pub total_time: Duration,
    pub body_bytes: u64,
    /// Read only bodies of configured media types.
    pub is_wanted_only: bool,
}

/// Headers of a request besides the common ones.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    /// `If-None-Match`.
    pub etag: Option<String>,
    /// `If-Modified-Since`.
    pub last_modified: Option<String>,
    /// Cookies in addition to the configured ones.
    pub cookies: Option<Secret>,
}

/// A request and its response.
#[derive(Debug)]
pub struct Exchange {
    /// As sent, but [redacted](Headers::redacted).
    pub request_headers: Headers,
    pub outcome: Outcome,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    pub started_ms: EpochMs,
    pub ended_ms: EpochMs,
    /// Memory of a long body, until the page log has taken it.
    pub room: Option<BodyRoom>,
}

const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

impl Client {
    /// HTTP/1.1 and 2 by reqwest, without [`Response::wire`].
    pub fn new(config: &FetchConfig) -> Result<Client, ClientError> {
        Client::over(config, |dns| Ok(Transport::Plain(Plain::new(config, dns)?)))
    }

    /// HTTP/1.1 only, with [`Response::wire`], for archives that want exact bytes.
    pub fn keeping_wire(config: &FetchConfig) -> Result<Client, ClientError> {
        Client::over(config, |dns| Ok(Transport::Tapped(Box::new(Tapped::new(config, dns)?))))
    }

    fn over(
        config: &FetchConfig,
        transport: impl FnOnce(&Dns) -> Result<Transport, ClientError>,
    ) -> Result<Client, ClientError> {
        // Installing it twice is harmless.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dns = Dns::new(config);
        let transport = match replacement() {
            Some(network) => Transport::Simulated(Simulated(network)),
            None => transport(&dns)?,
        };
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
            counts: RequestCounts::default(),
            limits: Limits {
                head_time: config.header_timeout,
                silence: config.read_timeout,
                min_rate: config.min_rate,
                rate_span: config.min_rate_span,
                total_time: config.total_timeout,
                body_bytes: config.max_body_bytes,
                is_wanted_only: true,
            },
            mime_types: config.mime_types.iter().map(|m| m.to_ascii_lowercase()).collect(),
            cookies: config.cookies.clone(),
            archives_credentials: config.archive_credentials,
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

    pub fn counts(&self) -> &RequestCounts {
        &self.counts
    }

    /// The limits of a page.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Requests `url` once. Failures are in the outcome. A user and password in the URL are not sent, because the
    /// author of a link must not decide how we log in.
    pub async fn get(&self, url: &url::Url, conditions: &Conditions, limits: Limits) -> Exchange {
        let url = &without_user(url);
        let request_headers = self.request_headers(url, conditions);
        let started_ms = now_ms();
        let (mut ip, mut room) = (None, None);
        let outcome = match self.exchange(url, &request_headers, limits, &mut ip, &mut room).await {
            Ok(response) => Outcome::Response(response),
            Err(failure) => {
                self.counts.count_failure(failure.reason);
                let at = url.host_str().zip(url.port_or_known_default()).map(|(host, port)| format!("{host}:{port}"));
                tracing::debug!(%url, at, reason = failure.reason.name(), cause = failure.message, "a request failed");
                Outcome::Failure(failure)
            }
        };
        let request_headers = shown(&request_headers).redacted();
        Exchange { request_headers, outcome, ip, started_ms, ended_ms: now_ms(), room }
    }

    async fn exchange(
        &self,
        url: &url::Url,
        headers: &HeaderMap,
        limits: Limits,
        ip: &mut Option<IpAddr>,
        room: &mut Option<BodyRoom>,
    ) -> Result<Response, Failure> {
        let started = Instant::now();
        let deadline = started + limits.total_time;
        if let Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) = url.host() {
            // The connector uses our resolver only for names, not for addresses.
            self.dns.resolve(url.host_str().unwrap_or_default()).await.map_err(|error| error.failure())?;
        }
        let answer = stages::with_stage_times(self.ask(url, headers.clone()));
        let head_time = limits.head_time.min(limits.total_time);
        let (head, mut incoming) = match tokio::time::timeout_at((started + head_time).into(), answer).await {
            Ok((answer, noted)) => answer.inspect(|_| self.counts.stages.head(noted, started.elapsed()))?,
            Err(_) => return Err(timed_out(head_time)),
        };
        *ip = address_of(&head);
        let mut kept = Response {
            status: head.status.as_u16(),
            reason: reason_phrase(&head),
            version: http_version(head.version),
            headers: shown(&head.headers),
            body: Bytes::new(),
            truncated: None,
            wire: None,
        };
        if limits.is_wanted_only && kept.is_success() && !self.is_wanted(kept.content_type()) {
            let sent = kept.content_type().unwrap_or_default();
            return Err(unwanted(sent));
        }
        let announced = incoming.announced().unwrap_or(0);
        let begun = Instant::now();
        (kept.body, kept.truncated) = read_body(&mut incoming, announced, deadline, &limits, room).await;
        if is_part(&kept) {
            kept.truncated = kept.truncated.or(Some(Truncated::Disconnect));
        }
        self.counts.stages.body(begun.elapsed());
        kept.wire = incoming.wire(kept.body.len());
        let is_secret = !self.archives_credentials && shown(headers).have_secrets();
        if let Some(wire) = kept.wire.as_mut().filter(|_| is_secret) {
            wire.request = Bytes::new(); // an archive rebuilds it from what is shown, and says so
        }
        Ok(kept)
    }

    /// Sends the request. A server that closes an idle connection may say so with a 408. If that crosses our request, it is
    /// no answer to it, so the request is sent once more, over another connection (RFC 9110 §15.5.9).
    async fn ask(&self, url: &url::Url, headers: HeaderMap) -> Result<(Parts, Incoming), Failure> {
        let (head, body) = self.send(url, headers.clone()).await?;
        let closes =
            head.headers.get(header::CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        match head.status == StatusCode::REQUEST_TIMEOUT && closes {
            true => self.send(url, headers).await,
            false => Ok((head, body)),
        }
    }

    async fn send(&self, url: &url::Url, headers: HeaderMap) -> Result<(Parts, Incoming), Failure> {
        match &self.transport {
            Transport::Plain(http) => http.get(url, headers).await,
            Transport::Tapped(http) => http.get(url, headers).await,
            Transport::Simulated(network) => network.get(url, headers, &self.dns).await,
        }
    }

    fn request_headers(&self, url: &url::Url, conditions: &Conditions) -> HeaderMap {
        let mut headers: HeaderMap = self.common.iter().cloned().collect();
        let mut add = |name, value: Option<Vec<u8>>| {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        };
        // As the server sent them: its ETag may have any bytes from 0x80 on.
        add(header::IF_NONE_MATCH, conditions.etag.as_deref().map(value_bytes));
        add(header::IF_MODIFIED_SINCE, conditions.last_modified.as_deref().map(value_bytes));
        let mut cookies = cookies::configured(&self.cookies, url);
        cookies.extend(conditions.cookies.as_ref().map(Secret::expose));
        add(header::COOKIE, (!cookies.is_empty()).then(|| cookies.join("; ").into_bytes()));
        headers
    }

    /// Whether a body of this type is read.
    pub(crate) fn is_wanted(&self, content_type: Option<&str>) -> bool {
        content_type.is_none_or(|sent| admits(&self.mime_types, &seine_parse::media_type(sent).to_ascii_lowercase()))
    }
}

/// Whether the configured media types admit a media type, or all types of a pattern such as `image/*`.
pub(crate) fn admits(mime_types: &[String], sent: &str) -> bool {
    mime_types.is_empty()
        || mime_types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some("*/") => true,
            Some(prefix) => sent.starts_with(prefix),
            None => sent == *wanted,
        })
}

impl UserAgent {
    /// The header's value: `Mozilla/5.0 (compatible; NAME/VERSION; +URL; EMAIL)`, or the configured string.
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

/// The media type is not configured.
pub(crate) fn unwanted(content_type: &str) -> Failure {
    let message = format!("media type {content_type} is not accepted (crawler_manager.downloader.valid_mime_types)");
    Failure { reason: FailureReason::UnwantedType, message }
}

/// Reads until the end, the size limit, a time limit or a break. Returns which of the last three ended it.
async fn read_body(
    incoming: &mut Incoming,
    announced: u64,
    deadline: Instant,
    limits: &Limits,
    room: &mut Option<BodyRoom>,
) -> (Bytes, Option<Truncated>) {
    let mut body = Body::begin(announced.min(limits.body_bytes));
    let mut patience = Patience::new(deadline, limits);
    let cut = loop {
        let chunk = match tokio::time::timeout_at(patience.until().into(), incoming.piece()).await {
            Err(_) if patience.check_expired() => break Some(Truncated::Time),
            Err(_) => continue,
            Ok(Err(cut)) => break Some(cut),
            Ok(Ok(None)) => break None,
            Ok(Ok(Some(chunk))) => chunk,
        };
        let left = (limits.body_bytes - body.len()) as usize;
        let piece = chunk.get(..left).unwrap_or(&chunk);
        if room.is_none() && body.len() + piece.len() as u64 > large::SMALL {
            // Many workers with long bodies take turns. This wait must not count against the server.
            let since = Instant::now();
            let at_most = if announced > 0 { announced.min(limits.body_bytes) } else { limits.body_bytes };
            *room = large::body_room(at_most).await;
            patience.waited(since.elapsed());
            body.make_room(at_most as usize);
        }
        body.push(piece);
        if chunk.len() > left {
            break Some(Truncated::Length);
        }
        patience.received(chunk.len());
        if patience.check_expired() {
            break Some(Truncated::Time);
        }
    };
    (body.freeze(), cut)
}

fn without_user(url: &url::Url) -> Cow<'_, url::Url> {
    if url.username().is_empty() && url.password().is_none() {
        return Cow::Borrowed(url);
    }
    let mut public = url.clone();
    // They fail only for URLs without a host, which have neither.
    let _ = public.set_username("");
    let _ = public.set_password(None);
    Cow::Owned(public)
}

fn timed_out(limit: Duration) -> Failure {
    Failure { reason: FailureReason::Timeout, message: format!("no response head within {} s", limit.as_secs_f32()) }
}

fn header_value(part: &'static str, value: &str) -> Result<HeaderValue, ClientError> {
    HeaderValue::from_str(value).map_err(|_| ClientError::Header { part, value: value.to_owned() })
}

fn shown(headers: &HeaderMap) -> Headers {
    Headers(
        headers.iter().map(|(name, value)| (name.as_str().to_owned(), latin1_to_string(value.as_bytes()))).collect(),
    )
}
