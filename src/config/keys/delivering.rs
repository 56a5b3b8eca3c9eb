//! Keys of what becomes of a page.

use std::time::Duration;

use super::Kind::{self, Bool, Count, List, MaybeCount, MaybeText, OneOf, Properties, Size, Text};
use super::{Key, ache, ours, secret};
use crate::config::values::Unit::Millis;
use crate::config::{draft, elastic, sinks};
use crate::parse::clean_text::Extractor;

pub(super) const LOG: &[Key] = &[
    ours(
        "page_log.segment_size",
        "64MiB",
        Size(64 << 10, |d, v| d.config.log.segment_bytes = v),
        "Of one file of the log; a file is deleted once every destination has its pages.",
    ),
    ours(
        "page_log.max_size",
        "8GiB",
        Size(128 << 10, |d, v| d.config.log.max_bytes = v),
        "With so much waiting for a destination, fetching pauses. Nothing is dropped.",
    ),
    ours(
        "page_log.disk_reserve",
        "256MiB",
        Size(0, |d, v| d.config.log.reserve_bytes = v),
        "With less free on the data folder's disk, fetching pauses until there is room again; with less than a quarter of it \
         the frontier writes nothing either. What is accepted is still delivered. 0: the disk may be filled to its end.",
    ),
    ours(
        "page_log.commit_interval",
        "5ms",
        Kind::Duration(Millis, Duration::ZERO, |d, v| d.config.log.commit_interval = v),
        "The longest a page waits for others to share its fsync.",
    ),
];

