//! What a crawl, a host or a domain has brought, by period.

use minicbor::{Decode, Encode};

use super::{Amounts, Period, day_of};
use crate::page::EpochMs;

/// One a crawl, host or domain; kept with the frontier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Account {
    #[n(0)]
    life: Amounts,
    /// Days since 1970, in UTC …
    #[n(1)]
    day: u64,
    /// … and what that day has brought.
    #[n(2)]
    today: Amounts,
    /// When the last run began that brought anything …
    #[n(3)]
    run: EpochMs,
    /// … and what it has brought.
    #[n(4)]
    this_run: Amounts,
}

impl Account {
    /// Of a crawl whose pages were counted before there were accounts.
    pub fn with_pages(pages: u64) -> Account {
        Account { life: Amounts { pages, ..Amounts::default() }, ..Account::default() }
    }

    /// Adds what an event brought that ended at `at`. `run`: when this run began; what is older was brought by one before,
    /// and only validated by this one.
    pub fn book(&mut self, brought: Amounts, at: EpochMs, run: EpochMs) {
        self.life += brought;
        if day_of(at) > self.day {
            (self.day, self.today) = (day_of(at), Amounts::default());
        }
        if day_of(at) == self.day {
            self.today += brought;
        }
        if run > self.run {
            (self.run, self.this_run) = (run, Amounts::default());
        }
        if at >= self.run {
            self.this_run += brought;
        }
    }

    /// What the period that is at `now`, in the run that began at `run`, has brought.
    pub fn in_period(&self, period: Period, now: EpochMs, run: EpochMs) -> Amounts {
        match period {
            Period::Life => self.life,
            Period::Day if self.day == day_of(now) => self.today,
            Period::Run if self.run == run => self.this_run,
            Period::Day | Period::Run => Amounts::default(),
        }
    }
}
