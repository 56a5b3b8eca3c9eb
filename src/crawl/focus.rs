//! Applies a changed order of links to URLs that are already queued.

use seine_frontier::{EmbeddedFrontier, FrontierError, Ranked, Validation, Verdicts};
use seine_parse::page::Kind;
use seine_policies::focus;
use seine_system::clock::now_ms;

use super::saved::{InForce, Saved};
use crate::api::schema::{RankReason, RankStory};
use crate::validate::{by_depth, load_model, rank_again};

const RANKED: &str = "ranked";
const BREADTH_FIRST: &str = "breadth first";
/// URLs per batch.
const AT_A_TIME: usize = 4096;

/// The order of the queued URLs. The model is kept while links have no scores, in case scores are switched on again.
pub(super) const ORDER: Saved = Saved { note: "focus", text: |now, _| order(now).to_owned(), revisit };

fn order(now: &InForce) -> &'static str {
    if now.config.frontier.focus.ranks { RANKED } else { BREADTH_FIRST }
}

fn revisit(now: &InForce, before: Option<&str>) -> Result<(), FrontierError> {
    let (frontier, order) = (now.frontier, order(now));
    // Without a note they are in no order but this.
    if before.unwrap_or(BREADTH_FIRST) == order {
        return Ok(());
    }
    tracing::info!(urls = frontier.counts().work_proposed, "URLs that wait are put into another order: {order}");
    let learner = if order == RANKED { Some(load_model(frontier)?.learner) } else { None };
    let mut after = None;
    loop {
        after = match &learner {
            Some(learner) => rank_again(frontier, learner, after, AT_A_TIME, now_ms())?,
            None => frontier.rank_again(after, AT_A_TIME, &in_order, now_ms())?,
        };
        if after.is_none() {
            return Ok(());
        }
    }
}

fn in_order(queued: &Ranked) -> u8 {
    match queued.kind {
        Kind::Sitemap => 0,
        Kind::Page | Kind::Requisite => by_depth(queued.depth),
    }
}

/// The score of a queued URL, from what is known now.
pub(super) fn why(frontier: &EmbeddedFrontier, url: &str, lead: &focus::Lead) -> Result<RankStory, FrontierError> {
    let (reasons, score) = load_model(frontier)?.learner.reasons(lead, url);
    let reason = |(group, adds): (focus::features::Group, f32)| RankReason {
        of: group.name().to_owned(),
        adds: f64::from(adds),
    };
    let mut reasons: Vec<RankReason> = reasons.into_iter().map(reason).collect();
    reasons.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()));
    Ok(RankStory { rank: f64::from(focus::rank(score)), reasons })
}
