//! The keys of the formats that are files, FILES apart.

use std::path::PathBuf;

use super::Kind::{Bool, Count, MaybeText, OneOf, Size};
use super::{Key, ache, ours};
use crate::config::draft::to_usize;

const SEND_OR_SKIP: &[&str] = &["send", "skip"];
const KEEP: &[&str] = &["keep"];

pub(super) const KEYS: &[Key] = &[
    ache(
        "target_storage.data_format.filesystem.hash_file_name",
        "false",
        "false",
        Bool(|d, v| d.sinks.naming.hash_file_name = v),
        "FILESYSTEM_*: files are named by their URL's SHA-256, not by the URL. A URL whose name would be longer than 255 bytes \
         needs it; without, its page goes to the dead letters.",
    ),
    ache(
        "target_storage.data_format.filesystem.compress_data",
        "false",
        "false",
        Bool(|d, v| d.sinks.naming.compress_data = v),
        "FILESYSTEM_*: each file is one zlib stream.",
    ),
    ours(
        "target_storage.data_format.filesystem.unchanged",
        "send",
        OneOf(SEND_OR_SKIP, |d, v| d.sinks.set_unchanged("filesystem", v)),
        "FILESYSTEM_*: a page that is looked at again and is as it was: send writes its file anew, skip leaves it.",
    ),
    ours(
        "target_storage.data_format.filesystem.min_change",
        "0",
        Count(0, 64, |d, v| d.sinks.set_min_change("filesystem", v)),
        "FILESYSTEM_*: a page whose main text has changed by fewer bits of 64 is left as it is, where unchanged is skip. See \
         kafka.min_change.",
    ),
    ours(
        "target_storage.data_format.filesystem.skip_duplicates",
        "false",
        Bool(|d, v| d.sinks.set_skip_duplicates("filesystem", v)),
        "FILESYSTEM_*: a page that is a duplicate of another is not written. See kafka.skip_duplicates.",
    ),
    ours(
        "target_storage.data_format.filesystem.removed",
        "keep",
        OneOf(KEEP, |d, v| d.sinks.set_removed("filesystem", v)),
        "FILESYSTEM_*: the file of a page that is gone stays. There is no other choice: archives take nothing away.",
    ),
    ours(
        "target_storage.data_format.records.max_file_size",
        "256MiB",
        Size(1, |d, v| d.sinks.sizes.records = v),
        "CDR31, ELASTIC and WEB_INDEX: a larger file is closed and the next one begun.",
    ),
    ours(
        "target_storage.data_format.records.unchanged",
        "send",
        OneOf(SEND_OR_SKIP, |d, v| d.sinks.set_unchanged("files", v)),
        "FILES, WARC and all other formats with many pages in a file: a page that is looked at again and is as it was: send \
         writes it again (WARC: a short revisit record, of a 304 too), skip does not.",
    ),
    ours(
        "target_storage.data_format.records.min_change",
        "0",
        Count(0, 64, |d, v| d.sinks.set_min_change("files", v)),
        "The same formats: a page whose main text has changed by fewer bits of 64 is not written, where unchanged is skip. See \
         kafka.min_change.",
    ),
    ours(
        "target_storage.data_format.records.skip_duplicates",
        "false",
        Bool(|d, v| d.sinks.set_skip_duplicates("files", v)),
        "The same formats: a page that is a duplicate of another is not written. See kafka.skip_duplicates.",
    ),
    ours(
        "target_storage.data_format.records.removed",
        "keep",
        OneOf(KEEP, |d, v| d.sinks.set_removed("files", v)),
        "The same formats: what was written of a page that is gone stays. WARC and TIANWANG have the answer \
         that says so (404, 410), the others no record of it. There is no other choice: archives take nothing away.",
    ),
    ours(
        "target_storage.data_format.tianwang.compress",
        "true",
        Bool(|d, v| d.sinks.options.tianwang_compress = v),
        "TIANWANG: each page is one zlib stream in the file.",
    ),
    ours(
        "target_storage.data_format.tianwang.max_file_size",
        "256MiB",
        Size(1, |d, v| d.sinks.sizes.tianwang = v),
        "TIANWANG: a larger file is closed and the next one begun.",
    ),
    ours(
        "target_storage.data_format.pagestore.base_folder",
        "null",
        MaybeText(|d, v| {
            d.sinks.pagestore_base = v.map(PathBuf::from);
            Ok(())
        }),
        "PAGESTORE: where the folders of the years are. null: in pagestore, below the data folder.",
    ),
    ours(
        "target_storage.data_format.pagestore.unchanged",
        "send",
        OneOf(SEND_OR_SKIP, |d, v| d.sinks.set_unchanged("pagestore", v)),
        "PAGESTORE: a page that is looked at again and is as it was: send stores it again, skip does not.",
    ),
    ours(
        "target_storage.data_format.pagestore.min_change",
        "0",
        Count(0, 64, |d, v| d.sinks.set_min_change("pagestore", v)),
        "PAGESTORE: a page whose main text has changed by fewer bits of 64 is not stored again, where unchanged is skip. See \
         kafka.min_change.",
    ),
    ours(
        "target_storage.data_format.pagestore.skip_duplicates",
        "false",
        Bool(|d, v| d.sinks.set_skip_duplicates("pagestore", v)),
        "PAGESTORE: a page that is a duplicate of another is not stored. See kafka.skip_duplicates.",
    ),
    ours(
        "target_storage.data_format.pagestore.removed",
        "keep",
        OneOf(KEEP, |d, v| d.sinks.set_removed("pagestore", v)),
        "PAGESTORE: what was stored of a page that is gone stays. There is no other choice: archives take nothing away.",
    ),
    ours(
        "target_storage.data_format.web_index.max_title",
        "200",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.title = to_usize(v)),
        "WEB_INDEX: longer titles are cut; in characters, as all of these. A cell never has more than 131072.",
    ),
    ours(
        "target_storage.data_format.web_index.max_language",
        "10",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.language = to_usize(v)),
        "WEB_INDEX: of <html lang>.",
    ),
    ours(
        "target_storage.data_format.web_index.max_heading",
        "200",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.heading = to_usize(v)),
        "WEB_INDEX: of each heading.",
    ),
    ours(
        "target_storage.data_format.web_index.max_headings",
        "5",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.headings = to_usize(v)),
        "WEB_INDEX: so many headings of each level.",
    ),
    ours(
        "target_storage.data_format.web_index.max_heading_level",
        "6",
        Count(0, 6, |d, v| d.sinks.options.web_index.heading_level = to_usize(v)),
        "WEB_INDEX: headings of the levels below (h5 and h6 with 4) are left out.",
    ),
    ours(
        "target_storage.data_format.web_index.max_description",
        "500",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.description = to_usize(v)),
        "WEB_INDEX: of <meta name=description>.",
    ),
    ours(
        "target_storage.data_format.web_index.max_keywords",
        "500",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.keywords = to_usize(v)),
        "WEB_INDEX: of <meta name=keywords>.",
    ),
    ours(
        "target_storage.data_format.web_index.max_author",
        "200",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.author = to_usize(v)),
        "WEB_INDEX: of <meta name=author>.",
    ),
    ours(
        "target_storage.data_format.web_index.max_content_snippet",
        "500",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.content_snippet = to_usize(v)),
        "WEB_INDEX: of the snippet of the page's content.",
    ),
    ours(
        "target_storage.data_format.web_index.max_image_alts",
        "2000",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.image_alts = to_usize(v)),
        "WEB_INDEX: of all images' descriptions together.",
    ),
    ours(
        "target_storage.data_format.web_index.max_link_texts",
        "5000",
        Count(0, 1_000_000, |d, v| d.sinks.options.web_index.link_texts = to_usize(v)),
        "WEB_INDEX: of all links' texts together.",
    ),
];
