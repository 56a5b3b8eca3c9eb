//! The table of formats: one row a format, which stands in the format's own file. There is no second list.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::beginning::{Beginning, Sign};
use super::encoder::{Encoder, Options};
use super::held::{Field, Held};
use super::records::{Input, Records};
use super::recovery::Recovery;
use super::shape::{Content, Shape};
use super::{cdr31, elastic, files, filesystem, pagestore, tianwang, warc, web_index};
use crate::page::PageEvent;

/// Every format that pages are kept in, in the order in which people read their names.
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

/// A format, by its row of the table.
#[derive(Clone, Copy)]
pub struct Format(pub(super) &'static Row);

/// What there is to know of a format.
pub struct Row {
    /// Also that of the sink that writes files of it, as in `target_storage.data_formats`.
    pub name: &'static str,
    /// In a few words, for people who choose.
    pub about: &'static str,
    /// What a Kafka message says of its value in the header `schema`.
    pub schema: &'static str,
    /// What it holds of a page; nothing else.
    pub holds: &'static [(Field, Held)],
    /// What a page cannot be written without: something has to stand there. What is of the content has to be there, or
    /// there is no page.
    pub demands: &'static [Field],
    /// Whether a file or a message is of it, by its first bytes.
    pub begins: fn(&Beginning) -> Sign,
    /// Reads a file, or a message's value.
    pub reader: fn(Input) -> std::io::Result<Box<dyn Records>>,
    /// Writes pages.
    pub encoder: fn(&Options) -> Box<dyn Encoder>,
    /// Whether it holds an event; none where that is known only when the page is read.
    pub is_held: Option<fn(&PageEvent) -> bool>,
    /// What files of it are.
    pub files: Files,
    /// How its records are found again in a damaged file.
    pub recovery: Recovery,
}

/// What files of a format are.
#[derive(Debug, Clone, Copy)]
pub enum Files {
    /// Many records in each.
    Rolling(Shape),
    /// A page each.
    OnePage,
    /// A page each, in folders that lists in them tell of.
    Store,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; TABLE.len()] = TABLE;

    /// Its name, also that of the sink that writes files of it, as in `target_storage.data_formats`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// In a few words, for people who choose.
    pub fn about(self) -> &'static str {
        self.0.about
    }

    /// The format of this name, whatever its case; the error lists those there are.
    pub fn parse(name: &str) -> Result<Format, String> {
        let found = TABLE.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("one of {}", Format::names()))
    }

    /// The format that a message's header `schema` names.
    pub fn of_schema(schema: &[u8]) -> Option<Format> {
        TABLE.into_iter().find(|format| format.0.schema.as_bytes() == schema)
    }

    /// Every name, for messages.
    pub fn names() -> String {
        TABLE.map(Format::name).join(", ")
    }

    /// How much of a field it holds.
    pub fn holds(self, field: Field) -> Held {
        self.0.holds.iter().find(|(held, _)| *held == field).map_or(Held::No, |(_, how)| *how)
    }

    /// Whether a page cannot be written without it.
    pub fn demands(self, field: Field) -> bool {
        self.0.demands.contains(&field)
    }

    /// The format that begins so, decompressed. What only one of them can be decides; without such a sign, what one may be.
    pub fn that_begins(beginning: &Beginning) -> Option<Format> {
        let says = |wanted| TABLE.into_iter().find(|format| (format.0.begins)(beginning) == wanted);
        says(Sign::Sure).or_else(|| says(Sign::Perhaps))
    }

    pub fn encoder(self, options: &Options) -> Box<dyn Encoder> {
        (self.0.encoder)(options)
    }

    /// What files of it are.
    pub fn files(self) -> Files {
        self.0.files
    }

    /// Whether its files are one compressed stream each.
    pub fn is_stream(self) -> bool {
        matches!(self.files(), Files::Rolling(Shape { content: Content::Stream, .. }))
    }

    /// Whether it holds an event; none where that is known only when the page is read.
    pub fn is_held(self) -> Option<fn(&PageEvent) -> bool> {
        self.0.is_held
    }

    /// What a Kafka message says of its value in the header `schema`.
    pub fn schema(self) -> &'static str {
        self.0.schema
    }

    /// How its records are found again in a damaged file.
    pub fn recovery(self) -> &'static Recovery {
        &self.0.recovery
    }

    fn place(self) -> usize {
        TABLE.iter().position(|format| *format == self).unwrap_or(TABLE.len())
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        std::ptr::eq(self.0, other.0) || self.0.name == other.0.name
    }
}

impl Eq for Format {}

impl Hash for Format {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl PartialOrd for Format {
    fn partial_cmp(&self, other: &Format) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As in the table.
impl Ord for Format {
    fn cmp(&self, other: &Format) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
