//! What the last start went by is in notes. Where the configuration says otherwise now, what is known already follows, or has a say.
//! Broken off, it begins again.

use std::collections::BTreeMap;

use crate::clock::now_ms;
use crate::config::{FrontierConfig, Loaded, Redirects, SinkConfig};
use crate::frontier::{Frontier, FrontierError, Look, PageRecord, PageState};
use crate::validate::Looks;

/// The list that the folder's last run went by. Folders of before have none.
const PARAMETERS_NOTE: &str = "drop_parameters";

/// Which parameters are taken out of links: those that are set, or else those that the data folder has gone by so far. Another list
/// gives known pages other URLs, and they would be fetched again under these: so a new default is for new folders alone. To be
/// asked before seeds are proposed. The list is noted.
pub(super) fn parameters_in_force(frontier: &dyn Frontier, loaded: &Loaded) -> Result<Vec<String>, FrontierError> {
    let note = frontier.note(PARAMETERS_NOTE)?;
    // What cannot be read is as if it were not there.
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

/// Whether each destination left duplicates out at the last start, by name. One that was not there did not.
const SKIPPING_NOTE: &str = "skips_duplicates";

/// Where a destination leaves duplicates out that did not, or the other way round, every duplicate is looked at again at once: it
/// leaves that one, or comes there. (What a page's being a duplicate means for destinations is told by its events alone.)
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

/// How redirects were delivered at the last start.
const REDIRECTS_NOTE: &str = "redirects";

/// Where each URL is to have the page that it leads to (`redirects: follow`), URLs whose page was another's as that redirected to them are
/// asked for. As aliases they were never asked for themselves.
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

/// The policy by which the pages that are known are looked at again.
const RECRAWL_NOTE: &str = "recrawl_policy";

/// A recrawl that is switched on or off, or is to be another, is for the pages that are known already, too. They are looked at
/// again from their last look on.
pub(super) fn apply_recrawl(frontier: &dyn Frontier, config: &FrontierConfig) -> Result<(), FrontierError> {
    // Its version: what was refused is looked at again since the second.
    let policy = format!("2 {}", serde_json::to_string(&config.revisit).unwrap_or_default());
    let before = frontier.note(RECRAWL_NOTE)?;
    if before.as_ref() == Some(&policy) || (before.is_none() && config.revisit.is_off()) {
        return Ok(());
    }
    let looks = Looks::open(frontier, config, now_ms())?;
    let look = |page: &PageRecord| {
        // Hints of a host that cannot be read count for nothing until the page's next look.
        let trust = || page.is_hinted().then(|| frontier.trust(&page.url).ok().flatten()).flatten();
        Some(Look::At(looks.due(page, trust().as_ref(), page.fetched_ms)))
    };
    let pages = frontier.look_again(None, now_ms(), &look)?;
    if pages > 0 {
        tracing::info!(pages, "recrawl has changed: for these pages, known already, too");
    }
    frontier.set_note(RECRAWL_NOTE, &policy)
}
