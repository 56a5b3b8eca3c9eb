//! Finds pages at equal paths of different hosts, which may be mirrors.

use std::collections::HashMap;

use seine_policies::traps::mirror_of_both;
use xxhash_rust::xxh3::xxh3_64;

/// Pages kept for comparison across hosts, 16 bytes each.
const COMPARED: usize = 1 << 15;
/// Number of hosts of these pages; above it, the comparison starts again.
const COMPARED_HOSTS: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Pages {
    /// The last page for each hash of a path.
    pages: Vec<Compared>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Compared {
    path: u32,
    digest: u32,
    /// From 1; 0: none.
    host: u32,
}

/// Two hosts have a page at the same path.
pub(super) struct Comparison {
    /// The host that would be deferred as a mirror, and the other one.
    pub mirror: String,
    pub of: String,
    pub is_equal: bool,
}

impl Pages {
    /// Compares a page with the last page at the same path of another host. None if there is none.
    pub(super) fn compare(&mut self, host: &str, path: &str, digest: &[u8; 32]) -> Option<Comparison> {
        if self.names.len() >= COMPARED_HOSTS {
            *self = Pages::default();
        }
        self.pages.resize(COMPARED, Compared::default());
        let number = match self.numbers.get(host) {
            Some(number) => *number,
            None => {
                self.names.push(host.to_owned());
                self.numbers.insert(host.to_owned(), self.names.len() as u32);
                self.names.len() as u32
            }
        };
        let hash = xxh3_64(path.as_bytes());
        let digest = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        let now = Compared { path: (hash >> 32) as u32, digest, host: number };
        let before = std::mem::replace(&mut self.pages[hash as usize % COMPARED], now);
        if before.path != now.path || before.host == number || before.host == 0 {
            return None;
        }
        let other = self.names.get(before.host as usize - 1)?;
        let (mirror, of) = mirror_of_both(host, other);
        Some(Comparison { mirror: mirror.to_owned(), of: of.to_owned(), is_equal: before.digest == digest })
    }
}
