//! Crawler traps: endless pages that bring nothing new. Detected by what the fetches of a URL pattern bring. Arithmetic
//! only.
//!
//! The URLs of a host are grouped into patterns ([`pattern`]). For each pattern, fetches are counted that brought
//! something: words that are new on the host ([`seen`]), or links to new URLs outside a trap. A pattern that brings
//! nothing for long becomes *cool*: after [`SAME`] texts seen before, or after [`STALE`] texts without new words.
//!
//! An endless trap must link to itself. So a URL of a cool pattern is deferred if it was found on such a page. URLs
//! from sitemaps, lists or a front page are finite; they are only fetched last. Every so many fetches of the host, one
//! deferred URL is tried. If the pattern brings something again, it becomes warm. When the host has nothing else, all
//! finite sets are fetched, and endless ones as far as the [`allowance`] goes (`release.rs`). A crawl that rechecks its
//! pages renews it slowly, and their new texts count too (`rechecks.rs`).
//!
//! A query can combine its names in very many ways, and each combination is a pattern of its own. So a fetch with a
//! query also counts for its *family*: the path with any query. Patterns with fewer than [`FEW`] fetches also count for
//! their *directory*, because a maze or a wiki has a new name in each path. Family and directory decide for patterns that
//! have few fetches or brought nothing for [`DOUBTED`] fetches.
//!
//! This module also learns parameters that carry sessions ([`parameters`]) and hosts that mirror another one
//! (`mirror.rs`). Other crawlers solve this differently. Heritrix has rules for the form of a path. IRLbot (Lee et al.,
//! WWW 2008) has budgets per domain. Mercator's authors (Heydon and Najork, 1999) relied on a person who reads the log.

mod allowance;
mod fetch_order;
mod mirror;
pub mod parameters;
pub mod pattern;
mod pattern_stats;
mod rechecks;
mod release;
mod seen;
mod text;

use minicbor::{Decode, Encode};

use allowance::Allowance;
pub use fetch_order::{FetchOrder, Swept};
use mirror::Mirror;
pub use mirror::mirror_of_both;
use parameters::Parameters;
use pattern_stats::PatternStats;
pub use pattern_stats::{SAME, STALE};
use seen::{News, Seen};
pub use text::{PageWords, page_words};

/// Number of patterns of a host that are counted separately. All others are counted together.
const MAX_PATTERNS: usize = 32;
/// If a pattern had no new words for this many fetches, links to it do not count as new.
const SILENT: u16 = 16;
/// If a pattern had no new words for this many fetches, its family decides for it.
const DOUBTED: u16 = 4;
/// A pattern with fewer fetches is judged together with the others of its directory.
const FEW: u32 = 8;
/// See [`HostTraps::wants`].
const SAMPLED: u32 = 4;
/// A host is a mirror if this many pages at equal paths are equal. One different page is allowed per `MIRRORED_AGAINST`
/// equal ones.
const MIRRORED_PAGES: u16 = 32;
const MIRRORED_AGAINST: u16 = 8;

/// Marks for deferred URLs whose reason is not their own pattern. In order: URLs without a pattern of their own, URLs
/// of a mirror that the other host also has, URLs with a session, and other URLs of a mirror.
const OTHERS: u32 = 0;
pub const MIRRORED: u32 = u32::MAX - 2;
const SESSIONS: u32 = u32::MAX - 1;
pub const MIRROR: u32 = u32::MAX;

/// The stored statistics of a host, at most about 10 KB. Only for hosts with enough URLs.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct HostTraps {
    #[n(0)]
    patterns: Vec<PatternStats>,
    #[n(1)]
    seen: Seen,
    #[n(2)]
    parameters: Parameters,
    #[n(3)]
    mirror: Option<Mirror>,
    /// Offset in the host's queue from which URLs must be re-evaluated, since they were queued before a pattern became
    /// cool.
    #[n(4)]
    sweep_from: Option<u64>,
    #[cbor(n(5), default)]
    allowance: Allowance,
    /// After this re-evaluation another one follows, for the URLs of the batch in which the pattern became cool.
    #[cbor(n(6), default)]
    sweeps_again: bool,
}

