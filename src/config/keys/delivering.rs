//! Keys of the page log and of destinations.

use std::path::PathBuf;
use std::time::Duration;

use seine_parse::clean_text::Extractor;

use super::Kind::{
    self, Bool, Count, List, MaybeCount, MaybeText, MinChange, OneOf, Properties, Removed, Size, SkipDuplicates, Text,
    Unchanged,
};
use super::{Key, NONE, SOME, key, live, millis, secret};
use crate::config::draft::{self, Draft};
use crate::config::{elastic, sinks};

const SEND_OR_SKIP: &[&str] = &["send", "skip"];
const KEEP: &[&str] = &["keep"];

/// A maximum length or number in WEB_INDEX.
const fn most(name: &'static str, set: fn(&mut Draft, u64)) -> Key {
    key(name, Count(0, 1_000_000, set))
}

pub(super) const LOG: &[Key] = &[
    live("page_log.segment_size", Size(64 << 10, |d, v| d.config.log.segment_bytes = v)),
    live("page_log.max_size", Size(128 << 10, |d, v| d.config.log.max_bytes = v)),
    live("page_log.disk_reserve", Size(0, |d, v| d.config.log.reserve_bytes = v)),
    live("page_log.commit_interval", millis(NONE, |d, v| d.config.log.commit_interval = v)),
];

pub(super) const SINKS: &[Key] = &[
    key("target_storage.data_formats", List(sinks::set_formats)),
    key("target_storage.sinks", Kind::Sinks(sinks::set_sinks)),
    key(
        "target_storage.text_extractor",
        OneOf(&Extractor::NAMES, |d, v| d.config.text.extractor = Extractor::named(v)),
    ),
    key("target_storage.markdown", Bool(|d, v| d.config.text.markdown = v)),
    key("target_storage.detect_language", Bool(|d, v| d.config.text.language = v)),
    key("target_storage.from_archive", List(sinks::set_from_archive)),
    key("target_storage.data_format.files.max_file_size", Size(1, |d, v| d.sinks.sizes.files = v)),
    key("target_storage.data_format.files.compression_level", Count(0, 9, |d, v| d.sinks.compression_level = v as u32)),
    key("target_storage.data_format.warc.max_file_size", Size(1, |d, v| d.sinks.sizes.warc = v)),
    key("target_storage.data_format.warc.compress", Bool(|d, v| d.sinks.options.warc.compress = v)),
    key(
        "target_storage.data_format.warc.compression_level",
        Count(0, 9, |d, v| d.sinks.options.warc.compression_level = v as u32),
    ),
    key("target_storage.data_format.warc.cdxj", Bool(|d, v| d.sinks.options.warc.cdxj = v)),
    key("target_storage.data_format.warc.metadata", Bool(|d, v| d.sinks.options.warc.metadata = v)),
    key("target_storage.data_format.warc.archive_credentials", Bool(|d, v| d.config.fetch.archive_credentials = v)),
    key(
        "target_storage.data_format.warc.revisits",
        Count(0, 100_000_000, |d, v| d.sinks.options.warc.revisits = v as usize),
    ),
    key("target_storage.data_format.warc.operator", MaybeText(draft::set_warc_operator)),
    key("target_storage.data_format.kafka.topic_name", MaybeText(draft::set_kafka_topic)),
    key("target_storage.data_format.kafka.format", Text(sinks::set_kafka_format)),
    key("target_storage.data_format.kafka.unchanged", Unchanged("kafka", SEND_OR_SKIP)),
    key("target_storage.data_format.kafka.min_change", MinChange("kafka")),
    key("target_storage.data_format.kafka.skip_duplicates", SkipDuplicates("kafka")),
    key("target_storage.data_format.kafka.removed", Removed("kafka", &["tombstone", "event", "keep"])),
    key("target_storage.data_format.kafka.properties", Properties(draft::set_kafka_properties)),
    key(
        "target_storage.data_format.kafka.team",
        MaybeText(|d, v| {
            d.sinks.options.team = v.map(str::to_owned);
            Ok(())
        }),
    ),
    key("target_storage.data_format.kafka.create_topic", Bool(|d, v| d.sinks.kafka.create_topic = v)),
    key(
        "target_storage.data_format.kafka.partitions",
        MaybeCount(1, 10_000, |d, v| d.sinks.kafka.partitions = v.map(|v| v as u16)),
    ),
    key(
        "target_storage.data_format.kafka.replication_factor",
        MaybeCount(1, 100, |d, v| d.sinks.kafka.replication_factor = v.map(|v| v as u16)),
    ),
    key(
        "target_storage.data_format.kafka.stuck_after",
        millis(Duration::from_millis(100), |d, v| d.sinks.kafka.stuck_after = v),
    ),
    key("target_storage.data_format.stdout.skip_duplicates", SkipDuplicates("stdout")),
];