pub(super) const SINKS: &[Key] = &[
    ache(
        "target_storage.data_formats",
        "[FILES]",
        "[FILES]",
        List(sinks::set_formats),
        "Each writes to a folder of its own, named after it in lower case, below the data folder. ACHE's older \
         target_storage.data_format.type means the same.",
    ),
    ours(
        "target_storage.sinks",
        "[]",
        Kind::Sinks(sinks::set_sinks),
        "The longer form, for several sinks of a kind and other pairs of format and destination: a list of \
         {name: news, destination: kafka, format: CDR31, options: {topic_name: news-cdr}}. Destinations: files (rolling), filesystem (a file \
         a page), pagestore, kafka, elasticsearch, stdout, void. Options are the keys below, without what stands before them; what is not \
         there is as below. With it, data_formats is [] unless it is set beside it.",
    ),
    ours(
        "target_storage.text_extractor",
        "boilerpipe",
        OneOf(&Extractor::NAMES, |d, v| d.config.text.extractor = Extractor::named(v)),
        "Which main text ELASTIC documents have as `text`. boilerpipe: that of ACHE, made for news. readable: learnt from pages \
         of all kinds, with its confidence beside it as `textConfidence`, 0 to 1.",
    ),
    ours(
        "target_storage.markdown",
        "false",
        Bool(|d, v| d.config.text.markdown = v),
        "ELASTIC documents and the lines of stdout also have what the readable extractor gives, as Markdown: `markdown`, and \
         its confidence. Other formats have no place for it.",
    ),
    ours(
        "target_storage.detect_language",
        "true",
        Bool(|d, v| d.config.text.language = v),
        "ELASTIC documents, and lines of stdout with Markdown, also say which language a page's text is in, whatever it declares: \
         `languageDetected` (ISO 639-1) and `languageConfidence`, 0.9 to 1; nothing where that is not sure, and of little text.",
    ),
    ours(
        "target_storage.from_archive",
        "[]",
        List(sinks::set_from_archive),
        "Archives of this crawl (files, folders, patterns, topics), such as [data/files]. A destination that comes later than the crawl \
         gets from them what the page log does not hold any more, before what the log holds. Once; what was begun is finished by later \
         runs, too.",
    ),
    ache(
        "target_storage.data_format.files.max_file_size",
        "256MiB",
        "256MiB",
        Size(1, |d, v| d.sinks.sizes.files = v),
        "A larger file is closed and the next one begun. Plain numbers are bytes.",
    ),
    ours(
        "target_storage.data_format.files.compression_level",
        "6",
        Count(0, 9, |d, v| d.sinks.compression_level = draft::to_u32(v)),
        "Of zlib: 0 none, 1 fastest, 9 smallest.",
    ),
    ache(
        "target_storage.data_format.warc.max_file_size",
        "262144000",
        "262144000",
        Size(1, |d, v| d.sinks.sizes.warc = v),
        "A larger file is closed and the next one begun. Plain numbers are bytes.",
    ),
    ache(
        "target_storage.data_format.warc.compress",
        "true",
        "true",
        Bool(|d, v| d.sinks.options.warc.compress = v),
        "Each record as a gzip member of its own, in files called .warc.gz.",
    ),
    ours(
        "target_storage.data_format.warc.compression_level",
        "6",
        Count(0, 9, |d, v| d.sinks.options.warc.compression_level = draft::to_u32(v)),
        "Of zlib: 0 none, 1 fastest, 9 smallest.",
    ),
    ours(
        "target_storage.data_format.warc.cdxj",
        "false",
        Bool(|d, v| d.sinks.options.warc.cdxj = v),
        "An index in CDXJ beside each file once it is closed, for pywb and the like.",
    ),
    ours(
        "target_storage.data_format.warc.metadata",
        "false",
        Bool(|d, v| d.sinks.options.warc.metadata = v),
        "A metadata record for each page: the links on it, links and redirects from the seed to it, and how long it took.",
    ),
    ours(
        "target_storage.data_format.warc.archive_credentials",
        "false",
        Bool(|d, v| d.config.fetch.archive_credentials = v),
        "Keep cookies in the requests of the archive, and in the page log until they are there. Otherwise a request with \
         cookies is written with *** in their place and marked as rebuilt.",
    ),
    ours(
        "target_storage.data_format.warc.revisits",
        "100000",
        Count(0, 100_000_000, |d, v| d.sinks.options.warc.revisits = draft::to_usize(v)),
        "For so many URLs it is remembered what was written last (about 100 bytes each, in memory); the same again becomes a          short revisit record. After a restart the first copy is written in full again. 0: always.",
    ),
    ours(
        "target_storage.data_format.warc.operator",
        "null",
        MaybeText(draft::set_warc_operator),
        "Who runs the crawl, with an address, for whoever reads the archive. null: the user agent's e-mail.",
    ),
    ache(
        "target_storage.data_format.kafka.topic_name",
        "null",
        "null",
        MaybeText(draft::set_kafka_topic),
        "The topic that KAFKA writes to. --kafka-topic on the command line.",
    ),
    ache(
        "target_storage.data_format.kafka.format",
        "JSON",
        "JSON",
        Text(sinks::set_kafka_format),
        "What a message holds: JSON (the object that FILES writes), CDR31 (Memex CDR 3.1, HTML pages only) or ELASTIC \
         (the document that ELASTICSEARCH writes). The key is the URL, form-encoded; the headers are event_id, schema, status and \
         change (new, unchanged, changed or gone since the last fetch), of what has changed the distance, and of what is gone its \
         reason.",
    ),
    ours(
        "target_storage.data_format.kafka.unchanged",
        "send",
        OneOf(&["send", "skip"], |d, v| d.sinks.set_unchanged("kafka", v)),
        "A page that is looked at again and is as it was: send it again, or skip it. A 304 has no page in it, and no message.",
    ),
    ours(
        "target_storage.data_format.kafka.min_change",
        "0",
        Count(0, 64, |d, v| d.sinks.set_min_change("kafka", v)),
        "With unchanged: skip, a page that has changed is skipped, too, while its main text differs in fewer bits of its simhash (of 64) from \
         the one that was last sent. A new date in 1000 words is 1 or 2 bits, a tenth of the text some 9, another text some 32. 0: every \
         change is sent. How far the text of a page is that has none (a picture), or of one last read without this, is not known: it \
         is sent.",
    ),
    ours(
        "target_storage.data_format.kafka.skip_duplicates",
        "false",
        Bool(|d, v| d.sinks.set_skip_duplicates("kafka", v)),
        "A page that is a duplicate of another (duplicates.enabled): no message; of one that was sent before, what `removed` says, \
         with the reason `duplicate`. It is sent when that other page is there no more, or has another text.",
    ),
    ours(
        "target_storage.data_format.kafka.removed",
        "tombstone",
        OneOf(&["tombstone", "event", "keep"], |d, v| d.sinks.set_removed("kafka", v)),
        "A page that is gone. tombstone: a message without a value, by which a compacted topic forgets the page. event: a \
         message that says so, of the schema `change`. keep: none.",
    ),
    ache(
        "target_storage.data_format.kafka.properties",
        "{}",
        "{}",
        Properties(draft::set_kafka_properties),
        "Properties of the Java producer or of librdkafka, such as {bootstrap.servers: \"localhost:9092\", linger.ms: 100}; --kafka-servers on the command line sets the first. \
         Unless they say otherwise: localhost:9092, acks all, idempotent, lz4, linger.ms 20, buffer.memory 32 MiB, messages as \
         large as the buffer. Pages are sent until the broker has them, however long that takes; what it refuses for good goes to \
         the dead letters.",
    ),
    ours(
        "target_storage.data_format.kafka.team",
        "null",
        MaybeText(|d, v| {
            d.sinks.options.team = v.map(str::to_owned);
            Ok(())
        }),
        "CDR31's team; without one, documents have none.",
    ),
    ours(
        "target_storage.data_format.kafka.create_topic",
        "false",
        Bool(|d, v| d.sinks.kafka.create_topic = v),
        "Make the topic when the broker has none of that name, also where brokers do not make topics by themselves.",
    ),
    ours(
        "target_storage.data_format.kafka.partitions",
        "null",
        MaybeCount(1, 10_000, |d, v| d.sinks.kafka.partitions = v.map(draft::to_u16)),
        "Of a topic that is made. null: the broker's default.",
    ),
    ours(
        "target_storage.data_format.kafka.replication_factor",
        "null",
        MaybeCount(1, 100, |d, v| d.sinks.kafka.replication_factor = v.map(draft::to_u16)),
        "Of a topic that is made. null: the broker's default.",
    ),
    ours(
        "target_storage.data_format.kafka.stuck_after",
        "1m",
        Kind::Duration(Millis, Duration::from_millis(100), |d, v| d.sinks.kafka.stuck_after = v),
        "A producer that delivers nothing for so long, while the broker answers, is made anew.",
    ),
    ours(
        "target_storage.data_format.stdout.skip_duplicates",
        "false",
        Bool(|d, v| d.sinks.set_skip_duplicates("stdout", v)),
        "STDOUT: a page that is a duplicate of another is not printed. See kafka.skip_duplicates.",
    ),
];

