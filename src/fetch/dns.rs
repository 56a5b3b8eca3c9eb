//! DNS resolution: our own cache over hickory, with counts and a negative cache. Private addresses are refused.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use hickory_resolver::Resolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::{DnsError as Semantic, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::Name;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use seine_parse::page::{EpochMs, Failure, FailureReason};
use seine_simulation_hooks::outside::replacement;
use seine_system::clock::now_ms;

use super::address::is_public;
use super::network::{DnsAnswer, Network};
use super::sockets::Sockets;
use super::stages;
use crate::config::FetchConfig;

/// A caching resolver; cheap to clone. Both HTTP clients use it, so connections only go to addresses that were checked
/// here.
#[derive(Clone)]
pub struct Dns(Arc<Inner>);

struct Inner {
    /// None if the system has no usable resolver configuration; names from `static_hosts` still resolve.
    resolver: Option<Resolver<Sockets>>,
    /// In a simulation: replaces the DNS servers.
    simulated: Option<Arc<dyn Network>>,
    sockets: Sockets,
    cache: Cache<String, Answer>,
    static_hosts: BTreeMap<String, Vec<IpAddr>>,
    allow_private: bool,
    negative_ttl: Duration,
    record: Mutex<Record>,
    pub counts: DnsCounts,
}

#[derive(Clone)]
struct Answer {
    addresses: Result<Arc<[IpAddr]>, DnsError>,
    asked: Instant,
    expires: Instant,
}

/// Distinguishes DNS servers that know that a name does not exist from servers that know nothing.
#[derive(Debug, Default)]
struct Record {
    /// The last name for which they returned an address, and when.
    found: Option<(String, Instant)>,
    /// Names without an address according to them since then; at most [`MAX_DENIALS_WITHOUT_ANSWER`].
    denied: Vec<String>,
}

/// Addresses or an error, and how long the result is valid.
type Found = Result<(Arc<[IpAddr]>, Duration), (DnsError, Duration)>;

/// Lookups since the start.
#[derive(Debug, Default)]
pub struct DnsCounts {
    pub cached: AtomicU64,
    pub asked: AtomicU64,
    pub failed: AtomicU64,
    pub refused_private: AtomicU64,
    /// When DNS servers last answered (ms since 1970), even that a name does not exist; 0: never.
    pub answered_ms: AtomicU64,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum DnsError {
    /// The name does not exist, or has no address.
    #[error("{name} has no address: {message}")]
    NoAddress { name: String, message: String },
    /// Unknown: the DNS servers failed (SERVFAIL, REFUSED), were silent or could not be reached.
    #[error("the name servers did not answer for {name}: {message}")]
    Resolver { name: String, message: String },
    /// No lookup was possible: the limit of open files is reached.
    #[error("{name} cannot be resolved: the process has reached its limit of open files")]
    OpenFiles { name: String },
    #[error("{name} is at {ip}, which is not on the public Internet; --allow-private fetches such addresses")]
    Private { name: String, ip: IpAddr },
}

impl DnsError {
    /// The failure of a fetch for a failed lookup.
    pub fn failure(&self) -> Failure {
        let reason = match self {
            DnsError::NoAddress { .. } => FailureReason::Dns,
            DnsError::Resolver { .. } => FailureReason::Resolver,
            DnsError::OpenFiles { .. } => FailureReason::OpenFiles,
            DnsError::Private { .. } => FailureReason::PrivateAddress,
        };
        Failure { reason, message: self.to_string() }
    }
}

/// Limits of the TTL: not too many lookups, but a moved site is found within a day.
const MIN_TTL: Duration = Duration::from_secs(30);
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);
/// If DNS servers returned an address this recently, their answer that a name has none is believed.
const TRUST_DENIALS_FOR: Duration = Duration::from_secs(5);
/// DNS servers that never returned an address and denied this many names are not believed.
const MAX_DENIALS_WITHOUT_ANSWER: usize = 3;
/// How long a failed lookup is cached, so that not all workers repeat it at once.
const RESOLVER_REST: Duration = Duration::from_secs(1);

impl Dns {
    pub fn new(config: &FetchConfig) -> Dns {
        let sockets = Sockets::default();
        let simulated = replacement::<Arc<dyn Network>>();
        let resolver = match simulated {
            Some(_) => None,
            None => resolver(&config.dns_servers, &sockets)
                .inspect_err(
                    |error| tracing::warn!(%error, "no DNS: /etc/resolv.conf cannot be used; only fixed names resolve"),
                )
                .ok(),
        };
        Dns(Arc::new(Inner {
            resolver,
            simulated,
            sockets,
            cache: Cache::new(config.dns_cache_entries),
            static_hosts: config.static_hosts.clone(),
            allow_private: config.allow_private,
            negative_ttl: config.dns_negative_ttl,
            record: Mutex::default(),
            counts: DnsCounts::default(),
        }))
    }

