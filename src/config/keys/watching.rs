//! Keys of watching the crawl, and asking it.

use std::time::Duration;

use super::Kind::{self, Bool, Count, MaybeDuration, MaybeText, OneOf, Size, Text};
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

pub(super) const WORK: &[Key] = &[
    secret(ours(
        "work.clients",
        "null",
        MaybeText(|d, v| draft::set_clients(&mut d.config.work.clients, v)),
        "Crawlers that may take work from this one over the API and send pages back: NAME:TOKEN, several with blanks or line ends between \
         them. Pages have the name as their crawler id. null: no work is given out.",
    )),
    ours(
        "work.lease",
        "1m",
        Kind::Duration(Millis, Duration::from_secs(1), |d, v| d.config.work.lease = v),
        "A host that a client has taken and neither sends pages of nor renews is given to others after so long.",
    ),
    ours(
        "work.max_hosts",
        "64",
        Count(1, 10_000, |d, v| d.config.work.max_hosts = v as usize),
        "Hosts that one client may have at a time. It begins with fewer; those it brings nothing back of cost it half of them.",
    ),
    ours(
        "work.verify_share",
        "5",
        Count(0, 100, |d, v| d.config.work.verify_share = v as f64 / 100.0),
        "Of the pages that a proven client sends, so many in a hundred are fetched again by ourselves, and ours are taken. Whose pages \
         disagree too often is shut out, and all that was taken of it unseen is fetched again.",
    ),
    ours(
        "work.prove_after",
        "20",
        Count(1, 100_000, |d, v| d.config.work.prove_after = v as u32),
        "Until so many pages of a client agreed with what we see ourselves, all of its pages are fetched again, and ours are taken: no \
         page and no link of it counts before that.",
    ),
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
