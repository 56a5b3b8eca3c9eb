//! How relevant a page is.

use serde::{Deserialize, Serialize};

/// The verdict of the page classifier (ACHE's page classifiers; `relevance` in ACHE's FILES records).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Relevance {
    /// 0.0 to 1.0.
    #[serde(deserialize_with = "number_or_zero")]
    pub relevance: f64,
    #[serde(rename = "isRelevant")]
    pub is_relevant: bool,
}

impl Relevance {
    /// The verdict without a classifier: HTML is relevant, everything else is not (as in ACHE).
    pub fn by_type(is_html: bool) -> Relevance {
        Relevance { relevance: if is_html { 1.0 } else { 0.0 }, is_relevant: is_html }
    }

    /// `relevant`, `irrelevant`.
    pub fn name(self) -> &'static str {
        if self.is_relevant { "relevant" } else { "irrelevant" }
    }

    /// The verdict for a page from an archive that has none. NaN, so that it equals no number.
    pub const UNKNOWN: Relevance = Relevance { relevance: f64::NAN, is_relevant: false };

    pub fn is_known(&self) -> bool {
        !self.relevance.is_nan()
    }
}

/// A classifier that divides by zero gives NaN, which JSON writes as null. Such an event must stay readable.
fn number_or_zero<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(0.0))
}
