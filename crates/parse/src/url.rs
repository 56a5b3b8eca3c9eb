//! URL normalisation: maps different spellings of a URL to one, and so to one row of the frontier.
//!
//! A URL is read like in browsers (the WHATWG URL standard, by the `url` crate) and then brought to one spelling. The
//! rules are those of crawler-commons' `BasicURLNormalizer`, which ACHE and the Nutch family use:
//!
//! | part | rule | example |
//! |---|---|---|
//! | scheme | `http` and `https` only | `ftp://a/` → none |
//! | user and password | dropped: they are no part of a public page's name | `http://u:p@a/` → `http://a/` |
//! | host | lower case, IDNA to ASCII, IPv4 to four decimals, no final dot | `http://EXÄMPLE.org./` → `http://xn--exmple-cua.org/` |
//! | port | the scheme's own dropped | `http://a:80/` → `http://a/` |
//! | path | empty → `/`; `.` and `..` resolved (also as `%2e`); `//` → `/` | `http://a//b/./c` → `http://a/b/c` |
//! | path parameters | `;jsessionid=…` dropped | `/b;jsessionid=1` → `/b` |
//! | query | parameters sorted by name, stable; nameless and empty ones dropped, `b=` → `b`; no `?` without any | `?b=2&a=1&` → `?a=1&b=2` |
//! | session ids | parameters `sid`, `phpsessid`, `sessionid`, `jsessionid` dropped, in any case | `?PHPSESSID=1&a` → `?a` |
//! | percent-encoding | hex digits upper case; unreserved characters decoded; a lone `%` → `%25`; what RFC 3986 does not allow encoded | `/%7eb/[c]` → `/~b/%5Bc%5D` |
//! | fragment | dropped | `/b#c` → `/b` |
//! | length | more than [`MAX_URL_BYTES`] → none | |
//!
//! A normalised URL is ASCII, has a host and a path, and normalises to itself. Where crawler-commons and WHATWG differ,
//! WHATWG wins: `'` in a query is encoded, and `http:////` has no host and is refused.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use encoding_rs::{Encoding, UTF_8};
use percent_encoding::percent_encode_byte;
use url::{EncodingOverride, ParseError, Position, Url};

use super::query;

/// Limit for the URLs of one page's links, with repeats: ten times what the longest pages need.
pub const MAX_LINK_BYTES: usize = 16 << 20;

/// Longest normalised URL; longer ones are refused. Few servers accept more, and URLs in traps grow without end.
pub const MAX_URL_BYTES: usize = 4096;

/// Longer references are refused without parsing. Some pages have `data:` URLs of megabytes.
const MAX_REFERENCE_BYTES: usize = 4 * MAX_URL_BYTES;

/// Query parameters that carry sessions (ACHE's list), in any case.
const SESSION_PARAMETERS: [&str; 4] = ["sid", "phpsessid", "sessionid", "jsessionid"];

/// The normalised URL; none if it is not a fetchable http(s) URL (see the table above).
pub fn normalize(url: &Url) -> Option<String> {
    finish(url.clone())
}

/// Parses an absolute URL as people write it, for example in a list of seeds. Without a scheme it gets `http://`.
pub fn parse(text: &str) -> Option<String> {
    let text = with_scheme(text.trim())?;
    if text.len() > MAX_REFERENCE_BYTES {
        return None;
    }
    finish(Url::parse(&text).ok()?)
}

/// For messages, behind a text that is no URL: what is wrong with its port, or nothing.
pub fn port_problem(text: &str) -> &'static str {
    match with_scheme(text.trim()).map(|text| Url::parse(&text)) {
        Some(Err(ParseError::InvalidPort)) => ": its port is no number from 0 to 65535",
        _ => "",
    }
}

/// Resolves a link (`href`) against the page's base URL and normalises it.
pub fn resolve(base: &Url, href: &str) -> Option<String> {
    if href.len() > MAX_REFERENCE_BYTES {
        return None;
    }
    resolve_plain(base, href).or_else(|| finish(join(base, href)?))
}

/// [`resolve`] for a document in `encoding`: browsers encode the query of a link in it (WHATWG URL, "query state").
pub fn resolve_in(base: &Url, href: &str, encoding: &'static Encoding) -> Option<String> {
    let encoding = encoding.output_encoding();
    if encoding == UTF_8 || href.is_ascii() || href.len() > MAX_REFERENCE_BYTES {
        return resolve(base, href);
    }
    finish(join_by(base, href, Some(&|query| Cow::Owned(query::encode(query, encoding))))?)
}

/// A fast path for most links: an absolute URL or path that is already normalised.
fn resolve_plain(base: &Url, href: &str) -> Option<String> {
    let (origin, tail) = match origin(href) {
        Some(origin) => origin_is_plain(origin).then(|| href.split_at(origin.len()))?,
        None => (has_plain_origin(base).then(|| &base[..Position::BeforePath])?, href),
    };
    (tail_is_plain(tail) && origin.len() + tail.len() <= MAX_URL_BYTES).then(|| [origin, tail].concat())
}

