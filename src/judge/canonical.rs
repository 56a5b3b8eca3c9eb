//! The canonical URL that a page names (`canonical: obey`; RFC 6596): whether it counts, and whether it is new.

use seine_frontier::Work;
use seine_frontier::scope::Scope;
use seine_parse::page::{Kind, PageEvent, Withheld};
use seine_parse::url;

use super::withheld::is_noindex;
use crate::config::{Canonical, FrontierConfig};

/// What a response says about its page. For a 304: what the last complete response said.
#[derive(Default)]
pub struct Says<'a> {
    pub canonical: Option<&'a str>,
    pub noindex: bool,
}

/// The canonical URL that a page names, if it counts. It does not count if the page is truncated, noindex or not a
/// page.
pub fn canonical_of(
    event: &PageEvent,
    now: &Says,
    before: &Says,
    scope: &Scope,
    config: &FrontierConfig,
) -> Option<String> {
    let response = event.response().filter(|response| !response.is_cut() && event.kind == Kind::Page)?;
    let named = match response.status {
        200..300 => now.canonical,
        304 => before.canonical,
        _ => None,
    };
    let is_withheld =
        is_noindex(event, now.noindex, before.noindex) || event.withheld.as_ref().is_some_and(Withheld::is_of_its_own);
    let is_page = config.canonical == Canonical::Obey && !is_withheld;
    let named = named.filter(|named| is_page && may_be(named, &event.url, &event.final_url, scope))?;
    Some(named.to_owned())
}

/// Whether the page of `url`, found at `final_url`, may name this canonical URL: another URL that is admitted and of
/// the same registrable domain. A page must not decide about other sites.
fn may_be(named: &str, url: &str, final_url: &str, scope: &Scope) -> bool {
    let domain = |url: &str| url::host(url).map(|host| url::registrable_domain(host).to_owned());
    let Some(found_at) = url::parse(final_url) else { return false };
    named != url && named != found_at && domain(named) == domain(&found_at) && scope.admits(named)
}

/// Whether a page names another canonical URL for the first time, which may be a mistake. If canonical URLs were not obeyed
/// before, an unchanged page says nothing new.
pub fn is_news(named: Option<&str>, work: &Work, digest: &[u8; 32]) -> bool {
    let known = &work.known;
    let was_passed_over = known.is_to_be_reread && known.digest.as_ref() == Some(digest);
    named != known.canonical.as_deref() && !was_passed_over
}
