//! The answers of the web: the right ones, or those that a mishap changes.

use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::body::wrong;
use super::mishap::{What, WrongHeaders, WrongRobots};
use super::web::{Host, Media, Robots, Rules};
use super::{DAY, World, split};

/// A name's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    Ips(Vec<IpAddr>, Duration),
    NxDomain,
    ServFail,
    Silent,
}

#[derive(Debug, Clone)]
pub struct Request {
    /// As it is asked for.
    pub url: String,
    pub ip: IpAddr,
    pub headers: Vec<(String, String)>,
    pub at_ms: u64,
}

#[derive(Debug, Clone)]
pub struct Answer {
    /// From the request on.
    pub after: Duration,
    pub what: Reply,
    /// For the oracle.
    pub meant: Meant,
}

#[derive(Debug, Clone)]
pub enum Reply {
    Refused,
    Reset,
    Hang,
    Tls,
    NoRoute,
    Head {
        status: u16,
        headers: Vec<(String, String)>,
        body: Bytes,
        /// The connection breaks after this number of bytes of the body.
        cut_at: Option<usize>,
        bytes_per_second: Option<u64>,
    },
}

/// The meaning of an answer that arrives completely.
#[derive(Debug, Clone, PartialEq)]
pub struct Meant {
    /// The mishap that changed the answer.
    pub mishap: Option<usize>,
    pub says: Says,
    /// The body breaks off.
    pub is_cut: bool,
    /// `Retry-After` in milliseconds.
    pub retry_after: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Says {
    /// No answer at all.
    Nothing,
    /// A robots.txt.
    Rules(Rules),
    /// A 2xx. `version`: that of the page; none: the page of a mishap.
    Page {
        version: Option<u32>,
        digest: String,
        is_empty: bool,
        noindex: bool,
    },
    NotModified {
        noindex: bool,
    },
    /// To this URL.
    Redirect(String),
    /// 404 or 410.
    Missing,
    /// Another status.
    Status(u16),
}

/// An answer that is being built.
struct Draft {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    says: Says,
}

impl World {
    pub fn resolve(&self, name: &str, at_ms: u64) -> Resolved {
        let Some(host) = self.hosts.iter().find(|host| host.name == name) else { return Resolved::NxDomain };
        let is_now = |what: &What| {
            let mut mishaps = self.mishaps.iter().filter(|mishap| mishap.what == *what);
            mishaps.any(|mishap| (mishap.when.from..mishap.when.until).contains(&at_ms) && mishap.who.touches(host))
        };
        match () {
            () if is_now(&What::NoName) => Resolved::Silent,
            () if is_now(&What::ServFail) => Resolved::ServFail,
            () if is_now(&What::NxDomain) => Resolved::NxDomain,
            () => Resolved::Ips(vec![host.address], Duration::from_secs(300)),
        }
    }

    pub fn answer(&mut self, request: &Request) -> Answer {
        let Request { url, ip, at_ms, .. } = request;
        let asked = self.past.asked.entry(url.clone()).or_default();
        *asked += 1;
        let counts = *asked - 1;
        let host = self.host_of(url);
        let is_robots = split(url).1 == "/robots.txt";
        let strikes = |(nth, mishap): &(usize, &super::Mishap)| {
            let is_for = !matches!(mishap.what, What::NxDomain | What::ServFail | What::NoName)
                && (is_robots || !matches!(mishap.what, What::Robots(_)));
            is_for && mishap.strikes(host, url, *ip, *at_ms, (counts, self.past.struck[*nth]))
        };
        let mishap = self.mishaps.iter().enumerate().find(strikes).map(|(nth, mishap)| (nth, mishap.what.clone()));
        let mut answer = match &mishap {
            None => self.usual(request).answer(self, request),
            Some((_, what)) => self.unusual(request, what),
        };
        if let Some((nth, _)) = mishap {
            answer.meant.mishap = Some(nth);
            self.past.struck[nth] += 1;
        }
        answer
    }

