//! The table of keys: name, type, default, meaning. It drives reading, unknown-key detection, `check-config` and
//! `config/seine.yml`; there is no second list, and no default stands anywhere else.
//!
//! A key knows where its value goes in the draft, and what a draft keeps of a sink are keys of this table again, with its
//! destination: so the table, the draft, `sinks`, `elastic` and `destinations` import each other.

mod archives;
mod asking;
mod crawling;
mod delivering;
mod duplicates;
mod focusing;
mod following;
mod lacking;
mod watching;

use std::time::Duration;

use super::budgets;
use super::draft::Draft;
use super::overrides;
use super::values::{self, Unit};
use super::yaml::Node;
use crate::budgets::Budget;

/// Keys that belong together, under a heading of the sample file.
pub(super) struct Group {
    pub title: &'static str,
    pub keys: &'static [Key],
}

#[derive(Clone, Copy)]
pub(super) struct Key {
    pub name: &'static str,
    /// As the sample file has it.
    pub default: &'static str,
    /// ACHE's default, when the key is ACHE's; its numbers for "no limit" and its name are taken as ours.
    pub ache: Option<&'static str>,
    pub kind: Kind,
    /// What it does; or, for a key Seine has no use for, what happens instead.
    pub doc: &'static str,
    /// False: ACHE's feature that Seine lacks. Set to anything but ACHE's default, it is worth a warning.
    pub supported: bool,
    pub secret: bool,
}

/// A key's type, and where its value goes. Setters that take text may refuse it, saying what they expect.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bool(fn(&mut Draft, bool)),
    Count(u64, u64, fn(&mut Draft, u64)),
    MaybeCount(u64, u64, fn(&mut Draft, Option<u64>)),
    Number(fn(&mut Draft, f64) -> Result<(), String>),
    /// With the least allowed.
    Size(u64, fn(&mut Draft, u64)),
    Duration(Unit, Duration, fn(&mut Draft, Duration)),
    MaybeDuration(Unit, Duration, fn(&mut Draft, Option<Duration>)),
    Text(fn(&mut Draft, &str) -> Result<(), String>),
    MaybeText(fn(&mut Draft, Option<&str>) -> Result<(), String>),
    OneOf(&'static [&'static str], fn(&mut Draft, &str)),
    List(fn(&mut Draft, Vec<String>) -> Result<(), String>),
    Properties(fn(&mut Draft, std::collections::BTreeMap<String, String>) -> Result<(), String>),
    Hosts(fn(&mut Draft, std::collections::BTreeMap<String, Vec<std::net::IpAddr>>)),
    Cookies(fn(&mut Draft, Vec<super::checked::Cookie>)),
    Budgets(fn(&mut Draft, Vec<Budget>)),
    Overrides(fn(&mut Draft, Vec<crate::revisit::Override>)),
    Sinks(fn(&mut Draft, &Node) -> Result<String, String>),
}

/// Other spellings of a key.
pub(super) const ALIASES: &[(&str, &str)] = &[("target_storage.data_format.type", "target_storage.data_formats")];

/// The keys that do something, in the order a page walks.
pub(super) const GROUPS: &[Group] = &[
    Group { title: "The crawl", keys: crawling::CRAWL },
    Group { title: "Which links are followed", keys: following::SCOPE },
    Group { title: "What publishers ask", keys: asking::KEYS },
    Group { title: "Focused crawls: which links come first", keys: focusing::KEYS },
    Group { title: "When they are fetched: politeness, retries, recrawling", keys: crawling::FRONTIER },
    Group { title: "How they are fetched", keys: crawling::FETCH },
    Group { title: "Who asks", keys: crawling::IDENTITY },
    Group { title: "Pages with the same content", keys: duplicates::KEYS },
    Group { title: "The page log: where a page becomes accepted", keys: delivering::LOG },
    Group { title: "Where pages are delivered", keys: delivering::SINKS },
    Group { title: "Files other than FILES", keys: archives::KEYS },
    Group { title: "Elasticsearch and OpenSearch", keys: delivering::ELASTIC },
    Group { title: "Metrics, health and the API, over HTTP", keys: watching::HTTP },
    Group { title: "Other crawlers that fetch for this one", keys: watching::WORK },
    Group { title: "Seine's own log", keys: watching::LOGGING },
];

/// ACHE's keys whose feature Seine lacks.
pub(super) const LACKING: &[Key] = lacking::KEYS;

/// Every key once, without aliases.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    GROUPS.iter().flat_map(|group| group.keys).chain(LACKING)
}

pub(super) fn find(name: &str) -> Option<&'static Key> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, real)| real);
    all().find(|key| key.name == name)
}

/// What to say of an unknown key that resembles none.
pub(super) const NO_HINT: &str = "config/seine.yml lists every key";