    /// The addresses of a host name or a literal address; private ones are refused unless allowed.
    pub async fn resolve(&self, host: &str) -> Result<Arc<[IpAddr]>, DnsError> {
        if let Some(ip) = literal_address(host) {
            return self.judge(host, Arc::new([ip]));
        }
        let answer = self.cached(&name_of(host)).await;
        answer.addresses.and_then(|addresses| self.judge(host, addresses))
    }

    /// The same for a name without address: ignores the negative cache.
    pub(crate) async fn resolve_again(&self, host: &str) -> Result<Arc<[IpAddr]>, DnsError> {
        let name = name_of(host);
        let is_denial = |answer: &Answer| answer.addresses.is_err() && answer.asked.elapsed() > RESOLVER_REST;
        self.0.cache.remove_if(&name, is_denial);
        self.resolve(host).await
    }

    /// Whether the DNS servers that deny `host` know other names. If their last answer is old, they are asked for a
    /// name that they knew. True if no server was asked.
    pub(crate) async fn knows_others_than(&self, host: &str) -> bool {
        let name = name_of(host);
        let (found, denied) = {
            let record = self.0.record.lock();
            (record.found.clone(), record.denied.clone())
        };
        match found {
            _ if self.0.static_hosts.contains_key(&name) || is_reserved(&name) => true,
            Some((other, _)) if other == name => false,
            Some((_, at)) if at.elapsed() < TRUST_DENIALS_FOR => true,
            Some((other, _)) => self.find(&other).await.is_ok(),
            None => denied.len() < MAX_DENIALS_WITHOUT_ANSWER,
        }
    }

    /// Asks the DNS servers for a name again, whatever is cached. True if they fail or are silent; false for names that
    /// need no server.
    pub(crate) async fn are_servers_silent(&self, host: &str) -> bool {
        let is_name = literal_address(host).is_none();
        is_name && matches!(self.find(&name_of(host)).await, Err((DnsError::Resolver { .. }, _)))
    }

    /// For connectors, which add the port themselves.
    pub(super) async fn resolve_for_connecting(&self, host: &str) -> Result<IntoIter<SocketAddr>, DnsError> {
        let started = Instant::now();
        let found = Dns::resolve(self, host).await;
        stages::looked_up(started.elapsed());
        let sockets: Vec<_> = found?.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        Ok(sockets.into_iter())
    }

    pub fn counts(&self) -> &DnsCounts {
        &self.0.counts
    }

    /// When DNS servers last answered; 0: never.
    pub fn answered_ms(&self) -> EpochMs {
        self.0.counts.answered_ms.load(Ordering::Relaxed)
    }

    async fn cached(&self, name: &str) -> Answer {
        if let Some(answer) = self.0.cache.get(name) {
            if answer.expires > Instant::now() {
                self.0.counts.cached.fetch_add(1, Ordering::Relaxed);
                return answer;
            }
            self.0.cache.remove_if(name, |stale| stale.expires <= Instant::now());
        }
        let look_up = async { Ok::<_, Infallible>(self.look_up(name).await) };
        // Boxed, because it is rare, and every request has the size of it otherwise.
        let Ok(answer) = Box::pin(self.0.cache.get_or_insert_async(name, look_up)).await;
        answer
    }

    async fn look_up(&self, name: &str) -> Answer {
        self.0.counts.asked.fetch_add(1, Ordering::Relaxed);
        let asked = Instant::now();
        let (addresses, holds) = match self.find(name).await {
            Ok((addresses, ttl)) => (Ok(addresses), ttl),
            Err((error, rest)) => (Err(error), rest),
        };
        Answer { addresses, asked, expires: Instant::now() + holds }
    }

    async fn find(&self, name: &str) -> Found {
        match self.0.static_hosts.get(name) {
            Some(fixed) if fixed.is_empty() => return Err(self.no_address(name, "it is configured with none")),
            Some(fixed) => return Ok((fixed.as_slice().into(), MAX_TTL)),
            None => {}
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(([IpAddr::V4(Ipv4Addr::LOCALHOST)].into(), MAX_TTL)); // RFC 6761 §6.3
        }
        let found = match is_reserved(name) {
            true => Err(self.no_address(name, "names below .invalid never exist")),
            false => self.ask(name).await,
        };
        let found = found.and_then(|(addresses, ttl)| match addresses.is_empty() {
            true => Err(self.no_address(name, "the answer holds none")),
            false => Ok((addresses, ttl)),
        });
        self.note(name, &found);
        found.inspect_err(|_| _ = self.0.counts.failed.fetch_add(1, Ordering::Relaxed))
    }

    fn note(&self, name: &str, found: &Found) {
        let mut record = self.0.record.lock();
        match found {
            Ok(_) => *record = Record { found: Some((name.to_owned(), Instant::now())), denied: Vec::new() },
            Err((DnsError::NoAddress { .. }, _)) if !is_reserved(name) => {
                if record.denied.len() < MAX_DENIALS_WITHOUT_ANSWER
                    && !record.denied.iter().any(|denied| denied == name)
                {
                    record.denied.push(name.to_owned());
                }
            }
            Err(_) => {}
        }
    }