/// A fetch of a new URL, as far as traps need it.
pub struct Fetched<'f> {
    pub path_and_query: &'f str,
    /// None if the answer was not a page.
    pub words: Option<&'f PageWords>,
    pub digest: &'f [u8; 32],
    /// Whether the body is text, so that its words decide. Otherwise its bytes do.
    pub is_text: bool,
}

/// The result of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worth {
    marks: Marks,
    /// The text had nothing new.
    pub is_barren: bool,
    /// The pattern is cool, so links to cool patterns on this page feed the trap.
    pub feeds_itself: bool,
}

impl Worth {
    /// The same for a page that leads out of its trap.
    pub fn with_way_out(self) -> Worth {
        Worth { is_barren: false, ..self }
    }
}

/// The marks of a pattern, its family and its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    own: u32,
    family: Option<u32>,
    directory: u32,
}

impl Marks {
    fn has(&self, mark: u32) -> bool {
        mark == self.own || Some(mark) == self.family || mark == self.directory
    }
}

impl HostTraps {
    /// The inverse of [`HostTraps::to_bytes`]. None if the bytes cannot be decoded.
    pub fn from_bytes(bytes: &[u8]) -> Option<HostTraps> {
        minicbor::decode(bytes).ok()
    }

    /// Sets how many deferred URLs may be fetched though they lead to as many again.
    pub fn allow(&mut self, urls: u32) {
        self.allowance.least = urls;
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("a Vec takes every byte")
    }

    /// Whether to analyse a page. If every page of a pattern brings something new, one in [`SAMPLED`] is enough. URLs
    /// with parameters are always analysed, to learn about the parameters.
    pub fn wants(&self, path_and_query: &str) -> bool {
        let stats = self.pattern(pattern::mark(&pattern::of(path_and_query)));
        let is_warm = stats.is_some_and(|stats| stats.fetches > SILENT.into() && stats.silent == 0 && stats.stale == 0);
        !is_warm || path_and_query.contains(['?', ';']) || self.allowance.fetches.is_multiple_of(SAMPLED)
    }

    /// Counts a page that is not analysed.
    pub fn pass(&mut self, path_and_query: &str) -> Worth {
        self.allowance.fetches = self.allowance.fetches.saturating_add(1);
        Worth { marks: self.marks(&pattern::of(path_and_query)), is_barren: false, feeds_itself: false }
    }

    /// Counts the result of a fetch. Adds to `tell` what people should know.
    pub fn see(&mut self, fetched: &Fetched, tell: &mut Vec<String>) -> Worth {
        let news = match fetched.words {
            None => News::None,
            Some(words) => {
                let said = if fetched.is_text { words } else { &NOTHING };
                let news = self.seen.see(said, fetched.digest, fetched.path_and_query);
                let is_page = fetched.is_text && words.mark != 0;
                let learned = is_page.then(|| self.parameters.see(fetched.path_and_query, words)).flatten();
                if let Some(name) = learned {
                    tell.push(format!(
                        "parameter {name} is removed from links: its values differ, and the pages are the same"
                    ));
                    self.sweep_from = Some(0);
                }
                news
            }
        };
        self.allowance.fetches = self.allowance.fetches.saturating_add(1);
        let pattern = pattern::of(fetched.path_and_query);
        let has_few = self.pattern(pattern::mark(&pattern)).is_none_or(|own| own.fetches < FEW);
        let directory = has_few.then(|| pattern::directory(&pattern));
        let mut is_barren = false;
        for pattern in pattern::family(&pattern).iter().chain(&directory).chain([&pattern]) {
            is_barren |= !self.count(pattern, &news, tell);
        }
        let marks = self.marks(&pattern);
        Worth { marks, is_barren, feeds_itself: self.cool(marks).is_some() }
    }

