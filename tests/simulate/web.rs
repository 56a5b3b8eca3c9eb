//! The network of a world: answers take time, break off, or do not come.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use seine::fetch::network::{DnsAnswer, Network, NetworkFuture};
use seine_parse::page::{Failure, FailureReason};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::machine::system;
use crate::machine::turns::Threads;
use crate::oracle::Oracle;
use crate::world::{Answer, Reply, Request, Resolved, World};

/// The world's web, seen from the crawl's machine.
pub struct Web {
    pub state: Mutex<State>,
    threads: Arc<Threads>,
    begins_ms: u64,
}

pub struct State {
    pub world: World,
    pub oracle: Oracle,
    /// The machine's own troubles.
    pub machine: Machine,
    pub requests: u64,
    /// A digest of all requests and when they were made.
    pub trace: u64,
    /// Whether each request is printed.
    pub tells: bool,
}

#[derive(Default, Clone, Copy)]
pub struct Machine {
    pub no_files: bool,
    pub no_resolver: bool,
    pub no_network: bool,
}

impl Web {
    pub fn new(world: World, oracle: Oracle, threads: Arc<Threads>, tells: bool) -> Web {
        let begins_ms = world.begins_ms;
        let (machine, requests, trace) = (Machine::default(), 0, 0xcbf2_9ce4_8422_2325);
        Web { state: Mutex::new(State { world, oracle, machine, requests, trace, tells }), threads, begins_ms }
    }

    /// The true time.
    pub fn now_ms(&self) -> u64 {
        self.begins_ms + system::true_ms()
    }

    fn ask(&self, request: &Request) -> Answer {
        let state = &mut *self.state.lock();
        state.requests += 1;
        let line = format!("{} {} {}", request.at_ms, request.url, request.ip);
        state.trace =
            line.bytes().fold(state.trace, |trace, byte| (trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let answer = state.world.answer(request);
        if state.tells && crate::oracle::is_told_of(&request.url) {
            eprintln!("  {} asks for {}: {:?}", state.world.day(request.at_ms), request.url, answer.meant);
        }
        state.oracle.asked(&state.world, request, &answer);
        answer
    }
}

impl Network for Web {
    fn resolve<'a>(&'a self, name: &'a str) -> NetworkFuture<'a, DnsAnswer> {
        Box::pin(async move {
            self.threads.happened();
            sleep(Duration::from_millis(20)).await;
            let machine = self.state.lock().machine;
            if machine.no_files {
                return DnsAnswer::NoFile;
            }
            let said = match machine.no_resolver || machine.no_network {
                true => Resolved::Silent,
                false => self.state.lock().world.resolve(name, self.now_ms()),
            };
            match said {
                Resolved::Ips(ips, ttl) => DnsAnswer::Addresses(ips, ttl),
                Resolved::NxDomain => DnsAnswer::NoSuchName,
                Resolved::ServFail => DnsAnswer::Nothing("SERVFAIL".to_owned()),
                Resolved::Silent => {
                    sleep(Duration::from_secs(10)).await;
                    DnsAnswer::Nothing("timed out".to_owned())
                }
            }
        })
    }

    fn get<'a>(
        &'a self,
        url: &'a url::Url,
        ip: IpAddr,
        headers: HeaderMap,
    ) -> NetworkFuture<'a, seine::fetch::network::Answer> {
        Box::pin(async move {
            self.threads.happened();
            let machine = self.state.lock().machine;
            if machine.no_files {
                return Err(failed(FailureReason::OpenFiles, "too many open files"));
            }
            if machine.no_network {
                return Err(failed(FailureReason::NoRoute, "the network is unreachable"));
            }
            let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
            let request = Request { url: url.to_string(), ip, headers, at_ms: self.now_ms() };
            let Answer { after, what, .. } = self.ask(&request);
            sleep(after).await;
            self.threads.happened();
            match what {
                Reply::Refused => Err(failed(FailureReason::ConnectionRefused, "connection refused")),
                Reply::Reset => Err(failed(FailureReason::ConnectionBroken, "connection reset by peer")),
                Reply::Tls => Err(failed(FailureReason::Tls, "invalid peer certificate")),
                Reply::NoRoute => Err(failed(FailureReason::NoRoute, "no route to host")),
                Reply::Hang => std::future::pending().await,
                Reply::Head { status, headers, body, cut_at, bytes_per_second } => {
                    let mut response = http::Response::builder().status(status);
                    for (name, value) in headers {
                        response = response.header(name, value);
                    }
                    let body = match (cut_at, bytes_per_second) {
                        (None, None) => reqwest::Body::from(body),
                        (cut_at, rate) => reqwest::Body::wrap(Coming::new(body, cut_at, rate)),
                    };
                    Ok(response.body(body).expect("a world's headers are valid"))
                }
            }
        })
    }
}

fn failed(reason: FailureReason, message: &str) -> Failure {
    Failure { reason, message: message.to_owned() }
}

/// A body that comes slowly, or breaks off.
struct Coming {
    body: Bytes,
    /// Bytes that arrive before the connection breaks.
    until: Option<usize>,
    sent: usize,
    /// Bytes for each step, and when the next one comes.
    step: usize,
    next: Option<Pin<Box<Sleep>>>,
}

const STEP: Duration = Duration::from_millis(250);

impl Coming {
    fn new(body: Bytes, until: Option<usize>, rate: Option<u64>) -> Coming {
        let step = rate.map_or(usize::MAX, |rate| (rate / 4).max(1) as usize);
        let next = rate.map(|_| Box::pin(sleep(STEP)));
        Coming { body, until, sent: 0, step, next }
    }
}

impl Body for Coming {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let end = self.until.unwrap_or(usize::MAX).min(self.body.len());
        if self.sent < end {
            if let Some(next) = &mut self.next {
                if next.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                *next = Box::pin(sleep_until(Instant::now() + STEP));
            }
            let until = self.sent.saturating_add(self.step).min(end);
            let piece = self.body.slice(self.sent..until);
            self.sent = until;
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if self.until.is_some() {
            self.until = None;
            self.sent = self.body.len();
            return Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())));
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.body.len() - self.sent.min(self.body.len())) as u64)
    }
}
