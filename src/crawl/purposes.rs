//! Applies new purposes to known pages, from the records of pages and hosts, without requests.

use std::cell::RefCell;

use seine_frontier::{EmbeddedFrontier, PageRecord, Recheck, Robots, RobotsAccess};
use seine_parse::page::preferences::Statement;
use seine_parse::preferences::tdm::TdmFile;
use seine_parse::robots::RobotsTxt;
use seine_parse::url::{origin, path_and_query};

use crate::config::Config;
use crate::judge::reevaluation;

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

    /// The recheck that a live page needs.
    pub(super) fn recheck_of(&self, page: &PageRecord) -> Option<Recheck> {
        let mut host = self.host.borrow_mut();
        let origin = origin(found_at(page)).unwrap_or_default();
        if host.0 != origin {
            let snapshot = self.frontier.host_snapshot(origin).ok().flatten();
            let robots = snapshot.and_then(|snapshot| snapshot.robots);
            *host = (origin.to_owned(), HostSays::of(robots.as_ref(), &self.config.fetch.user_agent.name));
        }
        reevaluation::for_purposes(page, &host.1.about(page), host.1.has_tdm, self.config)
    }
}