    /// Returns whether the fetch brought something new to the pattern.
    fn count(&mut self, pattern: &str, news: &News, tell: &mut Vec<String>) -> bool {
        let at = self.index_of(pattern);
        let stats = &mut self.patterns[at];
        let was_cool = stats.is_cool;
        let is_news = stats.count(news);
        if stats.is_cool && !was_cool {
            tell.push(format!("{} is deferred: {}", stats.name(), stats.yield_text()));
            (self.sweep_from, self.sweeps_again) = (Some(0), true);
            self.allowance.spend(u32::from(stats.stale));
        }
        is_news
    }

    fn pattern(&self, mark: u32) -> Option<&PatternStats> {
        self.patterns.iter().find(|stats| stats.mark == mark)
    }

    /// The marks of a pattern, its family and its directory.
    fn marks(&self, pattern: &str) -> Marks {
        let resolved = |pattern: &str| self.resolved(pattern::mark(pattern));
        let family = pattern::family(pattern).map(|family| resolved(&family));
        Marks { own: resolved(pattern), family, directory: resolved(&pattern::directory(pattern)) }
    }

    /// The cool pattern that a URL is deferred for: its own, or a wider one if that decides.
    fn cool(&self, Marks { own, family, directory }: Marks) -> Option<&PatternStats> {
        let own = self.pattern(own);
        let is_doubted = own.is_none_or(|own| own.silent >= DOUBTED);
        let has_few = own.is_none_or(|own| own.fetches < FEW);
        let family = family.filter(|_| is_doubted).and_then(|family| self.pattern(family));
        let directory = self.pattern(directory).filter(|_| has_few);
        [own, family, directory].into_iter().flatten().find(|stats| stats.is_cool)
    }

    /// A page with nothing new led to an unknown URL of this host.
    pub fn led_on(&mut self, worth: Worth, path_and_query: &str) {
        let marks = self.marks(&pattern::of(path_and_query));
        let has_few = self.pattern(marks.own).is_none_or(|own| own.fetches < FEW);
        let is_own = marks.own == worth.marks.own
            || marks.family.is_some_and(|family| worth.marks.family == Some(family))
            || (has_few && marks.directory == worth.marks.directory);
        // Only a target pattern that has been fetched counts. Otherwise two patterns that link to each other would
        // never become cool.
        let target = self.pattern(marks.own).or_else(|| self.pattern(marks.family?));
        if !is_own && self.cool(marks).is_none() && target.is_some_and(|target| target.silent < SILENT) {
            self.led_away(worth);
        }
    }

    /// A page with nothing new led to an unknown URL of another host.
    pub fn led_away(&mut self, worth: Worth) {
        self.patterns_of(worth).for_each(PatternStats::bring);
    }

    /// Tells whether a page that feeds a trap led to more deferred URLs.
    pub fn led_to_deferred(&mut self, worth: Worth, leads_on: bool) {
        self.patterns_of(worth).for_each(|stats| stats.lead(leads_on));
    }

    fn patterns_of(&mut self, worth: Worth) -> impl Iterator<Item = &mut PatternStats> {
        self.patterns.iter_mut().filter(move |stats| worth.marks.has(stats.mark))
    }

    /// Names of session parameters, which are removed from links of this host.
    pub fn sessions(&self) -> &[String] {
        self.parameters.learned()
    }

    /// The host that this host mirrors.
    pub fn mirror_of(&self) -> Option<&str> {
        self.mirror.as_ref().filter(|mirror| mirror.is_believed).map(|mirror| &*mirror.of)
    }

    /// Offset in the host's queue from which URLs must be re-evaluated.
    pub fn sweep_from(&self) -> Option<u64> {
        self.sweep_from
    }

    /// Sets how far the re-evaluation has come; none: finished.
    pub fn swept(&mut self, to: Option<u64>) {
        self.sweep_from = to.or_else(|| std::mem::take(&mut self.sweeps_again).then_some(0));
    }

