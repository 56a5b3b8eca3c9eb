//! Audits the counters of the frontier.

use seine_frontier::{Counts, Survey};

use super::{Audit, Check};

const FRONTIER_OFF: &str = "frontier/ is damaged, or this is a bug to report: restore the whole data folder from a \
    backup (seine restore), or begin anew: move frontier/ and log/ away";

impl Audit {
    pub(super) fn frontier(&mut self, counts: &Counts, survey: &Survey) {
        let books = [
            ("work_proposed", ("URLs to fetch", counts.work_proposed), vec![("in the queues", survey.queued)]),
            (
                "queues by host",
                ("in the queues", survey.queued),
                vec![("in the hosts' records", survey.queued_by_host)],
            ),
            ("queues by URL", ("in the queues", survey.queued), vec![("known to be queued", survey.known_queued)]),
            ("deferred", ("deferred URLs", counts.deferred), vec![("in the queues", survey.deferred)]),
            ("first time", ("never answered", counts.first_time), vec![("in the queues", survey.first_time())]),
            (
                "page",
                ("pages admitted", survey.admitted_by_host),
                vec![("in page", counts.page), ("never answered", survey.first_time_pages)],
            ),
            (
                "page by URL",
                ("records", survey.records()),
                vec![("known to be done", survey.known_done), ("to be rechecked", survey.revisits)],
            ),
            ("hosts", ("hosts", counts.hosts), vec![("records", survey.hosts)]),
        ];
        self.checks.extend(books.map(|(name, total, parts)| Check::new(name, total, &parts, FRONTIER_OFF)));
        // The survey includes records of sitemaps, which are not pages.
        let states = [
            ("page live", counts.live, survey.live),
            ("page gone", counts.gone, survey.gone),
            ("page refused", counts.refused, survey.refused),
            ("page failed", counts.failed, survey.failed),
            ("page withheld", counts.withheld, survey.withheld),
            ("page alias", counts.alias, survey.alias),
            ("duplicates", counts.duplicates, survey.duplicates),
            ("contents with a content slot", survey.content_slots, survey.firsts),
        ];
        for (name, counted, records) in states {
            self.checks.push(Check::new(name, ("pages", counted), &[("records", records)], FRONTIER_OFF).at_least());
        }
    }
}
