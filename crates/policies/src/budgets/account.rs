//! Counters per period for a crawl, host or domain.

use minicbor::{Decode, Encode};

use super::{Amounts, Period, day_of};
use seine_parse::page::EpochMs;

/// The counters of one crawl, host or domain; stored with the frontier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Account {
    #[n(0)]
    life: Amounts,
    /// Days since 1970, in UTC …
    #[n(1)]
    day: u64,
    /// … and the amounts of that day.
    #[n(2)]
    today: Amounts,
    /// Start of the last run that fetched anything …
    #[n(3)]
    run: EpochMs,
    /// … and the amounts of that run.
    #[n(4)]
    this_run: Amounts,
}

impl Account {
    /// For a crawl by an older version, which counted pages but had no accounts.
    pub fn with_pages(pages: u64) -> Account {
        Account { life: Amounts { pages, ..Amounts::default() }, ..Account::default() }
    }

    /// Adds the amounts of an event that ended at `at`. `run` is the start of this run. Older events were fetched by an
    /// earlier run and are only validated now.
    pub fn book(&mut self, fetched: Amounts, at: EpochMs, run: EpochMs) {
        self.life += fetched;
        if day_of(at) > self.day {
            (self.day, self.today) = (day_of(at), Amounts::default());
        }
        if day_of(at) == self.day {
            self.today += fetched;
        }
        if run > self.run {
            (self.run, self.this_run) = (run, Amounts::default());
        }
        if at >= self.run {
            self.this_run += fetched;
        }
    }

    /// The amounts of the period at `now`, in the run that began at `run`.
    pub fn in_period(&self, period: Period, now: EpochMs, run: EpochMs) -> Amounts {
        match period {
            Period::Life => self.life,
            Period::Day if self.day == day_of(now) => self.today,
            Period::Run if self.run == run => self.this_run,
            Period::Day | Period::Run => Amounts::default(),
        }
    }
}
