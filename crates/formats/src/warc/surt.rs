//! SURT keys: a URL with its host reversed, so that sorted keys keep a site together: `http://www.example.com/A?b` →
//! `com,example)/a?b`. The rules are those of the Internet Archive's tools (Java `WaybackURLKeyMaker`, Python `surt`),
//! which use the same keys.
//!
//! | part | rule |
//! |---|---|
//! | scheme, user, fragment | dropped |
//! | percent-encoding | decoded until nothing is left to decode, then encoded once for what is not printable ASCII, for `#`, `%` and the blank |
//! | host | lower case, `www.`, `www2.` and so on dropped, labels reversed |
//! | port | kept unless the scheme's own |
//! | path | lower case, `.`, `..` and empty segments resolved, the slash at the end dropped |
//! | query | lower case, parameters sorted, session ids dropped; none if it is empty |

use std::borrow::Cow;
use std::sync::LazyLock;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};
use regex::bytes::Regex;

/// The key of a URL. A URL without a host (`urn:`, `dns:`) is its own key, with blanks encoded.
pub fn surt(url: &str) -> String {
    let cleaned: String = url.trim().chars().filter(|c| !matches!(c, '\n' | '\r' | '\t')).collect();
    let Some((scheme, rest)) = cleaned.split_once("://") else { return cleaned.replace(' ', "%20") };
    let rest = rest.split('#').next().unwrap_or_default();
    let (before_query, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match before_query.find('/') {
        Some(at) => before_query.split_at(at),
        None => (before_query, ""),
    };
    let mut key = host_key(scheme, authority);
    key.extend_from_slice(&path_key(path));
    if let Some(query) = query.map(query_key).filter(|it| !it.is_empty()) {
        key.push(b'?');
        key.extend_from_slice(&query);
    }
    String::from_utf8_lossy(&key).into_owned()
}

fn host_key(scheme: &str, authority: &str) -> Vec<u8> {
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let port_at = host_and_port.rfind(':').filter(|at| host_and_port[at + 1..].bytes().all(|b| b.is_ascii_digit()));
    let (host, port) = match port_at {
        Some(at) => (&host_and_port[..at], &host_and_port[at + 1..]),
        None => (host_and_port, ""),
    };
    let host = unescaped(host.as_bytes());
    let host = match std::str::from_utf8(&host).map(idna) {
        Ok(host) => host.into_bytes(),
        Err(_) => host.into_owned(),
    };
    let host = escaped(&host.to_ascii_lowercase());
    let host = host.strip_prefix(b"www").and_then(without_www).unwrap_or(&host);
    let mut key: Vec<u8> = host.split(|b| *b == b'.').filter(|it| !it.is_empty()).rev().collect::<Vec<_>>().join(&b',');
    let is_default = matches!((scheme.to_ascii_lowercase().as_str(), port), ("http", "80") | ("https", "443"));
    if !port.is_empty() && !is_default {
        key.push(b':');
        key.extend_from_slice(port.as_bytes());
    }
    key.push(b')');
    key
}

/// Accepts digits and a dot after `www`.
fn without_www(rest: &[u8]) -> Option<&[u8]> {
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b".")
}

fn idna(host: &str) -> String {
    match url::Host::parse(host) {
        Ok(url::Host::Domain(name)) => name,
        Ok(url::Host::Ipv4(address)) => address.to_string(),
        _ => host.to_owned(),
    }
}

fn path_key(path: &str) -> Vec<u8> {
    let path = unescaped(path.as_bytes());
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|b| *b == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let last = kept.pop().unwrap_or_default();
    kept.retain(|segment| !segment.is_empty());
    kept.push(last);
    let path = [b"/", kept.join(&b'/').as_slice()].concat();
    let path = without(&PATH_SESSIONS, escaped(&path).to_ascii_lowercase());
    match path.strip_suffix(b"/") {
        Some(shorter) if !shorter.is_empty() => shorter.to_vec(),
        _ => path,
    }
}

fn query_key(query: &str) -> Vec<u8> {
    let query = without(&QUERY_SESSIONS, escaped(&unescaped(query.as_bytes()))).to_ascii_lowercase();
    if query.len() <= 1 {
        return query;
    }
    let mut parameters: Vec<&[u8]> = query.split(|b| *b == b'&').collect();
    // Sorts by name, then by value. A parameter without a value comes before one with an empty value.
    parameters.sort_by_key(|&text| {
        let mut parts = text.splitn(2, |b| *b == b'=');
        (parts.next(), parts.next())
    });
    parameters.join(&b'&')
}

/// Decodes until nothing is left to decode: `%25%32%35` is `%`. Each round shortens the text, so there are at most as
/// many rounds as bytes.
fn unescaped(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut text = Cow::Borrowed(bytes);
    while let Cow::Owned(shorter) = Cow::<[u8]>::from(percent_decode(&text)) {
        text = Cow::Owned(shorter);
    }
    text
}

fn escaped(bytes: &[u8]) -> Vec<u8> {
    const NOT_KEPT: &AsciiSet = &CONTROLS.add(b' ').add(b'#').add(b'%');
    percent_encode(bytes, NOT_KEPT).to_string().into_bytes()
}

/// Session ids of ASP.NET.
static PATH_SESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compiled(&[
        r"(?i-u)^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$",
        r"(?i-u)^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$",
    ])
});

/// Each pattern is removed at most once: its last occurrence.
static QUERY_SESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compiled(&[
        r"(?i-u)^(.*)(?:jsessionid=[0-9a-z]{32})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:phpsessid=[0-9a-z]{32})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:sid=[0-9a-z]{32})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:aspsessionid[a-z]{8}=[a-z]{24})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$",
    ])
});

fn compiled(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().map(|it| Regex::new(it).expect("a constant")).collect()
}

fn without(sessions: &[Regex], text: Vec<u8>) -> Vec<u8> {
    sessions.iter().fold(text, |text, session| session.replace(&text, &b"$1$2"[..]).into_owned())
}
