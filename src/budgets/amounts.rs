//! What an event brought, as budgets count it.

use std::ops::{AddAssign, SubAssign};

use minicbor::{Decode, Encode};

use super::What;
use crate::page::{Headers, Kind, PageEvent};

/// Of one event, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Amounts {
    /// Answers that brought a page, for the first time or again: status 2xx, whole or cut at our own limit of size. Nothing
    /// else is a page: no error, no redirect, no 304, no sitemap.
    #[n(0)]
    pub pages: u64,
    /// Bodies as they came, content codings on, and heads at their length in HTTP/1.1: of the answer, of every redirect on
    /// the way to it, and of the robots.txt that was fetched for it.
    #[n(1)]
    pub received: u64,
    /// The answer's body, content codings taken off: as far as that was done (`crawler_manager.downloader.max_decoded_size`).
    #[n(2)]
    pub decoded: u64,
}

impl Amounts {
    /// A place for a page that is about to be asked for.
    pub fn expected(kind: Kind) -> Amounts {
        Amounts { pages: u64::from(kind.is_delivered()), ..Amounts::default() }
    }

    /// `decoded`: the length of the body, its codings taken off.
    pub fn of(event: &PageEvent, decoded: u64) -> Amounts {
        let is_page = event.kind.is_delivered()
            && event.again.is_none()
            && event.response().is_some_and(|response| response.is_success());
        let hops: u64 = event.hops.iter().map(|hop| head(&hop.headers)).sum();
        let answer = event.response().map_or(0, |response| head(&response.headers) + response.body.len() as u64);
        Amounts { pages: u64::from(is_page), received: answer + hops + event.bytes_beside, decoded }
    }

    pub fn get(&self, what: What) -> u64 {
        match what {
            What::Pages => self.pages,
            What::BytesReceived => self.received,
            What::BytesDecoded => self.decoded,
        }
    }
}

/// Bytes of an answer's head: a status line of `HTTP/1.1 200 OK`, and its fields.
fn head(headers: &Headers) -> u64 {
    const STATUS_AND_END: u64 = 19;
    const BETWEEN: u64 = 4; // colon, space, CR, LF
    let fields = headers.0.iter().map(|(name, value)| (name.len() + value.len()) as u64 + BETWEEN);
    STATUS_AND_END + fields.sum::<u64>()
}

impl AddAssign for Amounts {
    fn add_assign(&mut self, more: Amounts) {
        self.pages = self.pages.saturating_add(more.pages);
        self.received = self.received.saturating_add(more.received);
        self.decoded = self.decoded.saturating_add(more.decoded);
    }
}

impl SubAssign for Amounts {
    fn sub_assign(&mut self, less: Amounts) {
        self.pages = self.pages.saturating_sub(less.pages);
        self.received = self.received.saturating_sub(less.received);
        self.decoded = self.decoded.saturating_sub(less.decoded);
    }
}
