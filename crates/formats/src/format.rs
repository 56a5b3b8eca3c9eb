//! The description of a format, and queries on it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use super::encoder::Encoder;
use super::layout::{FileContent, RollingLayout};
use super::options::Options;
use super::records::{ArchiveReader, ReaderInput};
use super::recovery::RecoveryMethod;
use super::sniff::{Confidence, Prefix};
use super::stored_fields::{Field, MissingFields, Stored};
use seine_parse::page::PageEvent;

/// A format, given by its row in the table.
#[derive(Clone, Copy)]
pub struct Format(pub(super) &'static FormatSpec);

/// The description of a format.
pub struct FormatSpec {
    /// Also the name of the sink that writes such files, as in `target_storage.data_formats`.
    pub name: &'static str,
    /// A short description, for people who choose a format.
    pub about: &'static str,
    /// The value of the header `schema` in Kafka messages of this format.
    pub schema: &'static str,
    /// The fields of a page that the format stores; no others.
    pub holds: &'static [(Field, Stored)],
    /// Fields that every record must have or is made of. Content cannot be filled in, so a page without content cannot be
    /// written.
    pub demands: &'static [Field],
    /// Whether a file or a message has this format, judged by its first bytes.
    pub begins: fn(&Prefix) -> Confidence,
    /// Reads a file, or the value of a message.
    pub reader: fn(ReaderInput) -> std::io::Result<Box<dyn ArchiveReader>>,
    /// Writes pages.
    pub encoder: fn(&Options) -> Box<dyn Encoder>,
    /// Whether the format stores an event. None if that is known only after parsing the page.
    pub stores_event: Option<fn(&PageEvent) -> bool>,
    /// How pages are stored in files.
    pub files: Files,
    /// How to find records in a damaged file.
    pub recovery: RecoveryMethod,
}

/// How pages are stored in files.
#[derive(Debug, Clone, Copy)]
pub enum Files {
    /// Many records in each file.
    Rolling(RollingLayout),
    /// One page per file.
    OnePage,
    /// One page per file, in folders with list files.
    Store,
}

impl Deref for Format {
    type Target = FormatSpec;

    fn deref(&self) -> &FormatSpec {
        self.0
    }
}

impl Format {
    /// How completely the format stores a field.
    pub fn holds(self, field: Field) -> Stored {
        self.0.holds.iter().find(|(held, _)| *held == field).map_or(Stored::No, |(_, how)| *how)
    }

    /// Whether every record must have the field.
    pub fn demands(self, field: Field) -> bool {
        self.0.demands.contains(&field)
    }

    /// The fields missing in a page of this format: those that the format never stores, and those that this page lacks.
    pub fn lacks(self, page: MissingFields) -> MissingFields {
        let fields = Field::all().filter(|field| self.holds(*field) == Stored::No);
        fields.fold(page, |lacks, field| lacks.and(field, true))
    }

    /// A sentence that tells what pages lose when converted to another format; none if nothing.
    pub fn losses_in(self, to: Format) -> Option<String> {
        let known = Field::all().filter(|field| self.holds(*field) != Stored::No);
        let (mut missing, mut left_out, mut partly) = (Vec::new(), Vec::new(), Vec::new());
        for field in known {
            match to.holds(field) {
                Stored::No if field.is_kind_of_page() => left_out.push(field.to_string()),
                Stored::No => missing.push(field.to_string()),
                Stored::Partly(part) if self.holds(field) != Stored::Partly(part) => {
                    partly.push(format!("{field} {part}"))
                }
                Stored::Partly(_) | Stored::Complete => {}
            }
        }
        let mut parts = Vec::new();
        if !missing.is_empty() {
            parts.push(format!("holds no {}", missing.join(", ")));
        }
        if !partly.is_empty() {
            parts.push(format!("holds {}", partly.join("; ")));
        }
        if !left_out.is_empty() {
            parts.push(format!("leaves out {}", left_out.join(", ")));
        }
        (!parts.is_empty()).then(|| format!("{to} {}", parts.join("; ")))
    }

    /// Whether its files are one compressed stream each.
    pub fn is_stream(self) -> bool {
        matches!(self.files, Files::Rolling(RollingLayout { content: FileContent::Stream, .. }))
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl Hash for Format {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
