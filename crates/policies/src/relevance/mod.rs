//! Page classifiers: decide whether a page is relevant for the crawl. ACHE's classifiers by regular expressions, and
//! one that learns from examples.
//!
//! Pure functions: facts of a page in, relevance out. The folder of a model is read by the configuration of `seine`.

mod calibrate;
mod features;
mod machine;
mod measure;
mod model;
mod rules;
mod train;

use std::sync::Arc;

pub use features::PageView;
pub use measure::{Figures, Judged, calibration};
pub use model::{Feature, MAX_MODEL_BYTES, Model, ModelError, REMEDY};
pub use rules::{Field, FieldRule, Operator, Rules, compile};
pub use train::{Examples, FEWEST, Trained};

use seine_parse::Derived;
use seine_parse::page::{Kind, PageEvent, Relevance, Response};

/// A page classifier with its name.
#[derive(Debug)]
pub struct PageClassifier {
    name: Arc<str>,
    method: Method,
}

/// How the classifier judges.
#[derive(Debug)]
pub enum Method {
    Rules(Rules),
    /// Pages with at least this relevance count as relevant.
    Trained {
        model: Box<Model>,
        threshold: f64,
    },
    /// The relevance of the link that led to the page. Whether the page counts as relevant is decided by the inner
    /// method; without one every page counts.
    KeepLink(Option<Box<Method>>),
}

/// Equal names mean equal classifiers, since the name includes a digest of the files.
impl PartialEq for PageClassifier {
    fn eq(&self, other: &PageClassifier) -> bool {
        self.name == other.name
    }
}

impl PageClassifier {
    /// `name`: see [`name`](PageClassifier::name).
    pub fn new(name: &str, method: Method) -> PageClassifier {
        PageClassifier { name: name.into(), method }
    }

    /// The folder's name and the start of its digest: `ebola@1f2e3d4c`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The verdict on an answer. None if the classifier does not apply: not a page, not successful, or not HTML.
    /// Classifiers with rules for content types judge other types as well. `link`: relevance of the link, 0 to 1.
    pub fn judge(&self, event: &PageEvent, derived: &Derived, link: f64) -> Option<Relevance> {
        let response = event.response().filter(|response| response.is_success() && event.kind == Kind::Page)?;
        if !derived.is_html && !self.method.is_for_any_type() {
            return None;
        }
        let content = if self.method.reads_content() { derived.text() } else { "".into() };
        Some(self.method.judge(&view(event, response, derived, &content), link))
    }

    /// The verdict with its reasons, for people.
    pub fn explain(&self, event: &PageEvent, derived: &Derived) -> Option<(Relevance, Vec<String>)> {
        let relevance = self.judge(event, derived, 1.0)?;
        let content = derived.text();
        Some((relevance, self.method.reasons(&view(event, event.response()?, derived, &content))))
    }
}

/// An event as classifiers see it. `content`: [`Derived::text`].
pub fn view<'a>(event: &'a PageEvent, response: &'a Response, derived: &'a Derived, content: &'a str) -> PageView<'a> {
    let (title, content_type) = (derived.title.as_deref(), response.content_type());
    PageView { url: &event.url, title, content_type, content }
}

impl Method {
    fn judge(&self, page: &PageView, link: f64) -> Relevance {
        match self {
            Method::Rules(rules) => {
                let is_relevant = rules.matches(page);
                Relevance { relevance: f64::from(u8::from(is_relevant)), is_relevant }
            }
            Method::Trained { model, threshold } => {
                let relevance = model.relevance(page);
                Relevance { relevance, is_relevant: relevance >= *threshold }
            }
            Method::KeepLink(other) => {
                let is_relevant = other.as_ref().is_none_or(|other| other.judge(page, link).is_relevant);
                Relevance { relevance: link, is_relevant }
            }
        }
    }

    fn is_for_any_type(&self) -> bool {
        matches!(self, Method::Rules(rules) if rules.is_for_any_type())
    }

    fn reads_content(&self) -> bool {
        match self {
            Method::Rules(rules) => rules.fields.iter().any(|field| field.field == Field::Content),
            Method::Trained { .. } => true,
            Method::KeepLink(other) => other.as_ref().is_some_and(|other| other.reads_content()),
        }
    }

    fn reasons(&self, page: &PageView) -> Vec<String> {
        /// Number of features shown for each side.
        const SHOWN: usize = 8;
        match self {
            Method::Rules(rules) => rules.reasons(page),
            Method::KeepLink(other) => {
                let of_other = other.as_ref().map(|other| other.reasons(page)).unwrap_or_default();
                [vec!["as relevant as the link that leads there".to_owned()], of_other].concat()
            }
            Method::Trained { model, threshold } => {
                let reasons = model.reasons(page);
                let words = |is_meant: &dyn Fn(f64) -> bool| {
                    let meant = reasons.iter().filter(|(_, part)| is_meant(*part)).take(SHOWN);
                    meant.map(|(name, part)| format!("{name} {part:+.3}")).collect::<Vec<_>>().join(", ")
                };
                let (known, bias) = (reasons.len(), model.head().bias);
                vec![
                    format!("for: {}", words(&|part| part > 0.0)),
                    format!("against: {}", words(&|part| part < 0.0)),
                    format!("{known} features known, bias {bias:+.3}; relevant from {threshold} on"),
                ]
            }
        }
    }
}
