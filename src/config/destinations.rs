//! The table of destinations: what the configuration knows of each. `sinks/table.rs` has a row for what its sink does.

use std::path::{Path, PathBuf};

use seine_formats::filesystem::Naming;
use seine_formats::format::Files;
use seine_formats::{Format, elastic, files, warc};

use super::checked::{Answers, ElasticConfig, KafkaConfig};
use super::draft::Draft;
use super::secret::Secret;

/// A destination of pages.
#[derive(Debug, Clone, PartialEq)]
pub enum Destination {
    /// Rolling files: a file that reaches the size is closed and the next one started. A single larger record makes a
    /// larger file. The level is zlib's, for formats whose files are one stream.
    Files {
        max_file_size: u64,
        compression_level: u32,
    },
    /// One file per page.
    Filesystem(Naming),
    /// None: the sink's own folder.
    Pagestore {
        base_folder: Option<PathBuf>,
    },
    Kafka(KafkaConfig),
    Elasticsearch(Box<ElasticConfig>),
    Stdout,
    Void,
}

/// What pages go into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    Server,
    /// The sink's own folder, or one that its keys name.
    Folder,
    /// Standard output: nobody knows what became of it.
    Pipe,
    Nothing,
}

/// A kind of destination.
pub(crate) struct Kind {
    /// The name in `target_storage.sinks`, and of its group of keys below `target_storage.data_format`.
    pub name: &'static str,
    /// A short description for the user.
    pub about: &'static str,
    pub medium: Medium,
    /// `data_formats` may name this destination. It names file destinations by their format.
    pub is_word: bool,
    /// A page is delivered with the distance of its change, whatever its format.
    pub tells_distance: bool,
    /// Its folder alone says what was delivered, so dead letters need no log.
    pub needs_no_log: bool,
    /// A warning before a dead letter is sent to it, because letters are late.
    pub late: Option<&'static str>,
    /// The default format.
    pub(super) format: fn(&Draft) -> Option<Format>,
    /// The reason why the destination cannot write a format, if it cannot.
    pub(super) refuses: fn(Option<Format>) -> Option<String>,
    /// Makes the destination from its keys.
    pub(super) build: fn(&Draft, Option<Format>) -> Destination,
    /// Keys that are right alone and wrong together, each with the problem.
    pub(super) contradictions: fn(&Destination) -> Vec<(&'static str, &'static str)>,
    /// Takes the credentials out, which can change while the crawl runs. Returns those that are secret.
    take_credentials: fn(&mut Destination) -> Vec<Option<Secret>>,
    /// The folder that its keys name, and how to leave it.
    folder: fn(&Destination) -> Option<&Path>,
    forget_folder: fn(&mut Destination),
    /// Where it is, for people; none: in its folder.
    place: fn(&Destination) -> Option<String>,
}

pub(super) const FILES: &str = "files";

/// A destination without settings and specialities.
const PLAIN: Kind = Kind {
    name: "",
    about: "",
    medium: Medium::Folder,
    is_word: true,
    tells_distance: false,
    needs_no_log: false,
    late: None,
    format: |_| None,
    refuses: |_| None,
    build: |_, _| Destination::Void,
    contradictions: |_| Vec::new(),
    take_credentials: |_| Vec::new(),
    folder: |_| None,
    forget_folder: |_| {},
    place: |_| None,
};

const ROLLING: Kind = Kind {
    name: FILES,
    about: "rolling files",
    is_word: false,
    format: |_| Some(files::FORMAT),
    refuses: |format| in_files(format, FILES),
    build: |draft, format| Destination::Files {
        max_file_size: draft.sinks.sizes.of(format),
        compression_level: draft.sinks.compression_level,
    },
    ..PLAIN
};

const FILESYSTEM: Kind = Kind {
    name: "filesystem",
    about: "one file per page",
    is_word: false,
    needs_no_log: true,
    refuses: |format| in_files(format, "filesystem"),
    build: |draft, _| Destination::Filesystem(draft.sinks.naming),
    ..PLAIN
};

