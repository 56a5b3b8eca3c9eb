//! Pages that name another URL as their canonical one (`canonical: obey`; RFC 6596): whether that counts, and what it makes of them.

use super::claim::Claimed;
use super::visitor::Visitor;
use crate::config::{Canonical, FrontierConfig};
use crate::frontier::scope::Scope;
use crate::frontier::{FrontierError, Work};
use crate::page::{Kind, PageEvent, Withheld};
use crate::parse::url;

/// What an answer says of its page, or said at the last look if the page was there: a 304 does not say it again.
#[derive(Default)]
pub(crate) struct Says<'a> {
    pub canonical: Option<&'a str>,
    pub noindex: bool,
}

/// The canonical URL that an event's page names, where it counts: not what broke off, asks not to be indexed, or is no page.
pub(crate) fn canonical_of(
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
        event.is_noindex(now.noindex, before.noindex) || event.withheld.as_ref().is_some_and(Withheld::is_of_its_own);
    let is_page = config.canonical == Canonical::Obey && !is_withheld;
    let named = named.filter(|named| is_page && may_be(named, &event.url, &event.final_url, scope))?;
    Some(named.to_owned())
}

/// Whether the page of `url`, found at `final_url`, may name it: another URL that is admitted, of the same registrable domain. No
/// page has a say in what is another site's.
fn may_be(named: &str, url: &str, final_url: &str, scope: &Scope) -> bool {
    let domain = |url: &str| url::host(url).map(|host| url::registrable_domain(host).to_owned());
    let Some(found_at) = url::parse(final_url) else { return false };
    named != url && named != found_at && domain(named) == domain(&found_at) && scope.admits(named)
}

impl Visitor {
    /// Asks what becomes of a page that came, or came last and is as it was: an alias, or (none) it is delivered.
    pub(super) fn claim_place(
        &self,
        claimed: Option<&Claimed>,
        event: &PageEvent,
        work: &Work,
        now: &Says,
    ) -> Result<Option<Withheld>, FrontierError> {
        let is_asked = claimed.is_some() && self.config.frontier.canonical == Canonical::Obey && event.again.is_none();
        let is_page = event.response().is_some_and(|response| match response.status {
            304 => work.was_there,
            _ => response.is_success() && !response.is_cut(),
        });
        if !is_asked || !is_page {
            return Ok(None);
        }
        let before = Says { canonical: work.canonical.as_deref(), noindex: work.noindex };
        let named = canonical_of(event, now, &before, &self.scope.now(), &self.config.frontier);
        self.frontier.claim_place(named.as_deref().unwrap_or(&event.url), &event.url)
    }
}
