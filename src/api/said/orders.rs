//! What an operator orders, and what comes of it.

use serde::{Deserialize, Serialize};

use crate::config::KeyChanged;
use crate::page::EpochMs;

/// What an operator wants: `POST /api/v1/orders`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Nothing more is fetched; what is accepted is delivered.
    Pause,
    Resume,
    PauseSink {
        sink: String,
    },
    ResumeSink {
        sink: String,
    },
    /// Gives up what a sink that is not configured any more has not delivered.
    RemoveSink {
        sink: String,
    },
    /// Its books begin anew. It gets what archives hold and then what the log holds.
    RefillSink {
        sink: String,
        /// On the crawl's machine, by absolute paths. None: the crawl's own archive.
        #[serde(default)]
        archives: Vec<String>,
        /// Instead of that, every page is fetched again without conditions.
        #[serde(default)]
        refetch: bool,
    },
    BlockHost {
        host: String,
    },
    UnblockHost {
        host: String,
    },
    /// None: the configured delay again.
    SetHostDelay {
        host: String,
        #[serde(deserialize_with = "given")]
        delay_ms: Option<u64>,
    },
    /// How many pages of the host are admitted at most; none: as configured.
    SetHostPages {
        host: String,
        #[serde(deserialize_with = "given")]
        pages: Option<u64>,
    },
    /// `pages`, `host-pages`, or an entry of `budget.rules` as `host/day/bytes_received`. `most`: pages or bytes; none: any number.
    SetLimit {
        limit: String,
        #[serde(deserialize_with = "given")]
        most: Option<u64>,
    },
    /// It is as configured again.
    ResetLimit {
        limit: String,
    },
    /// A client crawler that was shut out may take work again. It has to prove itself from the beginning.
    ReadmitClient {
        client: String,
    },
    /// As if nothing had ever led there. Destinations are not told.
    Forget(Forget),
    /// Puts what failed back among the URLs to fetch.
    Retry(Retry),
}

/// `null` is an answer, and a field that is left out is a mistake: serde takes the second for the first.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    Option::deserialize(value)
}

/// What is to be forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    #[serde(default)]
    pub urls: Vec<String>,
    /// All URLs of `example.com`, or of `https://example.com:8443`.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// What is to be tried again; of an empty list, all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Names that the summary of a crawl counts by: reasons of failure, `5xx`, `refused`, `gone`. Empty: whatever failed, and answers
    /// with status 429 or 5xx.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// `example.com`, or `https://example.com:8443`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// A regular expression that the whole URL is to match, as in scope.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Only count.
    #[serde(default)]
    pub dry_run: bool,
}

/// What came of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// For people: what has changed.
    pub done: String,
    /// Of a retry: how many, by what they had failed with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<ReasonCount>,
    /// It was done, and does not stand in the log of orders: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonCount {
    pub reason: String,
    pub urls: u64,
}

/// One line of the log of orders: who did what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ordered {
    pub at_ms: EpochMs,
    /// `command line`, or the API's role and the address that it came from.
    pub by: String,
    /// The order as it was given, or `{"order": "add_seeds", "urls": 12}`.
    pub order: serde_json::Value,
    pub done: String,
}

/// What reading the configuration again has changed: `POST /api/v1/reload`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reloaded {
    pub changed: Vec<KeyChanged>,
    /// What was done, in a sentence.
    pub done: String,
    /// As of [`Done`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SeedsAdded {
    /// New to the crawl.
    pub added: u64,
    /// Known already; they are looked at again.
    pub known: u64,
    /// What is no http or https URL, the first few.
    pub bad: Vec<String>,
    pub bad_count: u64,
    /// As of [`Done`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl SeedsAdded {
    /// Bad ones that are named.
    pub const NAMED: usize = 10;

    /// What came of one more part of a list.
    pub fn add(&mut self, SeedsAdded { added, known, bad, bad_count, warning }: SeedsAdded) {
        self.warning = self.warning.take().or(warning);
        self.added += added;
        self.known += known;
        self.bad_count += bad_count;
        self.bad.extend(bad);
        self.bad.truncate(Self::NAMED);
    }
}
