//! The amounts that an event adds to budgets.

use std::ops::{AddAssign, SubAssign};

use minicbor::{Decode, Encode};

use super::What;
use seine_parse::page::{Headers, Kind, PageEvent};

/// The amounts of one event, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Amounts {
    /// Number of 2xx answers to page requests, whether the page is new or not. A body cut at our own size limit counts.
    /// Errors, redirects, 304 and sitemaps do not count.
    #[n(0)]
    pub pages: u64,
    /// Bytes received: bodies with their content codings, and heads at their length in HTTP/1.1. Includes all redirects
    /// and the robots.txt fetched for this request.
    #[n(1)]
    pub received: u64,
    /// Bytes of the body after decoding, up to `crawler_manager.downloader.max_decoded_size`.
    #[n(2)]
    pub decoded: u64,
}

impl Amounts {
    /// The amounts that a request is expected to add, reserved before it is sent.
    pub fn expected(kind: Kind) -> Amounts {
        Amounts { pages: u64::from(kind.is_delivered()), ..Amounts::default() }
    }

    /// What an event adds. `decoded`: length of the decoded body.
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

/// Bytes of an answer's head: a status line of `HTTP/1.1 200 OK`, and the header fields.
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
