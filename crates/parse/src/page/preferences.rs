//! What publishers allow and forbid for the use of their pages, and where they say it. Also decides whether that
//! forbids the purpose of a crawl. The readers of these statements are in `parse::preferences`.

use std::collections::BTreeSet;
use std::fmt;

use minicbor::{Decode, Encode};
use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::PageEvent;

/// A use of a page that publishers can allow or forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Usage {
    /// Search engines: select pages and link to them.
    Search,
    /// Input to a model that answers from it (grounding, retrieval).
    AiInput,
    /// Training of generative models.
    TrainAi,
    /// Training with the page's images only.
    TrainAiImages,
    /// Text and data mining (Directive (EU) 2019/790).
    Tdm,
    /// A public archive copy.
    Archive,
}

impl Usage {
    pub const ALL: [Usage; 6] =
        [Usage::Search, Usage::AiInput, Usage::TrainAi, Usage::TrainAiImages, Usage::Tdm, Usage::Archive];

    pub fn name(self) -> &'static str {
        match self {
            Usage::Search => "search",
            Usage::AiInput => "ai-input",
            Usage::TrainAi => "train-ai",
            Usage::TrainAiImages => "train-ai-images",
            Usage::Tdm => "tdm",
            Usage::Archive => "archive",
        }
    }
}

/// Per [`Usage`]: allowed, disallowed, or not mentioned. Written as `["train-ai=n", "search=y"]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Says {
    /// Bit sets, indexed by position in [`Usage::ALL`]. No bit is set in both.
    #[n(0)]
    allowed: u8,
    #[n(1)]
    disallowed: u8,
}

impl Says {
    pub fn nothing() -> Says {
        Says::default()
    }

    pub fn one(usage: Usage, is_allowed: bool) -> Says {
        let bit = 1 << usage as u8;
        if is_allowed { Says { allowed: bit, disallowed: 0 } } else { Says { allowed: 0, disallowed: bit } }
    }

    /// Combines two statements: a usage that either disallows is disallowed.
    #[must_use]
    pub fn and(self, other: Says) -> Says {
        let disallowed = self.disallowed | other.disallowed;
        Says { allowed: (self.allowed | other.allowed) & !disallowed, disallowed }
    }

    pub fn of(self, usage: Usage) -> Option<bool> {
        let has = |bits: u8| bits & (1 << usage as u8) != 0;
        if has(self.disallowed) { Some(false) } else { has(self.allowed).then_some(true) }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Says::default()
    }

    /// One word such as `train-ai=n` for each usage that is mentioned.
    pub fn words(self) -> impl Iterator<Item = String> {
        let word = |usage: Usage, is_allowed| format!("{}={}", usage.name(), if is_allowed { 'y' } else { 'n' });
        Usage::ALL.into_iter().filter_map(move |usage| Some(word(usage, self.of(usage)?)))
    }
}

impl Serialize for Says {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.words())
    }
}

/// Ignores words that this version does not know.
impl<'de> Deserialize<'de> for Says {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Says, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        let known = words.iter().filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            let usage = Usage::ALL.into_iter().find(|usage| usage.name() == name)?;
            matches!(value, "y" | "n").then(|| Says::one(usage, value == "y"))
        });
        Ok(known.fold(Says::nothing(), Says::and))
    }
}

/// The vocabulary of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum Scheme {
    #[n(0)]
    ContentUsage,
    #[n(1)]
    ContentSignal,
    #[n(2)]
    Tdmrep,
    /// Directives of `X-Robots-Tag` and robots meta: `noai`, `noimageai`, `noarchive`.
    #[n(3)]
    Robots,
    #[n(4)]
    Rsl,
}

/// Where a statement was found, in order of precedence: for TDM reservations, and for TDM policies by themselves, a
/// later source overrides the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[cbor(index_only)]
pub enum Source {
    #[serde(rename = "robots.txt")]
    #[n(0)]
    RobotsTxt,
    #[serde(rename = "tdmrep.json")]
    #[n(1)]
    TdmFile,
    #[serde(rename = "header")]
    #[n(2)]
    Header,
    /// `meta` and `link` elements.
    #[serde(rename = "markup")]
    #[n(3)]
    Markup,
}

/// The same name as in JSON.
impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

/// The same name as in JSON.
impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

impl Source {
    /// The statement came with the page itself, not from a file of its host.
    pub(crate) fn is_the_pages(self) -> bool {
        matches!(self, Source::Header | Source::Markup)
    }
}

/// One statement about the use of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Statement {
    #[n(0)]
    pub scheme: Scheme,
    #[n(1)]
    pub source: Source,
    /// Line of robots.txt, or number of the rule in tdmrep.json, from 1; 0 for other sources.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[n(2)]
    pub line: u32,
    #[serde(default, skip_serializing_if = "Says::is_nothing")]
    #[n(3)]
    pub says: Says,
    /// Absolute URL of terms that permit the use: an RSL licence or a TDM policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[n(4)]
    pub terms: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// `content-usage: train-ai=n (robots.txt, line 7)`.
