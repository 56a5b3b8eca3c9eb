//! A simulated network that answers DNS lookups and requests. Everything above it (limits, decoding, cookies, DNS
//! cache, robots.txt, redirects) is the production code.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::response::Parts;
use hyper_util::client::legacy::connect::HttpInfo;
use seine_parse::page::{Failure, FailureReason};

use super::answer::Incoming;
use super::dns::Dns;

pub type NetworkFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The simulated Internet.
pub trait Network: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str) -> NetworkFuture<'a, DnsAnswer>;
    /// Requests `url` from the server at `ip`. The body may arrive later, or break off.
    fn get<'a>(&'a self, url: &'a url::Url, ip: IpAddr, headers: HeaderMap) -> NetworkFuture<'a, Answer>;
}

/// The answer of DNS servers for a name.
#[derive(Debug, Clone)]
pub enum DnsAnswer {
    Addresses(Vec<IpAddr>, Duration),
    NoSuchName,
    /// They failed or were silent.
    Nothing(String),
    /// This process could open no socket.
    NoFile,
}

pub type Answer = Result<http::Response<reqwest::Body>, Failure>;

pub(super) struct Simulated(pub Arc<dyn Network>);

impl Simulated {
    pub(super) async fn get(
        &self,
        url: &url::Url,
        headers: HeaderMap,
        dns: &Dns,
    ) -> Result<(Parts, Incoming), Failure> {
        let host = url.host_str().unwrap_or_default();
        let found = dns.resolve_for_connecting(host).await.map_err(|error| error.failure())?;
        let mut refused = Failure { reason: FailureReason::Connect, message: "no address".to_owned() };
        // As a connector does: tries one address after the other.
        for socket in found {
            let answer = self.0.get(url, socket.ip(), headers.clone()).await;
            let mut response = match answer {
                Ok(response) => response,
                Err(failure) if is_unconnected(&failure) => {
                    refused = failure;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            response.extensions_mut().insert(Connected(socket));
            return Ok(Incoming::of(response, None));
        }
        Err(refused)
    }
}

fn is_unconnected(failure: &Failure) -> bool {
    matches!(failure.reason, FailureReason::Connect | FailureReason::ConnectionRefused | FailureReason::NoRoute)
}

/// The address that answered; hyper's own type for this has no constructor.
#[derive(Clone)]
pub(super) struct Connected(pub SocketAddr);

/// The address that answered, for any transport.
pub(super) fn address_of(head: &Parts) -> Option<IpAddr> {
    let real = head.extensions.get::<HttpInfo>().map(|info| info.remote_addr().ip());
    real.or_else(|| head.extensions.get::<Connected>().map(|connected| connected.0.ip()))
}