/// Resolves a reference as WHATWG requires, without normalising it. Known gap of the `url` crate: hosts with an `xn--`
/// label that is not Punycode are refused; the fetcher could not request them either.
pub fn join(base: &Url, href: &str) -> Option<Url> {
    join_by(base, href, None)
}

fn join_by(base: &Url, href: &str, encode: EncodingOverride) -> Option<Url> {
    let join = |href: &str| Url::options().base_url(Some(base)).encoding_override(encode).parse(href);
    match join(href) {
        Ok(url) => Some(url),
        // The crate finds no host in `///example.org/`, where browsers skip slashes.
        Err(ParseError::EmptyHost) if base.is_special() && href.starts_with(['/', '\\']) => {
            join(&format!("//{}", href.trim_start_matches(['/', '\\']))).ok()
        }
        Err(_) => None,
    }
}

/// `scheme://host[:port]` of a normalised URL.
pub fn origin(url: &str) -> Option<&str> {
    let host_at = host_at(url)?;
    let end = url[host_at..].find(['/', '?', '#']).map_or(url.len(), |at| host_at + at);
    Some(&url[..end])
}

/// The host name of a normalised URL, without port; an IPv6 address with brackets.
pub fn host(url: &str) -> Option<&str> {
    let authority = &origin(url)?[host_at(url)?..];
    if authority.starts_with('[') {
        return authority.find(']').map(|end| &authority[..=end]);
    }
    Some(authority.split_once(':').map_or(authority, |(host, _)| host))
}

/// Path and query of a normalised URL, at least `/`: the part that robots.txt rules match.
pub fn path_and_query(url: &str) -> &str {
    match origin(url).map(|origin| &url[origin.len()..]) {
        Some("") | None => "/",
        Some(path) => path,
    }
}

/// The registrable domain of a host name: its public suffix plus one label, by the Public Suffix List with private
/// suffixes (`github.io`). Under an unlisted suffix (`.test`, `.local`) it is the last two labels. An IP address, a
/// public suffix and a single label are returned unchanged.
pub fn registrable_domain(host: &str) -> &str {
    domain(host).map_or(host, |(domain, _)| domain)
}

/// The registrable domain under a listed suffix. Any other name is returned unchanged, as in ACHE's documents.
pub fn top_private_domain(host: &str) -> &str {
    domain(host).map_or(host, |(domain, is_listed)| if is_listed { domain } else { host })
}

/// The registrable domain, and whether its suffix is listed.
fn domain(host: &str) -> Option<(&str, bool)> {
    if host.starts_with('[') || host.ends_with(|c: char| c.is_ascii_digit()) && host.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    let domain = psl::domain(host.as_bytes())?;
    Some((&host[host.len() - domain.as_bytes().len()..], domain.suffix().is_known()))
}

fn host_at(url: &str) -> Option<usize> {
    ["http://", "https://"].into_iter().find(|prefix| url.starts_with(prefix)).map(str::len)
}

/// Adds a missing scheme. None for other schemes and for texts that are not absolute URLs.
fn with_scheme(text: &str) -> Option<Cow<'_, str>> {
    if let Some(rest) = text.strip_prefix("//") {
        return Some(Cow::Owned(format!("http://{rest}")));
    }
    if !text.starts_with(|c: char| c.is_alphanumeric() || c == '[' || c == '%') {
        return None;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return Some(Cow::Owned(format!("http://{text}")));
    };
    if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        return Some(Cow::Borrowed(text));
    }
    let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if is_scheme && !starts_with_port(rest) {
        return None;
    }
    Some(Cow::Owned(format!("http://{text}")))
}

/// Whether the text after `name:` makes it `host:port` and not a scheme.
fn starts_with_port(rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && rest[digits..].chars().next().is_none_or(|c| "/?#".contains(c))
}

fn finish(mut url: Url) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    url.set_fragment(None);
    if has_plain_origin(&url) && tail_is_plain(&url[Position::BeforePath..]) {
        return (url.as_str().len() <= MAX_URL_BYTES).then(|| url.into());
    }
    rewrite(&url)
}

/// Whether normalisation leaves scheme, host and port of a parsed URL unchanged.
fn has_plain_origin(url: &Url) -> bool {
    let is_web = matches!(url.scheme(), "http" | "https");
    let has_user = !url.username().is_empty() || url.password().is_some();
    is_web && !has_user && url.host_str().is_some_and(|host| !host.ends_with('.'))
}

/// Whether WHATWG and our rules leave an origin unchanged: lower-case labels that are neither IPv4 nor IDNA, or an IPv4
/// address in four decimals; a port only if required.
fn origin_is_plain(origin: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_host = match last.bytes().next() {
        Some(b'a'..=b'z') => {
            name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
                && !name.contains("xn--")
        }
        // Without leading zeros, which are refused.
        Some(b'0'..=b'9') => name.parse::<Ipv4Addr>().is_ok(),
        _ => false,
    };
    is_host && port.is_none_or(|port| port_is_plain(scheme, port))
}

