//! Saved settings: the settings of the last start or reload, as notes in the frontier. Where the configuration differs,
//! known URLs are re-evaluated.

use std::collections::BTreeMap;

use seine_frontier::scope::Scope;
use seine_frontier::{EmbeddedFrontier, Fetching, FrontierError, Notes, PageRecord, Recheck, Verdicts};
use seine_system::clock::now_ms;

use super::{focus, saved_scope};
use crate::config::{Config, Loaded, Redirects};
use crate::fetch::client::admits;
use crate::judge::reevaluation;
use crate::validate::RecheckTimes;

/// A setting that is saved with the crawl.
pub(super) struct Saved {
    /// The name of its note. A new data folder has no note, and one of an older version may have none.
    pub note: &'static str,
    /// The text of the note for the settings in force. It may depend on the note before.
    pub text: fn(&InForce, Option<&str>) -> String,
    /// Revisits what is known, if the text differs from the note before.
    pub revisit: fn(&InForce, Option<&str>) -> Result<(), FrontierError>,
}

/// All saved settings, in the order in which they are compared. A later one may ask for a recheck that is sooner than the
/// recheck policy wants it.
const TABLE: [&Saved; 6] = [&RECRAWL, &focus::ORDER, &saved_scope::REACH, &REDIRECTS, &SKIPPING, &MEDIA_TYPES];

/// The settings in force, and what is known.
pub(super) struct InForce<'a> {
    pub frontier: &'a EmbeddedFrontier,
    pub scope: &'a Scope,
    pub config: &'a Config,
}

impl InForce<'_> {
    /// Revisits what is known for each setting that has changed. The note is written last, so an interrupted change begins
    /// again.
    pub(super) fn follow(&self) -> Result<(), FrontierError> {
        for saved in TABLE {
            let note = self.frontier.note(saved.note)?;
            let text = (saved.text)(self, note.as_deref());
            if note.as_ref() != Some(&text) {
                (saved.revisit)(self, note.as_deref())?;
                self.frontier.set_note(saved.note, &text)?;
            }
        }
        Ok(())
    }
}

/// The recheck policy. If it changes, the rechecks of known pages are counted anew from their last fetch.
const RECRAWL: Saved = Saved {
    note: "recrawl_policy",
    // Version 2 of this note: since then, refused URLs are rechecked too.
    text: |now, _| format!("2 {}", serde_json::to_string(&now.config.frontier.revisit).unwrap_or_default()),
    revisit: |now, before| {
        let (frontier, config) = (now.frontier, &now.config.frontier);
        if before.is_none() && config.revisit.is_off() {
            return Ok(());
        }
        let times = RecheckTimes::open(frontier, config, now_ms())?;
        let recheck = |page: &PageRecord| {
            // If the hints of a host cannot be read, they are ignored until the next recheck of the page.
            let trust = || page.is_hinted().then(|| frontier.trust(&page.url).ok().flatten()).flatten();
            Some(Recheck::At(times.due(page, trust().as_ref(), page.fetched_ms)))
        };
        let pages = frontier.recheck(None, now_ms(), &recheck)?;
        if pages > 0 {
            tracing::info!(pages, "recrawl has changed: these known pages get a new due time");
        }
        Ok(())
    },
};

/// The handling of redirects. With `redirects: follow`, aliases are queued that were never requested, because another
/// URL redirected to their page.
const REDIRECTS: Saved = Saved {
    note: "redirects",
    text: |now, _| format!("{:?}", now.config.frontier.redirects),
    revisit: |now, _| {
        if now.config.frontier.redirects != Redirects::Follow || now.frontier.counts().alias == 0 {
            return Ok(());
        }
        let pages = now.frontier.recheck(None, now_ms(), &reevaluation::for_followed_redirects)?;
        tracing::info!(pages, "redirects: follow: redirect targets are fetched under their own URLs, too");
        Ok(())
    },
};

/// Whether each destination skips duplicates, by name.
const SKIPPING: Saved = Saved {
    note: "skips_duplicates",
    text: |now, _| serde_json::to_string(&skipping(now)).unwrap_or_default(),
    revisit: |now, before| {
        let before: BTreeMap<String, bool> =
            before.and_then(|note| serde_json::from_str(note).ok()).unwrap_or_default();
        // A new destination did not skip them.
        let did = |name: &str| before.get(name).copied().unwrap_or_default();
        let has_changed = skipping(now).into_iter().any(|(name, skips)| skips != did(name));
        if has_changed && now.frontier.counts().duplicates > 0 {
            let pages = now.frontier.recheck(None, now_ms(), &reevaluation::for_skipped_duplicates)?;
            tracing::info!(pages, "skip_duplicates has changed: duplicates are rechecked");
        }
        Ok(())
    },
};

fn skipping<'a>(now: &InForce<'a>) -> BTreeMap<&'a str, bool> {
    now.config.sinks.iter().map(|sink| (sink.name(), sink.upkeep.skip_duplicates)).collect()
}

/// The accepted media types.
const MEDIA_TYPES: Saved = Saved {
    note: "media_types",
    text: |now, _| serde_json::to_string(&now.config.fetch.mime_types).unwrap_or_default(),
    revisit: |now, before| {
        let Some(before) = before.and_then(|note| serde_json::from_str::<Vec<String>>(note).ok()) else {
            return Ok(());
        };
        let types = &now.config.fetch.mime_types;
        let (is_narrower, is_wider) = (!covers(types, &before), !covers(&before, types));
        let recheck = |page: &PageRecord| reevaluation::for_media_types(page, is_narrower, is_wider);
        let pages = now.frontier.recheck(None, now_ms(), &recheck)?;
        if pages > 0 {
            tracing::info!(
                pages,
                "valid_mime_types has changed: live pages are refetched when they are due, and URLs with a type \
                that is accepted now are tried again"
            );
        }
        Ok(())
    },
};

/// Whether `types` admit everything that `others` do. An empty list admits all types.
fn covers(types: &[String], others: &[String]) -> bool {
    if others.is_empty() { admits(types, "*/*") } else { others.iter().all(|other| admits(types, other)) }
}

/// The list that the last run used. Older data folders have no note.
const PARAMETERS_NOTE: &str = "drop_parameters";

/// The query parameters to remove from links: the configured ones, or else those that the data folder has used so far.
/// Another list would change the URLs of known pages and fetch them again, so a new default applies only to new
/// folders. Must be called before seeds are queued. Saves the list.
pub(super) fn parameters_in_force(frontier: &EmbeddedFrontier, loaded: &Loaded) -> Result<Vec<String>, FrontierError> {
    let note = frontier.note(PARAMETERS_NOTE)?;
    // An unreadable note counts as missing.
    let noted = note.as_deref().and_then(|note| serde_json::from_str::<Vec<String>>(note).ok());
    let default = || {
        let counts = frontier.counts();
        let is_new = counts.page == 0 && counts.work_proposed == 0;
        if !is_new {
            tracing::info!(
                "links keep parameters such as utm_source, because this data folder has URLs with them; to remove \
                them here too, set link_storage.link_strategy.drop_parameters"
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
