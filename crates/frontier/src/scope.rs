//! Decides which URLs belong to a crawl. Pure: reads the configuration, does no I/O.
//!
//! All of these must agree, in this order: the host rule, `allow` and `deny`, ACHE's link filters for the URL's domain,
//! then the global link filters.
//!
//! The formats are ACHE's. Regular expressions (`link_whitelist.txt`, `link_blacklist.txt`, `type: regex`) match the
//! whole URL and ignore case. Wildcards (`type: wildcard`, the default) match the whole URL, with case, and have only
//! `*`. An empty list, or one of empty lines, has no effect. Unlike ACHE's, expressions have no look-around and no back
//! references, so matching takes linear time. Several entries of `link_filters.yml` for one domain are joined; in ACHE
//! one of them wins by chance.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use config::{File, FileFormat, Source};
use locks::{RwLock, RwLockUpgradableReadGuard};
use regex::bytes::{RegexBuilder, RegexSet, RegexSetBuilder};
use serde::{Deserialize, Serialize};

use super::refused::RefusedLinks;
use crate::pattern;
use crate::scope_config::{ScopeConfig, ScopeRule};
use seine_parse::page::Kind;
use seine_parse::url;

/// The compiled rules of one crawl.
#[derive(Debug)]
pub struct Scope {
    rule: ScopeRule,
    /// The hosts of the seeds of this and earlier runs.
    seed_hosts: BTreeSet<String>,
    /// The hosts or registrable domains that the rule admits.
    admitted: HashSet<String>,
    patterns: Lists,
    /// Link filters by registrable domain.
    domain_filters: HashMap<String, Lists>,
    global_filters: Lists,
    /// Requisites of pages are fetched.
    requisites: bool,
}

/// Maximum number of steps from a page to a requisite: a style sheet, one that it imports, and a font of that.
pub const REQUISITE_STEPS: u16 = 3;

/// The present scope. Seeds added during a crawl widen it.
#[derive(Debug)]
pub struct CurrentScope {
    scope: RwLock<Arc<Scope>>,
    /// Counts of refused links.
    pub refused: RefusedLinks,
}

impl CurrentScope {
    pub fn new(scope: Scope, refused: RefusedLinks) -> CurrentScope {
        CurrentScope { scope: RwLock::new(Arc::new(scope)), refused }
    }

    pub fn now(&self) -> Arc<Scope> {
        self.scope.read().clone()
    }

    /// Replaces the scope with one made from it. Other changes wait; readers do not.
    pub fn change<E>(&self, change: impl FnOnce(&Scope) -> Result<Scope, E>) -> Result<(), E> {
        let current = self.scope.upgradable_read();
        let changed = change(&current)?;
        *RwLockUpgradableReadGuard::upgrade(current) = Arc::new(changed);
        Ok(())
    }
}

