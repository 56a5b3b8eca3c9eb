//! Cookies (RFC 6265): the configured ones, and those set by one URL's redirects.

use std::net::Ipv4Addr;

use cookie_store::{CookieStore, RawCookie};
use seine_parse::page::Headers;
use url::Url;

use crate::config::{Cookie, Secret};

/// Cookies set by the responses of one URL's redirects, and forgotten after it. Some sites redirect to the same URL
/// until their cookie comes back.
#[derive(Default)]
pub(crate) struct Jar(CookieStore);

/// Browsers keep at least this many per domain (RFC 6265 §6.1); a visit needs no more.
const MAX_COOKIES: usize = 50;
/// Maximum bytes of a name and its value (RFC 6265 §6.1).
const MAX_COOKIE: usize = 4096;
/// Maximum bytes of a request's cookies; few servers accept longer headers.
const MAX_SENT: usize = 8192;

impl Jar {
    /// Stores the cookies that the response for `url` sets, and deletes those that it unsets.
    pub(crate) fn take(&mut self, url: &Url, headers: &Headers) {
        for cookie in headers.all("set-cookie").filter_map(|text| read(url, text)) {
            if self.0.iter_unexpired().count() < MAX_COOKIES {
                let _ = self.0.insert_raw(&cookie, url); // an error: the server must not set this cookie
            }
        }
    }

    /// The cookies for a request to `url`, longer paths first (RFC 6265 §5.4).
    pub(crate) fn cookies_for(&self, url: &Url) -> Option<Secret> {
        let mut cookies = self.0.matches(url);
        cookies.sort_by_key(|it| std::cmp::Reverse(it.path.as_ref().len()));
        let mut sent = String::new();
        for cookie in cookies {
            let (between, (name, value)) = (if sent.is_empty() { "" } else { "; " }, cookie.name_value());
            if sent.len() + name.len() + value.len() + 3 > MAX_SENT {
                break;
            }
            sent.extend([between, name, "=", value]);
        }
        (!sent.is_empty()).then(|| Secret::new(sent))
    }
}

/// None for a cookie that the server must not set, or that cannot be sent. The store checks neither the length nor the
/// public suffixes, and lets plain http set secure cookies.
fn read<'t>(url: &Url, text: &'t str) -> Option<RawCookie<'t>> {
    if !text.is_ascii() || text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return None;
    }
    let mut cookie = RawCookie::parse(text).ok()?;
    let domain = cookie.domain().map(str::to_ascii_lowercase);
    if let Some(domain) = domain.filter(|domain| is_public_suffix(domain)) {
        // The host's own, if it is one.
        if url.host_str() != Some(&domain) {
            return None;
        }
        cookie.unset_domain();
    }
    let is_short = cookie.name().len() + cookie.value().len() <= MAX_COOKIE;
    let may_be_secure = cookie.secure() != Some(true) || url.scheme() == "https";
    (is_short && may_be_secure).then_some(cookie)
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