pub(super) const ELASTIC: &[Key] = &[
    ache(
        "target_storage.data_format.elasticsearch.rest.hosts",
        "[]",
        "[]",
        List(elastic::set_hosts),
        "URLs of the servers, taken in turn; one that does not answer is passed over. Without a port: 9200. Empty: \
         http://localhost:9200.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.index_name",
        "ache-data",
        "ache-data",
        Text(elastic::set_index),
        "Made with its mapping when it is not there. -e on the command line.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.type_name",
        "page",
        "page",
        Text(elastic::set_type),
        "No effect: servers from Elasticsearch 7 on have no types. -t on the command line.",
    ),
    ours(
        "target_storage.data_format.elasticsearch.unchanged",
        "touch",
        OneOf(&["send", "skip", "touch"], |d, v| d.sinks.set_unchanged("elasticsearch", v)),
        "A page that is looked at again and is as it was. send: written again, if it came with its content (200). touch: so, and \
         of a 304, which has none, `retrieved` is brought up to date. skip: its document stays as it is.",
    ),
    ours(
        "target_storage.data_format.elasticsearch.min_change",
        "0",
        Count(0, 64, |d, v| d.sinks.set_min_change("elasticsearch", v)),
        "A page whose main text has changed by fewer bits of 64 is not written: it is touched or skipped, as `unchanged` says. See \
         kafka.min_change.",
    ),
    ours(
        "target_storage.data_format.elasticsearch.skip_duplicates",
        "false",
        Bool(|d, v| d.sinks.set_skip_duplicates("elasticsearch", v)),
        "A page that is a duplicate of another has no document; one that it had goes as `removed` says. See kafka.skip_duplicates.",
    ),
    ours(
        "target_storage.data_format.elasticsearch.removed",
        "delete",
        OneOf(&["delete", "keep"], |d, v| d.sinks.set_removed("elasticsearch", v)),
        "The document of a page that is gone: delete or keep it.",
    ),
    ours(
        "target_storage.data_format.elasticsearch.index_template",
        "true",
        Bool(|d, v| d.elastic.index_template = v),
        "Also put the mapping as an index template, so that the server makes the index anew as it was, should \
         somebody delete it.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.rest.username",
        "null",
        "null",
        MaybeText(elastic::set_username),
        "For basic authentication.",
    ),
    secret(ache(
        "target_storage.data_format.elasticsearch.rest.password",
        "null",
        "null",
        MaybeText(elastic::set_password),
        "Better in a file (rest.password_file) or the environment: SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__PASSWORD.",
    )),
    secret(ours(
        "target_storage.data_format.elasticsearch.rest.api_key",
        "null",
        MaybeText(elastic::set_api_key),
        "Instead of a user: the key as Elasticsearch shows it when it makes one (`encoded`).",
    )),
    ours(
        "target_storage.data_format.elasticsearch.rest.ca_file",
        "null",
        MaybeText(elastic::set_ca_file),
        "A PEM file of certificates to trust besides the public ones.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.rest.connect_timeout",
        "30s",
        "30s",
        Kind::Duration(Millis, Duration::from_millis(1), |d, v| d.elastic.connect_timeout = v),
        "Plain numbers are milliseconds.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.rest.socket_timeout",
        "30s",
        "30s",
        Kind::Duration(Millis, Duration::from_millis(1), |d, v| d.elastic.socket_timeout = v),
        "For one request and its whole answer. What takes longer is sent again in halves.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.rest.max_retry_timeout_millis",
        "90s",
        "60s",
        Kind::Duration(Millis, Duration::from_millis(1), |d, v| d.elastic.max_retry = v),
        "After so long without progress the failure is reported; then it is tried on. No page is given up.",
    ),
    ours(
        "target_storage.data_format.elasticsearch.bulk_size",
        "5MiB",
        Size(1, |d, v| d.elastic.bulk_bytes = v),
        "Pages are sent together: at most about so many bytes …",
    ),
    ours(
        "target_storage.data_format.elasticsearch.bulk_documents",
        "500",
        Count(1, 10_000, |d, v| d.elastic.bulk_documents = draft::to_usize(v)),
        "… or so many pages …",
    ),
    ours(
        "target_storage.data_format.elasticsearch.flush_interval",
        "1s",
        Kind::Duration(Millis, Duration::ZERO, |d, v| d.elastic.flush_interval = v),
        "… or once the first has waited for so long.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.host",
        "null",
        "null",
        MaybeText(elastic::set_transport_host),
        "Deprecated: ACHE's transport client of Elasticsearch 1. Taken for http://HOST:9200.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.port",
        "9300",
        "9300",
        Count(1, u16::MAX as u64, |_, _| ()),
        "Deprecated, and no effect: of the transport protocol, which newer servers do not have.",
    ),
    ache(
        "target_storage.data_format.elasticsearch.cluster_name",
        "null",
        "null",
        MaybeText(elastic::set_cluster_name),
        "Deprecated, and no effect: over HTTP the hosts say which cluster it is.",
    ),
];
