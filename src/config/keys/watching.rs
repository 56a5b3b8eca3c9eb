//! Keys of the API, remote workers and logging.

use std::time::Duration;

use super::Kind::{Bool, Count, MaybeDuration, MaybeText, OneOf, Size, Text};
use super::{Key, key, live, millis, secret};
use crate::config::draft;

pub(super) const HTTP: &[Key] = &[
    key("http.enabled", Bool(|d, v| d.http_enabled = v)),
    key("http.host", Text(draft::set_http_host)),
    key("http.port", Count(0, u16::MAX as u64, |d, v| d.http_port = v as u16)),
    secret(live("http.api.read_token", MaybeText(|d, v| draft::set_token(&mut d.config.http.read_token, v)))),
    secret(live("http.api.operate_token", MaybeText(|d, v| draft::set_token(&mut d.config.http.operate_token, v)))),
];

pub(super) const WORK: &[Key] = &[
    secret(live("work.clients", MaybeText(|d, v| draft::set_clients(&mut d.config.work.clients, v)))),
    live("work.lease", millis(Duration::from_secs(1), |d, v| d.config.work.lease = v)),
    live("work.max_hosts", Count(1, 10_000, |d, v| d.config.work.max_hosts = v as usize)),
    live("work.verify_share", Count(0, 100, |d, v| d.config.work.verify_share = v as f64 / 100.0)),
    live("work.prove_after", Count(1, 100_000, |d, v| d.config.work.prove_after = v as u32)),
];

pub(super) const LOGGING: &[Key] = &[
    key("logging.format", OneOf(&["text", "json"], |d, v| d.config.logging.json = v == "json")),
    live("logging.interval", MaybeDuration(Duration::from_millis(100), |d, v| d.config.logging.interval = v)),
    live("logging.filter", Text(draft::set_log_filter)),
    key("fetch_log.enabled", Bool(|d, v| d.config.logging.fetches.enabled = v)),
    key("fetch_log.max_file_size", Size(4 << 10, |d, v| d.config.logging.fetches.max_file_bytes = v)),
    key("fetch_log.max_files", Count(1, 1000, |d, v| d.config.logging.fetches.max_files = v)),
];
