//! Divides a host's requests between new URLs and rechecks, so that neither starves.

use xxhash_rust::xxh3::xxh3_64;

/// The golden ratio: steps of this size cover the range evenly.
const STEP: f64 = 0.618_033_988_749_894_8;

/// Up to `at_most` of both, each in its order. Over all leases, rechecks get `share` of the requests and new URLs the
/// rest. An unused share goes to the other queue. `now` decides which comes first, so that leases of one URL alternate.
pub(super) fn shared<T>(new: Vec<T>, again: Vec<T>, at_most: usize, share: f64, now: u64) -> Vec<T> {
    let (mut new, mut again) = (new.into_iter().peekable(), again.into_iter().peekable());
    let mut turn = (xxh3_64(&now.to_le_bytes()) >> 11) as f64 / (1_u64 << 53) as f64;
    let mut chosen = Vec::new();
    while chosen.len() < at_most {
        turn = (turn + STEP).fract();
        let prefers_again = again.peek().is_some() && (turn < share || new.peek().is_none());
        match if prefers_again { again.next() } else { new.next() } {
            Some(next) => chosen.push(next),
            None => break,
        }
    }
    chosen
}
