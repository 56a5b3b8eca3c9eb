//! Applies new purposes to known pages, from the records of pages and hosts, without requests.

use std::cell::RefCell;

use seine_frontier::{EmbeddedFrontier, PageRecord, PageState, Recheck, Robots, RobotsAccess};
use seine_parse::page::preferences::{Purposes, Statement};
use seine_parse::preferences::tdm::TdmFile;
use seine_parse::robots::RobotsTxt;
use seine_parse::url::{origin, path_and_query};

use crate::config::Config;
use crate::judge::withheld::standing;

/// The statements of a host about the use of its pages, from its files when they were last fetched.
#[derive(Default)]
pub(super) struct HostSays {
    file: Option<RobotsTxt>,
    tdm: TdmFile,
    /// Its tdmrep.json was fetched.
    pub has_tdm: bool,
}

impl HostSays {
    /// `agent`: our product token.
    pub(super) fn of(robots: Option<&Robots>, agent: &str) -> HostSays {
        let Some(robots) = robots else { return HostSays::default() };
        let file = match &robots.access {
            RobotsAccess::Rules(text) => Some(RobotsTxt::parse(text.as_bytes(), agent)),
            RobotsAccess::AllowAll | RobotsAccess::Unreachable(_) => None,
        };
        let tdm = robots.tdm.as_deref().map(TdmFile::parse).unwrap_or_default();
        HostSays { file, tdm, has_tdm: robots.tdm.is_some() }
    }

    /// All statements about the use of a page, except those in the page itself.
    pub(super) fn about(&self, page: &PageRecord) -> Vec<Statement> {
        let path = path_and_query(found_at(page));
        let file = self.file.as_ref().filter(|file| file.allows(path));
        let mut said = file.map(|file| file.preferences(path)).unwrap_or_default();
        said.extend(self.tdm.statement(path));
        said.extend(page.preferences.iter().flatten().cloned());
        said
    }
}

/// The URL that a page's content is from.
pub(super) fn found_at(page: &PageRecord) -> &str {
    page.final_url.as_deref().unwrap_or(&page.url)
}

/// The purposes or accepted licences changed.
pub(super) struct PurposesChange<'a> {
    frontier: &'a EmbeddedFrontier,
    config: &'a Config,
    /// The last host. Pages of one host come one after the other, so this saves reading its record again.
    host: RefCell<(String, HostSays)>,
}

impl PurposesChange<'_> {
    pub(super) fn new<'a>(frontier: &'a EmbeddedFrontier, config: &'a Config) -> PurposesChange<'a> {
        PurposesChange { frontier, config, host: RefCell::default() }
    }

    /// The recheck that a live page needs. If the statements of the page or its host are unknown, it is refetched.
    pub(super) fn recheck_of(&self, page: &PageRecord) -> Option<Recheck> {
        let purposes: &Purposes = &self.config.scope.purposes;
        if !page.kind.is_delivered() || !page.state.is_found() {
            return None;
        }
        let mut host = self.host.borrow_mut();
        let origin = origin(found_at(page)).unwrap_or_default();
        if host.0 != origin {
            let recheck = self.frontier.host_snapshot(origin).ok().flatten();
            let says =
                HostSays::of(recheck.and_then(|recheck| recheck.robots).as_ref(), &self.config.fetch.user_agent.name);
            *host = (origin.to_owned(), says);
        }
        let is_withheld = standing(page, &host.1.about(page), self.config).is_some();
        let judge = self.config.left_out_by();
        let is_to_be_judged = judge.is_some() && page.judged.as_ref().is_some_and(|it| judge != Some(&it.model));
        match page.state == PageState::Withheld {
            true => (!is_withheld).then_some(Recheck::First),
            false if is_withheld || is_to_be_judged => Some(Recheck::First),
            false if page.preferences.is_none() && !purposes.declared.is_empty() => Some(Recheck::Refetch),
            false => (purposes.want_tdm_file() && !host.1.has_tdm).then_some(Recheck::First),
        }
    }
}
