//! `link_classifier`, `online_learning`, `link_selector`, `hard_focus`: which links come first, and which are followed at all.

use super::draft::Draft;

/// How a crawl is focused.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FocusConfig {
    /// Links are ranked; else they come breadth first.
    pub ranks: bool,
    /// … and the ranks learn from the pages that come.
    pub learns: bool,
    /// Links of pages that are not relevant are not followed.
    pub hard: bool,
    /// Links with a lower rank (0 to 1) are not followed.
    pub min_rank: f64,
    /// Pages that are not relevant are not delivered.
    pub relevant_only: bool,
}

impl super::Config {
    /// The name of the page classifier whose irrelevant pages are not delivered, if there is one.
    pub fn left_out_by(&self) -> Option<&str> {
        self.classifier.as_ref().filter(|_| self.frontier.focus.relevant_only).map(|classifier| &**classifier.name())
    }

    /// Whether some pages are looked for more than others.
    pub fn is_focused(&self) -> bool {
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
            (true, true, Some("not supported: hubs and authorities are not told apart; as LinkClassifierImpl"))
        }
        "LinkClassifierRandom" => (false, false, Some("not supported: links are taken breadth first")),
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
            .push("not supported: the best links are taken first where they are ranked, else hosts take turns".into());
    }
}

/// Ours go from 0 to 1. ACHE's `LinkClassifierImpl` gives 200 and the probability in percent to what it takes for relevant.
pub(super) fn set_min_relevance(draft: &mut Draft, relevance: f64) -> Result<(), String> {
    draft.config.frontier.focus.min_rank = match relevance {
        0.0..=1.0 => relevance,
        1.0..=300.0 => ((relevance - 200.0) / 100.0).max(0.0),
        _ => return Err("a rank from 0 to 1, or of ACHE's up to 300".into()),
    };
    Ok(())
}

impl Draft {
    /// Joins the keys that belong together.
    pub(super) fn focus(&mut self) {
        let focus = &mut self.config.frontier.focus;
        focus.ranks = self.ranks || self.online_learning;
        focus.learns = self.learns || self.online_learning;
        // Of what is not ranked, nothing is known.
        focus.min_rank *= f64::from(u8::from(focus.ranks));
    }
}