/// The verdict on a URL, with the rule that refuses it. Patterns are as the user wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeDecision<'a> {
    Admitted,
    /// Not a normalised http(s) URL.
    NotAUrl,
    /// The host is neither a seed's nor in `hosts`.
    OtherHost,
    /// No pattern of this list matches.
    NotAllowed {
        list: &'a str,
    },
    /// This pattern of this list matches.
    Denied {
        list: &'a str,
        pattern: &'a str,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    #[error("seed {0:?} is not an http or https URL; write it like https://example.com/")]
    Seed(String),
    #[error("link_storage.link_strategy.scope_hosts: {0:?} is not a host's name; write it like example.com")]
    Host(String),
    #[error("{list}, pattern {number} {pattern:?}: {problem}; look-around and back references are not supported")]
    Pattern { list: String, number: usize, pattern: String, problem: String },
    #[error("{list}: the patterns cannot be compiled together: {problem}; use fewer or simpler ones")]
    Together { list: String, problem: String },
    #[error("link filters, {entry}: {problem}; an entry has type (wildcard or regex), whitelist and blacklist")]
    LinkFilters { entry: String, problem: String },
    #[error("the scope kept with the frontier cannot be read: {0}; was it written by a newer seine?")]
    Note(#[from] serde_json::Error),
}

/// Stored with the frontier, so that a later run without seeds has the same scope.
#[derive(Serialize, Deserialize)]
struct Note {
    seed_hosts: BTreeSet<String>,
}

impl Scope {
    /// `seeds`: URLs as people write them. Their hosts are in scope, without port and scheme (as in ACHE).
    pub fn new(config: &ScopeConfig, seeds: &[String]) -> Result<Scope, ScopeError> {
        Scope::with_hosts(config, BTreeSet::new(), seeds)
    }

    /// The scope of an earlier run, from [`Scope::to_note`], with the rules of `config` and the hosts of further
    /// `seeds`.
    pub fn from_note(config: &ScopeConfig, note: &str, seeds: &[String]) -> Result<Scope, ScopeError> {
        let note: Note = serde_json::from_str(note)?;
        Scope::with_hosts(config, note.seed_hosts, seeds)
    }

    /// The hosts of the seeds as JSON, for the frontier's note.
    pub fn to_note(&self) -> String {
        serde_json::json!(Note { seed_hosts: self.seed_hosts.clone() }).to_string()
    }

    /// Whether a normalised URL is in scope. Allocates nothing.
    pub fn admits(&self, url: &str) -> bool {
        url::host(url).is_some_and(|host| self.admits_host(host) && self.refusing_list(host, url).is_none())
    }

    /// Whether a known URL may still be fetched after a change of scope or depth. Seeds always may.
    pub fn keeps(&self, url: &str, kind: Kind, depth: u16, max_depth: Option<u16>) -> bool {
        if kind == Kind::Requisite {
            return self.admits_requisite(url);
        }
        let is_seed = kind == Kind::Page && depth == 0;
        is_seed || (max_depth.is_none_or(|deepest| depth <= deepest) && self.admits(url))
    }

    /// Whether a requisite may be fetched, from any host: no list forbids it.
    pub fn admits_requisite(&self, url: &str) -> bool {
        let is_free = |host| self.lists_for(host).all(|lists| lists.denying(url).is_none());
        self.requisites && url::host(url).is_some_and(is_free)
    }

    /// Whether a normalised URL is in scope, and if not, why.
    pub fn why(&self, url: &str) -> ScopeDecision<'_> {
        let Some(host) = url::host(url) else { return ScopeDecision::NotAUrl };
        if !self.admits_host(host) {
            return ScopeDecision::OtherHost;
        }
        match self.refusing_list(host, url) {
            None => ScopeDecision::Admitted,
            Some(list) => match list.matching(url) {
                Some(pattern) => ScopeDecision::Denied { list: &list.name, pattern },
                None => ScopeDecision::NotAllowed { list: &list.name },
            },
        }
    }

    fn with_hosts(config: &ScopeConfig, known: BTreeSet<String>, seeds: &[String]) -> Result<Scope, ScopeError> {
        let mut seed_hosts = known;
        for seed in seeds {
            seed_hosts.insert(host_of(seed).ok_or_else(|| ScopeError::Seed(seed.clone()))?);
        }
        let mut hosts = seed_hosts.clone();
        for host in &config.hosts {
            hosts.insert(host_of(host).ok_or_else(|| ScopeError::Host(host.clone()))?);
        }
        let admitted = match config.rule {
            ScopeRule::Any => HashSet::new(),
            ScopeRule::Host => hosts.into_iter().collect(),
            ScopeRule::Domain => hosts.iter().map(|host| url::registrable_domain(host).to_owned()).collect(),
        };
        let patterns = Lists {
            allow: List::of_regexes("link_storage.link_strategy.whitelist", &config.allow)?,
            deny: List::of_regexes("link_storage.link_strategy.blacklist", &config.deny)?,
        };
        let (global_filters, domain_filters) = link_filters(config.link_filters.as_deref().unwrap_or_default())?;
        let requisites = config.requisites.is_any();
        Ok(Scope { rule: config.rule, seed_hosts, admitted, patterns, domain_filters, global_filters, requisites })
    }

    fn admits_host(&self, host: &str) -> bool {
        match self.rule {
            ScopeRule::Any => true,
            ScopeRule::Host => self.admitted.contains(host),
            ScopeRule::Domain => self.admitted.contains(url::registrable_domain(host)),
        }
    }

    fn refusing_list(&self, host: &str, url: &str) -> Option<&List> {
        self.lists_for(host).find_map(|lists| lists.refusing(url))
    }

    fn lists_for(&self, host: &str) -> impl Iterator<Item = &Lists> {
        let of_domain = match self.domain_filters.is_empty() {
            true => None,
            false => self.domain_filters.get(url::registrable_domain(host)),
        };
        [Some(&self.patterns), of_domain, Some(&self.global_filters)].into_iter().flatten()
    }
}

fn host_of(text: &str) -> Option<String> {
    url::host(&url::parse(text)?).map(str::to_owned)
}

/// Two lists that apply together; none: no effect.
#[derive(Debug, Default)]
struct Lists {
    allow: Option<List>,
    deny: Option<List>,
}

impl Lists {
    fn refusing(&self, url: &str) -> Option<&List> {
        let not_allowed = self.allow.as_ref().filter(|list| !list.set.is_match(url.as_bytes()));
        not_allowed.or_else(|| self.denying(url))
    }

    fn denying(&self, url: &str) -> Option<&List> {
        self.deny.as_ref().filter(|list| list.set.is_match(url.as_bytes()))
    }
}

