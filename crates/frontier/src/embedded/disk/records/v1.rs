//! Values of 0.1.0: small numbers as LEB128, then text. Only read, except [`UrlState`](super::UrlState).

use super::{QueuedUrl, Record};
use crate::keys::Rank;
use crate::schedule::{HostRecord, Totals};
use crate::{Cause, Errors, PageRecord, PageState, Robots, RobotsAccess, Trouble};
use seine_delivery::Offset;
use seine_parse::page::{EpochMs, FailureReason, Kind};
use seine_policies::budgets::Account;

/// The bytes not read yet.
pub struct Input<'a>(pub &'a [u8]);

impl Record for QueuedUrl {
    fn from_v1(mut input: Input) -> Option<QueuedUrl> {
        let flags = input.byte().filter(|flags| *flags < 8)?;
        Some(QueuedUrl {
            kind: if flags & 1 == 0 { Kind::Page } else { Kind::Sitemap },
            revisit: flags & 2 != 0,
            put_off: flags & 4 != 0,
            depth: input.small()?,
            attempt: input.small()?,
            path: input.rest()?,
            ..QueuedUrl::revisit("", Kind::Page, 0)
        })
    }
}

impl Record for HostRecord {
    fn from_v1(mut input: Input) -> Option<HostRecord> {
        let version = input.byte().filter(|version| [1, 2].contains(version))?;
        let has_robots = input.byte()? != 0;
        let head = input.rank()?;
        // NEVER is 0.
        let later_first = input.number()?.wrapping_sub(1);
        let [number, not_before] = input.numbers()?;
        // In the first version, a host only had the number of its failures, so its trouble begins at its next visit.
        let failures = if version == 1 { input.number()?.try_into().ok()? } else { 0 };
        let [delay_ms, ready, later, pages] = input.numbers()?;
        let (parked, trouble) = match version {
            1 => (0, trouble_since(not_before, failures)),
            _ => (input.number()?, input.trouble()?),
        };
        let host = HostRecord::new(number, input.rest()?.into(), not_before);
        Some(HostRecord { trouble, delay_ms, ready, later, pages, head, later_first, parked, has_robots, ..host })
    }
}

fn trouble_since(time: EpochMs, failures: u32) -> Option<Trouble> {
    let cause = Cause::Failure(FailureReason::Connect);
    let trouble = Trouble {
        since: time,
        last: time,
        failures,
        cause,
        suspect: None,
        asked_until: None,
        given_up: false,
        errors: Errors::default(),
    };
    (failures > 0).then_some(trouble)
}

impl Record for Totals {
    fn from_v1(mut input: Input) -> Option<Totals> {
        input.version(1)?;
        let [index, offset, next_sequence, next_host, work, first_time, live, gone, refused, failed, links_seen] =
            input.numbers()?;
        Some(Totals {
            cursor: Offset { index, offset },
            next_sequence,
            next_host,
            work,
            first_time,
            live,
            gone,
            refused,
            failed,
            links_seen,
            ..Totals::default()
        })
    }
}

impl Record for Robots {
    fn from_v1(mut input: Input) -> Option<Robots> {
        input.version(1)?;
        let tag = input.byte()?;
        let [fetched_ms, expires_ms] = input.numbers()?;
        let access = match tag {
            0 => RobotsAccess::Rules(input.rest()?),
            1 => RobotsAccess::AllowAll,
            2 => RobotsAccess::Unreachable(serde_json::from_slice(input.0).ok()?),
            _ => return None,
        };
        Some(Robots { fetched_ms, expires_ms, access, tdm: None })
    }
}

impl Record for Account {}

impl Record for PageRecord {
    fn from_v1(mut input: Input) -> Option<PageRecord> {
        input.version(1)?;
        let state = match input.byte()? {
            0 => PageState::New,
            1 => PageState::Unchanged,
            2 => PageState::Changed,
            3 => PageState::Gone,
            4 => PageState::Refused,
            failed => PageState::Failed(*FailureReason::ALL.get(usize::from(failed.checked_sub(16)?))?),
        };
        let flags = input.byte()?;
        let status = input.small()?;
        let fetched_ms = input.number()?;
        let depth = input.small()?;
        let digest = if flags & 1 == 0 { None } else { Some(input.array()?) };
        let event_id = match input.byte()? {
            1 => format!("{:032x}", u128::from_be_bytes(input.array()?)),
            _ => input.text()?,
        };
        let etag = if flags & 2 == 0 { None } else { Some(input.text()?) };
        let last_modified = if flags & 4 == 0 { None } else { Some(input.text()?) };
        let kind = if flags & 8 == 0 { Kind::Page } else { Kind::Sitemap };
        let url = input.rest()?;
        Some(PageRecord {
            url,
            kind,
            event_id,
            state,
            status,
            digest,
            etag,
            last_modified,
            fetched_ms,
            depth,
            ..PageRecord::default()
        })
    }
}

pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        self.0.split_off(..length)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    fn version(&mut self, version: u8) -> Option<()> {
        (self.byte()? == version).then_some(())
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    fn small(&mut self) -> Option<u16> {
        self.number()?.try_into().ok()
    }

    pub fn rank(&mut self) -> Option<Rank> {
        Some(Rank::new(self.byte()?, self.number()?))
    }

    fn trouble(&mut self) -> Option<Option<Trouble>> {
        let flags = self.byte()?;
        if flags & 1 == 0 {
            return Some(None);
        }
        let [since, last, failures, cause] = self.numbers()?;
        let cause = match cause {
            reason @ 0..100 => Cause::Failure(*FailureReason::ALL.get(reason as usize)?),
            status => Cause::Status((status - 100).try_into().ok()?),
        };
        let suspect = if flags & 2 == 0 { None } else { Some(u64::from_be_bytes(self.array()?)) };
        let given_up = flags & 4 != 0;
        let asked_until = if flags & 8 == 0 { None } else { Some(self.number()?) };
        let failures = failures.try_into().ok()?;
        Some(Some(Trouble { since, last, failures, cause, suspect, asked_until, given_up, errors: Errors::default() }))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()?.try_into().ok()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn rest(self) -> Option<String> {
        String::from_utf8(self.0.to_vec()).ok()
    }
}
