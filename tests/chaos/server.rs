//! The servers of the web: each host has an address of 127/8, and all use one port. The weather decides which bytes they
//! send. They log every request with its time, and the campaign is judged by this log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::weather::{self, Answer, HostMood, Sky};
use crate::web::{Target, Web};

/// One request, as the site saw it.
#[derive(Debug, Clone)]
pub struct Visit {
    pub host: usize,
    pub path: String,
    pub arrived: Instant,
    /// Just before the answer's last bytes were sent, or when the connection was seen to be gone: never later than when the
    /// crawl had its answer.
    pub ended: Instant,
    /// Of an answer that was sent whole; 0 for every other.
    pub status: u16,
    /// The Retry-After that was asked for.
    pub asked_rest: Duration,
}

/// Running servers. They end when it is dropped.
pub struct Servers {
    shared: Arc<Shared>,
    _runtime: Runtime,
}

struct Shared {
    web: Web,
    sky: watch::Sender<Sky>,
    visits: Mutex<Vec<Visit>>,
    /// Number of requests for each URL while its host was healthy.
    asked: Mutex<HashMap<(usize, String), u32>>,
    answered: AtomicUsize,
}

impl Servers {
    pub fn start(web: Web) -> Servers {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let sky = watch::Sender::new(Sky::default());
        let shared = Shared { web, sky, visits: Mutex::default(), asked: Mutex::default(), answered: 0.into() };
        let shared = Arc::new(shared);
        for host in
            (0..web.hosts).filter(|host| Web::address(*host) != Web::address(host.saturating_sub(1)) || *host == 0)
        {
            runtime.spawn(listen(shared.clone(), host));
        }
        Servers { shared, _runtime: runtime }
    }

    pub fn set(&self, sky: Sky) {
        self.shared.sky.send_replace(sky);
    }

    /// Number of requests for pages answered so far, with any status.
    pub fn answered(&self) -> usize {
        self.shared.answered.load(Ordering::SeqCst)
    }

    /// Every request so far, in order of arrival.
    pub fn visits(&self) -> Vec<Visit> {
        self.shared.visits.lock().clone()
    }
}

async fn listen(shared: Arc<Shared>, host: usize) {
    let mut sky = shared.sky.subscribe();
    let is_refused = |sky: &Sky| sky.mood(host) == Some(HostMood::Refused);
    loop {
        sky.wait_for(|sky| !is_refused(sky)).await.expect("we hold the sender");
        let listener = TcpListener::bind((Web::address(host), shared.web.port)).await.expect("the web's port is free");
        let mut connections = JoinSet::new();
        let refused = sky.wait_for(is_refused);
        tokio::pin!(refused);
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(converse(stream, shared.clone()));
                    }
                }
                Some(_) = connections.join_next() => {}
                _ = &mut refused => break,
            }
        }
    }
}

async fn converse(mut stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    while let Some((host, path)) = read_request(&mut stream, &shared.web).await {
        let mut noted = Noted::begin(&shared, host, &path);
        let goes_on = reply(&mut stream, shared.answer(host, &path), &mut noted).await;
        if !is_machinery(&path) {
            shared.answered.fetch_add(1, Ordering::SeqCst);
        }
        if !goes_on {
            return;
        }
    }
}

pub fn is_machinery(path: &str) -> bool {
    path == "/robots.txt" || path == "/sitemap.xml"
}

/// The host and path of the next request; none at the connection's end.
async fn read_request(stream: &mut TcpStream, web: &Web) -> Option<(usize, String)> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&buffer[..count]);
    }
    let head = String::from_utf8(head).expect("a request is text");
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let is_host = |line: &&str| line.to_ascii_lowercase().starts_with("host:");
    let name = lines.find(is_host)?[5..].trim();
    let host = web.host(name.rsplit_once(':').map_or(name, |(name, _)| name));
    Some((host.unwrap_or_else(|| panic!("{name} was asked for, and is no host of this web")), path))
}

/// True when the connection goes on.
async fn reply(stream: &mut TcpStream, answer: Answer, noted: &mut Noted<'_>) -> bool {
    match answer {
        Answer::Whole { bytes, pieces, pause } => {
            let size = bytes.len().div_ceil(pieces);
            for (number, piece) in bytes.chunks(size).enumerate() {
                if number > 0 && is_gone_within(stream, pause).await {
                    return false;
                }
                noted.ends();
                if number + 1 == bytes.len().div_ceil(size) {
                    noted.says(&bytes);
                }
                if stream.write_all(piece).await.is_err() {
                    return false;
                }
            }
            true
        }
        Answer::Broken { bytes, resets } => {
            noted.ends();
            let _ = stream.write_all(&bytes).await;
            if resets {
                let _ = stream.set_zero_linger();
            }
            false
        }
        Answer::Silence => {
            let _ = stream.read_u8().await; // until the client has had enough
            noted.ends();
            false
        }
    }
}

async fn is_gone_within(stream: &mut TcpStream, pause: Duration) -> bool {
    tokio::select! {
        _ = stream.read_u8() => true,
        () = tokio::time::sleep(pause) => false,
    }
}

/// A visit in the log; it ends at the latest when this is dropped.
struct Noted<'a> {
    shared: &'a Shared,
    number: usize,
    has_ended: bool,
}

impl<'a> Noted<'a> {
    fn begin(shared: &'a Shared, host: usize, path: &str) -> Noted<'a> {
        let arrived = Instant::now();
        let mut visits = shared.visits.lock();
        visits.push(Visit {
            host,
            path: path.to_owned(),
            arrived,
            ended: arrived,
            status: 0,
            asked_rest: Duration::ZERO,
        });
        Noted { shared, number: visits.len() - 1, has_ended: false }
    }

    /// The last bytes of an answer are about to be sent.
    fn says(&self, answer: &[u8]) {
        let mut visits = self.shared.visits.lock();
        let status = std::str::from_utf8(&answer[9..12]).ok().and_then(|status| status.parse().ok());
        visits[self.number].status = status.expect("an answer begins with its status");
        if memchr::memmem::find(answer, b"retry-after: 1\r\n").is_some() {
            visits[self.number].asked_rest = Duration::from_secs(1);
        }
    }

    /// The last call counts.
    fn ends(&mut self) {
        self.has_ended = true;
        self.shared.visits.lock()[self.number].ended = Instant::now();
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.ends();
        }
    }
}

impl Shared {
    fn answer(&self, host: usize, path: &str) -> Answer {
        if let Some(mood) = self.sky.borrow().mood(host) {
            return weather::of_mood(mood);
        }
        let asked = {
            let mut asked = self.asked.lock();
            let times = asked.entry((host, path.to_owned())).or_insert(0);
            *times += 1;
            *times - 1
        };
        if path == "/robots.txt" {
            return weather::robots(&self.web, host, asked);
        }
        let target = self.web.target(host, path).unwrap_or(Target::Missing(0));
        weather::answer(&self.web, target, asked)
    }
}