    /// The answer of the web without mishaps.
    fn usual(&self, request: &Request) -> Draft {
        let (url, at) = (&request.url, request.at_ms);
        let Some(host) = self.host_of(url) else { return Draft::status(404) };
        let (origin, path) = split(url);
        if let Some(other) = host.forwards.and_then(|id| self.host(id)) {
            return Draft::redirect(301, format!("{}{path}", other.origin()));
        }
        if path == "/robots.txt" {
            return match host.robots_at(at) {
                Robots::Missing => Draft::status(404),
                Robots::Error(status) => Draft::status(*status),
                Robots::Rules(rules) => Draft::robots(rules.clone(), origin),
            };
        }
        if path == "/sitemap.xml" && host.has_sitemap {
            return Draft::found("application/xml", self.sitemap(host, at), None, false);
        }
        if let Some(number) = self.trap_number(host, path) {
            return Draft::found("text/html; charset=utf-8", self.trap_body(host, number), Some(0), false);
        }
        let Some((_, page)) = self.page_at(url).filter(|(_, page)| page.is_there(at)) else {
            return Draft::status(host.missing);
        };
        if let Some(moved) = page.moved_at(at) {
            return match self.url_of_link(&moved.to) {
                Some(to) => Draft::redirect(moved.status, to),
                None => Draft::status(host.missing),
            };
        }
        let (owner, page) = self.content(host, page);
        let version = page.version_at(at);
        let etag = page.has_etag.then(|| format!("\"{}-{version}\"", page.id));
        let modified = page.begins(version).max(self.begins_ms - 1000 * u64::from(page.id));
        let modified = page.has_last_modified.then(|| date(modified));
        let asks =
            |name: &str| request.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let is_same = match (asks("if-none-match"), asks("if-modified-since")) {
            (Some(known), _) => etag.as_ref().is_some_and(|etag| known.contains(etag.as_str())),
            (None, Some(known)) => modified.as_ref() == Some(known),
            (None, None) => false,
        };
        let mut draft = match is_same {
            true => Draft { says: Says::NotModified { noindex: false }, ..Draft::status(304) },
            false => {
                let media =
                    if page.media == Media::Html { "text/html; charset=utf-8" } else { "text/plain; charset=utf-8" };
                let noindex = page.is_noindex(page.begins(version));
                Draft::found(media, self.body(owner, page, version), Some(version), noindex)
            }
        };
        draft.headers.extend(etag.map(|etag| ("etag".to_owned(), etag)));
        draft.headers.extend(modified.map(|modified| ("last-modified".to_owned(), modified)));
        draft
    }

    pub(super) fn trap_number(&self, host: &Host, path: &str) -> Option<u64> {
        let trap = host.trap.as_ref()?;
        path.strip_prefix(trap.prefix.as_str())?.parse().ok().filter(|number| trap.has(*number))
    }

    /// Changes an answer as a mishap demands.
    fn unusual(&self, request: &Request, what: &What) -> Answer {
        let nothing = |what: Reply| Answer { after: Duration::from_millis(30), what, meant: Meant::of(Says::Nothing) };
        let host = self.host_of(&request.url);
        let (origin, path) = split(&request.url);
        let draft = match what {
            What::NxDomain | What::ServFail | What::NoName => self.usual(request),
            What::Refused => return nothing(Reply::Refused),
            What::Tls if host.is_some_and(|host| host.is_https) => return nothing(Reply::Tls),
            What::Reset | What::Tls => return nothing(Reply::Reset),
            What::NoRoute => return nothing(Reply::NoRoute),
            What::Hang | What::Robots(WrongRobots::Hang) => return nothing(Reply::Hang),
            What::Status(status, after) => {
                let mut draft = Draft::status(*status);
                draft.headers.extend(after.map(|seconds| ("retry-after".to_owned(), seconds.to_string())));
                draft
            }
            What::Empty => Draft::found("text/html; charset=utf-8", String::new(), None, false),
            What::NoContent => self.usual(request).without_content(),
            What::Part(percent) => self.usual(request).part(*percent),
            What::WrongBody => {
                Draft::found("text/html; charset=utf-8", wrong("another page", Some(&request.url)), None, false)
            }
            What::SameBody => Draft::found("text/html; charset=utf-8", wrong("work in progress", None), None, false),
            What::RedirectTo(to) if path == to || request.url == *to => {
                Draft::found("text/html; charset=utf-8", wrong("please log in", None), None, false)
            }
            What::RedirectTo(to) if to.starts_with('/') => Draft::redirect(302, format!("{origin}{to}")),
            What::RedirectTo(to) => Draft::redirect(302, to.clone()),
            What::Robots(robots) => self.wrong_robots(request, *robots),
            What::Noindex => self.usual(request).noindex(),
            What::Headers(headers) => self.wrong_headers(request, *headers),
            What::Cut(_) | What::SlowBody(_) | What::SlowHead(_) => self.usual(request),
        };
        let mut answer = draft.answer(self, request);
        match (what, &mut answer.what) {
            (What::Part(_), Reply::Head { status, .. }) => answer.meant.is_cut = *status == 206,
            (What::Cut(percent), Reply::Head { body, cut_at, .. }) if !body.is_empty() => {
                *cut_at = Some(body.len() * usize::from(*percent) / 100);
                answer.meant.is_cut = true;
            }
            (What::Robots(WrongRobots::Cut), Reply::Head { body, cut_at, .. }) => {
                *cut_at = Some(body.len() / 2);
                answer.meant.is_cut = true;
            }
            (What::SlowBody(rate), Reply::Head { bytes_per_second, .. }) => *bytes_per_second = Some(*rate),
            (What::SlowHead(ms), _) => answer.after = Duration::from_millis(*ms),
            _ => {}
        }
        answer
    }

