//! Keys of URLs. The host comes first, so that the links of a page, which mostly share hosts, are close together.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::error::FrontierError;
use seine_parse::url;

/// Hash of a host's origin. 64 bits: the probability that two of ten million hosts collide is below 1 in 300,000.
pub(crate) type HostKey = u64;

/// Hash of a registrable domain's name.
pub(crate) type DomainKey = u64;

/// Key of a URL: its host's key, and the hash of what follows the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlKey {
    pub host: HostKey,
    pub path: u64,
}

/// A URL with its key.
#[derive(Debug, Clone, Copy)]
pub struct KeyedUrl<'u> {
    pub key: UrlKey,
    pub origin: &'u str,
    /// The rest after the origin. Begins with a slash.
    pub path: &'u str,
}

/// Position in a host's queue: the priority in the top byte, and a number counting all proposals. Unique in a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub struct Rank(#[n(0)] pub u64);

impl Rank {
    /// `sequence` counts from 0 and stays below 2^56.
    pub fn new(priority: u8, sequence: u64) -> Rank {
        Rank(u64::from(priority) << 56 | sequence)
    }

    pub fn priority(self) -> u8 {
        (self.0 >> 56) as u8
    }

    pub fn sequence(self) -> u64 {
        self.0 & ((1 << 56) - 1)
    }
}

/// Splits a URL into its origin (`https://example.com:8443`) and the rest, which begins with a slash.
pub(crate) fn split(url: &str) -> Result<(&str, &str), FrontierError> {
    let bad = || FrontierError::BadUrl(url.chars().take(200).collect());
    let start = if url.starts_with("https://") {
        8
    } else if url.starts_with("http://") {
        7
    } else {
        return Err(bad());
    };
    let slash = memchr::memchr3(b'/', b'?', b'#', &url.as_bytes()[start..]).ok_or_else(bad)? + start;
    let (origin, rest) = url.split_at(slash);
    let authority = &origin[start..];
    if authority.is_empty() || authority.starts_with(':') || authority.contains('@') || !rest.starts_with('/') {
        return Err(bad());
    }
    Ok((origin, rest))
}

/// Makes keys with a store's own seed, so that nobody can make URLs that collide.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keys {
    pub seed: u64,
}

impl Keys {
    pub fn host(&self, origin: &str) -> HostKey {
        xxh3_64_with_seed(origin.as_bytes(), self.seed)
    }

    /// The key of a host's registrable domain.
    pub fn domain(&self, origin: &str) -> DomainKey {
        self.host(url::registrable_domain(url::host(origin).unwrap_or(origin)))
    }

    pub fn url(&self, host: HostKey, path: &str) -> UrlKey {
        UrlKey { host, path: xxh3_64_with_seed(path.as_bytes(), self.seed) }
    }

    /// The key of a URL, with its origin and the rest.
    pub fn of<'u>(&self, url: &'u str) -> Result<KeyedUrl<'u>, FrontierError> {
        let (origin, path) = split(url)?;
        Ok(KeyedUrl { key: self.url(self.host(origin), path), origin, path })
    }

    pub fn key_of(&self, url: &str) -> Result<UrlKey, FrontierError> {
        Ok(self.of(url)?.key)
    }
}

impl UrlKey {
    pub const FIRST: UrlKey = UrlKey { host: 0, path: 0 };
    pub const LAST: UrlKey = UrlKey { host: u64::MAX, path: u64::MAX };

    pub fn to_bytes(self) -> [u8; 16] {
        two(self.host, self.path)
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<UrlKey> {
        Some(UrlKey { host: part(bytes, 0)?, path: part(bytes, 1)? })
    }

    /// The URL key at the end of a longer key.
    pub(crate) fn at_end_of(key: &[u8]) -> Option<UrlKey> {
        UrlKey::from_bytes(key.last_chunk::<16>()?)
    }

    /// Both parts mixed into 64 bits.
    pub fn mixed(self) -> u64 {
        self.path ^ self.host.rotate_left(32)
    }
}

/// Key of a URL that may be fetched any time: host, rank.
pub(crate) fn ready_key(host: HostKey, rank: Rank) -> [u8; 16] {
    two(host, rank.0)
}

/// Key of a URL that is due later: host, due time, rank.
pub(crate) fn later_key(host: HostKey, due: u64, rank: Rank) -> [u8; 24] {
    let mut key = [0; 24];
    key[..16].copy_from_slice(&two(host, due));
    key[16..].copy_from_slice(&rank.0.to_be_bytes());
    key
}

/// The `index`-th group of eight bytes of a key as a number; none if the key is too short.
pub(crate) fn part(key: &[u8], index: usize) -> Option<u64> {
    let bytes = key.get(index * 8..index * 8 + 8)?;
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// A kind, and a hash or number.
pub(crate) fn tagged(kind: u8, number: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

fn two(first: u64, second: u64) -> [u8; 16] {
    (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
}
