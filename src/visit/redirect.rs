//! Where an answer redirects to.

use url::Url;

use crate::page::{Outcome, string_to_latin1};
use crate::parse;

/// A redirect's target: as it is asked for, and as it is judged.
pub(super) struct Target {
    /// Path and query as the server wrote them: it may insist on its own order of a query's parameters. The host in its
    /// one spelling; without user, password and fragment.
    pub url: Url,
    /// As a link to it would be. Scope is about this form: `%70rivate` is `private`.
    pub normal: String,
}

/// The value of `Location` of an answer that redirects, as the server wrote it.
pub(super) fn location(outcome: &Outcome) -> Option<String> {
    let Outcome::Response(response) = outcome else { return None };
    let redirects = matches!(response.status, 301 | 302 | 303 | 307 | 308);
    // Header values are kept as Latin-1; a Location is in practice UTF-8.
    let location = response.headers.get("location").filter(|_| redirects)?;
    Some(String::from_utf8_lossy(&string_to_latin1(location)).into_owned())
}

/// None for what would not be fetched as a link either.
pub(super) fn target(from: &Url, location: &str) -> Option<Target> {
    let mut url = parse::url::join(from, location)?;
    let normal = parse::url::normalize(&url)?;
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_host(parse::url::host(&normal)).ok()?;
    Some(Target { url, normal })
}
