//! The table of destinations: one row each, with plain functions for the rest of the program. `src/config/destinations.rs`
//! has the rows of the configuration.

use std::path::Path;
use std::time::Duration;

use seine_formats::encoder::Encoder;
use seine_formats::{files, filesystem};
use seine_parse::page::PageEvent;
use serde_json::Value;

use super::dead_letters::id_hash;
use super::elasticsearch::{self, ElasticSink};
use super::filesystem::FilePerPage;
use super::kafka::KafkaSink;
use super::local::{LocalSink, Void};
use super::on_disk::{PagesAt, PagesOnDisk};
use super::page_location::{LocationUnknown, PageLocation, SoughtPage};
use super::pagestore::Pagestore;
use super::rolling_sink::RollingSink;
use super::sink::{Sink, SinkContext, SinkCount, SinkError};
use super::{count, kafka, locate, stdout};
use crate::config::{Destination, SinkConfig, Upkeep};

type Open = fn(&SinkConfig, &SinkContext, &Value) -> Result<Box<dyn Sink>, SinkError>;
type Count = fn(&SinkConfig, &Path, &[u64]) -> Result<Option<SinkCount>, SinkError>;
type Find = fn(&SinkConfig, &Path, &SoughtPage, Duration) -> Result<Option<PageLocation>, LocationUnknown>;

/// A destination. Functions with a folder get the sink's own.
pub(crate) struct Row {
    /// Builds the sink, from the state of its last committed [`Delivered`](super::Delivered); null for a sink that has
    /// delivered nothing.
    pub open: Open,
    /// See [`super::kept_state`].
    pub kept_state: fn(&Value) -> Value,
    /// Counted what is there; none if that is not cheap. It gets the [`Row::key`] of each event that must be there, each
    /// once and in order.
    pub count: Count,
    /// The key that identifies an event there; none if nothing there identifies it.
    pub key: fn(&SinkConfig, &PageEvent) -> Option<u64>,
    /// Which pages are there, if it can be asked for each page.
    pub pages: for<'a> fn(&'a SinkConfig, &Path) -> Result<Option<PagesAt<'a>>, SinkError>,
    /// Finds a page, for people; none if pages cannot be found there. Asks the destination itself, near the place in the
    /// sink's notes, and waits this long for each answer. It may take longer, so callers must set a limit.
    pub find: Find,
    /// There is one place for a URL, whichever event is looked for.
    pub is_found_by_url: bool,
    pub counted: Counted,
    /// The meaning of a count below what was delivered, and what to do.
    pub missing: &'static str,
}

/// The number with which the count of a destination is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Every delivery.
    Deliveries,
    /// Every delivery, and every dead letter that was replayed.
    DeliveriesAndReplays,
    /// One for each page, however often it was delivered.
    Pages,
}

/// A destination that can only be opened.
const UNSEEN: Row = Row {
    open: |config, _, _| Err(no_format(config)),
    kept_state: |_| Value::Null,
    count: |_, _, _| Ok(None),
    key: |_, _| None,
    pages: |_, _| Ok(None),
    find: |_, _, _, _| Ok(None),
    is_found_by_url: false,
    counted: Counted::Deliveries,
    missing: "files were moved or damaged: put them back",
};

const FILES: Row = Row {
    open: |config, context, state| match (&config.destination, encoder(config)) {
        (Destination::Files { max_file_size, compression_level }, Some(encoder)) => {
            let how = (*max_file_size, *compression_level);
            Ok(Box::new(LocalSink::new(RollingSink::open(config, encoder, how, context, state)?, config.upkeep)))
        }
        _ => Err(no_format(config)),
    },
    // `seine verify` checks the content of files in other formats.
    count: |config, folder, expected| match config.format == Some(files::FORMAT) {
        true => count::files(folder, expected).map(Some),
        false => Ok(None),
    },
    pages: |config, folder| {
        let folder = folder.to_owned();
        let is_read = config.format == Some(files::FORMAT);
        Ok(is_read.then(|| PagesAt::Whole(Box::new(move |keys| count::read_keys(&folder, keys)))))
    },
    // FILES has no ids: it is the URL and the time of the fetch.
    key: |config, event| (config.format == Some(files::FORMAT)).then(|| count::files_key(&event.url, event.ended_ms)),
    find: |config, folder, page, _| locate::in_files(config, folder, page).map(Some),
    ..UNSEEN
};

