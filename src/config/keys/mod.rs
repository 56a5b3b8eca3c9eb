//! The table of keys: name, type, and where the value goes. It drives parsing, detection of unknown keys and
//! `check-config`. `defaults.yml` has the default and the explanation of each key.
//!
//! A key stores its value in the draft, and the draft keeps options of a sink as keys of this table with their
//! destination. So the table, the draft, `sinks`, `elastic` and `destinations` import each other.

mod crawling;
mod delivering;
mod lacking;
mod watching;

use std::time::Duration;

use ::config::{Value, ValueKind};
use seine_policies::budgets::Budget;

pub(super) use self::lacking::instead;
use super::budgets;
use super::draft::Draft;
use super::overrides;
use super::values::{self, Unit};

#[derive(Clone, Copy)]
pub(super) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub secret: bool,
    /// The key can change while a crawl runs: `[reload]`. The other keys are built into clients, sinks and stores at
    /// the start.
    pub is_live: bool,
    /// Set for a feature of ACHE that Seine lacks: ACHE's default. The key does nothing here; another value causes a
    /// warning.
    pub lacking: Option<&'static str>,
}

/// A key's type and its setter. Setters that take text may refuse it; the error says what they expect. Numbers are
/// limited to ranges that their targets can hold exactly.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bool(fn(&mut Draft, bool)),
    Count(u64, u64, fn(&mut Draft, u64)),
    MaybeCount(u64, u64, fn(&mut Draft, Option<u64>)),
    Number(fn(&mut Draft, f64) -> Result<(), String>),
    /// With the minimum.
    Size(u64, fn(&mut Draft, u64)),
    Duration(Unit, Duration, fn(&mut Draft, Duration)),
    MaybeDuration(Duration, fn(&mut Draft, Option<Duration>)),
    Text(fn(&mut Draft, &str) -> Result<(), String>),
    MaybeText(fn(&mut Draft, Option<&str>) -> Result<(), String>),
    OneOf(&'static [&'static str], fn(&mut Draft, &str)),
    /// Settings of a destination's `Upkeep`, by the destination's name. `unchanged` and `removed` also list the allowed
    /// words.
    Unchanged(&'static str, &'static [&'static str]),
    MinChange(&'static str),
    SkipDuplicates(&'static str),
    Removed(&'static str, &'static [&'static str]),
    List(fn(&mut Draft, Vec<String>) -> Result<(), String>),
    Properties(fn(&mut Draft, std::collections::BTreeMap<String, String>) -> Result<(), String>),
    Hosts(fn(&mut Draft, std::collections::BTreeMap<String, Vec<std::net::IpAddr>>)),
    Cookies(fn(&mut Draft, Vec<super::checked::Cookie>)),
    Budgets(fn(&mut Draft, Vec<Budget>)),
    Overrides(fn(&mut Draft, Vec<seine_policies::revisit::Override>)),
    Sinks(fn(&mut Draft, &Value) -> Result<String, String>),
}

/// Other spellings of a key.
pub(super) const ALIASES: &[(&str, &str)] = &[("target_storage.data_format.type", "target_storage.data_formats")];

/// In the order of `defaults.yml`. The last keys do nothing.
const TABLE: &[&[Key]] = &[
    crawling::CRAWL,
    crawling::SCOPE,
    crawling::PREFERENCES,
    crawling::FOCUS,
    crawling::FRONTIER,
    crawling::FETCH,
    crawling::IDENTITY,
    crawling::DUPLICATES,
    delivering::LOG,
    delivering::SINKS,
    delivering::FILES,
    delivering::ELASTIC,
    watching::HTTP,
    watching::WORK,
    watching::LOGGING,
    lacking::KEYS,
];

/// All keys, without aliases.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    TABLE.iter().copied().flatten()
}

pub(super) fn find(name: &str) -> Option<&'static Key> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, real)| real);
    all().find(|key| key.name == name)
}

/// The hint for an unknown key that resembles no known key.
pub(super) const NO_HINT: &str = "seine check-config --defaults lists every key";

/// The hint for an unknown key: the known key most like it.
pub(super) fn hint(unknown: &str) -> String {
    nearest(unknown).map_or_else(|| NO_HINT.into(), |name| format!("did you mean {name}?"))
}

/// The known key most like an unknown one, if any. Dots, hyphens and underscores count as the same.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '.'], "_");
    if unknown.len() > 200 {
        return None;
    }
    let wanted = plain(unknown);
    let likeness = |name: &str| {
        let name = plain(name);
        let ends_alike = name == wanted || name.ends_with(&format!("_{wanted}"));
        if ends_alike { 1.0 } else { strsim::normalized_damerau_levenshtein(&wanted, &name) }
    };
    all()
        .map(|key| key.name)
        .chain(ALIASES.iter().map(|(alias, _)| *alias))
        .map(|name| (name, likeness(name)))
        .filter(|(_, likeness)| *likeness >= 0.65)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(name, _)| name)
}

impl Kind {
    /// Parses a value, stores it in the draft, and returns it as text for the user.
    pub(super) fn set(&self, draft: &mut Draft, value: &Value) -> Result<String, String> {
        match *self {
            Kind::Bool(set) => put(values::boolean(value), bool::to_string, |value| set(draft, value)),
            Kind::Count(least, most, set) => {
                put(values::count(value, least, most), u64::to_string, |value| set(draft, value))
            }
            Kind::MaybeCount(least, most, set) => {
                let value = maybe(value, |value| values::count(value, least, most));
                put(value, |value| or_null(value.map(|value| value.to_string())), |value| set(draft, value))
            }
            Kind::Number(set) => try_put(values::number(value), f64::to_string, |value| set(draft, value)),
            Kind::Size(least, set) => {
                put(values::size(value, least), |value| values::shown_size(*value), |value| set(draft, value))
            }
            Kind::Duration(unit, least, set) => {
                let value = values::duration(value, unit, least);
                put(value, |value| values::shown_duration(*value), |value| set(draft, value))
            }
            Kind::MaybeDuration(least, set) => {
                let value = maybe(value, |value| values::duration(value, Unit::Millis, least));
                put(value, |value| or_null(value.map(values::shown_duration)), |value| set(draft, value))
            }
            Kind::Text(set) => {
                try_put(values::text(value), |value| values::shown_text(value), |value| set(draft, value))
            }
            Kind::MaybeText(set) => {
                let value = maybe(value, values::text);
                try_put(value, |value| or_null(value.map(values::shown_text)), |value| set(draft, value))
            }
            Kind::OneOf(words, set) => put(one_of(value, words), ToString::to_string, |word| set(draft, word)),
            Kind::Unchanged(to, words) => {
                put(one_of(value, words), ToString::to_string, |word| draft.sinks.upkeep(to).set_unchanged(word))
            }
            Kind::MinChange(to) => {
                put(values::count(value, 0, 64), u64::to_string, |bits| draft.sinks.upkeep(to).min_change = bits as u8)
            }
            Kind::SkipDuplicates(to) => {
                put(values::boolean(value), bool::to_string, |skips| draft.sinks.upkeep(to).skip_duplicates = skips)
            }
            Kind::Removed(to, words) => {
                put(one_of(value, words), ToString::to_string, |word| draft.sinks.upkeep(to).set_removed(word))
            }
            Kind::List(set) => {
                try_put(values::list(value), |value| values::shown_list(value), |value| set(draft, value))
            }
            Kind::Properties(set) => {
                try_put(values::properties(value), values::shown_properties, |value| set(draft, value))
            }
            Kind::Hosts(set) => put(values::hosts(value), values::shown_hosts, |value| set(draft, value)),
            Kind::Sinks(set) => set(draft, value),
            Kind::Budgets(set) => {
                put(budgets::budgets(value), |value| budgets::shown(value), |value| set(draft, value))
            }
            Kind::Overrides(set) => {
                put(overrides::read(value), |value| overrides::shown(value), |value| set(draft, value))
            }
            Kind::Cookies(set) => {
                put(values::cookies(value), |value| values::shown_cookies(value), |value| set(draft, value))
            }
        }
    }

    /// The value consists of entries with names.
    pub(super) fn has_entries(&self) -> bool {
        matches!(self, Kind::Properties(_) | Kind::Sinks(_) | Kind::Cookies(_))
    }

    /// The value is a mapping with names that the user chooses.
    pub(super) fn is_mapping(&self) -> bool {
        matches!(self, Kind::Properties(_) | Kind::Hosts(_))
    }
}

/// Stores a value, and returns it as text for the user.
fn put<T>(value: Result<T, String>, show: impl FnOnce(&T) -> String, set: impl FnOnce(T)) -> Result<String, String> {
    try_put(value, show, |value| {
        set(value);
        Ok(())
    })
}

/// As [`put`], with a setter that may refuse the value.
fn try_put<T>(
    value: Result<T, String>,
    show: impl FnOnce(&T) -> String,
    set: impl FnOnce(T) -> Result<(), String>,
) -> Result<String, String> {
    let value = value?;
    let shown = show(&value);
    set(value).map(|()| shown)
}

fn or_null(shown: Option<String>) -> String {
    shown.unwrap_or_else(|| "null".into())
}

fn maybe<'a, T>(value: &'a Value, read: impl Fn(&'a Value) -> Result<T, String>) -> Result<Option<T>, String> {
    if value.kind == ValueKind::Nil {
        Ok(None)
    } else {
        read(value).map(Some).map_err(|expected| format!("{expected}, or null"))
    }
}

fn one_of(value: &Value, words: &'static [&'static str]) -> Result<&'static str, String> {
    let word = values::text(value).unwrap_or_default();
    let found = words.iter().find(|known| known.eq_ignore_ascii_case(word));
    found.copied().ok_or_else(|| format!("one of {}", words.join(", ")))
}

const NONE: Duration = Duration::ZERO;
const SOME: Duration = Duration::from_millis(1);

/// A duration in milliseconds, at least `least`.
const fn millis(least: Duration, set: fn(&mut Draft, Duration)) -> Kind {
    Kind::Duration(Unit::Millis, least, set)
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, secret: false, is_live: false, lacking: None }
}

const fn live(name: &'static str, kind: Kind) -> Key {
    Key { is_live: true, ..key(name, kind) }
}

const fn secret(key: Key) -> Key {
    Key { secret: true, ..key }
}

const fn lacking(name: &'static str, ache: &'static str, kind: Kind) -> Key {
    Key { lacking: Some(ache), ..key(name, kind) }
}