/// Patterns compiled into one automaton.
#[derive(Debug)]
struct List {
    /// For the user: where the patterns were written.
    name: String,
    patterns: Vec<Pattern>,
    set: RegexSet,
}

#[derive(Debug)]
struct Pattern {
    /// Position in the user's list, from 1.
    number: usize,
    written: String,
    regex: String,
}

impl Pattern {
    /// In a regular expression the dot matches all characters, and case is ignored (as in ACHE).
    fn new(kind: PatternKind, number: usize, written: &str) -> Pattern {
        let regex = match kind {
            PatternKind::Regex => pattern::expression(written),
            PatternKind::Wildcard => {
                format!("(?s){}", written.split('*').map(regex::escape).collect::<Vec<_>>().join(".*"))
            }
        };
        Pattern { number, written: written.to_owned(), regex }
    }
}

impl List {
    fn of_regexes(name: &str, texts: &[String]) -> Result<Option<List>, ScopeError> {
        let texts = (1..).zip(texts.iter().map(|text| text.trim())).filter(|(_, text)| !text.is_empty());
        List::compile(
            name.to_owned(),
            texts.map(|(number, text)| Pattern::new(PatternKind::Regex, number, text)).collect(),
        )
    }

    /// None if there are no patterns. The error names the first bad one.
    fn compile(name: String, patterns: Vec<Pattern>) -> Result<Option<List>, ScopeError> {
        for pattern in &patterns {
            let problem = |e: regex::Error| ScopeError::Pattern {
                list: name.clone(),
                number: pattern.number,
                pattern: pattern.written.clone(),
                problem: last_line(&e.to_string()),
            };
            RegexBuilder::new(&pattern.regex).unicode(false).build().map_err(problem)?;
        }
        if patterns.is_empty() {
            return Ok(None);
        }
        let whole = patterns.iter().map(|pattern| format!(r"\A(?:{})\z", pattern.regex));
        match RegexSetBuilder::new(whole).unicode(false).build() {
            Ok(set) => Ok(Some(List { name, patterns, set })),
            Err(e) => Err(ScopeError::Together { list: name, problem: last_line(&e.to_string()) }),
        }
    }

    fn matching(&self, url: &str) -> Option<&str> {
        let first = self.set.matches(url.as_bytes()).iter().next()?;
        self.patterns.get(first).map(|pattern| pattern.written.as_str())
    }
}

/// The line with the problem; the lines before it show the position.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// One entry of `link_filters.yml`: `global`, or a domain's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterEntry {
    #[serde(default, rename = "type")]
    kind: PatternKind,
    whitelist: Option<Vec<String>>,
    blacklist: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum PatternKind {
    #[default]
    Wildcard,
    Regex,
}

/// Parses ACHE's `link_filters.yml`: the global lists, and those of registrable domains. The entry of a domain may name
/// any host below it.
fn link_filters(yaml: &str) -> Result<(Lists, HashMap<String, Lists>), ScopeError> {
    let error = |entry: &str, problem: String| ScopeError::LinkFilters { entry: entry.to_owned(), problem };
    // Parsed as a source by itself, because in a `Config` dots in keys would become levels.
    let entries = File::from_str(yaml, FileFormat::Yaml).collect().map_err(|e| error("as YAML", e.to_string()))?;
    let mut by_domain: BTreeMap<String, [Vec<Pattern>; 2]> = BTreeMap::new();
    for (key, value) in entries.into_iter().collect::<BTreeMap<_, _>>() {
        let entry: FilterEntry = value.try_deserialize().map_err(|e| error(&key, e.to_string()))?;
        let domain = match key.as_str() {
            GLOBAL => key,
            _ => domain_of(&key).ok_or_else(|| error(&key, "is neither global nor a host's name".into()))?,
        };
        let lists = by_domain.entry(domain).or_default();
        for (list, written) in lists.iter_mut().zip([entry.whitelist, entry.blacklist]) {
            let numbered = (1..).zip(written.iter().flatten());
            list.extend(numbered.map(|(number, text)| Pattern::new(entry.kind, number, text)));
        }
    }
    let mut compiled = HashMap::new();
    for (domain, [allow, deny]) in by_domain {
        let allow = List::compile(format!("link filters, {domain}, whitelist"), allow)?;
        let deny = List::compile(format!("link filters, {domain}, blacklist"), deny)?;
        compiled.insert(domain, Lists { allow, deny });
    }
    Ok((compiled.remove(GLOBAL).unwrap_or_default(), compiled))
}

const GLOBAL: &str = "global";

fn domain_of(host: &str) -> Option<String> {
    host_of(host).map(|host| url::registrable_domain(&host).to_owned())
}