fn port_is_plain(scheme: &str, port: &str) -> bool {
    let is_default = matches!((scheme, port), ("http", "80") | ("https", "443"));
    port.starts_with(|c: char| matches!(c, '1'..='9'))
        && port.bytes().all(|b| b.is_ascii_digit())
        && port.parse::<u16>().is_ok()
        && !is_default
}

/// Whether WHATWG and our rules leave this path and query unchanged.
fn tail_is_plain(tail: &str) -> bool {
    let (path, query) = match tail.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (tail, None),
    };
    let bytes = path.as_bytes();
    bytes.first() == Some(&b'/')
        && bytes.iter().all(|&b| is_plain(b) && b != b';')
        && !bytes.windows(2).any(|pair| pair == b"//" || pair == b"/.")
        && percent_is_normal(tail)
        && query.is_none_or(query_is_plain)
}

fn query_is_plain(query: &str) -> bool {
    let mut previous = "";
    query.bytes().all(|b| is_plain(b) && b != b'\'' || b == b'?')
        && query.split('&').all(|text| match parameter(text) {
            Some((name, kept)) if kept.len() == text.len() && previous <= name => {
                previous = name;
                true
            }
            _ => false,
        })
}

/// Whether every `%` is followed by two upper-case digits of a byte that must be encoded.
fn percent_is_normal(text: &str) -> bool {
    text.as_bytes().split(|&b| b == b'%').skip(1).all(|rest| {
        let encoded = rest.get(..2).filter(|two| !two.iter().any(u8::is_ascii_lowercase)).and_then(hex);
        encoded.is_some_and(|byte| !is_unreserved(byte))
    })
}

/// Characters that are unchanged in a path at any position. `%`, dots and slashes depend on their neighbours.
fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte as usize] = is_unreserved(byte) || is_reserved(byte) || byte == b'%';
            byte += 1;
        }
        table
    };
    PLAIN[byte as usize]
}

fn rewrite(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() || host.ends_with('.') {
        return None;
    }
    let mut out = String::with_capacity(url.as_str().len() + 1);
    out.push_str(url.scheme());
    out.push_str("://");
    out.push_str(host);
    if let Some(port) = url.port() {
        out.push_str(&format!(":{port}"));
    }
    push_path(&mut out, &percent_normalised(url.path()));
    if let Some(query) = url.query() {
        push_query(&mut out, &percent_normalised(query));
    }
    (out.len() <= MAX_URL_BYTES).then_some(out)
}

/// Drops empty segments and session ids; keeps a slash at the end.
fn push_path(out: &mut String, path: &str) {
    let mut ends_with_slash = true;
    for segment in path.split('/') {
        let segment = without_session(segment);
        ends_with_slash = segment.is_empty();
        if !ends_with_slash {
            out.push('/');
            out.push_str(&segment);
        }
    }
    if ends_with_slash {
        out.push('/');
    }
}

fn without_session(segment: &str) -> Cow<'_, str> {
    if !segment.contains(';') {
        return Cow::Borrowed(segment);
    }
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let kept: Vec<&str> = segment.split(';').filter(|parameter| name(parameter) != "jsessionid").collect();
    match kept.join(";") {
        // Never creates a dot segment, which would change the path.
        kept if kept == "." || kept == ".." => Cow::Borrowed(segment),
        kept => Cow::Owned(kept),
    }
}

fn push_query(out: &mut String, query: &str) {
    let mut parameters: Vec<(&str, &str)> = query.split('&').filter_map(parameter).collect();
    parameters.sort_by_key(|(name, _)| *name);
    for (i, (_, parameter)) in parameters.iter().enumerate() {
        out.push(if i == 0 { '?' } else { '&' });
        out.push_str(parameter);
    }
}

/// Name and whole text of a query parameter to keep.
fn parameter(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if name.is_empty() || SESSION_PARAMETERS.iter().any(|session| name.eq_ignore_ascii_case(session)) {
        return None;
    }
    Some((name, if value.is_empty() { name } else { text }))
}

/// Percent-encoding in the spelling recommended by RFC 3986 §6.2.2.
fn percent_normalised(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|b| b == b'%' || must_escape(b)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b == b'%' || must_escape(b)) {
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        if byte != b'%' {
            out.push_str(percent_encode_byte(byte));
        } else if let Some(decoded) = rest.as_bytes().get(..2).and_then(hex) {
            rest = &rest[2..];
            let kept = char::from(decoded);
            if is_unreserved(decoded) { out.push(kept) } else { out.push_str(percent_encode_byte(decoded)) }
        } else {
            out.push_str("%25");
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The byte of two hexadecimal digits, in any case.
pub(super) fn hex(two: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(*two.first()?)? * 16 + digit(*two.get(1)?)?) as u8)
}

/// RFC 3986 §2.3.
pub(super) const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The characters of RFC 3986 §2.2 that are allowed in a path.
const fn is_reserved(byte: u8) -> bool {
    matches!(byte, b'/' | b':' | b'@' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

/// Characters that WHATWG allows in a path or query although RFC 3986 does not.
fn must_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'[' | b']' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}
