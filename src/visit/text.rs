//! What a worker tells of a page's text: how far it is from what it was, and whether it is relevant.

use super::visitor::Visitor;
use crate::focus;
use crate::frontier::Work;
use crate::page::{Kind, PageChange, PageEvent, Relevance, Response, TextChange, TextsGiven, Withheld};
use crate::parse::simhash::Simhash;
use crate::parse::{self, Derived};

impl Visitor {
    /// Of what a page says; none where nobody wants to know, and where it can be no news.
    pub(super) fn simhash(&self, event: &PageEvent, work: &Work, derived: &Derived) -> Option<Simhash> {
        let is_as_it_was = !work.was_withheld && work.digest == Some(derived.digest);
        let is_wanted = (!self.thresholds.is_empty() && !is_as_it_was) || self.wants_likeness(work, is_as_it_was);
        let is_page = is_wanted && event.kind == Kind::Page;
        let response = event.response().filter(|response| is_page && response.is_success())?;
        parse::simhash::of_page(derived, response.content_type(), self.looks_for_near_copies())
    }

    /// None where no page classifier is asked.
    pub(super) fn relevance(&self, event: &PageEvent, work: &Work, derived: &Derived) -> Option<Relevance> {
        let classifier = self.config.classifier.as_ref()?;
        if event.response().is_some_and(|response| response.status == 304) {
            return self.judged_before(work);
        }
        // Without ranks every link is as good as a seed.
        let link = if self.config.frontier.focus.ranks { focus::rank_of(work.priority) } else { 1.0 };
        classifier.judge(event, derived, f64::from(link))
    }

    /// What the classifier said of a page when it came last.
    fn judged_before(&self, work: &Work) -> Option<Relevance> {
        let name = self.config.classifier.as_ref()?.name();
        work.judged.as_ref().filter(|judged| judged.model == **name).map(Relevance::from)
    }

    /// Another classifier judged it, so it must come whole.
    pub(super) fn must_be_judged(&self, work: &Work) -> bool {
        self.config.classifier.is_some() && work.judged.is_some() && self.judged_before(work).is_none()
    }

    /// Set where a page is not relevant, and such are not wanted.
    pub(super) fn irrelevant(&self, event: &PageEvent, said: Option<Relevance>) -> Option<Withheld> {
        let is_left_out = self.config.frontier.focus.relevant_only && event.again.is_none();
        said.filter(|said| is_left_out && !said.is_relevant).map(|_| Withheld::Irrelevant)
    }

    /// What the classifier said, by its name; by the type alone where none was asked.
    pub(super) fn judge(&self, event: &mut PageEvent, is_html: bool, said: Option<Relevance>) {
        let is_success = event.response().is_some_and(Response::is_success);
        event.relevance = said.unwrap_or(Relevance::by_type(is_html && is_success));
        event.model = self.config.classifier.as_ref().filter(|_| said.is_some()).map(|it| it.name().clone());
        if is_success && event.kind == Kind::Page {
            self.metrics.judged(event.relevance);
        }
    }

    /// None where a page that is new or has changed says nothing, or did not come whole: nothing is known of its text then.
    pub(super) fn text_change(&self, event: &PageEvent, work: &Work, simhash: Option<Simhash>) -> Option<TextChange> {
        if self.thresholds.is_empty() {
            return None;
        }
        let nothing = TextsGiven::new();
        let given = match event.change? {
            PageChange::New => &nothing,
            PageChange::Changed => &work.texts,
            PageChange::Unchanged | PageChange::Gone => return None,
        };
        let is_whole = event.response().is_some_and(|response| !response.is_cut());
        simhash.filter(|_| is_whole).map(|now| TextChange::of(now.bits, given, &self.thresholds))
    }
}