/// The known key most like an unknown one, as a hint to the user.
pub(super) fn hint(unknown: &str) -> String {
    nearest(unknown).map_or_else(|| NO_HINT.into(), |name| format!("did you mean {name}?"))
}

/// The known key most like an unknown one, if any is. Dots, hyphens and underscores count as the same.
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
    /// Reads a value, puts it into the draft, and returns it as people should see it.
    pub fn set(&self, draft: &mut Draft, node: &Node) -> Result<String, String> {
        match *self {
            Kind::Bool(set) => put(values::boolean(node), bool::to_string, |value| set(draft, value)),
            Kind::Count(least, most, set) => {
                put(values::count(node, least, most), u64::to_string, |value| set(draft, value))
            }
            Kind::MaybeCount(least, most, set) => {
                let value = maybe(node, |node| values::count(node, least, most));
                put(value, |value| or_null(value.map(|value| value.to_string())), |value| set(draft, value))
            }
            Kind::Number(set) => {
                let value = values::number(node)?;
                set(draft, value).map(|()| value.to_string())
            }
            Kind::Size(least, set) => {
                put(values::size(node, least), |value| values::shown_size(*value), |value| set(draft, value))
            }
            Kind::Duration(unit, least, set) => {
                let value = values::duration(node, unit, least);
                put(value, |value| values::shown_duration(*value), |value| set(draft, value))
            }
            Kind::MaybeDuration(unit, least, set) => {
                let value = maybe(node, |node| values::duration(node, unit, least));
                put(value, |value| or_null(value.map(values::shown_duration)), |value| set(draft, value))
            }
            Kind::Text(set) => {
                let value = values::text(node)?;
                set(draft, value).map(|()| values::shown_text(value))
            }
            Kind::MaybeText(set) => {
                let value = maybe(node, values::text)?;
                set(draft, value).map(|()| or_null(value.map(values::shown_text)))
            }
            Kind::OneOf(words, set) => put(one_of(node, words), ToString::to_string, |word| set(draft, word)),
            Kind::List(set) => {
                let value = values::list(node)?;
                let shown = values::shown_list(&value);
                set(draft, value).map(|()| shown)
            }
            Kind::Properties(set) => {
                let value = values::properties(node)?;
                let shown = values::shown_properties(&value);
                set(draft, value).map(|()| shown)
            }
            Kind::Hosts(set) => put(values::hosts(node), values::shown_hosts, |value| set(draft, value)),
            Kind::Sinks(set) => set(draft, node),
            Kind::Budgets(set) => put(budgets::budgets(node), |value| budgets::shown(value), |value| set(draft, value)),
            Kind::Overrides(set) => {
                put(overrides::read(node), |value| overrides::shown(value), |value| set(draft, value))
            }
            Kind::Cookies(set) => {
                put(values::cookies(node), |value| values::shown_cookies(value), |value| set(draft, value))
            }
        }
    }

    /// Its value is a mapping, whose names are the user's.
    pub fn is_mapping(&self) -> bool {
        matches!(self, Kind::Properties(_) | Kind::Hosts(_))
    }
}

/// Hands a value on, and returns it as people should see it.
fn put<T>(value: Result<T, String>, show: impl FnOnce(&T) -> String, set: impl FnOnce(T)) -> Result<String, String> {
    let value = value?;
    let shown = show(&value);
    set(value);
    Ok(shown)
}

fn or_null(shown: Option<String>) -> String {
    shown.unwrap_or_else(|| "null".into())
}

fn maybe<'a, T>(node: &'a Node, read: impl Fn(&'a Node) -> Result<T, String>) -> Result<Option<T>, String> {
    if node.is_null() { Ok(None) } else { read(node).map(Some).map_err(|expected| format!("{expected}, or null")) }
}

fn one_of(node: &Node, words: &'static [&'static str]) -> Result<&'static str, String> {
    let word = values::text(node).unwrap_or_default();
    let found = words.iter().find(|known| known.eq_ignore_ascii_case(word));
    found.copied().ok_or_else(|| format!("one of {}", words.join(", ")))
}

/// A key of ours.
const fn ours(name: &'static str, default: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, default, ache: None, kind, doc, supported: true, secret: false }
}

/// A key of ACHE's, with our default and ACHE's.
const fn ache(name: &'static str, default: &'static str, ache: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, default, ache: Some(ache), kind, doc, supported: true, secret: false }
}

/// A key of ACHE's that does nothing here, with ACHE's default.
const fn lacking(name: &'static str, default: &'static str, kind: Kind, instead: &'static str) -> Key {
    Key { name, default, ache: Some(default), kind, doc: instead, supported: false, secret: false }
}

const fn secret(key: Key) -> Key {
    Key { secret: true, ..key }
}
