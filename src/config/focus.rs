//! `link_classifier`, `online_learning`, `link_selector`, `hard_focus`: the order of links, and which links are
//! followed.

use super::draft::Draft;

/// Settings of a focused crawl.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FocusConfig {
    /// Links have scores; otherwise the crawl is breadth first.
    pub ranks: bool,
    /// The scores are learned from fetched pages.
    pub learns: bool,
    /// Do not follow links of pages that are not relevant.
    pub hard: bool,
    /// Do not follow links with a lower score (0 to 1).
    pub min_rank: f64,
    /// Do not deliver pages that are not relevant.
    pub relevant_only: bool,
}

impl super::Config {
    /// Name of the page classifier whose irrelevant pages are withheld, if there is one.
    pub fn left_out_by(&self) -> Option<&str> {
        self.classifier.as_ref().filter(|_| self.frontier.focus.relevant_only).map(|classifier| &**classifier.name())
    }

    /// Whether the crawl prefers some pages.
    pub(crate) fn is_focused(&self) -> bool {
        self.frontier.focus.ranks || self.classifier.is_some()
    }
}

pub(super) const LINK_CLASSIFIERS: &[&str] = &[
    "LinkClassifierBreadthSearch",
    "MaxDepthLinkClassifier",
    "LinkClassifierRandom",
    "LinkClassifierBaseline",
    "LinkClassifierHub",
    "LinkClassifierAuthority",
    "LinkClassifierImpl",
];

pub(super) const LEARNING: &[&str] = &["FORWARD_CLASSIFIER_BINARY", "FORWARD_CLASSIFIER_LEVELS", "LINK_CLASSIFIERS"];

pub(super) const SELECTORS: &[&str] = &[
    "TopkLinkSelector",
    "RandomLinkSelector",
    "NonRandomLinkSelector",
    "MultiLevelLinkSelector",
    "MaximizeWebsitesLinkSelector",
];

pub(super) fn set_link_classifier(draft: &mut Draft, name: &str) {
    draft.depth_classifier = name == "MaxDepthLinkClassifier";
    let note;
    (draft.ranks, draft.learns, note) = match name {
        "LinkClassifierBaseline" => (true, false, None),
        "LinkClassifierImpl" => (true, true, None),
        "LinkClassifierHub" | "LinkClassifierAuthority" => {
            (true, true, Some("not supported: Seine does not detect hubs and authorities; used as LinkClassifierImpl"))
        }
        "LinkClassifierRandom" => (false, false, Some("not supported: Seine crawls breadth first")),
        _ => (false, false, None),
    };
    draft.notes.extend(note.map(str::to_owned));
}

pub(super) fn set_learning(draft: &mut Draft, name: &str) {
    if name != LEARNING[0] {
        draft.notes.push(
            "not supported: what is learned is whether a link leads to a relevant page, as with \
                          FORWARD_CLASSIFIER_BINARY; how far a link's page is from a relevant one counts with that"
                .into(),
        );
    }
}

pub(super) fn set_selector(draft: &mut Draft, name: &str) {
    if name != SELECTORS[0] {
        draft
            .notes
            .push("not supported: links with scores are fetched best first; without scores, hosts take turns".into());
    }
}

/// Our scale is 0 to 1. ACHE's `LinkClassifierImpl` gives relevant links 200 plus the probability in percent.
pub(super) fn set_min_relevance(draft: &mut Draft, relevance: f64) -> Result<(), String> {
    draft.config.frontier.focus.min_rank = match relevance {
        0.0..=1.0 => relevance,
        1.0..=300.0 => ((relevance - 200.0) / 100.0).max(0.0),
        _ => return Err("a score from 0 to 1, or on ACHE's scale up to 300".into()),
    };
    Ok(())
}

impl Draft {
    /// Joins the keys that belong together.
    pub(super) fn focus(&mut self) {
        let focus = &mut self.config.frontier.focus;
        focus.ranks = self.ranks || self.online_learning;
        focus.learns = self.learns || self.online_learning;
        // Links without scores have no minimum score.
        focus.min_rank *= f64::from(u8::from(focus.ranks));
    }
}
