//! Mishaps: which URLs or hosts are struck, by what, and when. Each has a sentence for the story of a world.

use std::fmt;
use std::net::IpAddr;

use super::web::{Host, Page};
use super::{DAY, HOUR, MINUTE, World, span};

#[derive(Debug, Clone, PartialEq)]
pub struct Mishap {
    pub who: Who,
    pub what: What,
    pub when: When,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Who {
    /// This URL.
    Page(String),
    /// URLs that begin with this.
    Pattern(String),
    /// The host of this name.
    Host(String),
    /// All hosts of this registrable domain.
    Domain(String),
    Address(IpAddr),
    Everybody,
}

/// The fault of a mishap: the answer, or the lack of one.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// With Retry-After, in seconds.
    Status(u16, Option<u64>),
    /// The body breaks off after this percentage of it.
    Cut(u8),
    /// A 206, although nobody asked for a part, with this percentage of the body.
    Part(u8),
    Empty,
    /// A 204 with the headers of the page.
    NoContent,
    /// Each URL has a wrong page of its own.
    WrongBody,
    /// All URLs have the same page.
    SameBody,
    /// A redirect to this path of the same host, or to this URL.
    RedirectTo(String),
    /// Only robots.txt is wrong.
    Robots(WrongRobots),
    /// Every page asks not to be indexed, in a header.
    Noindex,
    /// The name does not exist.
    NxDomain,
    /// The name servers fail.
    ServFail,
    /// The name servers do not answer.
    NoName,
    Refused,
    Reset,
    Tls,
    NoRoute,
    /// Connections are accepted, and no answer comes.
    Hang,
    /// Bytes per second.
    SlowBody(u64),
    /// Milliseconds until the answer begins.
    SlowHead(u64),
    Headers(WrongHeaders),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongRobots {
    DisallowAll,
    /// All but these rules: a delay of so many seconds.
    Delay(u64),
    Status(u16),
    /// The file is truncated in its middle.
    Cut,
    /// An HTML page is answered instead.
    Html,
    /// A redirect to `/login`.
    Redirect,
    Hang,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongHeaders {
    /// Every page has the same ETag.
    OneEtag,
    /// Pages were last modified next year.
    ModifiedLater,
    /// Every conditional request is answered with 304.
    NeverModified,
    /// The header says gzip, but the body is not compressed.
    NotGzip,
    /// No Content-Type.
    Untyped,
}

#[derive(Debug, Clone, PartialEq)]
pub struct When {
    pub from: u64,
    /// The end, excluded.
    pub until: u64,
    pub which: Which,
}

/// The answers in this time that are struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    All,
    /// The first answers that each URL ever gets, up to this number.
    First(u32),
    /// Only answers for URLs that were requested before.
    Known,
    /// Every n-th answer of a URL.
    Every(u32),
    /// This number of answers in all.
    Some(u32),
}

impl Mishap {
    /// Whether a URL is struck. `asked`: the number of earlier requests for it. `struck`: how often this mishap struck before.
    pub fn strikes(&self, host: Option<&Host>, url: &str, ip: IpAddr, at: u64, (asked, struck): (u32, u32)) -> bool {
        let is_now = (self.when.from..self.when.until).contains(&at);
        is_now
            && self.who.is(host, url, ip)
            && match self.when.which {
                Which::All => true,
                Which::First(few) => asked < few,
                Which::Known => asked > 0,
                Which::Every(so_many) => (asked + 1).is_multiple_of(so_many),
                Which::Some(few) => struck < few,
            }
    }

    /// Whether it prevents connections or any answer, for all URLs.
    pub fn is_of_connection(&self) -> bool {
        use What::*;
        matches!(self.what, NxDomain | ServFail | NoName | Refused | Reset | Tls | NoRoute | Hang)
    }

    /// Whether the program may charge it to the host.
    pub fn may_trouble(&self) -> bool {
        let may = |status: u16| status == 429 || status >= 500;
        match self.what {
            What::Status(status, _) | What::Robots(WrongRobots::Status(status)) => may(status),
            What::Robots(WrongRobots::Cut | WrongRobots::Hang)
            | What::Cut(_)
            | What::Part(_)
            | What::SlowHead(_)
            | What::SlowBody(_) => true,
            What::Headers(headers) => headers == WrongHeaders::NotGzip,
            _ => self.is_of_connection(),
        }
    }
}

impl Who {
    pub fn is(&self, host: Option<&Host>, url: &str, ip: IpAddr) -> bool {
        match self {
            Who::Page(page) => page == url,
            Who::Pattern(beginning) => url.starts_with(beginning.as_str()),
            Who::Host(name) => host.is_some_and(|host| host.name == *name),
            Who::Domain(domain) => host.is_some_and(|host| host.domain == *domain),
            Who::Address(address) => *address == ip,
            Who::Everybody => true,
        }
    }

