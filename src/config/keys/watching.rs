//! Keys of watching the crawl, and asking it.

use std::time::Duration;

use super::Kind::{Bool, Count, MaybeDuration, MaybeText, OneOf, Size, Text};
use super::{Key, ache, ours, secret};
use crate::config::draft;
use crate::config::values::Unit::Millis;

pub(super) const HTTP: &[Key] = &[
    ours("http.enabled", "true", Bool(|d, v| d.http_enabled = v), "Serve /metrics, /healthz, /readyz and the API."),
    ache(
        "http.host",
        "127.0.0.1",
        "0.0.0.0",
        Text(draft::set_http_host),
        "The address to listen on. 0.0.0.0: every network the machine is in.",
    ),
    ache(
        "http.port",
        "8080",
        "8080",
        Count(0, u16::MAX as u64, |d, v| d.http_port = draft::to_u16(v)),
        "0: any free port.",
    ),
    secret(ours(
        "http.api.read_token",
        "null",
        MaybeText(|d, v| draft::set_token(&mut d.config.http.read_token, v)),
        "Who sends it (Authorization: Bearer …) may ask the API. Without tokens it answers this machine alone, and there everybody.",
    )),
    secret(ours(
        "http.api.operate_token",
        "null",
        MaybeText(|d, v| draft::set_token(&mut d.config.http.operate_token, v)),
        "Who sends it may also steer the crawl. The command line on the crawl's machine needs none.",
    )),
];

pub(super) const LOGGING: &[Key] = &[
    ours(
        "logging.format",
        "text",
        OneOf(&["text", "json"], |d, v| d.config.logging.json = v == "json"),
        "For people, or for machines: every line on standard error is a JSON object.",
    ),
    ours(
        "logging.interval",
        "1m",
        MaybeDuration(Millis, Duration::from_millis(100), |d, v| d.config.logging.interval = v),
        "So often a line (at info) says how far the crawl is: pages, rate, queue, what each destination has still to take, hosts in \
         trouble, failures by reason. null: never.",
    ),
    ours(
        "logging.filter",
        "warn,seine=info",
        Text(draft::set_log_filter),
        "error, warn, info, debug or trace; or by part: warn,seine::fetch=debug. The store below speaks at info too.",
    ),
    ours(
        "fetch_log.enabled",
        "false",
        Bool(|d, v| d.config.logging.fetches.enabled = v),
        "A JSON line for every attempt and every request for a robots.txt, in fetch_log/fetches.jsonl below the data folder: time, url, \
         host, status or reason with its cause, bytes, milliseconds, attempt, depth, redirects. Nothing waits for it: lines that \
         its disk has no time for are dropped, and counted.",
    ),
    ours(
        "fetch_log.max_file_size",
        "64MiB",
        Size(4 << 10, |d, v| d.config.logging.fetches.max_file_bytes = v),
        "A larger file is closed (fetches.1.jsonl is the newest of these) and the next one begun …",
    ),
    ours(
        "fetch_log.max_files",
        "8",
        Count(1, 1000, |d, v| d.config.logging.fetches.max_files = v),
        "… and so many are kept, the open one included.",
    ),
];
