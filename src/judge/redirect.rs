//! Targets of redirects.

use seine_frontier::scope::Scope;
use seine_parse::page::{EpochMs, Failure, FailureReason, Outcome, string_to_latin1};
use url::Url;

use super::retry;
use crate::config::FrontierConfig;

/// A redirect's target, as it is requested and as it is judged.
pub(crate) struct Target {
    /// Path and query as the server wrote them, because it may need its own order of parameters. The host is
    /// normalised; user, password and fragment are removed.
    pub url: Url,
    /// Normalised like a link. The scope uses this form: `%70rivate` is `private`.
    pub normal: String,
}

/// The value of `Location` of a redirect, as the server wrote it.
pub(crate) fn location(outcome: &Outcome) -> Option<String> {
    let Outcome::Response(response) = outcome else { return None };
    let redirects = matches!(response.status, 301 | 302 | 303 | 307 | 308);
    let location = response.headers.get("location").filter(|_| redirects)?;
    Some(text_of(string_to_latin1(location)))
}

/// A Location is usually UTF-8. If it is not, its server wants these bytes back, as browsers send them: `%FC`.
fn text_of(location: Vec<u8>) -> String {
    String::from_utf8(location).unwrap_or_else(|error| {
        let escaped = |byte: u8| if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        error.into_bytes().into_iter().map(escaped).collect()
    })
}

/// None for targets that would not be fetched as links either.
pub(crate) fn target(from: &Url, location: &str) -> Option<Target> {
    let mut url = seine_parse::url::join(from, location)?;
    let normal = seine_parse::url::normalize(&url)?;
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_host(seine_parse::url::host(&normal)).ok()?;
    Some(Target { url, normal })
}

/// When a redirect may be followed at the earliest: its `Retry-After` is the least time before the redirected request (RFC
/// 9110 §10.2.3). `waits_since`: when the URL first got a redirect that had to wait. The time counts from then, because
/// each attempt gets the redirect again.
pub(crate) fn followed_from(
    outcome: &Outcome,
    ended_ms: EpochMs,
    waits_since: Option<EpochMs>,
    config: &FrontierConfig,
) -> Option<EpochMs> {
    let Outcome::Response(response) = outcome else { return None };
    // The time of an earlier attempt is stored in whole seconds.
    let since = waits_since.map_or(ended_ms, |since| since + 1_000).min(ended_ms);
    retry::asked_wait(response, ended_ms, config).map(|wait| since + retry::millis(wait))
}

/// The failure of a redirect to what cannot be fetched.
pub(crate) fn leads_nowhere(location: &str) -> Failure {
    let message = format!("redirects to {location:?}, which is not a URL that can be fetched");
    Failure { reason: FailureReason::BadRedirect, message }
}

/// Why a redirect is not followed. `hops`: redirects so far, with this one. `is_circle`: the request for its target would
/// repeat an earlier one.
pub(crate) fn refusal(target: &Target, hops: usize, is_circle: bool, most: usize, scope: &Scope) -> Option<Failure> {
    let (reason, message) = match target {
        Target { url, .. } if is_circle => (FailureReason::TooManyRedirects, format!("redirects in a circle at {url}")),
        _ if hops > most => (FailureReason::TooManyRedirects, format!("more than {most} redirects")),
        Target { url, normal } if !scope.admits(normal) => {
            (FailureReason::BadRedirect, format!("redirects out of scope, to {url}"))
        }
        _ => return None,
    };
    Some(Failure { reason, message })
}
