//! Cookies (RFC 6265): the configured ones, and those set during one visit.

use std::net::Ipv4Addr;
use std::time::SystemTime;

use seine_parse::page::Headers;
use seine_system::clock::now_ms;
use url::Url;

use crate::config::{Cookie, Secret};

/// Cookies set by the responses of one URL's redirects, and forgotten after it. Some sites redirect to the same URL
/// until their cookie comes back.
#[derive(Default)]
pub(crate) struct Jar(Vec<Set>);

/// A cookie as set by a response.
struct Set {
    name: String,
    value: Secret,
    domain: String,
    /// Only for the host that set it.
    is_host_only: bool,
    path: String,
    /// For https only.
    is_secure: bool,
}

/// Browsers keep at least this many per domain (RFC 6265 §6.1); a visit needs no more.
const MAX_COOKIES: usize = 50;
/// Maximum bytes of a name and its value (RFC 6265 §6.1).
const MAX_COOKIE: usize = 4096;
/// Maximum bytes of a request's cookies; few servers accept longer headers.
const MAX_SENT: usize = 8192;

impl Jar {
    /// Stores the cookies that the response for `url` sets, and deletes those that it unsets.
    pub fn take(&mut self, url: &Url, headers: &Headers) {
        for value in headers.all("set-cookie") {
            let Some((cookie, is_gone)) = read(url, value) else { continue };
            self.0.retain(|it| (&it.name, &it.domain, &it.path) != (&cookie.name, &cookie.domain, &cookie.path));
            if !is_gone && self.0.len() < MAX_COOKIES {
                self.0.push(cookie);
            }
        }
    }

    /// The cookies for a request to `url`, longer paths first (RFC 6265 §5.4).
    pub fn cookies_for(&self, url: &Url) -> Option<Secret> {
        let host = url.host_str()?;
        let mut cookies: Vec<&Set> = self.0.iter().filter(|it| it.is_for(url, host)).collect();
        cookies.sort_by_key(|it| std::cmp::Reverse(it.path.len()));
        let mut sent = String::new();
        for Set { name, value, .. } in cookies {
            let (between, value) = (if sent.is_empty() { "" } else { "; " }, value.expose());
            if sent.len() + name.len() + value.len() + 3 > MAX_SENT {
                break;
            }
            sent.extend([between, name, "=", value]);
        }
        (!sent.is_empty()).then(|| Secret::new(sent))
    }
}

impl Set {
    fn is_for(&self, url: &Url, host: &str) -> bool {
        let is_host = if self.is_host_only { host == self.domain } else { domain_matches(host, &self.domain) };
        is_host && path_matches(url.path(), &self.path) && (!self.is_secure || url.scheme() == "https")
    }
}

/// RFC 6265 §5.2 and §5.3; true: it is unset. None for a cookie that the server must not set, or that cannot be sent.
fn read(url: &Url, text: &str) -> Option<(Set, bool)> {
    let host = url.host_str()?;
    let mut parts = text.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let is_sendable = (name.len() + value.len() <= MAX_COOKIE) && !name.is_empty() && text.is_ascii();
    if !is_sendable || text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return None;
    }
    let mut cookie = Set {
        name: name.to_owned(),
        value: Secret::new(value),
        domain: host.to_owned(),
        is_host_only: true,
        path: default_path(url),
        is_secure: false,
    };
    let (mut max_age, mut expires) = (None, None);
    for part in parts {
        let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match attribute.trim().to_ascii_lowercase().as_str() {
            "domain" if !value.is_empty() => {
                let domain = value.strip_prefix('.').unwrap_or(value).to_ascii_lowercase();
                cookie.is_host_only = false;
                cookie.domain = domain;
            }
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.is_secure = true,
            "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
            "expires" => expires = httpdate::parse_http_date(value).ok().or(expires),
            _ => {}
        }
    }
    if !cookie.is_host_only && is_public_suffix(&cookie.domain) {
        cookie.is_host_only = true; // the host's own, if it is one; nobody's otherwise
    }
    let may_set = domain_matches(host, &cookie.domain) && (!cookie.is_secure || url.scheme() == "https");
    let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(now_ms());
    let is_gone = max_age.map_or_else(|| expires.is_some_and(|at| at <= now), |seconds| seconds <= 0);
    may_set.then_some((cookie, is_gone))
}

/// RFC 6265 §5.1.4: up to the last slash.
fn default_path(url: &Url) -> String {
    let path = url.path();
    match path.rfind('/') {
        Some(at) if at > 0 => path[..at].to_owned(),
        _ => "/".to_owned(),
    }
}

/// Whether anybody can register a name below it (`com`, `github.io`), so that a cookie for it would go to strangers.
fn is_public_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes()).is_some_and(|suffix| suffix.as_bytes() == domain.as_bytes())
}

/// The configured cookies for a request to `url`.
pub(super) fn configured<'c>(cookies: &'c [Cookie], url: &Url) -> Vec<&'c str> {
    let Some(host) = url.host_str() else { return Vec::new() };
    let matching = cookies.iter().filter(|it| domain_matches(host, &it.domain) && path_matches(url.path(), &it.path));
    matching.map(|it| it.cookie.expose()).collect()
}

/// RFC 6265 §5.1.3. An IP address matches only itself.
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
