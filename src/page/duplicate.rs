//! Of which page another is a duplicate.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::{PageChange, PageEvent};

/// What a page is among those with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Likeness {
    /// Of its main text (`parse::simhash`); none where near copies are not looked for, as of short texts.
    #[n(0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
    /// None: it is the first.
    #[n(1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<DuplicateOf>,
    /// Bits within which texts counted as near when it was judged; 0: copies byte for byte alone.
    #[n(2)]
    pub within: u8,
}

/// A page that was there before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct DuplicateOf {
    #[n(0)]
    pub url: String,
    /// Bits that the simhashes of both main texts differ in: 0 to 3.
    #[n(1)]
    pub distance: u8,
    /// Of that page's main text; none where both contents are the same, byte for byte.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
}

impl DuplicateOf {
    /// `exact`: the same content, byte for byte; `near`: nearly the same main text, or the same in other surroundings.
    pub fn kind(&self) -> &'static str {
        if self.simhash.is_some() { "near" } else { "exact" }
    }
}

/// Whether a page was a duplicate at the last look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WasDuplicate {
    #[default]
    No,
    Yes,
    /// Which destinations have the page is not known: their configuration has changed since, or one of them has lost it.
    Unknown,
}

impl WasDuplicate {
    pub(super) fn is_no(&self) -> bool {
        *self == WasDuplicate::No
    }
}

impl PageEvent {
    /// Of which page this one, which is there, is a duplicate.
    pub fn duplicate_of(&self) -> Option<&DuplicateOf> {
        let is_there = self.withheld.is_none() && self.change.is_some_and(|change| change != PageChange::Gone);
        self.likeness.as_ref().filter(|_| is_there)?.of.as_ref()
    }
}
