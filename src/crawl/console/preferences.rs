//! The statements of a URL's publisher about its use.

use seine_frontier::{PageRecord, RobotsAccess};
use seine_parse::page::Withheld;
use seine_parse::page::preferences::{OptedOut, Source, Statement};
use seine_parse::robots::line_of;

use super::why::Known;
use crate::api::schema::PreferenceStory;
use crate::crawl::purposes::{HostSays, found_at};
use crate::judge::withheld::standing;

impl Known<'_> {
    /// Why a live page is not delivered.
    pub(super) fn withheld(&self, page: &PageRecord) -> String {
        match standing(page, &self.said(page), &self.explainer.config) {
            Some(Withheld::Noindex) => "the page is noindex".to_owned(),
            Some(Withheld::Irrelevant) => {
                let model = page.judged.as_ref().map_or("the page classifier", |judged| judged.model.as_str());
                format!("{model} rates it as not relevant (store_negative_pages)")
            }
            Some(Withheld::OptedOut(opted_out)) => {
                let OptedOut { of, by, .. } = *opted_out;
                format!("its publisher objects to its use for {}: {by}", of.name())
            }
            Some(Withheld::Cut | Withheld::Doubted { .. } | Withheld::Alias { .. }) | None => {
                "it was withheld at the last fetch, and is delivered after the next one".to_owned()
            }
        }
    }

    pub(super) fn preferences(&self) -> Vec<PreferenceStory> {
        let Some(page) = self.snapshot.as_ref().and_then(|snapshot| snapshot.page.as_ref()) else { return Vec::new() };
        let said = self.said(page);
        let opted_out = self.explainer.config.scope.purposes.opted_out(&said);
        let each = said.into_iter().map(|statement| {
            let forbids = opted_out.as_ref().filter(|it| it.by == statement).map(|it| it.of.name().to_owned());
            PreferenceStory { text: self.text_of(page, &statement), forbids, statement }
        });
        each.collect()
    }

    fn said(&self, page: &PageRecord) -> Vec<Statement> {
        let agent = &self.explainer.config.fetch.user_agent.name;
        let robots = self.robots_of(page);
        HostSays::of(robots.as_ref(), agent).about(page)
    }

    /// The robots.txt of the host that the content is from.
    fn robots_of(&self, page: &PageRecord) -> Option<seine_frontier::Robots> {
        let origin = seine_parse::url::origin(found_at(page))?;
        match self.host.as_ref().filter(|_| seine_parse::url::origin(self.url) == Some(origin)) {
            Some(host) => host.robots.clone(),
            None => self.explainer.frontier.host_snapshot(origin).ok()??.robots,
        }
    }

    fn text_of(&self, page: &PageRecord, statement: &Statement) -> Option<String> {
        match self.robots_of(page)?.access {
            RobotsAccess::Rules(text) if statement.source == Source::RobotsTxt => {
                line_of(text.as_bytes(), statement.line)
            }
            _ => None,
        }
    }
}
