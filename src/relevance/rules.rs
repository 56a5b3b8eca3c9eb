//! ACHE's classifiers by regular expressions. A pattern has to match all of its field, but for a title's; case does not matter, and the
//! dot matches line ends.

use regex::{Regex, RegexBuilder};

use super::features::PageView;

/// Of a compiled pattern. A text is read in time proportional to this at worst.
const MAX_COMPILED: usize = 1 << 20;

/// What patterns are matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Url,
    Title,
    /// Of HTML its markup.
    Content,
    ContentType,
}

/// Whether all have to match, or any.
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

/// Patterns for one field.
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
    /// URLs that match any of these are not relevant, whatever else holds.
    pub denied: Vec<Regex>,
}

/// A pattern for the whole of a field, or for any part of it.
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

    /// Whether what is no HTML can match, too: they ask for a content type.
    pub fn is_for_any_type(&self) -> bool {
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
