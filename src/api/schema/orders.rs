//! Orders of the operator, and their results.

use seine_parse::page::EpochMs;
use serde::{Deserialize, Serialize};

use crate::config::KeyChanged;

/// An order: `POST /api/v1/orders`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// No more fetches; accepted pages are delivered.
    Pause {},
    Resume {},
    PauseSink {
        sink: String,
    },
    ResumeSink {
        sink: String,
    },
    /// Removes a sink that is not configured, with its pending events.
    RemoveSink {
        sink: String,
    },
    /// Starts a sink again with empty counters. It gets the pages of archives, then those of the log.
    RefillSink {
        sink: String,
        /// Absolute paths on the crawl's machine. Empty: the crawl's own archive.
        #[serde(default)]
        archives: Vec<String>,
        /// Refetch every page instead.
        #[serde(default)]
        refetch: bool,
    },
    BlockHost {
        host: String,
    },
    UnblockHost {
        host: String,
    },
    /// None: the configured delay.
    SetHostDelay {
        host: String,
        #[serde(deserialize_with = "given")]
        delay_ms: Option<u64>,
    },
    /// Maximum number of pages of the host; none: as configured.
    SetHostPages {
        host: String,
        #[serde(deserialize_with = "given")]
        pages: Option<u64>,
    },
    /// `pages`, `host-pages`, or an entry of `budget.rules` as `host/day/bytes_received`. `most`: pages or bytes; none:
    /// no limit.
    SetLimit {
        limit: String,
        #[serde(deserialize_with = "given")]
        most: Option<u64>,
    },
    /// Uses the configured limit again.
    ResetLimit {
        limit: String,
    },
    /// Admits a remote worker again that was shut out. It must earn the trust from the beginning.
    ReadmitClient {
        client: String,
    },
    /// Removes URLs as if no link had led to them. Destinations are not told.
    Forget(Forget),
    /// Queues failed URLs again.
    Retry(Retry),
}

/// Distinguishes `null` from a missing field, which is an error; serde treats both the same.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    Option::deserialize(value)
}

/// What to forget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    #[serde(default)]
    pub urls: Vec<String>,
    /// All URLs of `example.com`, or of `https://example.com:8443`.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// What to retry; an empty list selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Names as in the summary of a crawl: reasons of failure, `5xx`, `refused`, `gone`. Empty: all failed URLs, and
    /// answers with status 408, 421, 425, 429 or 5xx.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// `example.com`, or `https://example.com:8443`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// A regular expression that may match any part of the URL.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Count only.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// What has changed, for the user.
    pub done: String,
    /// For a retry: the number of URLs by their last failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<ReasonCount>,
    /// The order was executed, but could not be recorded: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonCount {
    pub reason: String,
    pub urls: u64,
}

/// One line of the log of orders.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ordered {
    pub at_ms: EpochMs,
    /// `command line`, or the API's role and the sender's address.
    pub by: String,
    /// The order as given, or `{"order": "add_seeds", "urls": 12}`.
    pub order: serde_json::Value,
    pub done: String,
}

/// The result of a reload: `POST /api/v1/reload`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reloaded {
    pub changed: Vec<KeyChanged>,
    /// What was done, in a sentence.
    pub done: String,
    /// As in [`Done`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SeedsAdded {
    /// New to the crawl.
    pub added: u64,
    /// Already known; they are rechecked.
    pub known: u64,
    /// Texts that are not http or https URLs, the first few.
    pub bad: Vec<String>,
    pub bad_count: u64,
    /// As in [`Done`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl SeedsAdded {
    /// Number of bad ones listed.
    pub const NAMED: usize = 10;

    /// Adds the result of another part of a list.
    pub fn add(&mut self, SeedsAdded { added, known, bad, bad_count, warning }: SeedsAdded) {
        self.warning = self.warning.take().or(warning);
        self.added += added;
        self.known += known;
        self.bad_count += bad_count;
        self.bad.extend(bad);
        self.bad.truncate(Self::NAMED);
    }
}
