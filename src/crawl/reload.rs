//! Reads the configuration again while the crawl runs, and applies all changes or none.

use std::sync::Arc;

use seine_frontier::scope::Scope;
use seine_system::blocking;

use super::open::options;
use super::running::Running;
use super::saved::InForce;
use crate::api::Refusal;
use crate::api::schema::Reloaded;
use crate::config::{Config, KeyChanged, changes};
use crate::telemetry::logging;
use crate::visit::{Services, shorter_delays};

/// Reads the file again; the environment and options of the start still override it. Nothing changes if the file is
/// wrong, or changes keys that need a restart.
pub(super) fn read_again(running: &Running, by: &str) -> Result<Reloaded, Refusal> {
    let mut in_force = running.in_force.lock();
    let loaded = running.started_with.configuration(None, &[], &[]);
    let loaded = loaded.map_err(|error| Refusal::Conflict(format!("{error}; {AS_IT_WAS}")))?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let changed = changes(&in_force, &loaded);
    let fixed: Vec<String> = changed.iter().filter(|change| !change.is_live).map(description).collect();
    if !fixed.is_empty() {
        let fixed = fixed.join(", ");
        let detail = format!("{fixed} cannot change while the crawl runs, so restart it; {AS_IT_WAS}");
        return Err(Refusal::Conflict(detail));
    }
    put(running, &loaded.config)?;
    follow(running);
    *in_force = loaded;
    let done = match &changed[..] {
        [] => "the configuration has not changed".to_owned(),
        changed => format!("changed: {}", changed.iter().map(description).collect::<Vec<_>>().join(", ")),
    };
    let order = serde_json::json!({"order": "reload", "keys": changed.iter().map(|it| &it.key).collect::<Vec<_>>()});
    let warning = running.console().order_log.add(by, order, &done);
    Ok(Reloaded { changed, done, warning })
}

/// Applies the operator's limits.
pub(super) fn limit_anew(running: &Running) -> Result<(), Refusal> {
    let in_force = running.in_force.lock();
    put(running, &in_force.config)?;
    follow(running);
    Ok(())
}

/// Applies a configuration that differs only in live keys. Visits in progress keep the old one.
fn put(running: &Running, config: &Config) -> Result<(), Refusal> {
    let (visitor, before, mut config) = (running.visitor(), running.config(), config.clone());
    running.limits.lay_over(&mut config.frontier);
    visitor.services.scope.change(|scope| {
        Scope::from_note(&config.scope, &scope.to_note(), &[]).map_err(|error| Refusal::Conflict(error.to_string()))
    })?;
    logging::filter_by(&config.logging.filter).map_err(|error| Refusal::Conflict(error.to_string()))?;
    running.log.configure(&config.log);
    running.frontier.reconfigure(options(&config));
    running.clients.configure(&config.work)?;
    *running.visitor.write() = Arc::new(visitor.with(config));
    if shorter_delays::is_any_shorter(&before, &running.config()) {
        shorter_delays::bring_forward(&running.frontier, &running.config(), None)?;
    }
    outdate_sinks(running, &before);
    running.visitor().services.changed.send_replace(());
    running.shutdown.wake();
    Ok(())
}

/// Marks sinks with changed credentials, which are then opened again.
fn outdate_sinks(running: &Running, before: &Config) {
    for sink in running.config().sinks.iter().filter(|sink| before.sink(sink.name()) != Some(sink)) {
        running.watch(sink.name()).outdate();
    }
}

/// Re-evaluates known URLs in the background, as a start does. If the crawl ends first, the next start does it.
fn follow(running: &Running) {
    let (visitor, following, frontier) = (running.visitor(), running.following.clone(), running.frontier.clone());
    blocking::thread("reload", move || {
        let _one_after_the_other = following.lock();
        let Services { scope, config, changed, .. } = &visitor.services;
        match (InForce { frontier: &frontier, scope: &scope.now(), config }).follow() {
            Ok(()) => changed.send_replace(()),
            Err(error) => tracing::error!(
                %error,
                "known URLs were not re-evaluated; the next start or seine reload does that"
            ),
        }
    });
}

const AS_IT_WAS: &str = "the configuration is unchanged";

/// `logging.filter (info → debug)`.
fn description(change: &KeyChanged) -> String {
    let KeyChanged { key, before, now, .. } = change;
    match before == now {
        true => format!("{key} (value not shown)"),
        false => format!("{key} ({before} → {now})"),
    }
}
