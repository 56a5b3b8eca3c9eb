//! Duplicates: which page another page repeats.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::{PageChange, PageEvent};
use crate::text_sketch::{METHOD, TextSketch};

/// How a page relates to the other pages with its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Likeness {
    /// Written by 0.2.0: simhash of the main text. Its content slot still has this key.
    #[n(0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
    /// The page that it duplicates. None if it is the first with this content.
    #[n(1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<DuplicateOf>,
    /// The largest distance that counted as a near duplicate when this page was compared. 0: only identical bytes
    /// counted.
    #[n(2)]
    pub within: u8,
    /// None if near duplicates are not looked for, or the text is too short.
    #[n(3)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<TextSketch>,
    /// How texts were compared: [`METHOD`] at that time.
    #[cbor(n(4), default)]
    #[serde(default)]
    pub method: u8,
}

impl Likeness {
    pub fn new(sketch: Option<TextSketch>, of: Option<DuplicateOf>, within: u8) -> Likeness {
        Likeness { simhash: None, of, within, sketch, method: METHOD }
    }

    /// Whether the page was compared as it would be now.
    pub fn is_within(&self, within: u8) -> bool {
        self.within == within && (within == 0 || self.method == METHOD)
    }
}

/// An earlier page with the same or nearly the same content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct DuplicateOf {
    #[n(0)]
    pub url: String,
    /// About how many of 100 words differ, 0 to 3. As written by 0.2.0: in how many bits the simhashes differ.
    #[n(1)]
    pub distance: u8,
    /// Written by 0.2.0: simhash of the earlier page's main text.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
    /// [`TextSketch::id`] of the earlier page. None if both pages have identical bytes.
    #[n(3)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u64>,
}

impl DuplicateOf {
    /// `exact`: identical bytes. `near`: nearly the same text, or the same text on a different page frame.
    pub fn kind(&self) -> &'static str {
        if self.is_near() { "near" } else { "exact" }
    }

    pub fn is_near(&self) -> bool {
        self.text.is_some() || self.simhash.is_some()
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