    /// Whether anything of the host can be struck.
    pub fn touches(&self, host: &Host) -> bool {
        match self {
            Who::Page(url) | Who::Pattern(url) => url.starts_with(&format!("{}/", host.origin())),
            Who::Host(name) => host.name == *name,
            Who::Domain(domain) => host.domain == *domain,
            Who::Address(address) => host.address == *address,
            Who::Everybody => true,
        }
    }
}

/// Generates mishaps, which all end before the calm begins.
pub fn generate(world: &World, rng: &mut fastrand::Rng) -> Vec<Mishap> {
    let count = match rng.u32(..10) {
        0 => 0,
        1..4 => 1,
        4..8 => rng.usize(2..5),
        _ => rng.usize(5..12),
    };
    (0..count).filter_map(|_| one(world, rng)).collect()
}

fn one(world: &World, rng: &mut fastrand::Rng) -> Option<Mishap> {
    let host = some_host(world, rng)?;
    let who = who(host, rng);
    let when = when(world, rng);
    let what = what(&who, host, rng);
    // Faults of names strike whole hosts.
    let is_of_names = matches!(what, What::NxDomain | What::ServFail | What::NoName);
    let who = match who {
        Who::Page(_) | Who::Pattern(_) | Who::Address(_) if is_of_names => Who::Host(host.name.clone()),
        Who::Page(_) | Who::Pattern(_) if matches!(what, What::Robots(_)) => Who::Host(host.name.clone()),
        who => who,
    };
    Some(Mishap { who, what, when })
}

/// Large hosts are struck more often, because they have more pages to lose.
fn some_host<'w>(world: &'w World, rng: &mut fastrand::Rng) -> Option<&'w Host> {
    let pages = world.hosts.iter().map(|host| host.pages.len()).sum::<usize>();
    if rng.bool() && pages > 0 {
        let mut at = rng.usize(..pages);
        return world.hosts.iter().find(|host| {
            let is_it = at < host.pages.len();
            at = at.saturating_sub(host.pages.len());
            is_it
        });
    }
    rng.choice(&world.hosts)
}

fn who(host: &Host, rng: &mut fastrand::Rng) -> Who {
    let url = |page: &Page| format!("{}{}", host.origin(), page.path);
    match rng.u32(..20) {
        0..3 => rng.choice(&host.pages).map_or(Who::Everybody, |page| Who::Page(url(page))),
        3..7 => {
            let of = rng.choice(&host.pages).map_or_else(String::new, url);
            let until = of.rfind('/').map_or(0, |at| at + 1).max(host.origin().len() + 1).min(of.len());
            Who::Pattern(of[..until].to_owned())
        }
        7..14 => Who::Host(host.name.clone()),
        14..16 => Who::Domain(host.domain.clone()),
        16..18 => Who::Address(host.address),
        _ => Who::Everybody,
    }
}

fn when(world: &World, rng: &mut fastrand::Rng) -> When {
    let length = match rng.u32(..12) {
        0..2 => rng.u64(1..MINUTE),
        2..5 => rng.u64(MINUTE..HOUR),
        5..8 => rng.u64(HOUR..6 * HOUR),
        8..10 => rng.u64(6 * HOUR..2 * DAY),
        10 => rng.u64(2 * DAY..6 * DAY),
        _ => rng.u64(6 * DAY..15 * DAY),
    };
    let troubled = world.calm_ms - world.begins_ms;
    let from = match rng.u32(..4) {
        // During the first fetches …
        0 => world.begins_ms + rng.u64(..20 * MINUTE),
        // … during the first rechecks …
        1 => {
            let round = rng.u64(1..=(troubled / world.settings.interval).max(1));
            world.begins_ms + (round * world.settings.interval).saturating_sub(rng.u64(..HOUR))
        }
        // … or at any time.
        _ => world.begins_ms + rng.u64(..troubled),
    };
    let from = from.min(world.calm_ms - 1);
    let which = match rng.u32(..12) {
        0 => Which::First(rng.u32(1..4)),
        1..3 => Which::Known,
        3 => Which::Every(rng.u32(2..5)),
        4 => Which::Some(rng.u32(1..30)),
        _ => Which::All,
    };
    When { from, until: (from + length).min(world.calm_ms), which }
}

