//! The demand for a licence (RSL 1.0, Crawler Authorization Protocol): 401 or 402 with `WWW-Authenticate: License`.

use url::Url;

use super::{Answer, Wall, WallKind};
use crate::html_facts::has_token;
use crate::link_header;

/// The parameters that may have the address of the licence server, in order of preference.
const ADDRESSES: [&str; 4] = ["authorization_uri", "license_uri", "server", "realm"];

/// The wall of an answer that demands a licence. Its evidence is the address where it is to be had, if the answer names it.
pub(super) fn wanted(answer: &Answer) -> Option<Wall> {
    let response = answer.response;
    if !matches!(response.status, 401 | 402) {
        return None;
    }
    let parameters = response.headers.all("www-authenticate").find_map(parameters)?;
    let named = |name: &str| parameters.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, it)| it);
    let is_url = |value: &&String| value.starts_with("https://") || value.starts_with("http://");
    let address = ADDRESSES.iter().filter_map(|name| named(name)).find(is_url).cloned();
    let address = address.or_else(|| linked(answer)).unwrap_or_else(|| "it names no address".to_owned());
    Some(Wall::new(WallKind::License, address))
}

/// The parameters of the scheme `License` in a value of `WWW-Authenticate` (RFC 9110 §11.6.1), which may name several
/// schemes.
fn parameters(value: &str) -> Option<Vec<(String, String)>> {
    let mut pieces = pieces(value).into_iter().skip_while(|piece| scheme(piece) != Some("license".to_owned()));
    let first = pieces.next()?;
    let first = first.split_once(' ').map_or("", |(_, rest)| rest);
    let rest = pieces.take_while(|piece| scheme(piece).is_none());
    let pair = |piece: &str| {
        let (name, value) = piece.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
    };
    Some([first].into_iter().chain(rest).filter_map(pair).collect())
}

/// The parts of a list, in which commas may be quoted.
fn pieces(value: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = value.split(move |letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    });
    parts.map(str::trim).collect()
}

/// The scheme that a part begins with, in lower case: a word that is no name of a parameter.
fn scheme(piece: &str) -> Option<String> {
    let word = piece.split(' ').next().unwrap_or_default();
    (!word.is_empty() && !word.contains('=')).then(|| word.to_ascii_lowercase())
}

/// The absolute URL of the licence that a `Link` header names.
fn linked(answer: &Answer) -> Option<String> {
    let links = answer.response.headers.all("link").flat_map(link_header::parse);
    let target = links.filter(|link| has_token(&link.rel, "license")).map(|link| link.target).next()?;
    Some(Url::parse(answer.url).ok()?.join(&target).ok()?.into())
}
