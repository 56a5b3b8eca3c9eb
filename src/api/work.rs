//! Work for other crawlers: hosts leased with their URLs, pages taken back, one by one or as a stream.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{Json, Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::problem::Refusal;
use super::service::{App, BODY_TIMEOUT, BROKEN_OFF, json};
use crate::clock::now_ms;
use crate::page::{EpochMs, Truncated};

/// A client waits no longer for work that is not there.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Looked for again after so long, as hosts become due by themselves, or as soon as something changes.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// A host whose robots.txt takes longer is for the next who asks …
const PREPARING: Duration = Duration::from_secs(10);
/// … and so is one that is so much later than the first: the time of those that are ready runs, and hosts at one address, whose
/// turns come one after the other, must not be told of together.
const LATE: Duration = Duration::from_millis(100);
/// Bytes of a stream of WARC records at once; and what a page in JSON may have besides its body.
const WARC_BYTES: usize = 64 << 20;
const BESIDE_BODY: u64 = 1 << 20;
/// A stream of which so many pages are refused is not read to its end: each is answered, in memory.
const MOST_REFUSED: usize = 1000;

/// The name of the client that asks.
#[derive(Clone)]
pub(super) struct Client(pub String);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseWanted {
    /// As many as there are, up to what the client may have.
    #[serde(default = "one")]
    pub hosts: usize,
    /// Where nothing is due, so long is waited for something; up to half a minute.
    #[serde(default)]
    pub wait_ms: u64,
}

fn one() -> usize {
    1
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Work {
    /// Whom robots.txt was asked about: to be sent with every request.
    pub user_agent: String,
    /// Of a body as received, more is not taken: it is cut there, and `truncated` is `length`.
    pub max_body_bytes: u64,
    pub leases: Vec<HostLease>,
}

/// A host, for one client alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostLease {
    /// The fence: shown with everything that has to do with the lease.
    pub lease: String,
    pub origin: String,
    /// Between the end of one request and the start of the next, one at a time.
    pub delay_ms: u64,
    /// From now on.
    pub lasts_ms: u64,
    pub urls: Vec<UrlToFetch>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UrlToFetch {
    pub url: String,
    /// The verdict of robots.txt: `allowed`, as what is not is not given out.
    pub robots: String,
    /// To be sent as If-None-Match and If-Modified-Since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renewed {
    pub lasts_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Released {
    /// URLs that go to others.
    pub urls: u64,
}

/// What a client was answered. Redirects are answers like others: the server follows them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageSent {
    pub lease: String,
    pub url: String,
    /// None with `failure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `HTTP/1.0`, `HTTP/1.1` (if it says nothing) or `HTTP/2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    /// Base64 (RFC 4648) of the body as received: transfer framing removed, content codings still on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Of that body: `sha256:` and 64 hexadecimal digits. Compared if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<std::net::IpAddr>,
    /// From the request to the last byte.
    #[serde(default)]
    pub took_ms: u64,
    /// Why there is no answer: `timeout`, `connection_refused` and others; the server has a look of its own then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureSent>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureSent {
    pub reason: String,
    #[serde(default)]
    pub message: String,
}

/// What became of the pages of one request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PagesTaken {
    /// Durable.
    pub accepted: u64,
    /// The server asks itself: failures, redirects, and pages that are checked.
    pub held: u64,
    pub refused: Vec<PageRefused>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageRefused {
    pub url: String,
    pub why: String,
}

/// What is known of a client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClientStatus {
    pub name: String,
    /// Enough of its pages agreed with what we saw.
    pub is_proven: bool,
    /// Why it gets nothing any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shut_out: Option<String>,
    pub hosts: u64,
    pub max_hosts: u64,
    pub accepted: u64,
    pub held: u64,
    pub refused: u64,
    pub agreed: u64,
    pub disagreed: u64,
    /// Leases that ended by themselves, with URLs left.
    pub lapsed: u64,
    /// Pages that were taken unseen of a client that is shut out since, and are fetched again.
    pub in_question: u64,
}

/// A host that can be given out. Dropped before its client is told of it, it is for others at once.
pub struct Prepared {
    lease: HostLease,
    until: EpochMs,
    told: oneshot::Sender<()>,
}