    /// A page of this host was compared with the page of `other` at the same path.
    pub fn compared(&mut self, other: &str, is_equal: bool, tell: &mut Vec<String>) {
        let mirror = match &mut self.mirror {
            Some(mirror) if mirror.of == other => mirror,
            Some(mirror) if mirror.agreed >= MIRRORED_PAGES / 4 => return,
            mirror if is_equal => {
                mirror.insert(Mirror { of: other.to_owned(), agreed: 0, against: 0, is_believed: false })
            }
            _ => return,
        };
        let side = if is_equal { &mut mirror.agreed } else { &mut mirror.against };
        *side = side.saturating_add(1);
        let is_mirror = mirror.agreed >= MIRRORED_PAGES
            && u32::from(mirror.against) * u32::from(MIRRORED_AGAINST) <= u32::from(mirror.agreed);
        if is_mirror && !mirror.is_believed {
            tell.push(format!(
                "it is deferred as a mirror of {other}: {} pages at equal paths are equal",
                mirror.agreed
            ));
            self.sweep_from = Some(0);
        }
        mirror.is_believed = is_mirror;
    }

    pub(crate) fn is_mirror(&self) -> bool {
        self.mirror_of().is_some()
    }

    /// Cool patterns and session parameters, one line each.
    pub fn lines(&self) -> Vec<String> {
        let mirror = self.mirror.iter().filter(|mirror| mirror.is_believed);
        let mirror = mirror.map(|Mirror { of, agreed, against, .. }| {
            format!("a mirror of {of}: {agreed} pages at equal paths are equal, {against} differ")
        });
        let cool = self.patterns.iter().filter(|stats| stats.is_cool).map(PatternStats::description);
        let lost = self
            .sessions()
            .iter()
            .map(|name| format!("parameter {name} is removed from links, since it carries a session"));
        mirror.chain(cool).chain(lost).collect()
    }

    /// Why a URL is deferred under a mark.
    pub fn why(&self, mark: u32) -> String {
        match (mark, self.pattern(mark), &self.mirror) {
            (MIRROR | MIRRORED, _, Some(mirror)) => format!("its host is a mirror of {}", mirror.of),
            (SESSIONS, ..) => "it carries a session; its page is fetched without".to_owned(),
            (_, Some(stats), _) => format!("its pattern {}", stats.description()),
            _ => "its pattern is deferred: its fetches brought nothing new".to_owned(),
        }
    }

    fn index_of(&mut self, pattern: &str) -> usize {
        let mark = pattern::mark(pattern);
        if let Some(at) = self.patterns.iter().position(|stats| stats.mark == mark) {
            return at;
        }
        let new = PatternStats { pattern: pattern.to_owned(), mark, ..PatternStats::default() };
        if self.patterns.len() < MAX_PATTERNS {
            self.patterns.push(new);
            return self.patterns.len() - 1;
        }
        // Replaces a pattern with very few fetches. If there is none, the pattern is counted with all others.
        let is_rare =
            |stats: &PatternStats| stats.fetches < 3 && !stats.is_cool && !stats.is_draining && stats.mark != OTHERS;
        if let Some(at) = self.patterns.iter().position(is_rare) {
            self.patterns[at] = new;
            return at;
        }
        self.patterns.iter().position(|stats| stats.mark == OTHERS).unwrap_or_else(|| {
            self.patterns.push(PatternStats { mark: OTHERS, ..PatternStats::default() });
            self.patterns.len() - 1
        })
    }

    /// The mark under which URLs of a pattern are deferred.
    fn resolved(&self, mark: u32) -> u32 {
        let has_place = self.patterns.len() <= MAX_PATTERNS || self.patterns.iter().any(|stats| stats.mark == mark);
        if has_place { mark } else { OTHERS }
    }
}

/// Whether the URLs of this mark exist under another URL, so that the host need not wait for them.
pub fn is_elsewhere(mark: u32) -> bool {
    matches!(mark, MIRRORED | SESSIONS)
}

static NOTHING: PageWords = PageWords { mark: 0, mark_of_words: 0, words: Vec::new(), pictures: Vec::new() };