    fn no_address(&self, name: &str, message: impl ToString) -> (DnsError, Duration) {
        (DnsError::NoAddress { name: name.to_owned(), message: message.to_string() }, self.0.negative_ttl)
    }

    /// Asks the DNS servers.
    async fn ask(&self, name: &str) -> Found {
        let inner = &*self.0;
        let resolver_failed = |message: String| {
            (DnsError::Resolver { name: name.to_owned(), message }, inner.negative_ttl.min(RESOLVER_REST))
        };
        if let Some(network) = &inner.simulated {
            return self.ask_simulated(network, name).await;
        }
        let Some(resolver) = &inner.resolver else {
            return Err(resolver_failed("the system has no DNS configuration (/etc/resolv.conf)".to_owned()));
        };
        let refused_before = inner.sockets.refused();
        // The trailing dot prevents search domains of the system; names in URLs are complete.
        let full = Name::from_utf8(format!("{name}.")).map_err(|error| self.no_address(name, error))?;
        let mut found = resolver.lookup_ip(full.clone()).await;
        if found.as_ref().is_err_and(lacks_this_type) {
            // Only the lookup of AAAA was answered. The lookup of A may have failed, so it is repeated.
            found = resolver.ipv4_lookup(full).await.map(Into::into);
        }
        if found.as_ref().err().is_none_or(NetError::is_no_records_found) {
            inner.counts.answered_ms.fetch_max(now_ms(), Ordering::Relaxed);
        }
        match found {
            Ok(found) => {
                let ttl = found.valid_until().saturating_duration_since(Instant::now()).clamp(MIN_TTL, MAX_TTL);
                Ok((found.iter().collect(), ttl))
            }
            Err(error) if error.is_no_records_found() => Err(self.no_address(name, error)),
            // The limit of open files on our side, so the result is not cached.
            Err(_) if inner.sockets.refused() > refused_before => {
                Err((DnsError::OpenFiles { name: name.to_owned() }, Duration::ZERO))
            }
            Err(error) => Err(resolver_failed(error.to_string())),
        }
    }

    async fn ask_simulated(&self, network: &Arc<dyn Network>, name: &str) -> Found {
        let failed = |error| (error, self.0.negative_ttl.min(RESOLVER_REST));
        let (name, said) = (name.to_owned(), network.resolve(name).await);
        if matches!(said, DnsAnswer::Addresses(..) | DnsAnswer::NoSuchName) {
            self.0.counts.answered_ms.fetch_max(now_ms(), Ordering::Relaxed);
        }
        match said {
            DnsAnswer::Addresses(addresses, ttl) => Ok((addresses.into(), ttl.clamp(MIN_TTL, MAX_TTL))),
            DnsAnswer::NoSuchName => Err(self.no_address(&name, "no such name")),
            DnsAnswer::Nothing(message) => Err(failed(DnsError::Resolver { name, message })),
            DnsAnswer::NoFile => Err((DnsError::OpenFiles { name }, Duration::ZERO)),
        }
    }

    /// Removes addresses that must not be connected to; an error if none is left.
    fn judge(&self, host: &str, addresses: Arc<[IpAddr]>) -> Result<Arc<[IpAddr]>, DnsError> {
        if self.0.allow_private || addresses.iter().all(|ip| is_public(*ip)) {
            return Ok(addresses);
        }
        let public: Arc<[IpAddr]> = addresses.iter().copied().filter(|ip| is_public(*ip)).collect();
        if public.is_empty() {
            self.0.counts.refused_private.fetch_add(1, Ordering::Relaxed);
            return Err(DnsError::Private { name: host.to_owned(), ip: addresses[0] });
        }
        Ok(public)
    }
}

/// The address that a URL has in place of a name: `192.0.2.1`, `[2001:db8::1]`.
fn literal_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// The name as the caches have it.
fn name_of(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// Never exists (RFC 6761 §6.4).
fn is_reserved(name: &str) -> bool {
    name.rsplit('.').next() == Some("invalid")
}

/// Uses these servers, or the system's if there are none.
fn resolver(servers: &[SocketAddr], sockets: &Sockets) -> Result<Resolver<Sockets>, NetError> {
    let mut builder = match servers {
        [] => Resolver::builder(sockets.clone())?,
        servers => {
            let configs = servers.iter().map(name_server).collect();
            let config = ResolverConfig::from_name_servers(configs);
            Resolver::builder_with_config(config, sockets.clone())
        }
    };
    builder.options_mut().cache_size = 0; // ours is the only cache
    builder.build()
}

fn name_server(at: &SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = at.port();
        connection
    });
    NameServerConfig::new(at.ip(), true, connections.into())
}

/// The name exists, but has no record of this type.
fn lacks_this_type(error: &NetError) -> bool {
    matches!(error, NetError::Dns(Semantic::NoRecordsFound(none)) if none.response_code == ResponseCode::NoError)
}

impl reqwest::dns::Resolve for Dns {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let dns = self.clone();
        Box::pin(async move { Ok(Box::new(dns.resolve_for_connecting(name.as_str()).await?) as reqwest::dns::Addrs) })
    }
}
