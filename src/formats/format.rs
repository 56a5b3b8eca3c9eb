//! What there is to know of one format, and how it is asked.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use super::encoder::Encoder;
use super::held::{Field, Held, Lacks};
use super::layout::{FileContent, RollingLayout};
use super::options::Options;
use super::records::{ArchiveReader, ReaderInput};
use super::recovery::RecoveryMethod;
use super::sniff::{Confidence, Prefix};
use crate::page::PageEvent;

/// A format, by its row of the table.
#[derive(Clone, Copy)]
pub struct Format(pub(super) &'static FormatSpec);

/// What there is to know of a format.
pub struct FormatSpec {
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
    pub begins: fn(&Prefix) -> Confidence,
    /// Reads a file, or a message's value.
    pub reader: fn(ReaderInput) -> std::io::Result<Box<dyn ArchiveReader>>,
    /// Writes pages.
    pub encoder: fn(&Options) -> Box<dyn Encoder>,
    /// Whether it holds an event; none where that is known only when the page is read.
    pub is_held: Option<fn(&PageEvent) -> bool>,
    /// What files of it are.
    pub files: Files,
    /// How its records are found again in a damaged file.
    pub recovery: RecoveryMethod,
}

/// What files of a format are.
#[derive(Debug, Clone, Copy)]
pub enum Files {
    /// Many records in each.
    Rolling(RollingLayout),
    /// A page each.
    OnePage,
    /// A page each, in folders that lists in them tell of.
    Store,
}

impl Deref for Format {
    type Target = FormatSpec;

    fn deref(&self) -> &FormatSpec {
        self.0
    }
}

impl Format {
    /// How much of a field it holds.
    pub fn holds(self, field: Field) -> Held {
        self.0.holds.iter().find(|(held, _)| *held == field).map_or(Held::No, |(_, how)| *how)
    }

    /// Whether a page cannot be written without it.
    pub fn demands(self, field: Field) -> bool {
        self.0.demands.contains(&field)
    }

    /// What no page of it has, besides what this one lacks.
    pub(crate) fn lacks(self, page: Lacks) -> Lacks {
        let fields = Field::all().filter(|field| self.holds(*field) == Held::No);
        fields.fold(page, |lacks, field| lacks.and(field, true))
    }

    /// What its pages lose in another, in a sentence; none when nothing.
    pub fn losses_in(self, to: Format) -> Option<String> {
        let known = Field::all().filter(|field| self.holds(*field) != Held::No);
        let (mut missing, mut left_out, mut partly) = (Vec::new(), Vec::new(), Vec::new());
        for field in known {
            match to.holds(field) {
                Held::No if field.is_kind_of_page() => left_out.push(field.to_string()),
                Held::No => missing.push(field.to_string()),
                Held::Partly(part) if self.holds(field) != Held::Partly(part) => partly.push(format!("{field} {part}")),
                Held::Partly(_) | Held::Whole => {}
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