fn what(who: &Who, host: &Host, rng: &mut fastrand::Rng) -> What {
    let status =
        |rng: &mut fastrand::Rng| *rng.choice(&[404, 404, 410, 403, 401, 500, 500, 502, 503, 503, 429]).expect("some");
    match rng.u32(..36) {
        0..8 => {
            let status = status(rng);
            let asks = matches!(status, 429 | 503) && rng.bool();
            What::Status(status, asks.then(|| rng.u64(1..7200)))
        }
        8..12 => What::Cut(rng.u8(..100)),
        12..14 => What::Empty,
        14 => What::WrongBody,
        15..17 => What::SameBody,
        17..19 => What::RedirectTo("/login".to_owned()),
        // If many hosts redirected at once, the oracle could not tell which redirect was followed.
        19 if matches!(who, Who::Page(_) | Who::Pattern(_)) => What::RedirectTo(format!("{}/", host.origin())),
        20..24 => What::Robots(match rng.u32(..8) {
            0..3 => WrongRobots::DisallowAll,
            3..5 => WrongRobots::Status(*rng.choice(&[500, 503, 403, 404]).expect("some")),
            5 => WrongRobots::Cut,
            6 => WrongRobots::Html,
            _ => WrongRobots::Delay(rng.u64(1..20)),
        }),
        24..26 => What::Noindex,
        26 if !matches!(who, Who::Everybody) => What::NxDomain,
        27 => What::ServFail,
        28 => What::NoName,
        29 => {
            if rng.u32(..4) == 0 {
                What::NoRoute
            } else {
                What::Refused
            }
        }
        30 => What::Reset,
        31 => What::Hang,
        32 => What::Tls,
        33 => What::SlowBody(rng.u64(100..5000)),
        34 => {
            // The header timeout includes the look-up of the name, so nobody can say who is first in the last moment before it.
            let ms = rng.u64(1000..40_000);
            What::SlowHead(if (19_900..20_000).contains(&ms) { 19_900 } else { ms })
        }
        _ => What::Headers(
            *rng.choice(&[
                WrongHeaders::OneEtag,
                WrongHeaders::ModifiedLater,
                WrongHeaders::NeverModified,
                WrongHeaders::NotGzip,
                WrongHeaders::Untyped,
            ])
            .expect("some"),
        ),
    }
}

impl Mishap {
    /// For people.
    pub fn describe(&self, world: &World) -> String {
        let which = match self.when.which {
            Which::All => String::new(),
            Which::First(few) => format!(", but only to the first {few} requests for each URL"),
            Which::Known => ", but only for URLs that were asked for before".to_owned(),
            Which::Every(so_many) => format!(", at one request in {so_many} for a URL"),
            Which::Some(few) => format!(", {few} times"),
        };
        let When { from, until, .. } = self.when;
        format!("From {} for {}: {}: {}{which}.", world.day(from), span(until - from), self.who, self.what)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Who::Page(url) => write!(out, "{url}"),
            Who::Pattern(beginning) => write!(out, "all URLs {beginning}*"),
            Who::Host(name) => write!(out, "the host {name}"),
            Who::Domain(domain) => write!(out, "all hosts of {domain}"),
            Who::Address(ip) => write!(out, "all hosts at {ip}"),
            Who::Everybody => write!(out, "the whole web"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            What::Status(status, None) => write!(out, "answers {status}"),
            What::Status(status, Some(seconds)) => write!(out, "answers {status} with Retry-After: {seconds}"),
            What::Cut(percent) => write!(out, "bodies break off after {percent} % of their bytes"),
            What::Part(percent) => write!(out, "answers 206 with the first {percent} % of the body"),
            What::Empty => write!(out, "answers 200 with an empty body"),
            What::NoContent => write!(out, "answers 204 with the headers of the page"),
            What::WrongBody => write!(out, "answers 200 with another page than usual"),
            What::SameBody => write!(out, "answers 200 with the same page for every URL"),
            What::RedirectTo(to) => write!(out, "redirects everything to {to}"),
            What::Robots(WrongRobots::DisallowAll) => write!(out, "robots.txt says Disallow: /"),
            What::Robots(WrongRobots::Delay(seconds)) => write!(out, "robots.txt asks for a delay of {seconds} s"),
            What::Robots(WrongRobots::Status(status)) => write!(out, "robots.txt answers {status}"),
            What::Robots(WrongRobots::Cut) => write!(out, "robots.txt breaks off"),
            What::Robots(WrongRobots::Html) => write!(out, "robots.txt is an HTML page"),
            What::Robots(WrongRobots::Redirect) => write!(out, "robots.txt redirects to /login"),
            What::Robots(WrongRobots::Hang) => write!(out, "no answer comes for robots.txt"),
            What::Noindex => write!(out, "every page says X-Robots-Tag: noindex"),
            What::NxDomain => write!(out, "the name does not exist"),
            What::ServFail => write!(out, "the name servers answer SERVFAIL"),
            What::NoName => write!(out, "the name servers do not answer"),
            What::Refused => write!(out, "connections are refused"),
            What::Reset => write!(out, "connections are reset"),
            What::Tls => write!(out, "the TLS handshake fails"),
            What::NoRoute => write!(out, "there is no route"),
            What::Hang => write!(out, "connections hang"),
            What::SlowBody(rate) => write!(out, "bodies come at {rate} bytes per second"),
            What::SlowHead(ms) => write!(out, "answers begin after {}", span(*ms)),
            What::Headers(WrongHeaders::OneEtag) => write!(out, "every page has the same ETag"),
            What::Headers(WrongHeaders::ModifiedLater) => write!(out, "every Last-Modified is a year ahead"),
            What::Headers(WrongHeaders::NeverModified) => write!(out, "conditional requests always get 304"),
            What::Headers(WrongHeaders::NotGzip) => write!(out, "Content-Encoding says gzip, and bodies are not"),
            What::Headers(WrongHeaders::Untyped) => write!(out, "answers have no Content-Type"),
        }
    }
}