const FILESYSTEM: Row = Row {
    open: |config, context, state| match (&config.destination, encoder(config)) {
        (Destination::Filesystem(naming), Some(encoder)) => {
            Ok(Box::new(LocalSink::new(FilePerPage::open(context, encoder, *naming, state)?, config.upkeep)))
        }
        _ => Err(no_format(config)),
    },
    pages: |config, folder| {
        let Destination::Filesystem(naming) = &config.destination else { return Ok(None) };
        let (folder, hash_file_name) = (folder.to_owned(), naming.hash_file_name);
        Ok(Some(PagesAt::Disk(PagesOnDisk::Named { folder, hash_file_name })))
    },
    find: |config, folder, page, _| {
        let Destination::Filesystem(naming) = &config.destination else { return Ok(None) };
        let (host, name) = filesystem::path_of(&page.url, naming.hash_file_name)
            .map_err(|error| LocationUnknown(format!("it has no file: {error}")))?;
        locate::existing(folder.join(host).join(name)).map(Some)
    },
    ..UNSEEN
};

const PAGESTORE: Row = Row {
    open: |config, context, state| {
        let base = config.destination.folder(&context.folder);
        Ok(Box::new(LocalSink::new(Pagestore::open(base, state)?, config.upkeep)))
    },
    pages: |config, folder| {
        PagesOnDisk::listed(config.destination.folder(folder)).map(|pages| Some(PagesAt::Disk(pages)))
    },
    find: |config, folder, page, _| {
        locate::existing(config.destination.folder(folder).join(locate::in_pagestore(page))).map(Some)
    },
    ..UNSEEN
};

const KAFKA: Row = Row {
    open: |config, context, state| match (&config.destination, encoder(config)) {
        (Destination::Kafka(kafka), Some(encoder)) => {
            let schema = config.format.map_or("", |format| format.schema);
            Ok(Box::new(KafkaSink::reopen(kafka, config.upkeep, encoder, schema, context, state)?))
        }
        _ => Err(no_format(config)),
    },
    kept_state: KafkaSink::kept_state,
    count: |config, _, expected| match &config.destination {
        Destination::Kafka(kafka) => kafka::audit::count_messages(kafka, expected).map(Some),
        _ => Ok(None),
    },
    key: |_, event| Some(id_hash(&event.id)),
    pages: |config, _| match &config.destination {
        Destination::Kafka(kafka) => {
            Ok(Some(PagesAt::Whole(Box::new(move |keys| kafka::audit::read_keys(kafka, keys)))))
        }
        _ => Ok(None),
    },
    find: |config, folder, page, patience| match &config.destination {
        Destination::Kafka(kafka) => kafka::location::find(kafka, folder, page, patience).map(Some),
        _ => Ok(None),
    },
    counted: Counted::DeliveriesAndReplays,
    missing: "acknowledged messages are missing: the topic was recreated, or its acks or replication are too low; \
        deliver the pages again with seine sinks refill kafka",
    ..UNSEEN
};

const ELASTICSEARCH: Row = Row {
    open: |config, context, state| match &config.destination {
        Destination::Elasticsearch(elastic) => {
            Ok(Box::new(ElasticSink::reopen(elastic, config.upkeep, context, state)?))
        }
        _ => Err(no_format(config)),
    },
    count: |config, _, _| match &config.destination {
        Destination::Elasticsearch(elastic) => elasticsearch::count_documents(elastic).map(Some),
        _ => Ok(None),
    },
    pages: |config, _| match &config.destination {
        Destination::Elasticsearch(elastic) => Ok(Some(PagesAt::Index(elastic))),
        _ => Ok(None),
    },
    find: |config, _, page, patience| match &config.destination {
        Destination::Elasticsearch(elastic) => elasticsearch::find(elastic, &page.url, patience).map(Some),
        _ => Ok(None),
    },
    is_found_by_url: true,
    counted: Counted::Pages,
    missing: "documents were deleted, or the index was recreated: seine sinks refill elasticsearch delivers them",
    ..UNSEEN
};

const STDOUT: Row =
    Row { open: |config, _, _| Ok(stdout::sink(std::io::stdout(), encoder(config), config.upkeep)), ..UNSEEN };

const VOID: Row = Row { open: |_, _, _| Ok(Box::new(LocalSink::new(Void, Upkeep::default()))), ..UNSEEN };

pub(crate) fn row(config: &SinkConfig) -> &'static Row {
    match config.destination {
        Destination::Files { .. } => &FILES,
        Destination::Filesystem(_) => &FILESYSTEM,
        Destination::Pagestore { .. } => &PAGESTORE,
        Destination::Kafka(_) => &KAFKA,
        Destination::Elasticsearch(_) => &ELASTICSEARCH,
        Destination::Stdout => &STDOUT,
        Destination::Void => &VOID,
    }
}

fn encoder(config: &SinkConfig) -> Option<Box<dyn Encoder>> {
    config.format.map(|format| (format.encoder)(&config.options))
}

fn no_format(config: &SinkConfig) -> SinkError {
    let problem = format!("{} has no format to write", config.name);
    SinkError::Other { sink: config.kind, problem, remedy: "name one in target_storage.sinks" }
}
