//! TDM reservations: `/.well-known/tdmrep.json` (TDMRep §6.1).

use serde_json::Value;

use super::terms;
use crate::page::preferences::{Says, Scheme, Source, Statement, Usage};
use crate::path_pattern::{Pattern, canonical};

/// The path of the file on a host.
pub const PATH: &str = "/.well-known/tdmrep.json";

/// The rules of a host's file, in order; the first that matches a path counts.
#[derive(Debug, Clone, Default)]
pub struct TdmFile {
    /// None: the rule makes no reservation, and later rules do not apply.
    rules: Vec<(Pattern, Option<Statement>)>,
}

impl TdmFile {
    /// Empty if the text is not an array of rules; invalid rules are skipped.
    pub fn parse(text: &str) -> TdmFile {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Ok(Value::Array(rules)) = serde_json::from_str(text) else { return TdmFile::default() };
        let rules = rules.iter().filter_map(|rule| Some((Pattern::new(rule.get("location")?.as_str()?.trim()), rule)));
        TdmFile { rules: rules.zip(1..).map(|((pattern, rule), number)| (pattern, statement(rule, number))).collect() }
    }

    /// The statement for a path with its query.
    pub fn statement(&self, path_and_query: &str) -> Option<Statement> {
        let path = canonical(path_and_query, false);
        self.rules.iter().find(|(pattern, _)| pattern.matches(&path))?.1.clone()
    }
}

/// 1 or 0, as a number or a digit; anything else is a protocol error and is ignored.
fn statement(rule: &Value, number: u32) -> Option<Statement> {
    let value = rule.get("tdm-reservation")?;
    let is = |digit: &str, number: f64| value.as_f64() == Some(number) || value.as_str().map(str::trim) == Some(digit);
    let is_reserved = is("1", 1.0);
    let policy = rule.get("tdm-policy").and_then(Value::as_str).and_then(terms);
    (is_reserved || is("0", 0.0)).then(|| reservation(is_reserved, policy, Source::TdmFile, number))
}

/// The statement about mining. `policy`: terms on which it is allowed; ignored if nothing is reserved.
pub(super) fn reservation(is_reserved: bool, policy: Option<String>, source: Source, line: u32) -> Statement {
    let says = Says::one(Usage::Tdm, !is_reserved);
    Statement { scheme: Scheme::Tdmrep, source, line, says, terms: policy.filter(|_| is_reserved) }
}