impl Prepared {
    /// The other end is told when the client is, or that it never will be.
    pub fn new(lease: HostLease, until: EpochMs) -> (Prepared, oneshot::Receiver<()>) {
        let (told, is_told) = oneshot::channel();
        (Prepared { lease, until, told }, is_told)
    }

    /// What its client is told now; none when it is over.
    fn tell(self) -> Option<HostLease> {
        let lasts_ms = self.until.saturating_sub(now_ms());
        let is_told = lasts_ms > 0 && self.told.send(()).is_ok();
        is_told.then_some(HostLease { lasts_ms, ..self.lease })
    }
}

/// A lease that is being prepared.
pub type Leasing = oneshot::Receiver<Prepared>;

/// Whoever gives work out. Calls may block.
pub trait WorkDesk {
    fn max_body_bytes(&self) -> u64;
    /// Hosts that are due now, up to so many; each comes when it is known what its robots.txt says, or never.
    fn lease(&self, client: &str, hosts: usize) -> Result<Vec<Leasing>, Refusal>;
    /// What every lease comes with.
    fn terms(&self) -> Work;
    /// Marked changed when there may be more to lease.
    fn changed(&self) -> watch::Receiver<()>;
    fn renew(&self, client: &str, lease: &str) -> Result<Renewed, Refusal>;
    fn release(&self, client: &str, lease: &str) -> Result<Released, Refusal>;
    /// Takes a page; or why not.
    fn take(&self, client: &str, page: PageSent, taken: &mut PagesTaken);
    /// The same with all pages of a file of WARC records.
    fn take_warc(&self, client: &str, lease: &str, warc: Vec<u8>, taken: &mut PagesTaken) -> Result<(), Refusal>;
    fn clients(&self) -> Vec<ClientStatus>;
}

pub(super) async fn clients(State(app): State<App>) -> Result<Response, Refusal> {
    app.answer(|service| Ok(service.work().clients())).await
}

pub(super) async fn lease(
    State(app): State<App>,
    Extension(Client(client)): Extension<Client>,
    wanted: Result<Json<LeaseWanted>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(wanted) = wanted.map_err(|error| Refusal::Bad(error.body_text()))?;
    let until = Instant::now() + Duration::from_millis(wanted.wait_ms).min(LONGEST_WAIT);
    let mut changed = app.service.work().changed();
    loop {
        changed.mark_unchanged();
        let client = client.clone();
        let leasing = app.on(move |service| service.work().lease(&client, wanted.hosts)).await?;
        let leases: Vec<_> = prepared(leasing).await.into_iter().filter_map(Prepared::tell).collect();
        if !leases.is_empty() || Instant::now() >= until {
            return Ok(json(Work { leases, ..app.service.work().terms() }));
        }
        let _ = timeout_at(until.min(Instant::now() + LOOK_AGAIN), changed.changed()).await;
    }
}

/// Those that are ready in time; none of them waits for another.
async fn prepared(leasing: Vec<Leasing>) -> Vec<Prepared> {
    let mut deadline = Instant::now() + PREPARING;
    let (mut preparing, mut ready) = (leasing.into_iter().collect::<JoinSet<_>>(), Vec::new());
    while let Ok(Some(prepared)) = timeout_at(deadline, preparing.join_next()).await {
        if let Ok(Ok(prepared)) = prepared {
            deadline = deadline.min(Instant::now() + LATE);
            ready.push(prepared);
        }
    }
    ready
}

pub(super) async fn renew(
    State(app): State<App>,
    Extension(Client(client)): Extension<Client>,
    Path(lease): Path<String>,
) -> Result<Response, Refusal> {
    app.answer(move |service| service.work().renew(&client, &lease)).await
}

pub(super) async fn release(
    State(app): State<App>,
    Extension(Client(client)): Extension<Client>,
    Path(lease): Path<String>,
) -> Result<Response, Refusal> {
    app.answer(move |service| service.work().release(&client, &lease)).await
}

#[derive(Deserialize)]
pub(super) struct PagesQuery {
    lease: Option<String>,
}

