//! The differences between two configurations, and which of them can be applied while a crawl runs.

use serde::{Deserialize, Serialize};

use super::{Config, Effective, Loaded, Secret, SinkConfig};

const MODEL: &str = "target_storage.model";
const READ_TOKEN: &str = "http.api.read_token";
const OPERATE_TOKEN: &str = "http.api.operate_token";
const CLIENTS: &str = "work.clients";
const PASSWORD: &str = "target_storage.data_format.elasticsearch.rest.password";
const API_KEY: &str = "target_storage.data_format.elasticsearch.rest.api_key";
const SINKS: &str = "target_storage.sinks";
const COOKIES: &str = "crawler_manager.downloader.cookies";
const WHITELIST: &str = "link_storage.link_strategy.whitelist";
const BLACKLIST: &str = "link_storage.link_strategy.blacklist";

/// A key, or a file beside the configuration, with a changed value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChanged {
    pub key: String,
    /// As YAML; secrets are masked.
    pub before: String,
    pub now: String,
    /// The change can be applied while a crawl runs.
    #[serde(skip)]
    pub is_live: bool,
}

/// All keys that differ between `before` and `now`, in the order of `defaults.yml`.
pub fn changes(before: &Loaded, now: &Loaded) -> Vec<KeyChanged> {
    let mut changes: Vec<KeyChanged> = Vec::new();
    for &Effective { key, is_live, .. } in before.effective.iter().chain(&now.effective) {
        let value = |loaded: &Loaded| {
            let entry = loaded.effective.iter().find(|entry| entry.key == key);
            entry.map_or_else(|| "null".to_owned(), |entry| entry.value.clone())
        };
        let (before, now) = (value(before), value(now));
        if before != now && !changes.iter().any(|change| change.key == key) {
            changes.push(KeyChanged { key: key.to_owned(), before, now, is_live });
        }
    }
    // Of a sink's settings, only credentials can change while the crawl runs.
    let is_live = without_credentials(&before.config) == without_credentials(&now.config);
    changes.iter_mut().filter(|change| change.key == SINKS).for_each(|change| change.is_live = is_live);
    // The folder of the page classifier is the same, but its files changed.
    let names = [before, now].map(|loaded| loaded.config.classifier.as_ref().map(|it| it.name().to_string()));
    if let [Some(was), Some(is)] = names
        && was != is
        && !changes.iter().any(|change| change.key == MODEL)
    {
        changes.push(KeyChanged { key: MODEL.to_owned(), before: was, now: is, is_live: true });
    }
    let hidden = hidden(before, now, &changes);
    changes.extend(hidden);
    changes
}

/// Changes that printed values do not show: secrets, and files whose content is added to a key.
fn hidden(before: &Loaded, now: &Loaded, shown: &[KeyChanged]) -> Vec<KeyChanged> {
    let (before, now) = (&before.config, &now.config);
    let is_shown = |key: &str| shown.iter().any(|change| change.key == key);
    // Sinks are made of many keys. If one of these differs, it is already in the list.
    let can_sinks = without_credentials(before) == without_credentials(now);
    let is_sinks = !can_sinks && shown.iter().all(|change| change.is_live);
    let is_shown_of_sinks = [PASSWORD, API_KEY, SINKS].into_iter().any(is_shown);
    let is_credentials = can_sinks && secrets(before) != secrets(now) && !is_shown_of_sinks;
    [
        (READ_TOKEN, true, before.http.read_token != now.http.read_token && !is_shown(READ_TOKEN)),
        (OPERATE_TOKEN, true, before.http.operate_token != now.http.operate_token && !is_shown(OPERATE_TOKEN)),
        (CLIENTS, true, before.work.clients != now.work.clients && !is_shown(CLIENTS)),
        (COOKIES, false, before.fetch.cookies != now.fetch.cookies && !is_shown(COOKIES)),
        ("link_whitelist.txt", true, before.scope.allow != now.scope.allow && !is_shown(WHITELIST)),
        ("link_blacklist.txt", true, before.scope.deny != now.scope.deny && !is_shown(BLACKLIST)),
        ("link_filters.yml", true, before.scope.link_filters != now.scope.link_filters),
        ("a secret of target_storage", false, is_sinks),
        ("a secret of elasticsearch", true, is_credentials),
    ]
    .into_iter()
    .filter(|(_, _, differs)| *differs)
    .map(|(key, is_live, _)| KeyChanged {
        key: key.to_owned(),
        before: Secret::MASK.to_owned(),
        now: Secret::MASK.to_owned(),
        is_live,
    })
    .collect()
}

/// The sinks without the credentials of their destinations.
fn without_credentials(config: &Config) -> Vec<SinkConfig> {
    let mut sinks = config.sinks.clone();
    sinks.iter_mut().for_each(|sink| drop(sink.destination.take_credentials()));
    sinks
}

/// The secret credentials of all destinations.
fn secrets(config: &Config) -> Vec<Option<Secret>> {
    config.sinks.iter().flat_map(|sink| sink.destination.clone().take_credentials()).collect()
}
