//! Duplicates: which page another page repeats.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::{PageChange, PageEvent};

/// How a page relates to the other pages with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Likeness {
    /// Simhash of the main text (`parse::simhash`). None if near duplicates are not looked for, or the text is too
    /// short.
    #[n(0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
    /// The page that it duplicates. None if it is the first with this content.
    #[n(1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<DuplicateOf>,
    /// The largest simhash distance (bits) that counted as a near duplicate when this page was compared. 0: only
    /// identical bytes counted.
    #[n(2)]
    pub within: u8,
}

/// An earlier page with the same or nearly the same content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct DuplicateOf {
    #[n(0)]
    pub url: String,
    /// In how many bits the simhashes of the two main texts differ: 0 to 3.
    #[n(1)]
    pub distance: u8,
    /// Simhash of the earlier page's main text. None if both pages have identical bytes.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
}

impl DuplicateOf {
    /// `exact`: identical bytes. `near`: nearly the same main text, or the same main text on a different page frame.
    pub fn kind(&self) -> &'static str {
        if self.simhash.is_some() { "near" } else { "exact" }
    }
}

/// Whether the page was a duplicate at its last fetch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WasDuplicate {
    #[default]
    No,
    Yes,
    /// Not known which destinations have the page: the configuration changed since, or a destination lost it.
    Unknown,
}

impl WasDuplicate {
    pub(super) fn is_no(&self) -> bool {
        *self == WasDuplicate::No
    }
}

impl PageEvent {
    /// The page that this page duplicates. None if this page is gone or withheld.
    pub fn duplicate_of(&self) -> Option<&DuplicateOf> {
        let is_there = self.withheld.is_none() && self.change.is_some_and(|change| change != PageChange::Gone);
        self.likeness.as_ref().filter(|_| is_there)?.of.as_ref()
    }
}
