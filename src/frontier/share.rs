//! New URLs and known ones share what a host gives: neither starves, however many there are of the other.

use xxhash_rust::xxh3::xxh3_64;

/// The golden ratio's part: steps of it fall everywhere alike.
const STEP: f64 = 0.618_033_988_749_894_8;

/// Up to `at_most` of both, each in its order. Of the places of all leases, `share` go to those looked at again as long as there
/// are any, and the others to the rest; what the one does not need the other has. `now` decides who is first, so that a host
/// that gives one place a lease gives it to each in turn.
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
