//! The state of a page at each sink.

use std::path::PathBuf;
use std::sync::Arc;

use seine_frontier::{PageRecord, PageState};
use seine_page_log::{LogStatus, PageLog, ReaderStatus};
use seine_parse::page::Kind;

use super::locations;
use super::why::{duplicate_because, withheld_because};
use crate::api::schema::SinkStory;
use crate::config::{Config, Removed, Unchanged, Upkeep};
use crate::sinks::dead_letters;

const UNCHANGED: &str = "the last fetch found the page unchanged, so nothing was written; whether the sink has the page is unknown, \
                         because the sink was added or started again after the first events";

pub(super) struct Deliveries {
    pub folder: PathBuf,
    pub config: Arc<Config>,
    pub log: PageLog,
}

impl Deliveries {
    /// The result of each sink for the last event of the page; none: the URL has no page.
    pub(super) fn of(&self, page: Option<&PageRecord>) -> Vec<SinkStory> {
        let log = self.log.status();
        let sinks = log.readers.iter().filter(|reader| reader.counters.is_some());
        sinks.map(|reader| self.of_sink(reader, page, &log)).collect()
    }

    fn of_sink(&self, reader: &ReaderStatus, page: Option<&PageRecord>, log: &LogStatus) -> SinkStory {
        let place = |state: &str, ahead, reason| SinkStory {
            sink: reader.name.clone(),
            state: state.to_owned(),
            ahead,
            reason,
            location: None,
            location_unknown: None,
        };
        let Some(page) = page else { return place("not_yet", None, None) };
        if page.kind == Kind::Sitemap {
            return place("passed", None, Some("a sitemap leads to pages and is not delivered itself".to_owned()));
        }
        let Some(passed_at) = page.passed_at.filter(|index| *index <= log.end.index) else {
            return place("unknown", None, None);
        };
        if passed_at <= reader.missed {
            return place("missed", None, Some("it was accepted before this sink was added".to_owned()));
        }
        if reader.position.index < passed_at {
            return place("pending", Some(passed_at - reader.position.index - 1), None);
        }
        if let Some(reason) = dead_letters::reason(&self.folder.join(&reader.name), &page.event_id) {
            return place("dead", None, Some(reason));
        }
        let upkeep = self.config.sink(&reader.name).map(|sink| sink.upkeep);
        if let (Some(of), true) = (page.duplicate_of(), upkeep.is_some_and(|upkeep| upkeep.skip_duplicates)) {
            return place("passed", None, Some(format!("it is {}; this sink skips duplicates", duplicate_because(of))));
        }
        // Its content may be that of an event that this sink never got.
        if reader.missed > 0 && page.state == PageState::Unchanged && upkeep.is_none_or(|upkeep| passes(upkeep, page)) {
            return place("unknown", None, Some(UNCHANGED.to_owned()));
        }
        match (page.state, upkeep.map(|upkeep| upkeep.removed)) {
            (state, _) if state.is_live() => place("delivered", None, None),
            (PageState::Refused, _) => place("passed", None, Some(withheld_because(page))),
            (_, Some(Removed::Keep)) => {
                place("passed", None, Some(format!("{}; this sink removes nothing", withheld_because(page))))
            }
            _ => place("removed", None, Some(withheld_because(page))),
        }
    }

    /// Adds the location to each sink that has the page. Asks the destinations.
    pub(super) fn find(&self, page: &PageRecord, sinks: &mut [SinkStory]) {
        locations::find_locations(&self.config, &self.folder, page, sinks);
    }
}

/// Whether a sink may have written nothing for the last event of an unchanged page.
fn passes(upkeep: Upkeep, page: &PageRecord) -> bool {
    upkeep.unchanged == Unchanged::Skip || page.status == 304
}