const PAGESTORE: Kind = Kind {
    name: "pagestore",
    about: "one folder per day",
    is_word: false,
    format: |_| Some(seine_formats::pagestore::FORMAT),
    refuses: |format| in_files(format, "pagestore"),
    build: |draft, _| Destination::Pagestore { base_folder: draft.sinks.pagestore_base.clone() },
    folder: |to| match to {
        Destination::Pagestore { base_folder } => base_folder.as_deref(),
        _ => None,
    },
    forget_folder: |to| *to = Destination::Pagestore { base_folder: None },
    ..PLAIN
};

const KAFKA: Kind = Kind {
    name: "kafka",
    about: "one message per page in a topic",
    medium: Medium::Server,
    tells_distance: true,
    late: Some(
        "a late message stands behind newer ones in a topic, so readers must compare fetch times or event ids; a \
         compacted topic keeps the dead letter instead of a newer fetch of the same page",
    ),
    format: |draft| draft.sinks.kafka_format,
    refuses: |format| match format.map(|format| (format, format.files)) {
        Some((format, Files::Store)) => Some(format!("{format} writes folders and cannot be a message")),
        _ => None,
    },
    build: |draft, _| Destination::Kafka(draft.sinks.kafka.clone()),
    contradictions: |to| match to {
        Destination::Kafka(kafka) if kafka.topic.is_empty() => vec![(
            "target_storage.data_formats and target_storage.data_format.kafka.topic_name",
            "KAFKA needs the name of a topic; set topic_name, or give seine crawl --kafka-topic",
        )],
        _ => Vec::new(),
    },
    place: |to| match to {
        Destination::Kafka(kafka) => {
            let servers = kafka.properties.get("bootstrap.servers").map_or("", |it| it.expose());
            Some(format!("topic {} at {servers}", kafka.topic))
        }
        _ => None,
    },
    ..PLAIN
};

const ELASTICSEARCH: Kind = Kind {
    name: "elasticsearch",
    about: "one document per page in an index of Elasticsearch or OpenSearch",
    medium: Medium::Server,
    format: |_| Some(elastic::FORMAT),
    refuses: |format| (format != Some(elastic::FORMAT)).then(|| "an index takes only ELASTIC documents".to_owned()),
    build: |draft, _| Destination::Elasticsearch(Box::new(super::elastic::finish(draft))),
    contradictions: |to| match to {
        Destination::Elasticsearch(elastic) => super::elastic::contradictions(elastic),
        _ => Vec::new(),
    },
    take_credentials: |to| match to {
        Destination::Elasticsearch(elastic) => {
            elastic.username = None;
            vec![elastic.password.take(), elastic.api_key.take()]
        }
        _ => Vec::new(),
    },
    place: |to| match to {
        Destination::Elasticsearch(elastic) => {
            let hosts: Vec<&str> = elastic.hosts.iter().map(url::Url::as_str).collect();
            Some(format!("index {} at {}", elastic.index, hosts.join(", ")))
        }
        _ => None,
    },
    ..PLAIN
};

const STDOUT: Kind = Kind {
    name: super::STDOUT,
    about: "JSON lines, for pipes",
    medium: Medium::Pipe,
    refuses: |format| match format.map(|format| (format, format.files)) {
        None => None,
        Some((_, Files::Rolling(shape))) if shape.record_end.ends_with(b"\n") => None,
        Some((format, _)) => Some(format!("{format} is not made of lines, so stdout cannot print it")),
    },
    build: |_, _| Destination::Stdout,
    ..PLAIN
};

const VOID: Kind = Kind {
    name: "void",
    about: "no destination; pages are counted and dropped",
    medium: Medium::Nothing,
    refuses: |format| format.map(|_| "void writes nothing, so it takes no format".to_owned()),
    ..PLAIN
};

