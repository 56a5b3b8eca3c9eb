//! What publishers ask of those who use their pages, as plain data: what was said, and where; and whether that forbids what a crawl
//! is for. How it is read is in `parse::preferences`.

use std::collections::BTreeSet;
use std::fmt;

use minicbor::{Decode, Encode};
use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::PageEvent;

/// A use of a page that publishers speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Usage {
    /// To select pages and lead people to them.
    Search,
    /// Given to a model that answers from it (grounding, retrieval).
    AiInput,
    /// To train a model that generates.
    TrainAi,
    /// The same of a page's images alone.
    TrainAiImages,
    /// Text and data mining (Directive (EU) 2019/790).
    Tdm,
    /// A copy that is shown.
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

/// What is said of each [`Usage`]: allowed, disallowed, or nothing. Written as `["train-ai=n", "search=y"]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Says {
    /// Bits, by the usage's place in [`Usage::ALL`]. None is in both.
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

    /// Both together: what either disallows is disallowed.
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

    /// `train-ai=n`, one a usage of which something is said.
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

/// Words that this version does not know say nothing.
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

/// In which language something is said.
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

/// Where it is said. Of TDM reservations, a later one counts in the place of those before it.
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

/// As it is written in JSON.
impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

/// As it is written in JSON.
impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

impl Source {
    /// It came with the page, and not with its host.
    pub fn is_the_pages(self) -> bool {
        matches!(self, Source::Header | Source::Markup)
    }
}

/// One thing that was said of a page's use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Statement {
    #[n(0)]
    pub scheme: Scheme,
    #[n(1)]
    pub source: Source,
    /// The line of robots.txt, or the rule of tdmrep.json, from 1; 0 elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[n(2)]
    pub line: u32,
    #[serde(default, skip_serializing_if = "Says::is_nothing")]
    #[n(3)]
    pub says: Says,
    /// Absolute URL of the terms on which it may be used all the same: an RSL licence, a TDM policy.
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

/// What is in force of a usage: whether it is allowed, and what says so; none when nothing is said of it. What any forbids is
/// forbidden; but of TDM reservations the one nearest to the page counts.
pub fn in_force(statements: &[Statement], usage: Usage) -> Option<(bool, &Statement)> {
    let said = || statements.iter().filter_map(|it| Some((it.says.of(usage)?, it)));
    match usage {
        Usage::Tdm => said().max_by_key(|(_, statement)| statement.source),
        _ => said().find(|(is_allowed, _)| !is_allowed).or_else(|| said().next()),
    }
}

/// What is the page's own of what was said, and no more.
pub fn of_the_page(statements: &[Statement]) -> Vec<Statement> {
    statements.iter().filter(|it| it.source.is_the_pages()).cloned().collect()
}

impl PageEvent {
    /// What was said of its page's use, if anything was, as one line of JSON: the statements in an array.
    pub fn preferences_json(&self) -> Option<String> {
        let said = self.preferences.as_ref().filter(|said| !said.is_empty())?;
        serde_json::to_string(said).ok()
    }
}

/// What a crawl's pages are for.
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

    /// That of the usage that it is.
    pub fn name(self) -> &'static str {
        self.governed_by()[0].name()
    }

    /// Who forbids one of these forbids the purpose. The first is the purpose itself.
    fn governed_by(self) -> &'static [Usage] {
        match self {
            Purpose::Search => &[Usage::Search],
            Purpose::Archive => &[Usage::Archive],
            Purpose::AiInput => &[Usage::AiInput, Usage::Tdm],
            Purpose::TrainAi => &[Usage::TrainAi, Usage::Tdm],
            Purpose::Tdm => &[Usage::Tdm],
        }
    }

    /// TDM reservations count, and licences that are asked for.
    fn mines(self) -> bool {
        self.governed_by().contains(&Usage::Tdm)
    }
}

/// What an operator has declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purposes {
    pub declared: BTreeSet<Purpose>,
    /// Terms that are agreed to: RSL licences and TDM policies, by their URLs.
    pub licenses: BTreeSet<String>,
}

/// A page that is not to be used for a purpose that the crawl has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptedOut {
    pub of: Purpose,
    pub by: Statement,
    /// Archives hold it all the same: that is a purpose, too, and it is not forbidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

impl Purposes {
    /// None when nothing that was said forbids any of them.
    pub fn opted_out(&self, statements: &[Statement]) -> Option<OptedOut> {
        if statements.is_empty() {
            return None;
        }
        let forbidding = |purpose: Purpose| self.forbids(purpose, statements);
        let (of, by) = self.declared.iter().find_map(|purpose| Some((*purpose, forbidding(*purpose)?)))?;
        let archived = self.declared.contains(&Purpose::Archive) && forbidding(Purpose::Archive).is_none();
        Some(OptedOut { of, by: by.clone(), archived })
    }

    /// Whether the file of TDM reservations of each host is to be read.
    pub fn want_tdm_file(&self) -> bool {
        self.declared.iter().any(|purpose| purpose.mines())
    }

    fn forbids<'a>(&self, purpose: Purpose, statements: &'a [Statement]) -> Option<&'a Statement> {
        let is_agreed = |it: &Statement| it.terms.as_ref().is_some_and(|terms| self.licenses.contains(terms));
        let by_usage = purpose.governed_by().iter().find_map(|usage| match in_force(statements, *usage)? {
            (false, by) if !is_agreed(by) => Some(by),
            _ => None,
        });
        // Of several licences one is enough.
        let mut licenses = statements.iter().filter(|it| it.scheme == Scheme::Rsl && purpose.mines());
        let is_licensed = licenses.clone().any(is_agreed);
        by_usage.or_else(|| licenses.next().filter(|_| !is_licensed))
    }
}
