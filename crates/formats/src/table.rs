//! The table of formats. Each row is in the format's own file. There is no second list.

use std::cmp::Ordering;

use super::format::Format;
use super::sniff::{Confidence, Prefix};
use super::{cdr31, elastic, files, filesystem, pagestore, tianwang, warc, web_index};

/// Every format, in the order in which names are listed for people.
const TABLE: [Format; 10] = [
    files::FORMAT,
    cdr31::FORMAT,
    elastic::FORMAT,
    filesystem::HTML,
    filesystem::JSON,
    filesystem::CBOR,
    web_index::FORMAT,
    pagestore::FORMAT,
    tianwang::FORMAT,
    warc::FORMAT,
];

impl Format {
    /// All formats.
    pub const ALL: [Format; TABLE.len()] = TABLE;

    /// The format with this name, in any case. The error lists all names.
    pub fn parse(name: &str) -> Result<Format, String> {
        let found = TABLE.into_iter().find(|format| format.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("one of {}", Format::names()))
    }

    /// The format that the message header `schema` names.
    pub fn of_schema(schema: &[u8]) -> Option<Format> {
        TABLE.into_iter().find(|format| format.schema.as_bytes() == schema)
    }

    /// Every name, for messages.
    pub fn names() -> String {
        TABLE.map(|format| format.name).join(", ")
    }

    /// The format with this decompressed beginning. A format that is sure wins; otherwise the first possible one.
    pub fn sniff(beginning: &Prefix) -> Option<Format> {
        let says = |wanted| TABLE.into_iter().find(|format| (format.begins)(beginning) == wanted);
        says(Confidence::Sure).or_else(|| says(Confidence::Perhaps))
    }

    fn position(self) -> usize {
        TABLE.iter().position(|format| *format == self).unwrap_or(TABLE.len())
    }
}

impl PartialOrd for Format {
    fn partial_cmp(&self, other: &Format) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// In the order of the table.
impl Ord for Format {
    fn cmp(&self, other: &Format) -> Ordering {
        self.position().cmp(&other.position())
    }
}
