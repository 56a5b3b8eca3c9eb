//! Saltmere, the website that `seine demo` crawls: eight hosts and a few hundred pages. They are the same at every
//! start, except for the port in their links.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HOST, HeaderName, IF_NONE_MATCH, RETRY_AFTER, VARY,
};
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use xxhash_rust::xxh3::xxh3_64;

use super::coding::{Coding, encode};
use super::entry::{Entry, House};
use super::listen::{self, Listeners, ServeError};
use super::skin::HOSTS;
use super::{harbour, library, market, museum, radio, tides, weather, written};

/// Limit of pages per host for a crawl of the demo: a second guard against the endless calendar.
pub const MAX_PAGES_PER_HOST: u64 = 250;
/// Delay between requests to a host in the demo: long enough to show politeness, short enough to wait for.
pub(crate) const HOST_DELAY: Duration = Duration::from_millis(50);
/// First back-off after a failure, suited to the demo's unreliable host.
pub(crate) const BACKOFF_BASE: Duration = Duration::from_millis(300);
/// Pause after a connection could not be accepted, so that a lack of file descriptors does not cause a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Number of retries of a page that fails temporarily.
pub(crate) const MAX_RETRIES: u16 = 2;

/// The running site.
#[derive(Debug)]
pub struct DemoSite {
    /// All hosts answer on this port.
    pub port: u16,
    /// Every host and its addresses. The crawler needs them, since these names are in no DNS.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// The front page of every host.
    pub seeds: Vec<String>,
    /// Dropping this stops the site.
    _listeners: JoinSet<()>,
}

/// Starts the site. Each host has its own loopback address from 127.0.0.2 on. If the system has no others, all hosts
/// are on 127.0.0.1.
pub async fn start() -> Result<DemoSite, ServeError> {
    let (listeners, addresses) = bind().await?;
    Ok(serve(listeners, addresses))
}

/// Starts the site where browsers, curl and Seine look for names below `.localhost`: on 127.0.0.1, and on ::1 if
/// available (RFC 6761 §6.3).
pub(crate) async fn start_for_visitors() -> Result<DemoSite, ServeError> {
    let (four, six) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
    let listeners = match listen::bind(&[four, six]).await {
        Ok(listeners) => listeners,
        Err(_) => listen::bind(&[four]).await?,
    };
    Ok(serve(listeners, vec![four; HOSTS.len()]))
}

/// Serves the site on the current Tokio runtime.
fn serve(listeners: Listeners, addresses: Vec<IpAddr>) -> DemoSite {
    let port = listeners.port;
    let site = Arc::new(Site::build(port));
    let hosts = HOSTS.iter().zip(addresses).map(|(place, ip)| (format!("{}.localhost", place.name), vec![ip]));
    DemoSite {
        port,
        hosts: hosts.collect(),
        seeds: HOSTS.iter().map(|place| House { name: place.name, port }.own_url("/")).collect(),
        _listeners: listeners.sockets.into_iter().map(|socket| accept(socket, site.clone())).collect(),
    }
}

