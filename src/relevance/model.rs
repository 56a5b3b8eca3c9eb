//! A trained classifier, and its file: JSON that people can read, a feature a line, the ones that speak for a page first.
//!
//! A page is the sum of its features' weights, each by how often it is there, (1 + ln n) · idf, over the length of all of these, and of
//! the bias. Platt's sigmoid makes a probability of that sum. Everything is added in the file's order, in double precision, and the result is
//! rounded to six digits: the same page has the same relevance wherever it is read.

use std::collections::HashMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::features::PageView;
use super::measure::{Figures, rounded};

/// Of the file. Raised when features or arithmetic are others.
const VERSION: u64 = 1;
const FORMAT: &str = "seine page classifier";
/// Of a model's file.
pub const MAX_MODEL_BYTES: u64 = 64 << 20;
const MAX_FEATURES: usize = 200_000;

/// A feature's name, how rare it is (its inverse document frequency), and what it speaks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature(pub String, pub f64, pub f64);

/// What was learnt from examples.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    head: Head,
    features: Vec<Feature>,
    /// Places in `features` by the hash of their names.
    places: HashMap<u64, u32>,
}

/// What stands before the features in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub format: String,
    pub version: u64,
    /// Examples it was made of.
    pub positive: u64,
    pub negative: u64,
    /// As measured when it was made, on examples that it was not made of.
    pub cross_validation: Figures,
    pub bias: f64,
    /// Of the sigmoid: 1 / (1 + e^(slope · sum + intercept)).
    pub slope: f64,
    pub intercept: f64,
}

/// Why a text is no model that can be used; for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(pub String);

impl Head {
    pub(super) fn new(examples: (u64, u64), figures: Figures, bias: f64, (slope, intercept): (f64, f64)) -> Head {
        Head {
            format: FORMAT.into(),
            version: VERSION,
            positive: examples.0,
            negative: examples.1,
            cross_validation: figures,
            bias: rounded(bias),
            slope: rounded(slope),
            intercept: rounded(intercept),
        }
    }
}

impl Model {
    /// The features in the file's order: by falling weight.
    pub(super) fn new(head: Head, mut features: Vec<Feature>) -> Model {
        features.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        Model::of(head, features)
    }

    fn of(head: Head, features: Vec<Feature>) -> Model {
        let place = |(place, feature): (usize, &Feature)| (xxh3_64(feature.0.as_bytes()), place as u32);
        let places = features.iter().enumerate().map(place).collect();
        Model { head, features, places }
    }

    /// Reads a model's file.
    ///
    /// # Errors
    /// It is no model, one of a later version, cut, or has numbers that are none.
    pub fn parse(bytes: &[u8]) -> Result<Model, ModelError> {
        const JAVA: [u8; 4] = [0xac, 0xed, 0, 5];
        let wrong = |problem: String| Err(ModelError(problem));
        if bytes.starts_with(&JAVA) {
            return wrong(format!("it is a Java-serialised model, which ACHE alone can read; {REMEDY}"));
        }
        /// What tells whether the rest can be read at all.
        #[derive(Deserialize)]
        struct Kind {
            format: Option<String>,
            version: Option<u64>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            model: Head,
            features: Vec<Feature>,
        }
        #[derive(Deserialize)]
        struct Known {
            model: Kind,
        }
        let broken = |error: serde_json::Error| ModelError(format!("it is no model, or damaged: {error}; {REMEDY}"));
        let Known { model: Kind { format, version } } = serde_json::from_slice(bytes).map_err(broken)?;
        if format.as_deref() != Some(FORMAT) {
            return wrong(format!("it does not say that its format is {FORMAT:?}; {REMEDY}"));
        }
        if version != Some(VERSION) {
            let version = version.map_or("no version".to_owned(), |version| format!("version {version}"));
            return wrong(format!(
                "it has {version}, and this seine reads version {VERSION}; use another seine, or {REMEDY}"
            ));
        }
        let File { model, features } = serde_json::from_slice(bytes).map_err(broken)?;
        let is_read_back = features.len() <= MAX_FEATURES && features.iter().all(|it| it.1 > 0.0);
        let model = Model::of(model, features);
        match is_read_back && model.places.len() == model.features.len() {
            true => Ok(model),
            false => wrong(format!(
                "its features are not as they were written: more than {MAX_FEATURES}, one of them twice, or without an idf above 0; {REMEDY}"
            )),
        }
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let head = serde_json::to_string_pretty(&self.head).expect("numbers and strings are JSON");
        let mut text = format!("{{\"model\": {head},\n\"features\": [");
        for (place, feature) in self.features.iter().enumerate() {
            let feature = serde_json::to_string(feature).expect("numbers and strings are JSON");
            let _ = write!(text, "{}\n{feature}", if place == 0 { "" } else { "," });
        }
        text += "\n]}\n";
        text
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// By falling weight.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// How likely it is that the page is relevant, 0 to 1.
    pub fn relevance(&self, page: &PageView) -> f64 {
        let sum = self.parts(page).into_iter().map(|(_, part)| part).sum::<f64>() + self.head.bias;
        rounded(sigmoid((self.head.slope, self.head.intercept), sum))
    }

    /// The page's features and what each adds, in the file's order.
    fn parts(&self, page: &PageView) -> Vec<(u32, f64)> {
        let mut counts = vec![0_u32; self.features.len()];
        page.each_feature(&mut |name| {
            if let Some(place) = self.places.get(&xxh3_64(name.as_bytes())) {
                counts[*place as usize] += 1;
            }
        });
        let there = counts.iter().zip(&self.features).zip(0..).filter(|((count, _), _)| **count > 0);
        let weighed: Vec<(u32, f64, f64)> =
            there.map(|((count, feature), place)| (place, frequency(*count) * feature.1, feature.2)).collect();
        let length = weighed.iter().map(|(_, value, _)| value * value).sum::<f64>().sqrt();
        weighed.into_iter().map(|(place, value, weight)| (place, value / length * weight)).collect()
    }

    /// What decides of a page: its features with what each adds, the ones that add or take most first.
    pub fn reasons(&self, page: &PageView) -> Vec<(&str, f64)> {
        let mut parts = self.parts(page);
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        parts.into_iter().map(|(place, part)| (self.features[place as usize].0.as_str(), part)).collect()
    }
}

/// What to do about a model that is none.
pub const REMEDY: &str = "make one of your examples with seine build-model -t EXAMPLES -o MODEL";

/// How much a feature counts that is there so often.
pub(super) fn frequency(count: u32) -> f64 {
    1.0 + f64::from(count).ln()
}

pub(super) fn sigmoid((slope, intercept): (f64, f64), sum: f64) -> f64 {
    let exponent = slope * sum + intercept;
    // Either way the power is at most 1.
    if exponent >= 0.0 { (-exponent).exp() / (1.0 + (-exponent).exp()) } else { 1.0 / (1.0 + exponent.exp()) }
}