pub(super) async fn pages(
    State(app): State<App>,
    Extension(Client(client)): Extension<Client>,
    Query(query): Query<PagesQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let clients = app.service.access().clients.len();
    let _place = app.uploads.place(&client, clients).ok_or_else(|| {
        let why = format!("{client} sends as many pages already as are taken of it at a time: try again in a moment");
        Refusal::Unavailable(why)
    })?;
    match content_type.split(';').next().unwrap_or_default().trim() {
        "application/json" => take_one(&app, client, body).await.map(json),
        "application/x-ndjson" => take_lines(&app, client, body).await.map(json),
        "application/warc" => {
            let lease = query.lease.ok_or_else(|| {
                Refusal::Bad("WARC records say nothing of a lease: name it, /api/v1/work/pages?lease=…".to_owned())
            })?;
            take_warc(&app, client, lease, body).await.map(json)
        }
        other => Err(Refusal::Bad(format!(
            "pages come as application/json (one), application/x-ndjson (one a line) or application/warc, not {other:?}"
        ))),
    }
}

/// A page a line. A line that is none is refused, and the next one read, unless there is no end to it.
async fn take_lines(app: &App, client: String, mut body: Body) -> Result<PagesTaken, Refusal> {
    let most = most_of_a_page(app);
    let (mut rest, mut taken, mut scanned) = (Vec::new(), PagesTaken::default(), 0);
    while let Some(piece) = next_piece(&mut body).await? {
        rest.extend_from_slice(&piece);
        while let Some(length) = memchr::memchr(b'\n', &rest[scanned..]) {
            let line: Vec<u8> = rest.drain(..scanned + length + 1).collect();
            scanned = 0;
            taken = take_line(app, &client, line, taken).await?;
            if let (true, Some(last)) = (taken.refused.len() >= MOST_REFUSED, taken.refused.last()) {
                let why = &last.why;
                let kept = format!("{} accepted and {} held stay so", taken.accepted, taken.held);
                return Err(Refusal::TooMuch(format!(
                    "{MOST_REFUSED} pages of these were refused, the last as {why:?}; {kept}"
                )));
            }
        }
        scanned = rest.len();
        if rest.len() > most {
            return Err(Refusal::TooMuch(format!("a page has {most} bytes at most, in JSON")));
        }
    }
    take_line(app, &client, rest, taken).await
}

async fn take_one(app: &App, client: String, body: Body) -> Result<PagesTaken, Refusal> {
    let page = whole(body, most_of_a_page(app)).await?;
    take_line(app, &client, page, PagesTaken::default()).await
}

async fn take_line(app: &App, client: &str, line: Vec<u8>, mut taken: PagesTaken) -> Result<PagesTaken, Refusal> {
    if line.trim_ascii().is_empty() {
        return Ok(taken);
    }
    let client = client.to_owned();
    app.on(move |service| {
        match serde_json::from_slice::<PageSent>(&line) {
            Ok(page) => service.work().take(&client, page, &mut taken),
            Err(error) => {
                let why = format!("not a page as openapi.json describes it: {error}");
                taken.refused.push(PageRefused { url: String::new(), why });
            }
        }
        Ok(taken)
    })
    .await
}

fn most_of_a_page(app: &App) -> usize {
    (app.service.work().max_body_bytes().div_ceil(3) * 4 + BESIDE_BODY) as usize
}

async fn whole(mut body: Body, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut whole = Vec::new();
    while let Some(piece) = next_piece(&mut body).await? {
        if whole.len() + piece.len() > most {
            return Err(Refusal::TooMuch(format!("at most {most} bytes at once")));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

async fn take_warc(app: &App, client: String, lease: String, body: Body) -> Result<PagesTaken, Refusal> {
    let warc = whole(body, WARC_BYTES).await?;
    app.on(move |service| {
        let mut taken = PagesTaken::default();
        service.work().take_warc(&client, &lease, warc, &mut taken)?;
        Ok(taken)
    })
    .await
}

async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, Refusal> {
    loop {
        let frame = timeout(BODY_TIMEOUT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| Refusal::Bad(BROKEN_OFF.to_owned()))? else { return Ok(None) };
        let frame = frame.map_err(|error| Refusal::Bad(format!("the pages broke off: {error}")))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
}
