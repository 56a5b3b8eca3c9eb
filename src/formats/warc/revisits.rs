//! What was written of a URL last: enough to write a `revisit` the next time.

use quick_cache::unsync::Cache;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use crate::page::EpochMs;

/// A `response` record written earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EarlierCapture {
    /// SHA-1 of the body without its transfer coding.
    pub digest: [u8; 20],
    pub id: Uuid,
    pub date: EpochMs,
}

/// A bounded memory; what was not asked for the longest is forgotten first, more or less.
pub(super) struct Revisits {
    /// By a hash of the URL: two URLs in one place would need the same body as well to do harm.
    earlier: Option<Cache<u128, EarlierCapture>>,
}

impl Revisits {
    pub fn new(urls: usize) -> Revisits {
        Revisits { earlier: (urls > 0).then(|| Cache::new(urls)) }
    }

    pub fn is_on(&self) -> bool {
        self.earlier.is_some()
    }

    pub fn get(&mut self, url: &str) -> Option<EarlierCapture> {
        self.earlier.as_mut()?.get(&xxh3_128(url.as_bytes())).copied()
    }

    pub fn put(&mut self, url: &str, record: EarlierCapture) {
        if let Some(earlier) = &mut self.earlier {
            earlier.insert(xxh3_128(url.as_bytes()), record);
        }
    }
}
