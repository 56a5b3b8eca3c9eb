//! Counts repeated log lines instead of writing them, so that no part of the code fills the log.
//!
//! A warning or error that differs from an earlier one only in its numbers is counted. The count is reported after a
//! while and at the end. A line with the field `state` reports a change of state and is always written. Each place in
//! the code has a limit of lines per minute.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};
use tracing_subscriber::layer::{Context, Filter};
use xxhash_rust::xxh3::xxh3_64;

/// After this time a repeated line is written again, with its count.
const SAY_AGAIN: Duration = Duration::from_secs(600);
/// Maximum number of lines of one place in the code per [`MINUTE`].
const LINES: u64 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Number of lines to remember.
const KNOWN: usize = 512;
/// Maximum bytes of a line when it is reported with its count.
const GIST: usize = 300;
/// The field of a line that reports a change of state.
const STATE: &str = "state";
/// Target of the lines that report counts, which are never suppressed.
const COUNTS: &str = "seine::telemetry::repeats";

/// Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<KnownLines>>);

#[derive(Default)]
struct KnownLines {
    lines: HashMap<(Identifier, u64), Line>,
    call_sites: HashMap<Identifier, CallSite>,
}

struct Line {
    at: Instant,
    suppressed: u64,
    gist: String,
}

struct CallSite {
    since: Instant,
    lines: u64,
    suppressed: u64,
    gist: String,
}

impl<S> Filter<S> for Repeats {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        *metadata.level() > Level::INFO || metadata.target() == COUNTS || self.is_news(event)
    }
}

impl Repeats {
    fn is_news(&self, event: &Event<'_>) -> bool {
        let mut text = Text::default();
        event.record(&mut text);
        let (site, now) = (event.metadata().callsite(), Instant::now());
        let said = &mut *self.0.lock();
        let is_change = event.metadata().fields().field(STATE).is_some();
        if !is_change && *event.metadata().level() <= Level::WARN && said.is_known(&site, &text.0, now) {
            return false;
        }
        said.has_room(site, text.0, now)
    }

    /// Reports suppressed lines that are old enough; all of them if the log `is_over`.
    pub(super) fn tell(&self, is_over: bool) {
        let suppressed = self.0.lock().take(is_over, Instant::now());
        for (times, gist) in suppressed {
            tracing::warn!(target: COUNTS, times, said = gist, "repeats of this line, or of one like it, were not \
                written");
        }
    }
}

impl KnownLines {
    fn is_known(&mut self, site: &Identifier, text: &str, now: Instant) -> bool {
        let without_figures: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        let key = (site.clone(), xxh3_64(without_figures.as_bytes()));
        if let Some(line) = self.lines.get_mut(&key).filter(|line| now.duration_since(line.at) < SAY_AGAIN) {
            line.suppressed += 1;
            return true;
        }
        if self.lines.len() >= KNOWN {
            self.lines.retain(|_, line| line.suppressed > 0 || now.duration_since(line.at) < MINUTE);
        }
        if self.lines.len() < KNOWN {
            self.lines.insert(key, Line { at: now, suppressed: 0, gist: gist(text) });
        }
        false
    }

    fn has_room(&mut self, site: Identifier, text: String, now: Instant) -> bool {
        let site = self.call_sites.entry(site).or_insert(CallSite {
            since: now,
            lines: 0,
            suppressed: 0,
            gist: String::new(),
        });
        if now.duration_since(site.since) >= MINUTE {
            (site.since, site.lines) = (now, 0);
        }
        site.lines += 1;
        if site.lines > LINES {
            site.suppressed += 1;
            site.gist = gist(&text);
        }
        site.lines <= LINES
    }

    fn take(&mut self, is_over: bool, now: Instant) -> Vec<(u64, String)> {
        let mut suppressed = Vec::new();
        for line in self.lines.values_mut().filter(|line| line.suppressed > 0) {
            if is_over || now.duration_since(line.at) >= SAY_AGAIN {
                line.at = now;
                suppressed.push((std::mem::take(&mut line.suppressed), line.gist.clone()));
            }
        }
        for site in self.call_sites.values_mut().filter(|site| site.suppressed > 0) {
            if is_over || now.duration_since(site.since) >= MINUTE {
                suppressed.push((std::mem::take(&mut site.suppressed), std::mem::take(&mut site.gist)));
            }
        }
        suppressed
    }
}

fn gist(text: &str) -> String {
    text.get(..text.floor_char_boundary(GIST)).unwrap_or(text).to_owned()
}

/// An event's message and fields as one text.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing into a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            name => write!(self.0, "{name}={value:?} "),
        };
    }
}
