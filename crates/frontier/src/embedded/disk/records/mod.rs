//! Format of the store's values: a version byte, then the record in CBOR, an array of its fields by number. A new field
//! gets the next number and is optional or has a default; no field ever changes its number. [`v1`] reads values of
//! version 0.1.0.

mod v1;

use minicbor::{Decode, Encode};

use crate::keys::{Rank, UrlKey};
use crate::{Attempts, Cause, FoundBy, PageRecord};
use seine_parse::page::{EpochMs, FailureReason, Kind};
use seine_policies::focus::Lead;
use seine_policies::revisit::History;

/// First byte of a record; `seine --version` prints it. Values of 0.1.0 begin with 0 to 7.
pub const FORMAT: u8 = 8;

/// A record of the store.
pub trait Record: Encode<()> + for<'b> Decode<'b, ()> {
    /// Reads a value of 0.1.0; none for records that it did not have.
    fn from_v1(_: v1::Input) -> Option<Self> {
        None
    }
}

/// The queue that a known URL is in, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlState {
    Ready(Rank),
    Later {
        due: EpochMs,
        rank: Rank,
    },
    /// Only in `pages`.
    Done,
}

impl UrlState {
    /// None if it is in no queue.
    pub fn rank(self) -> Option<Rank> {
        match self {
            UrlState::Ready(rank) | UrlState::Later { rank, .. } => Some(rank),
            UrlState::Done => None,
        }
    }
}

/// A URL in a queue; its origin is the host's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct QueuedUrl {
    #[n(0)]
    pub path: String,
    #[n(1)]
    pub kind: Kind,
    #[n(2)]
    pub depth: u16,
    // The remaining fields are not written for URLs that were never fetched, which are the most.
    #[cbor(n(3), skip_if = "is_default")]
    pub attempt: u16,
    /// It is also in `pages`.
    #[cbor(n(4), skip_if = "is_default")]
    pub revisit: bool,
    /// See [`crate::Work::was_put_off`].
    #[cbor(n(5), skip_if = "is_default")]
    pub put_off: bool,
    /// The last failure, for the user.
    #[n(6)]
    pub cause: Option<Cause>,
    /// The attempts so far, for the user.
    #[cbor(n(7), skip_if = "Attempts::is_empty")]
    pub attempts: Attempts,
    /// The link that led to it, if links have scores.
    #[cbor(n(8), skip_if = "Lead::is_unknown")]
    pub lead: Lead,
}

impl QueuedUrl {
    /// A URL with a final answer, queued for a recheck.
    pub fn revisit(path: &str, kind: Kind, depth: u16) -> QueuedUrl {
        QueuedUrl { path: path.to_owned(), kind, depth, revisit: true, ..QueuedUrl::default() }
    }

    /// Its redirect leads to a host that could not be visited.
    pub fn waits_for_redirect(&self) -> bool {
        self.put_off && self.cause == Some(Cause::Failure(FailureReason::HostBusy))
    }
}

/// The URL under which the page of a target is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Owner {
    #[n(0)]
    pub url: String,
    /// Its page names the target as canonical, and has the canonical slot, because the target has no page.
    #[cbor(n(1), skip_if = "is_default")]
    pub has_canonical_slot: bool,
}

impl Record for Owner {}

/// The pages that linked to some URLs. See `changes/sources.rs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Source {
    /// None: unknown.
    #[n(0)]
    pub way: Option<FoundBy>,
    /// When, in seconds since 1970.
    #[cbor(n(1), skip_if = "is_default")]
    pub at_s: u32,
    /// The key of the URL that has the link.
    #[n(2)]
    pub host: Option<u64>,
    #[n(3)]
    pub path: Option<u64>,
}

impl Source {
    pub fn on(&self) -> Option<UrlKey> {
        Some(UrlKey { host: self.host?, path: self.path? })
    }
}

impl Record for Source {}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn to_bytes(record: &impl Record) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    minicbor::encode(record, &mut bytes).expect("a Vec takes every byte");
    bytes
}

/// None if the bytes are not a known record.
pub(crate) fn from_bytes<R: Record>(bytes: &[u8]) -> Option<R> {
    match bytes.split_first()? {
        (&FORMAT, cbor) => minicbor::decode(cbor).ok(),
        _ => R::from_v1(v1::Input(bytes)),
    }
}

/// A record of `pages` is stored without the origin, which is the host's. Its other times are stored as differences to
/// the fetch time, which takes fewer bytes.
impl PageRecord {
    pub(crate) fn to_bytes_without(&self, origin: &str) -> Vec<u8> {
        let url = self.url.strip_prefix(origin).unwrap_or(&self.url).to_owned();
        let (history, refused_since) = (self.turned_history(), self.turned_refusal());
        to_bytes(&PageRecord { url, history, refused_since, ..self.clone() })
    }

    pub(crate) fn with_origin(self, origin: &str) -> PageRecord {
        let (history, refused_since) = (self.turned_history(), self.turned_refusal());
        PageRecord { url: format!("{origin}{}", self.url), history, refused_since, ..self }
    }

    fn turned_refusal(&self) -> Option<EpochMs> {
        self.refused_since.map(|since| self.fetched_ms.wrapping_sub(since))
    }

    /// Converts times to differences and back.
    fn turned_history(&self) -> Option<History> {
        let turned = |time: EpochMs| self.fetched_ms.wrapping_sub(time);
        self.history.map(|history| History {
            alive_ms: turned(history.alive_ms),
            doubted_since: history.doubted_since.map(turned),
            ..history
        })
    }
}

/// As in 0.1.0, not CBOR. There is one for every URL, and CBOR would add 3 bytes to the 48 that a URL takes on disk.
impl UrlState {
    pub fn to_bytes(self) -> Vec<u8> {
        let (tag, rank, due) = match self {
            UrlState::Ready(rank) => (0, rank, None),
            UrlState::Later { due, rank } => (1, rank, Some(due)),
            UrlState::Done => return vec![2],
        };
        let mut bytes = vec![tag, rank.priority()];
        [Some(rank.sequence()), due].into_iter().flatten().for_each(|number| v1::put(&mut bytes, number));
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<UrlState> {
        let mut input = v1::Input(bytes);
        match input.byte()? {
            0 => Some(UrlState::Ready(input.rank()?)),
            1 => {
                let rank = input.rank()?;
                Some(UrlState::Later { due: input.number()?, rank })
            }
            2 => Some(UrlState::Done),
            _ => None,
        }
    }
}
