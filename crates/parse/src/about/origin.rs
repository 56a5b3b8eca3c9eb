//! Where a fact about a page comes from.

use serde::{Deserialize, Serialize};

/// From where a date or an author was taken, from the most to the least trustworthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// JSON-LD, by schema.org's properties.
    JsonLd,
    /// A `<meta>` element.
    Meta,
    /// An element with a microdata or RDFa property.
    Microdata,
    /// A `<time>` element near the headline, or with `pubdate`.
    Time,
    /// The visible text near the headline, or a link or an element that is marked as a byline.
    Text,
    /// The path of the URL, for example `/2024/05/17/`.
    Url,
}

/// A fact with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    pub value: T,
    pub origin: Origin,
}
