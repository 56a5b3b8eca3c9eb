//! What the store's values look like: a version byte, then the record in CBOR, an array of its fields by number. Fields are
//! added with the next number, as an `Option` or with a default, and none ever changes its own. What 0.1.0 wrote is read by
//! [`v1`].

mod v1;

use minicbor::{Decode, Encode};

use crate::focus::Lead;
use crate::frontier::keys::{Rank, UrlKey};
use crate::frontier::{Attempts, Cause, PageRecord, Way};
use crate::page::{EpochMs, Kind};
use crate::revisit::History;

/// First byte of a record; `seine --version` names it. What 0.1.0 wrote begins with 0 to 7.
pub const FORMAT: u8 = 8;

/// What values are made of.
pub trait Record: Encode<()> + for<'b> Decode<'b, ()> {
    /// Reads what 0.1.0 wrote; none of what it did not know.
    fn from_v1(_: v1::Input) -> Option<Self> {
        None
    }
}

/// Which queue a known URL is in, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlState {
    Ready(Rank),
    Later {
        due: EpochMs,
        rank: Rank,
    },
    /// In `pages` only.
    Done,
}

impl UrlState {
    /// None when it is in no queue.
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
    // The rest is not written of a URL that was never fetched, as most are.
    #[cbor(n(3), skip_if = "is_default")]
    pub attempt: u16,
    /// It is in `pages` too.
    #[cbor(n(4), skip_if = "is_default")]
    pub revisit: bool,
    /// See [`crate::frontier::Work::was_put_off`].
    #[cbor(n(5), skip_if = "is_default")]
    pub put_off: bool,
    /// What the last attempt failed with, for people.
    #[n(6)]
    pub cause: Option<Cause>,
    /// The attempts so far, where there were any, for people.
    #[cbor(n(7), skip_if = "Attempts::is_empty")]
    pub attempts: Attempts,
    /// The link that led to it, where links are ranked.
    #[cbor(n(8), skip_if = "Lead::is_unknown")]
    pub lead: Lead,
}

impl QueuedUrl {
    /// One that has its answer, as it is queued to be asked for again.
    pub fn revisit(path: &str, kind: Kind, depth: u16) -> QueuedUrl {
        QueuedUrl { path: path.to_owned(), kind, depth, revisit: true, ..QueuedUrl::default() }
    }
}

/// Under whose URL a target's page is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Owner {
    #[n(0)]
    pub url: String,
    /// Its page names the target as its canonical URL, and is delivered in the place of one that is not there.
    #[cbor(n(1), skip_if = "is_default")]
    pub is_stand_in: bool,
}

impl Record for Owner {}

/// Who led to some URLs. See [`super::found`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Source {
    /// None: not known.
    #[n(0)]
    pub way: Option<Way>,
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

pub fn to_bytes(record: &impl Record) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    minicbor::encode(record, &mut bytes).expect("a Vec takes every byte");
    bytes
}

/// None when the bytes say nothing we know.
pub fn from_bytes<R: Record>(bytes: &[u8]) -> Option<R> {
    match bytes.split_first()? {
        (&FORMAT, cbor) => minicbor::decode(cbor).ok(),
        _ => R::from_v1(v1::Input(bytes)),
    }
}

/// A record of `pages` has its URL without the origin, which is the host's, and its other times as so long before it was
/// fetched: of what is there, nothing.
impl PageRecord {
    pub(super) fn to_bytes_without(&self, origin: &str) -> Vec<u8> {
        let url = self.url.strip_prefix(origin).unwrap_or(&self.url).to_owned();
        let (history, refused_since) = (self.turned_history(), self.turned_refusal());
        to_bytes(&PageRecord { url, history, refused_since, ..self.clone() })
    }

    pub(super) fn with_origin(self, origin: &str) -> PageRecord {
        let (history, refused_since) = (self.turned_history(), self.turned_refusal());
        PageRecord { url: format!("{origin}{}", self.url), history, refused_since, ..self }
    }

    fn turned_refusal(&self) -> Option<EpochMs> {
        self.refused_since.map(|since| self.fetched_ms.wrapping_sub(since))
    }

    /// There and back.
    fn turned_history(&self) -> Option<History> {
        let turned = |time: EpochMs| self.fetched_ms.wrapping_sub(time);
        self.history.map(|history| History {
            alive_ms: turned(history.alive_ms),
            doubted_since: history.doubted_since.map(turned),
            ..history
        })
    }
}

/// As 0.1.0 had it, and no CBOR: there is one for every URL, and of the 48 bytes that a URL takes on disk it would add 3.
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
