//! `Content-Usage`, `Content-Signal` and `License` in robots.txt.

use super::terms;
use super::{content_signal, content_usage};
use crate::page::preferences::{Says, Scheme, Source, Statement};
use crate::path_pattern::{Pattern, canonical};

/// The usage rules of one robots.txt group. For each scheme the longest rules that match a path decide (ATTACH §3.1). A
/// rule without a path applies to all paths and is the shortest.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsageRules {
    /// Sorted by fixed beginning for binary search, as there may be very many. See [`Beginning::within`].
    beginnings: Vec<Beginning>,
}

#[derive(Debug, Clone)]
struct Beginning {
    bytes: Vec<u8>,
    /// Index of the longest other beginning that is a prefix of this one.
    within: Option<usize>,
    /// The longest first, then in the order of the file.
    rules: Vec<UsageRule>,
}

#[derive(Debug, Clone)]
struct UsageRule {
    pattern: Pattern,
    scheme: Scheme,
    says: Says,
    /// Line number, from 1.
    line: u32,
}

impl UsageRule {
    /// `value`: the text after the colon, without white space and comment.
    fn new(scheme: Scheme, value: &str, line: u32) -> UsageRule {
        let is_blank = |c| c == ' ' || c == '\t';
        let (path, statements) = match value.starts_with('/') {
            true => value.split_once(is_blank).unwrap_or((value, "")),
            false => ("", value),
        };
        let statements = statements.trim_matches(is_blank);
        let says = match scheme {
            Scheme::ContentSignal => content_signal(statements),
            _ => content_usage(statements),
        };
        UsageRule { pattern: Pattern::new(path), scheme, says, line }
    }
}

/// A line of robots.txt about the use of pages.
pub(crate) struct UsageLine {
    pub scheme: Scheme,
    pub value: String,
    /// From 1.
    pub number: u32,
}

impl UsageRules {
    /// From the lines of one group.
    pub(crate) fn new(lines: &[UsageLine]) -> UsageRules {
        let mut rules: Vec<_> =
            lines.iter().map(|line| UsageRule::new(line.scheme, &line.value, line.number)).collect();
        // The sort is stable, so equally long rules keep the order of the file.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.pattern.length()));
        rules.sort_by(|a, b| a.pattern.beginning().cmp(b.pattern.beginning()));
        let mut beginnings: Vec<Beginning> = Vec::new();
        for rule in rules {
            let bytes = rule.pattern.beginning();
            if beginnings.last().is_none_or(|last| last.bytes != bytes) {
                let mut within = beginnings.len().checked_sub(1);
                while let Some(at) = within.filter(|at| !bytes.starts_with(&beginnings[*at].bytes)) {
                    within = beginnings[at].within;
                }
                beginnings.push(Beginning { bytes: bytes.to_vec(), within, rules: Vec::new() });
            }
            if let Some(last) = beginnings.last_mut() {
                last.rules.push(rule);
            }
        }
        UsageRules { beginnings }
    }

    /// Adds the statements for a path with its query.
    pub(crate) fn say(&self, path_and_query: &str, statements: &mut Vec<Statement>) {
        if self.beginnings.is_empty() {
            return;
        }
        let path = match self.beginnings.as_slice() {
            [all] if all.bytes.is_empty() && all.rules.iter().all(|rule| rule.pattern.length() == 0) => Vec::new(),
            _ => canonical(path_and_query, false),
        };
        for scheme in [Scheme::ContentUsage, Scheme::ContentSignal] {
            let mut deciding = self.deciding(&path, scheme);
            deciding.sort_by_key(|rule| rule.line);
            let mut all = Says::nothing();
            for rule in deciding {
                // Among equally long rules all count. A rule that adds nothing is left out.
                let UsageRule { says, line, .. } = *rule;
                let together = all.and(says);
                if together != all {
                    statements.push(Statement { scheme, source: Source::RobotsTxt, line, says, terms: None });
                }
                all = together;
            }
        }
    }

    /// The longest matching rules of a scheme. The search starts at the last beginning, in byte order, that is not
    /// after the path. It continues with that one's `within`, and so on. This finds every prefix of the path, because
    /// all beginnings between a prefix and the path share that prefix.
    fn deciding(&self, path: &[u8], scheme: Scheme) -> Vec<&UsageRule> {
        let (mut longest, mut deciding) = (0, Vec::new());
        let mut next = self.beginnings.partition_point(|it| it.bytes.as_slice() <= path).checked_sub(1);
        while let Some(beginning) = next.map(|at| &self.beginnings[at]) {
            next = beginning.within;
            if !path.starts_with(&beginning.bytes) {
                continue;
            }
            for rule in &beginning.rules {
                let length = rule.pattern.length();
                if length < longest {
                    break;
                }
                if rule.scheme == scheme && rule.pattern.matches(path) {
                    if length > longest {
                        deciding.clear();
                    }
                    longest = length;
                    deciding.push(rule);
                }
            }
        }
        deciding
    }
}

/// A `License` line; none without an absolute http(s) URL.
pub fn license(url: &str, line: u32) -> Option<Statement> {
    let (scheme, source) = (Scheme::Rsl, Source::RobotsTxt);
    Some(Statement { scheme, source, line, says: Says::nothing(), terms: Some(terms(url)?) })
}
