//! Saved settings: notes with the settings of the last start. If the configuration differs, known URLs are
//! re-evaluated. An interrupted re-evaluation starts again.

use std::collections::BTreeMap;

use seine_frontier::{Frontier, FrontierError, Look, PageRecord, PageState};
use seine_system::clock::now_ms;

use crate::config::{FrontierConfig, Loaded, Redirects, SinkConfig};
use crate::validate::Looks;

/// The list that the last run used. Older data folders have no note.
const PARAMETERS_NOTE: &str = "drop_parameters";

/// The query parameters to remove from links: the configured ones, or else those that the data folder has used so far.
/// Another list would change the URLs of known pages and fetch them again, so a new default applies only to new
/// folders. Must be called before seeds are queued. Saves the list.
pub(super) fn parameters_in_force(frontier: &dyn Frontier, loaded: &Loaded) -> Result<Vec<String>, FrontierError> {
    let note = frontier.note(PARAMETERS_NOTE)?;
    // An unreadable note counts as missing.
    let noted = note.as_deref().and_then(|note| serde_json::from_str::<Vec<String>>(note).ok());
    let default = || {
        let counts = frontier.counts();
        let is_new = counts.page == 0 && counts.work_proposed == 0;
        if !is_new {
            tracing::info!(
                "links keep parameters such as utm_source: this data folder knows URLs that have them; a new one has them dropped, \
                 and this one if link_storage.link_strategy.drop_parameters is set"
            );
        }
        if is_new { loaded.config.scope.drop_parameters.clone() } else { Vec::new() }
    };
    let list = loaded.drop_parameters().map(<[String]>::to_vec).or(noted).unwrap_or_else(default);
    let now = serde_json::to_string(&list).unwrap_or_default();
    if note.as_ref() != Some(&now) {
        frontier.set_note(PARAMETERS_NOTE, &now)?;
    }
    Ok(list)
}

/// Whether each destination skipped duplicates at the last start, by name. A new destination did not.
const SKIPPING_NOTE: &str = "skips_duplicates";

/// If a destination starts or stops skipping duplicates, every duplicate is rechecked at once. The new event then
/// removes the page from the destination, or delivers it.
pub(super) fn apply_skipping(frontier: &dyn Frontier, sinks: &[SinkConfig]) -> Result<(), FrontierError> {
    let before: BTreeMap<String, bool> =
        frontier.note(SKIPPING_NOTE)?.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default();
    let now: BTreeMap<String, bool> =
        sinks.iter().map(|sink| (sink.name().to_owned(), sink.upkeep.skip_duplicates)).collect();
    if now == before {
        return Ok(());
    }
    let did = |name: &String| before.get(name).copied().unwrap_or_default();
    if frontier.counts().duplicates > 0 && now.iter().any(|(name, skips)| *skips != did(name)) {
        let look = |page: &PageRecord| page.duplicate_of().map(|_| Look::Reread);
        let pages = frontier.look_again(None, now_ms(), &look)?;
        tracing::info!(pages, "skip_duplicates has changed: pages that are duplicates are looked at again");
    }
    frontier.set_note(SKIPPING_NOTE, &serde_json::to_string(&now).unwrap_or_default())
}

/// The value of `redirects` at the last start.
const REDIRECTS_NOTE: &str = "redirects";

/// With `redirects: follow`, queues aliases that were never requested, because another URL redirected to their page.
pub(super) fn apply_redirects(frontier: &dyn Frontier, config: &FrontierConfig) -> Result<(), FrontierError> {
    let now = format!("{:?}", config.redirects);
    if frontier.note(REDIRECTS_NOTE)?.as_ref() == Some(&now) {
        return Ok(());
    }
    if config.redirects == Redirects::Follow && frontier.counts().alias > 0 {
        let is_unasked =
            |page: &PageRecord| page.state == PageState::Alias && page.target.as_deref() == Some(&page.url);
        let pages = frontier.look_again(None, now_ms(), &|page| is_unasked(page).then_some(Look::First))?;
        tracing::info!(
            pages,
            "redirects are followed for each URL now: pages that redirects led to are fetched for themselves"
        );
    }
    frontier.set_note(REDIRECTS_NOTE, &now)
}

/// The recheck policy of known pages.
const RECRAWL_NOTE: &str = "recrawl_policy";

/// Applies a changed recheck policy to known pages, counted from their last fetch.
pub(super) fn apply_recrawl(frontier: &dyn Frontier, config: &FrontierConfig) -> Result<(), FrontierError> {
    // Version 2 of this note: since then, refused URLs are rechecked too.
    let policy = format!("2 {}", serde_json::to_string(&config.revisit).unwrap_or_default());
    let before = frontier.note(RECRAWL_NOTE)?;
    if before.as_ref() == Some(&policy) || (before.is_none() && config.revisit.is_off()) {
        return Ok(());
    }
    let looks = Looks::open(frontier, config, now_ms())?;
    let look = |page: &PageRecord| {
        // If the hints of a host cannot be read, they are ignored until the next recheck of the page.
        let trust = || page.is_hinted().then(|| frontier.trust(&page.url).ok().flatten()).flatten();
        Some(Look::At(looks.due(page, trust().as_ref(), page.fetched_ms)))
    };
    let pages = frontier.look_again(None, now_ms(), &look)?;
    if pages > 0 {
        tracing::info!(pages, "recrawl has changed: for these pages, known already, too");
    }
    frontier.set_note(RECRAWL_NOTE, &policy)
}
