//! The table of destinations, one row each. There is no second list.

use seine_formats::format::Files;
use seine_formats::{Format, elastic, files, warc};

use super::checked::{Answers, Destination};
use super::draft::Draft;

/// A kind of destination.
pub(super) struct Kind {
    /// The name in `target_storage.sinks`, and of its group of keys below `target_storage.data_format`.
    pub name: &'static str,
    /// A short description for the user.
    pub about: &'static str,
    /// `data_formats` may name this destination. It names file destinations by their format.
    pub is_word: bool,
    /// The default format.
    pub format: fn(&Draft) -> Option<Format>,
    /// The reason why the destination cannot write a format, if it cannot.
    pub refuses: fn(Option<Format>) -> Option<String>,
    /// Makes the destination from its keys.
    pub build: fn(&Draft, Option<Format>) -> Destination,
}

pub(super) const FILES: &str = "files";

pub(super) const TABLE: &[Kind] = &[
    Kind {
        name: FILES,
        about: "rolling files",
        is_word: false,
        format: |_| Some(files::FORMAT),
        refuses: |format| in_files(format, FILES),
        build: |draft, format| Destination::Files {
            max_file_size: draft.sinks.sizes.of(format),
            compression_level: draft.sinks.compression_level,
        },
    },
    Kind {
        name: "filesystem",
        about: "one file per page",
        is_word: false,
        format: |_| None,
        refuses: |format| in_files(format, "filesystem"),
        build: |draft, _| Destination::Filesystem(draft.sinks.naming),
    },
    Kind {
        name: "pagestore",
        about: "one folder per day",
        is_word: false,
        format: |_| Some(seine_formats::pagestore::FORMAT),
        refuses: |format| in_files(format, "pagestore"),
        build: |draft, _| Destination::Pagestore { base_folder: draft.sinks.pagestore_base.clone() },
    },
    Kind {
        name: "kafka",
        about: "one message per page in a topic",
        is_word: true,
        format: |draft| draft.sinks.kafka_format,
        refuses: |format| match format.map(|format| (format, format.files)) {
            Some((format, Files::Store)) => Some(format!("{format} writes folders and cannot be a message")),
            _ => None,
        },
        build: |draft, _| Destination::Kafka(draft.sinks.kafka.clone()),
    },
    Kind {
        name: "elasticsearch",
        about: "one document per page in an index of Elasticsearch or OpenSearch",
        is_word: true,
        format: |_| Some(elastic::FORMAT),
        refuses: |format| (format != Some(elastic::FORMAT)).then(|| "an index takes only ELASTIC documents".to_owned()),
        build: |draft, _| Destination::Elasticsearch(Box::new(super::elastic::finish(draft))),
    },
    Kind {
        name: "stdout",
        about: "JSON lines, for pipes",
        is_word: true,
        format: |_| None,
        refuses: |format| match format.map(|format| (format, format.files)) {
            None => None,
            Some((_, Files::Rolling(shape))) if shape.record_end.ends_with(b"\n") => None,
            Some((format, _)) => Some(format!("{format} is not made of lines, so stdout cannot print it")),
        },
        build: |_, _| Destination::Stdout,
    },
    Kind {
        name: "void",
        about: "no destination; pages are counted and dropped",
        is_word: true,
        format: |_| None,
        refuses: |format| format.map(|_| "void writes nothing, so it takes no format".to_owned()),
        build: |_, _| Destination::Void,
    },
];

/// Refuses a format that is kept in another kind of files.
fn in_files(format: Option<Format>, name: &str) -> Option<String> {
    let Some(format) = format else { return Some(format!("{name} needs a format")) };
    let right = Kind::of_files(format).name;
    (right != name).then(|| format!("{format} needs the destination {right}"))
}

impl Kind {
    /// Finds a destination by its name; case is ignored. The error lists all names.
    pub fn find(word: &str) -> Result<&'static Kind, String> {
        let found = TABLE.iter().find(|kind| kind.name.eq_ignore_ascii_case(word));
        found.ok_or_else(|| {
            let names: Vec<&str> = TABLE.iter().map(|kind| kind.name).collect();
            format!("a sink's destination to be one of {}, not {word}", names.join(", "))
        })
    }

    /// The destination for files of a format.
    pub fn of_files(format: Format) -> &'static Kind {
        match format.files {
            Files::Rolling(_) => &TABLE[0],
            Files::OnePage => &TABLE[1],
            Files::Store => &TABLE[2],
        }
    }

    /// Which withheld answers the destination takes. Files are archives; WARC alone can mark each answer as what it is.
    pub fn answers(&self, format: Option<Format>) -> Answers {
        match format {
            _ if self.is_word => Answers::None,
            format if format == Some(warc::FORMAT) => Answers::All,
            _ => Answers::Whole,
        }
    }

    /// Checks that the destination can write a format. The error says why not.
    pub fn takes(&self, format: Option<Format>) -> Result<(), String> {
        (self.refuses)(format).map_or(Ok(()), Err)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.name == other.name
    }
}
