//! ACHE's classifiers by regular expressions. A pattern must match its whole field; for a title any part is enough.
//! Case is ignored, and the dot matches line ends.

use regex::{Regex, RegexBuilder};

use super::features::PageView;

/// Size limit of a compiled pattern. Matching takes time proportional to this size at worst.
const MAX_COMPILED: usize = 1 << 20;

/// The field that a pattern is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Url,
    Title,
    /// The body as text; for HTML the markup.
    Content,
    ContentType,
}

/// Whether all patterns must match, or any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    And,
    Or,
}

impl Operator {
    fn holds<T>(self, of: &[T], matches: impl Fn(&T) -> bool) -> bool {
        match self {
            Operator::And => of.iter().all(matches),
            Operator::Or => of.iter().any(matches),
        }
    }
}

/// The patterns for one field.
#[derive(Debug, Clone)]
pub struct FieldRule {
    pub field: Field,
    pub operator: Operator,
    pub patterns: Vec<Regex>,
}

/// `url_regex`, `title_regex`, `body_regex`, `regex`.
#[derive(Debug, Clone)]
pub struct Rules {
    pub operator: Operator,
    pub fields: Vec<FieldRule>,
    /// URLs that match any of these are irrelevant, whatever else matches.
    pub denied: Vec<Regex>,
}

/// Compiles a pattern that must match a whole field, or any part of it.
///
/// # Errors
/// What was expected instead.
pub fn compile(pattern: &str, is_whole: bool) -> Result<Regex, String> {
    let expression = if is_whole { format!(r"\A(?:{pattern})\z") } else { pattern.to_owned() };
    let mut builder = RegexBuilder::new(&expression);
    builder.case_insensitive(true).dot_matches_new_line(true).size_limit(MAX_COMPILED);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("a smaller regular expression than {pattern}"),
        _ => format!("a regular expression, without look-around and back-references; {pattern} is none"),
    })
}

impl FieldRule {
    fn matches(&self, page: &PageView) -> bool {
        let text = match self.field {
            Field::Url => Some(page.url),
            Field::Title => page.title,
            Field::Content => Some(page.content),
            Field::ContentType => page.content_type,
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else { return false };
        self.operator.holds(&self.patterns, |pattern| pattern.is_match(text))
    }
}

impl Rules {
    pub fn matches(&self, page: &PageView) -> bool {
        let is_denied = self.denied.iter().any(|pattern| pattern.is_match(page.url));
        !is_denied && self.operator.holds(&self.fields, |field| field.matches(page))
    }

    /// Whether pages other than HTML can match, because a rule tests the content type.
    pub(crate) fn is_for_any_type(&self) -> bool {
        self.fields.iter().any(|field| field.field == Field::ContentType)
    }

    /// Each pattern and whether it matches, for people.
    pub fn reasons(&self, page: &PageView) -> Vec<String> {
        let said = |field: &FieldRule| {
            let name = match field.field {
                Field::Url => "url",
                Field::Title => "title",
                Field::Content => "content",
                Field::ContentType => "content_type",
            };
            let one = |pattern: &Regex| {
                let alone = FieldRule { patterns: vec![pattern.clone()], ..field.clone() };
                format!("{name} {} {pattern}", if alone.matches(page) { "matches" } else { "does not match" })
            };
            field.patterns.iter().map(one).collect::<Vec<_>>()
        };
        let denied = self.denied.iter().filter(|pattern| pattern.is_match(page.url));
        let denied = denied.map(|pattern| format!("url is refused by {pattern}"));
        self.fields.iter().flat_map(said).chain(denied).collect()
    }
}
