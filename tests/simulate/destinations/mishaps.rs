//! Temporary faults between the crawl and a server.

use crate::world::{Trouble, mix};

/// Each lasts until a time.
#[derive(Debug, Default)]
pub struct Mishaps {
    away_until: u64,
    slow: (u64, u64),
    refusing: (u16, u64),
    rejecting_until: u64,
    lost_until: u64,
}

/// Of so many pages one is refused for good.
const REJECTED: u64 = 6;

impl Mishaps {
    /// Begins a fault. False if the trouble is no temporary fault.
    pub fn begin(&mut self, trouble: &Trouble, now_ms: u64) -> bool {
        match trouble {
            Trouble::Away { lasts } => self.away_until = now_ms + lasts,
            Trouble::Slow { by, lasts } => self.slow = (*by, now_ms + lasts),
            Trouble::Refusing { status, lasts } => self.refusing = (*status, now_ms + lasts),
            Trouble::Rejecting { lasts } => self.rejecting_until = now_ms + lasts,
            Trouble::LostAcknowledgements { lasts } => self.lost_until = now_ms + lasts,
            _ => return false,
        }
        true
    }

    /// Until when the server does not answer; none: it answers.
    pub fn away(&self, now_ms: u64) -> Option<u64> {
        (now_ms < self.away_until).then_some(self.away_until)
    }

    /// The delay of an answer in milliseconds.
    pub fn late(&self, now_ms: u64) -> u64 {
        if now_ms < self.slow.1 { self.slow.0 } else { 0 }
    }

    /// The status with which requests are refused, and until when.
    pub fn refused(&self, now_ms: u64) -> Option<(u16, u64)> {
        Some(self.refusing).filter(|(_, until)| now_ms < *until)
    }

    /// Whether the page of this key (its URL, in the encoding of the destination) is refused for good.
    pub fn rejects(&self, key: &[u8], now_ms: u64) -> bool {
        let hash = key.iter().fold(0, |hash, byte| mix(hash, u64::from(*byte)));
        now_ms < self.rejecting_until && hash.is_multiple_of(REJECTED)
    }

    pub fn is_rejecting(&self, now_ms: u64) -> bool {
        now_ms < self.rejecting_until
    }

    pub fn loses(&self, now_ms: u64) -> bool {
        now_ms < self.lost_until
    }
}
