//! A trained classifier and its file: readable JSON, one feature per line, sorted by falling weight.
//!
//! The score of a page is the bias plus the sum of the weights of its features. Each weight is multiplied by (1 + ln n)
//! · idf, where n is the number of occurrences; the vector is normalised to length 1. Platt's sigmoid turns the score
//! into a probability. Everything is added in the order of the file, in double precision, and rounded to six digits. So
//! a page has the same relevance on every machine.

use std::collections::HashMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::calibrate::Calibration;
use super::features::{PageView, Reading};
use super::measure::{Figures, rounded};

/// Version of the file format. Raise it when features or arithmetic change. Version 1 reads fewer lines of a page.
const VERSION: u64 = 2;
const OLDEST_VERSION: u64 = 1;
const FORMAT: &str = "seine page classifier";
/// Largest model file that is read.
pub const MAX_MODEL_BYTES: u64 = 64 << 20;
const MAX_FEATURES: usize = 200_000;

/// A feature: its name, inverse document frequency, and weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature(pub String, pub f64, pub f64);

/// The model learnt from examples.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    head: Head,
    features: Vec<Feature>,
    /// Index in `features` by the hash of the name.
    indices: HashMap<u64, u32>,
}

/// The head of the file, before the features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub format: String,
    pub version: u64,
    /// Number of examples used for training.
    pub positive: u64,
    pub negative: u64,
    /// Quality measured on examples that were left out of training.
    pub cross_validation: Figures,
    pub bias: f64,
    /// Parameters of the sigmoid: 1 / (1 + e^(slope · sum + intercept)).
    pub slope: f64,
    pub intercept: f64,
}

/// Why a file is not a usable model, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(pub String);

impl Head {
    pub(super) fn new(examples: (u64, u64), figures: Figures, bias: f64, calibration: Calibration) -> Head {
        Head {
            format: FORMAT.into(),
            version: VERSION,
            positive: examples.0,
            negative: examples.1,
            cross_validation: figures,
            bias: rounded(bias),
            slope: rounded(calibration.slope),
            intercept: rounded(calibration.intercept),
        }
    }
}

impl Model {
    /// Sorts the features as in the file: by falling weight.
    pub(super) fn new(head: Head, mut features: Vec<Feature>) -> Model {
        features.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        Model::of(head, features)
    }

    fn of(head: Head, features: Vec<Feature>) -> Model {
        let index = |(index, feature): (usize, &Feature)| (xxh3_64(feature.0.as_bytes()), index as u32);
        let places = features.iter().enumerate().map(index).collect();
        Model { head, features, indices: places }
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// If the file is not a model, has a later version, is truncated, or contains invalid numbers.
    pub fn parse(bytes: &[u8]) -> Result<Model, ModelError> {
        const JAVA: [u8; 4] = [0xac, 0xed, 0, 5];
        let wrong = |problem: String| Err(ModelError(problem));
        if bytes.starts_with(&JAVA) {
            return wrong(format!("it is a Java-serialised model, which only ACHE can read; {REMEDY}"));
        }
        /// The fields that tell whether the rest can be read.
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
        let broken =
            |error: serde_json::Error| ModelError(format!("it is not a model, or it is damaged: {error}; {REMEDY}"));
        let Known { model: Kind { format, version } } = serde_json::from_slice(bytes).map_err(broken)?;
        if format.as_deref() != Some(FORMAT) {
            return wrong(format!("it does not say that its format is {FORMAT:?}; {REMEDY}"));
        }
        if !version.is_some_and(|version| (OLDEST_VERSION..=VERSION).contains(&version)) {
            let version = version.map_or("no version".to_owned(), |version| format!("version {version}"));
            return wrong(format!(
                "it has {version}, and this seine reads version {OLDEST_VERSION} to {VERSION}; use another seine, or {REMEDY}"
            ));
        }
        let File { model, features } = serde_json::from_slice(bytes).map_err(broken)?;
        let is_read_back = features.len() <= MAX_FEATURES && features.iter().all(|it| it.1 > 0.0);
        let model = Model::of(model, features);
        match is_read_back && model.indices.len() == model.features.len() {
            true => Ok(model),
            false => wrong(format!(
                "its features are invalid: more than {MAX_FEATURES}, one of them twice, or without an idf above 0; {REMEDY}"
            )),
        }
    }

    /// The model as text of its file.
    pub fn to_json(&self) -> String {
        let head = serde_json::to_string_pretty(&self.head).expect("numbers and strings are JSON");
        let mut text = format!("{{\"model\": {head},\n\"features\": [");
        for (index, feature) in self.features.iter().enumerate() {
            let feature = serde_json::to_string(feature).expect("numbers and strings are JSON");
            let _ = write!(text, "{}\n{feature}", if index == 0 { "" } else { "," });
        }
        text += "\n]}\n";
        text
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The features, by falling weight.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Probability that the page is relevant, 0 to 1.
    pub fn relevance(&self, page: &PageView) -> f64 {
        let sum = self.parts(page).into_iter().map(|(_, part)| part).sum::<f64>() + self.head.bias;
        rounded(sigmoid((self.head.slope, self.head.intercept), sum))
    }

    /// The page's features with what each adds to the score, in the order of the file.
    fn parts(&self, page: &PageView) -> Vec<(u32, f64)> {
        let mut counts = vec![0_u32; self.features.len()];
        let reading = if self.head.version == 1 { Reading::LongLines } else { Reading::AllLines };
        page.each_feature(reading, &mut |name| {
            if let Some(index) = self.indices.get(&xxh3_64(name.as_bytes())) {
                counts[*index as usize] += 1;
            }
        });
        let there = counts.iter().zip(&self.features).zip(0..).filter(|((count, _), _)| **count > 0);
        let weighed: Vec<(u32, f64, f64)> =
            there.map(|((count, feature), index)| (index, frequency(*count) * feature.1, feature.2)).collect();
        let length = weighed.iter().map(|(_, value, _)| value * value).sum::<f64>().sqrt();
        weighed.into_iter().map(|(index, value, weight)| (index, value / length * weight)).collect()
    }

    /// The page's features with what each adds to the score, strongest first.
    pub fn reasons(&self, page: &PageView) -> Vec<(&str, f64)> {
        let mut parts = self.parts(page);
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        parts.into_iter().map(|(index, part)| (self.features[index as usize].0.as_str(), part)).collect()
    }
}

/// Advice about an invalid model.
pub const REMEDY: &str = "make one from your examples with seine build-model -t EXAMPLES -o MODEL";

/// The weight factor of a feature that occurs `count` times.
pub(super) fn frequency(count: u32) -> f64 {
    1.0 + f64::from(count).ln()
}

pub(super) fn sigmoid((slope, intercept): (f64, f64), sum: f64) -> f64 {
    let exponent = slope * sum + intercept;
    // Both forms are equal. Choosing by the sign keeps the power at most 1, so nothing overflows.
    if exponent >= 0.0 { (-exponent).exp() / (1.0 + (-exponent).exp()) } else { 1.0 / (1.0 + exponent.exp()) }
}