    fn wrong_robots(&self, request: &Request, robots: WrongRobots) -> Draft {
        let (origin, _) = split(&request.url);
        let usual = || match self.host_of(&request.url).map(|host| host.robots_at(request.at_ms)) {
            Some(Robots::Rules(rules)) => rules.clone(),
            _ => Rules::default(),
        };
        match robots {
            WrongRobots::DisallowAll => {
                Draft::robots(Rules { disallow: vec!["/".to_owned()], ..Rules::default() }, origin)
            }
            WrongRobots::Delay(seconds) => Draft::robots(Rules { delay: Some(seconds * 1000), ..usual() }, origin),
            WrongRobots::Status(status) => Draft::status(status),
            WrongRobots::Cut | WrongRobots::Hang => Draft::robots(usual(), origin),
            WrongRobots::Redirect => Draft::redirect(302, format!("{origin}/login")),
            WrongRobots::Html => Draft {
                says: Says::Rules(Rules::default()),
                ..Draft::found("text/html", wrong("welcome", None), None, false)
            },
        }
    }

    fn wrong_headers(&self, request: &Request, wrong: WrongHeaders) -> Draft {
        let is_conditional = request.headers.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("if-"));
        if wrong == WrongHeaders::NeverModified && is_conditional {
            return Draft { says: Says::NotModified { noindex: false }, ..Draft::status(304) };
        }
        let mut draft = self.usual(request);
        if !matches!(draft.says, Says::Page { .. }) {
            return draft;
        }
        let drop = |draft: &mut Draft, name: &str| draft.headers.retain(|(it, _)| it != name);
        match wrong {
            WrongHeaders::OneEtag => {
                drop(&mut draft, "etag");
                draft.headers.push(("etag".to_owned(), "\"same\"".to_owned()));
            }
            WrongHeaders::ModifiedLater => {
                drop(&mut draft, "last-modified");
                draft.headers.push(("last-modified".to_owned(), date(request.at_ms + 365 * DAY)));
            }
            WrongHeaders::NotGzip => draft.headers.push(("content-encoding".to_owned(), "gzip".to_owned())),
            WrongHeaders::Untyped => drop(&mut draft, "content-type"),
            WrongHeaders::NeverModified => {}
        }
        draft
    }
}

impl Draft {
    fn status(status: u16) -> Draft {
        let says = if matches!(status, 404 | 410) { Says::Missing } else { Says::Status(status) };
        let body = if status == 304 { String::new() } else { format!("<title>{status}</title>status {status}\n") };
        Draft { status, headers: vec![("content-type".to_owned(), "text/html".to_owned())], body, says }
    }

    fn redirect(status: u16, to: String) -> Draft {
        let mut draft = Draft::status(status);
        draft.headers.push(("location".to_owned(), to.clone()));
        Draft { says: Says::Redirect(to), ..draft }
    }

    fn robots(rules: Rules, origin: &str) -> Draft {
        let text = rules.text(origin);
        Draft { says: Says::Rules(rules), ..Draft::found("text/plain", text, None, false) }
    }

    fn found(media: &str, body: String, version: Option<u32>, noindex: bool) -> Draft {
        let says = Says::Page { version, digest: digest(&body), is_empty: body.is_empty(), noindex };
        Draft { status: 200, headers: vec![("content-type".to_owned(), media.to_owned())], body, says }
    }

    /// Of a page; others stay as they are.
    fn without_content(self) -> Draft {
        if self.status != 200 || !matches!(self.says, Says::Page { .. }) {
            return self;
        }
        let says = Says::Page { version: None, digest: digest(""), is_empty: true, noindex: false };
        Draft { status: 204, body: String::new(), says, ..self }
    }

    /// Of a page; others stay as they are.
    fn part(mut self, percent: u8) -> Draft {
        if self.status == 200 && matches!(self.says, Says::Page { is_empty: false, .. }) {
            let mut end = self.body.len() * usize::from(percent) / 100;
            while !self.body.is_char_boundary(end) {
                end -= 1;
            }
            self.body.truncate(end);
            self.status = 206;
        }
        self
    }

    fn noindex(mut self) -> Draft {
        self.headers.push(("x-robots-tag".to_owned(), "noindex".to_owned()));
        if let Says::Page { noindex, .. } | Says::NotModified { noindex } = &mut self.says {
            *noindex = true;
        }
        self
    }

    fn answer(mut self, world: &World, request: &Request) -> Answer {
        let host = world.host_of(&request.url);
        if self.status != 304 {
            self.headers.push(("content-length".to_owned(), self.body.len().to_string()));
        }
        if host.is_some_and(|host| host.has_date) {
            self.headers.push(("date".to_owned(), date(request.at_ms)));
        }
        let retry_after = self.headers.iter().find(|(name, _)| name == "retry-after");
        let retry_after = retry_after.and_then(|(_, value)| value.parse().ok()).map(|seconds: u64| seconds * 1000);
        Answer {
            after: Duration::from_millis(host.map_or(10, |host| host.latency)),
            meant: Meant { retry_after, ..Meant::of(self.says) },
            what: Reply::Head {
                status: self.status,
                headers: self.headers,
                body: Bytes::from(self.body),
                cut_at: None,
                bytes_per_second: host.and_then(|host| host.bytes_per_second),
            },
        }
    }
}

impl Meant {
    fn of(says: Says) -> Meant {
        Meant { mishap: None, says, is_cut: false, retry_after: None }
    }
}

pub fn digest(body: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(body.as_bytes()))
}

fn date(ms: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(ms))
}