pub(super) const TABLE: [&Kind; 7] = [&ROLLING, &FILESYSTEM, &PAGESTORE, &KAFKA, &ELASTICSEARCH, &STDOUT, &VOID];

impl Destination {
    pub(crate) fn row(&self) -> &'static Kind {
        match self {
            Destination::Files { .. } => &ROLLING,
            Destination::Filesystem(_) => &FILESYSTEM,
            Destination::Pagestore { .. } => &PAGESTORE,
            Destination::Kafka(_) => &KAFKA,
            Destination::Elasticsearch(_) => &ELASTICSEARCH,
            Destination::Stdout => &STDOUT,
            Destination::Void => &VOID,
        }
    }

    /// The names of all destinations that are servers. A sink has that name unless it is given another.
    pub fn servers() -> impl Iterator<Item = &'static str> {
        TABLE.into_iter().filter(|kind| kind.medium == Medium::Server).map(|kind| kind.name)
    }

    pub(crate) fn medium(&self) -> Medium {
        self.row().medium
    }

    /// Pages go to a server, not into the sink's folder.
    pub(crate) fn is_server(&self) -> bool {
        self.medium() == Medium::Server
    }

    /// It has what was delivered to it, and more can be added.
    pub(crate) fn keeps_pages(&self) -> bool {
        matches!(self.medium(), Medium::Server | Medium::Folder)
    }

    /// The folder of its pages. `own` is the sink's.
    pub fn folder<'a>(&'a self, own: &'a Path) -> &'a Path {
        (self.row().folder)(self).unwrap_or(own)
    }

    /// Keeps pages in the sink's own folder, whatever its keys name.
    pub(crate) fn keep_in_own_folder(&mut self) {
        (self.row().forget_folder)(self);
    }

    /// Where it is, for people. `own` is the sink's folder.
    pub fn place(&self, own: &Path) -> String {
        (self.row().place)(self).unwrap_or_else(|| self.folder(own).display().to_string())
    }

    /// Takes the credentials out, which can change while the crawl runs. Returns those that are secret.
    pub(super) fn take_credentials(&mut self) -> Vec<Option<Secret>> {
        (self.row().take_credentials)(self)
    }
}

/// Refuses a format that is kept in another kind of files.
fn in_files(format: Option<Format>, name: &str) -> Option<String> {
    let Some(format) = format else { return Some(format!("{name} needs a format")) };
    let right = Kind::of_files(format).name;
    (right != name).then(|| format!("{format} needs the destination {right}"))
}

impl Kind {
    /// Finds a destination by its name; case is ignored. The error lists all names.
    pub(crate) fn find(word: &str) -> Result<&'static Kind, String> {
        let found = TABLE.into_iter().find(|kind| kind.name.eq_ignore_ascii_case(word));
        found.ok_or_else(|| {
            let names: Vec<&str> = TABLE.iter().map(|kind| kind.name).collect();
            format!("a sink's destination to be one of {}, not {word}", names.join(", "))
        })
    }

    /// The destination for files of a format.
    pub(crate) fn of_files(format: Format) -> &'static Kind {
        match format.files {
            Files::Rolling(_) => &ROLLING,
            Files::OnePage => &FILESYSTEM,
            Files::Store => &PAGESTORE,
        }
    }

    /// Which withheld answers the destination takes. Files are archives; WARC alone can mark each answer as what it is.
    pub(crate) fn answers(&self, format: Option<Format>) -> Answers {
        match format {
            _ if self.is_word => Answers::None,
            format if format == Some(warc::FORMAT) => Answers::All,
            _ => Answers::Whole,
        }
    }

    /// Checks that the destination can write a format. The error says why not.
    pub(crate) fn takes(&self, format: Option<Format>) -> Result<(), String> {
        (self.refuses)(format).map_or(Ok(()), Err)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.name == other.name
    }
}