impl fmt::Display for Statement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> = self.says.words().chain(self.terms.clone()).collect();
        write!(out, "{}: {} ({}", self.scheme, said.join(", "), self.source)?;
        match (self.line, self.source) {
            (0, _) => write!(out, ")"),
            (rule, Source::TdmFile) => write!(out, ", rule {rule})"),
            (line, _) => write!(out, ", line {line})"),
        }
    }
}

/// Whether a usage is allowed, and the statement that decides it. None if no statement mentions it. One prohibition is
/// enough; only among TDM reservations the one closest to the page decides.
pub fn in_force(statements: &[Statement], usage: Usage) -> Option<(bool, &Statement)> {
    let said = || statements.iter().filter_map(|it| Some((it.says.of(usage)?, it)));
    match usage {
        Usage::Tdm => said().max_by_key(|(_, statement)| statement.source),
        _ => said().find(|(is_allowed, _)| !is_allowed).or_else(|| said().next()),
    }
}

/// The statements that came with the page itself.
pub fn of_the_page(statements: &[Statement]) -> Vec<Statement> {
    statements.iter().filter(|it| it.source.is_the_pages()).cloned().collect()
}

impl PageEvent {
    /// The statements about the page's use as a JSON array on one line. None if there are none.
    pub fn preferences_json(&self) -> Option<String> {
        let said = self.preferences.as_ref().filter(|said| !said.is_empty())?;
        serde_json::to_string(said).ok()
    }
}

/// The purposes of a crawl's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    Search,
    Archive,
    AiInput,
    TrainAi,
    Tdm,
}

impl Purpose {
    pub const ALL: [Purpose; 5] = [Purpose::Search, Purpose::Archive, Purpose::AiInput, Purpose::TrainAi, Purpose::Tdm];

    /// The name of the usage with the same meaning.
    pub fn name(self) -> &'static str {
        self.governed_by()[0].name()
    }

    /// The usages that a publisher can forbid to forbid this purpose. The first is the purpose itself.
    fn governed_by(self) -> &'static [Usage] {
        match self {
            Purpose::Search => &[Usage::Search],
            Purpose::Archive => &[Usage::Archive],
            Purpose::AiInput => &[Usage::AiInput, Usage::Tdm],
            Purpose::TrainAi => &[Usage::TrainAi, Usage::Tdm],
            Purpose::Tdm => &[Usage::Tdm],
        }
    }

    /// Whether TDM reservations and licences apply to this purpose.
    fn mines(self) -> bool {
        self.governed_by().contains(&Usage::Tdm)
    }
}

/// The purposes and licences that the operator declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purposes {
    pub declared: BTreeSet<Purpose>,
    /// Terms that the operator accepted: URLs of RSL licences and TDM policies.
    pub licenses: BTreeSet<String>,
}

/// A purpose of the crawl that the publisher forbids for a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptedOut {
    pub of: Purpose,
    pub by: Statement,
    /// Archives still store the page, since archiving is a purpose of the crawl and is not forbidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

impl Purposes {
    /// The first declared purpose that the statements forbid; None if they forbid none.
    pub fn opted_out(&self, statements: &[Statement]) -> Option<OptedOut> {
        if statements.is_empty() {
            return None;
        }
        let forbidding = |purpose: Purpose| self.forbids(purpose, statements);
        let (of, by) = self.declared.iter().find_map(|purpose| Some((*purpose, forbidding(*purpose)?)))?;
        let archived = self.declared.contains(&Purpose::Archive) && forbidding(Purpose::Archive).is_none();
        Some(OptedOut { of, by: by.clone(), archived })
    }

    /// Whether each host's tdmrep.json must be fetched.
    pub fn want_tdm_file(&self) -> bool {
        self.declared.iter().any(|purpose| purpose.mines())
    }

    fn forbids<'a>(&self, purpose: Purpose, statements: &'a [Statement]) -> Option<&'a Statement> {
        // The reservation closest to the page may come without a policy. Then the last policy before it still applies
        // (TDMRep §6.7).
        let policy = statements.iter().filter(|it| it.scheme == Scheme::Tdmrep && it.terms.is_some());
        let policy = policy.max_by_key(|it| it.source);
        let is_agreed = |it: &Statement| {
            let it = if it.scheme == Scheme::Tdmrep { policy.unwrap_or(it) } else { it };
            it.terms.as_ref().is_some_and(|terms| self.licenses.contains(terms))
        };
        let by_usage = purpose.governed_by().iter().find_map(|usage| match in_force(statements, *usage)? {
            (false, by) if !is_agreed(by) => Some(by),
            _ => None,
        });
        // Accepting one of several licences is enough.
        let mut licenses = statements.iter().filter(|it| it.scheme == Scheme::Rsl && purpose.mines());
        let is_licensed = licenses.clone().any(is_agreed);
        by_usage.or_else(|| licenses.next().filter(|_| !is_licensed))
    }
}