async fn accept(socket: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(converse(stream, site.clone())); }
                // No file descriptors left, or the client has disconnected. The listener itself still works.
                Err(error) => {
                    tracing::warn!(%error, "demo server: a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(stream: TcpStream, site: Arc<Site>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| site.answer(request));
    // An error means that the client disconnected.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn bind() -> Result<(Listeners, Vec<IpAddr>), ServeError> {
    let own: Vec<IpAddr> = (2..).take(HOSTS.len()).map(|last| Ipv4Addr::new(127, 0, 0, last).into()).collect();
    match listen::bind(&own).await {
        Err(ServeError::Bind { source, .. }) if source.kind() == io::ErrorKind::AddrNotAvailable => {
            let shared = IpAddr::from(Ipv4Addr::LOCALHOST);
            Ok((listen::bind(&[shared]).await?, vec![shared; HOSTS.len()]))
        }
        bound => Ok((bound?, own)),
    }
}

type Answer = Response<Full<Bytes>>;

/// All answers, ready to send.
struct Site {
    port: u16,
    /// By host (without `.localhost`), then by path and query.
    pages: HashMap<&'static str, HashMap<String, Prepared>>,
    /// URLs whose first request was already answered with 503.
    asked: Mutex<HashSet<(&'static str, String)>>,
}

struct Prepared {
    entry: Entry,
    etag: String,
    plain: Bytes,
    /// The body in the one content coding that this page has.
    coded: Option<(Coding, Bytes)>,
}

/// All URLs of a host, except the months of the calendar: [`tides::month`] generates these on request.
fn entries(house: &House) -> Vec<Entry> {
    match house.name {
        "library" => library::entries(house),
        "market" => market::entries(house),
        "weather" => weather::entries(house),
        "museum" => museum::entries(house),
        "radio" => radio::entries(house),
        "tides" => written::pages(house, include_str!("assets/tides/pages.txt"), &[]),
        // The host with slow, busy, broken, missing and gone pages.
        "lighthouse" => written::pages(house, include_str!("assets/lighthouse/pages.txt"), &[]),
        _ => harbour::entries(house),
    }
}

impl Site {
    fn build(port: u16) -> Site {
        let prepared =
            |name| entries(&House { name, port }).into_iter().map(|e| (e.path.clone(), prepare(e))).collect();
        let pages = HOSTS.iter().map(|place| (place.name, prepared(place.name))).collect();
        Site { port, pages, asked: Mutex::default() }
    }

    async fn answer(&self, request: Request<Incoming>) -> http::Result<Answer> {
        let (asked, _) = request.into_parts();
        let host = header(&asked.headers, HOST).to_ascii_lowercase();
        let path = asked.uri.path_and_query().map_or("/", |path| path.as_str());
        let name = host.split(':').next().unwrap_or_default();
        let name = name.strip_suffix(".localhost").unwrap_or(name);
        let Some((&host, pages)) = self.pages.get_key_value(name) else {
            return text(421, "No house of that name in Saltmere.\n");
        };
        if let Some(page) = pages.get(path) {
            return self.answer_known(host, page, &asked.headers).await;
        }
        let house = House { name: host, port: self.port };
        match tides::month(&house, path).filter(|_| host == "tides") {
            Some(entry) => send(&prepare(entry), &asked.headers),
            None => text(404, format!("Nothing at {path} in Saltmere.\n")),
        }
    }

    async fn answer_known(&self, host: &'static str, page: &Prepared, asked: &HeaderMap) -> http::Result<Answer> {
        if page.entry.busy_at_first && self.asked.lock().insert((host, page.entry.path.clone())) {
            let mut busy = text(503, "The keeper is trimming the lamp. Saltmere asks for patience.\n")?;
            busy.headers_mut().insert(RETRY_AFTER, 1.into());
            return Ok(busy);
        }
        tokio::time::sleep(page.entry.delay).await;
        send(page, asked)
    }
}

fn text(status: u16, text: impl Into<Bytes>) -> http::Result<Answer> {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, "text/plain; charset=utf-8");
    answer.body(Full::new(text.into()))
}

/// A request header as text; empty when it is missing or not visible ASCII.
fn header(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Prepares an answer. The path determines its content coding. Small and binary bodies have none.
fn prepare(entry: Entry) -> Prepared {
    let hash = xxh3_64(entry.path.as_bytes());
    let coding = match hash % 4 {
        0 => Some(Coding::Brotli),
        1 => Some(Coding::Zstd),
        2 => Some(Coding::Gzip),
        _ => None,
    };
    let is_text = entry.headers.iter().any(|(name, value)| name == "content-type" && value.starts_with("text/"));
    let worth_it = is_text && entry.status == 200 && entry.body.len() > 1024;
    let coded = coding.filter(|_| worth_it).and_then(|coding| Some((coding, encode(coding, &entry.body).ok()?)));
    let etag = format!("\"{:016x}\"", xxh3_64(&entry.body));
    Prepared { plain: Bytes::copy_from_slice(&entry.body), etag, coded, entry }
}

fn send(page: &Prepared, asked: &HeaderMap) -> http::Result<Answer> {
    let entry = &page.entry;
    if entry.status == 200 && header(asked, IF_NONE_MATCH).contains(&page.etag) {
        return Response::builder().status(304).header(ETAG, &page.etag).body(Full::default());
    }
    let accepted = page.coded.as_ref().filter(|(coding, _)| accepts(asked, coding.token()));
    let mut answer = Response::builder().status(entry.status);
    for (name, value) in &entry.headers {
        answer = answer.header(name, value);
    }
    if entry.status == 200 {
        answer = answer.header(ETAG, &page.etag);
    }
    if page.coded.is_some() {
        answer = answer.header(VARY, "accept-encoding");
    }
    if let Some((coding, _)) = accepted {
        answer = answer.header(CONTENT_ENCODING, coding.token());
    }
    answer.body(Full::new(accepted.map_or(&page.plain, |(_, body)| body).clone()))
}

/// Whether Accept-Encoding names the coding and does not refuse it with `q=0` (RFC 9110 §12.5.3).
fn accepts(asked: &HeaderMap, token: &str) -> bool {
    header(asked, ACCEPT_ENCODING).split(',').any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(token));
        let refused = parts.any(|part| part.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0));
        named && !refused
    })
}