/// Keys of file formats other than FILES.
pub(super) const FILES: &[Key] = &[
    key("target_storage.data_format.filesystem.hash_file_name", Bool(|d, v| d.sinks.naming.hash_file_name = v)),
    key("target_storage.data_format.filesystem.compress_data", Bool(|d, v| d.sinks.naming.compress_data = v)),
    key("target_storage.data_format.filesystem.unchanged", Unchanged("filesystem", SEND_OR_SKIP)),
    key("target_storage.data_format.filesystem.min_change", MinChange("filesystem")),
    key("target_storage.data_format.filesystem.skip_duplicates", SkipDuplicates("filesystem")),
    key("target_storage.data_format.filesystem.removed", Removed("filesystem", KEEP)),
    key("target_storage.data_format.records.max_file_size", Size(1, |d, v| d.sinks.sizes.records = v)),
    key("target_storage.data_format.records.unchanged", Unchanged("files", SEND_OR_SKIP)),
    key("target_storage.data_format.records.min_change", MinChange("files")),
    key("target_storage.data_format.records.skip_duplicates", SkipDuplicates("files")),
    key("target_storage.data_format.records.removed", Removed("files", KEEP)),
    key("target_storage.data_format.tianwang.compress", Bool(|d, v| d.sinks.options.tianwang_compress = v)),
    key("target_storage.data_format.tianwang.max_file_size", Size(1, |d, v| d.sinks.sizes.tianwang = v)),
    key(
        "target_storage.data_format.pagestore.base_folder",
        MaybeText(|d, v| {
            d.sinks.pagestore_base = v.map(PathBuf::from);
            Ok(())
        }),
    ),
    key("target_storage.data_format.pagestore.unchanged", Unchanged("pagestore", SEND_OR_SKIP)),
    key("target_storage.data_format.pagestore.min_change", MinChange("pagestore")),
    key("target_storage.data_format.pagestore.skip_duplicates", SkipDuplicates("pagestore")),
    key("target_storage.data_format.pagestore.removed", Removed("pagestore", KEEP)),
    most("target_storage.data_format.web_index.max_title", |d, v| d.sinks.options.web_index.title = v as usize),
    most("target_storage.data_format.web_index.max_language", |d, v| d.sinks.options.web_index.language = v as usize),
    most("target_storage.data_format.web_index.max_heading", |d, v| d.sinks.options.web_index.heading = v as usize),
    most("target_storage.data_format.web_index.max_headings", |d, v| d.sinks.options.web_index.headings = v as usize),
    key(
        "target_storage.data_format.web_index.max_heading_level",
        Count(0, 6, |d, v| d.sinks.options.web_index.heading_level = v as usize),
    ),
    most("target_storage.data_format.web_index.max_description", |d, v| {
        d.sinks.options.web_index.description = v as usize
    }),
    most("target_storage.data_format.web_index.max_keywords", |d, v| d.sinks.options.web_index.keywords = v as usize),
    most("target_storage.data_format.web_index.max_author", |d, v| d.sinks.options.web_index.author = v as usize),
    most("target_storage.data_format.web_index.max_content_snippet", |d, v| {
        d.sinks.options.web_index.content_snippet = v as usize
    }),
    most("target_storage.data_format.web_index.max_image_alts", |d, v| {
        d.sinks.options.web_index.image_alts = v as usize
    }),
    most("target_storage.data_format.web_index.max_link_texts", |d, v| {
        d.sinks.options.web_index.link_texts = v as usize
    }),
];

pub(super) const ELASTIC: &[Key] = &[
    key("target_storage.data_format.elasticsearch.rest.hosts", List(elastic::set_hosts)),
    key("target_storage.data_format.elasticsearch.index_name", Text(elastic::set_index)),
    key("target_storage.data_format.elasticsearch.type_name", Text(elastic::set_type)),
    key("target_storage.data_format.elasticsearch.unchanged", Unchanged("elasticsearch", &["send", "skip", "touch"])),
    key("target_storage.data_format.elasticsearch.min_change", MinChange("elasticsearch")),
    key("target_storage.data_format.elasticsearch.skip_duplicates", SkipDuplicates("elasticsearch")),
    key("target_storage.data_format.elasticsearch.removed", Removed("elasticsearch", &["delete", "keep"])),
    key("target_storage.data_format.elasticsearch.index_template", Bool(|d, v| d.elastic.index_template = v)),
    live("target_storage.data_format.elasticsearch.rest.username", MaybeText(elastic::set_username)),
    secret(live("target_storage.data_format.elasticsearch.rest.password", MaybeText(elastic::set_password))),
    secret(live("target_storage.data_format.elasticsearch.rest.api_key", MaybeText(elastic::set_api_key))),
    key("target_storage.data_format.elasticsearch.rest.ca_file", MaybeText(elastic::set_ca_file)),
    key(
        "target_storage.data_format.elasticsearch.rest.connect_timeout",
        millis(SOME, |d, v| d.elastic.connect_timeout = v),
    ),
    key(
        "target_storage.data_format.elasticsearch.rest.socket_timeout",
        millis(SOME, |d, v| d.elastic.socket_timeout = v),
    ),
    key(
        "target_storage.data_format.elasticsearch.rest.max_retry_timeout_millis",
        millis(SOME, |d, v| d.elastic.max_retry = v),
    ),
    key("target_storage.data_format.elasticsearch.bulk_size", Size(1, |d, v| d.elastic.bulk_bytes = v)),
    key(
        "target_storage.data_format.elasticsearch.bulk_documents",
        Count(1, 10_000, |d, v| d.elastic.bulk_documents = v as usize),
    ),
    key("target_storage.data_format.elasticsearch.flush_interval", millis(NONE, |d, v| d.elastic.flush_interval = v)),
    key("target_storage.data_format.elasticsearch.host", MaybeText(elastic::set_transport_host)),
    key("target_storage.data_format.elasticsearch.port", Count(1, u16::MAX as u64, |_, _| ())),
    key("target_storage.data_format.elasticsearch.cluster_name", MaybeText(elastic::set_cluster_name)),
];
