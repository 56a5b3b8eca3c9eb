//! Statements of publishers about the use of their pages.

use seine_frontier::Work;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{PageEvent, Withheld};
use url::Url;

use super::host::LeasedHost;
use super::rules::Rules;
use super::visitor::Visitor;

impl Visitor {
    /// Statements of a host about one of its URLs: robots.txt and TDM reservations. They do not apply to a URL that
    /// robots.txt forbids and that is fetched nevertheless (ATTACH §3.1).
    pub(super) fn said_by_host(&self, host: &LeasedHost, url: &Url) -> Vec<Statement> {
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let obeys = self.config.fetch.obey_robots;
        let mut said = match &host.rules {
            Some(Rules::File(file)) if obeys || file.allows(path) => file.preferences(path),
            _ => Vec::new(),
        };
        said.extend(host.tdm.as_ref().and_then(|file| file.statement(path)));
        said
    }

    /// Adds the statements of the response (`own`: headers and markup) to those of its host. A truncated or unmodified
    /// response keeps earlier statements that it does not repeat.
    pub(super) fn add_own(event: &mut PageEvent, own: &[Statement], work: &Work) {
        let Some(response) = event.response() else { return };
        let repeats = response.status == 304 || response.is_cut();
        let is_anew =
            |before: &Statement| own.iter().any(|now| (now.scheme, now.source) == (before.scheme, before.source));
        let before = work.known.preferences.iter().flatten().filter(|before| repeats && !is_anew(before));
        let own: Vec<Statement> = own.iter().chain(before).cloned().collect();
        event.preferences.get_or_insert_default().extend(own);
    }

    /// Set if the publisher objects to a purpose of this crawl.
    pub(super) fn opted_out(&self, event: &PageEvent) -> Option<Withheld> {
        let response = event.response().filter(|_| event.kind.is_delivered() && event.again.is_none())?;
        let is_page = response.status == 304 || response.is_success();
        let said = event.preferences.as_deref().filter(|_| is_page)?;
        Some(Withheld::OptedOut(Box::new(self.config.scope.purposes.opted_out(said)?)))
    }

    /// Whether a withheld page may be delivered now, as far as is known before its request. Then the request must be
    /// unconditional. `known`: the statements of its host.
    pub(super) fn is_released(&self, work: &Work, mut known: Vec<Statement>) -> bool {
        if !work.was_withheld() {
            return false;
        }
        known.extend(work.known.preferences.iter().flatten().cloned());
        let is_unlisted = work.known.noindex && self.config.scope.obey_noindex;
        let is_unwanted =
            work.known.judged.as_ref().is_some_and(|judged| judged.is_unwanted(self.config.left_out_by()));
        !is_unlisted && !is_unwanted && self.config.scope.purposes.opted_out(&known).is_none()
    }
}
