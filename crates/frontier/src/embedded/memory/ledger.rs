//! Accounts of budgets in memory, with reservations for fetches in progress. The store has the validated amounts,
//! written in the same batch as the events. So after a crash an account has what the page log had.

use std::collections::HashMap;

use crate::keys::{UrlKey, tagged};
use crate::{NoBudget, Spent};
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Account, Amounts, Budget, BudgetScope, Period};

/// The account of the crawl, or of a host or domain by the hash of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AccountKey {
    pub of: BudgetScope,
    pub name: u64,
}

/// The crawl's account.
pub(crate) const CRAWL: AccountKey = AccountKey { of: BudgetScope::Crawl, name: 0 };

impl AccountKey {
    pub(crate) fn to_bytes(self) -> [u8; 9] {
        let kind = match self.of {
            BudgetScope::Crawl => 0,
            BudgetScope::Host => 1,
            BudgetScope::Domain => 2,
            // 3 is a domain's number of hosts: crate::embedded::changes::domains.
        };
        tagged(kind, self.name)
    }
}

pub(crate) struct Ledger {
    pub budgets: Vec<Budget>,
    /// When this run began.
    run: EpochMs,
    /// Number of batches written. Accounts read from the store before the last one may be outdated.
    pub batches: u64,
    open: HashMap<AccountKey, Open>,
    holds: HashMap<UrlKey, Hold>,
}

/// An account with reservations, or the crawl's.
struct Open {
    account: Account,
    reserved: Amounts,
    holds: u32,
}

/// The reservation of one URL.
struct Hold {
    accounts: Vec<AccountKey>,
    amounts: Amounts,
}

impl Ledger {
    pub(crate) fn new(budgets: Vec<Budget>, run: EpochMs, crawl: Account) -> Ledger {
        let open = HashMap::from([(CRAWL, Open { account: crawl, reserved: Amounts::default(), holds: 0 })]);
        Ledger { budgets, run, batches: 0, open, holds: HashMap::new() }
    }

    /// The amounts of an account, if it is open.
    pub(crate) fn account(&self, key: AccountKey) -> Option<Account> {
        self.open.get(&key).map(|open| open.account)
    }

    pub(crate) fn open(&mut self, key: AccountKey, account: Account) {
        self.open.entry(key).or_insert(Open { account, reserved: Amounts::default(), holds: 0 });
    }

    /// Reserves `amounts` for a URL, if none of its budgets is used up. All of its accounts are open.
    pub(crate) fn hold(
        &mut self,
        url: UrlKey,
        accounts: Vec<AccountKey>,
        amounts: Amounts,
        now: EpochMs,
    ) -> Result<(), NoBudget> {
        self.drop_hold(url);
        if let Some(refusal) = self.refusal(&accounts, now) {
            accounts.iter().for_each(|key| self.close(*key));
            return Err(refusal);
        }
        for key in &accounts {
            if let Some(open) = self.open.get_mut(key) {
                open.reserved += amounts;
                open.holds += 1;
            }
        }
        self.holds.insert(url, Hold { accounts, amounts });
        Ok(())
    }

    /// Of several used-up budgets, the one that resets last.
    fn refusal(&self, accounts: &[AccountKey], now: EpochMs) -> Option<NoBudget> {
        let mut refusal = None;
        for budget in &self.budgets {
            let Some(open) = accounts.iter().find(|key| key.of == budget.of).and_then(|key| self.open.get(key)) else {
                continue;
            };
            let spent = open.account.in_period(budget.per, now, self.run).get(budget.what);
            if spent >= budget.most {
                let until = budget.begins_anew(now).unwrap_or(EpochMs::MAX);
                let is_longer = !matches!(refusal, Some(NoBudget::Spent(other)) if other.until >= until);
                if is_longer {
                    refusal = Some(NoBudget::Spent(Spent { budget: *budget, until }));
                }
            } else if spent.saturating_add(open.reserved.get(budget.what)) >= budget.most {
                refusal.get_or_insert(NoBudget::InFlight);
            }
        }
        refusal
    }

    /// Updates the reservation of a URL.
    pub(crate) fn set_amounts(&mut self, url: UrlKey, amounts: Amounts) {
        let Some(hold) = self.holds.get_mut(&url) else { return };
        let before = std::mem::replace(&mut hold.amounts, amounts);
        for key in &hold.accounts {
            if let Some(open) = self.open.get_mut(key) {
                open.reserved -= before;
                open.reserved += amounts;
            }
        }
    }

    /// Drops the reservation of a URL.
    pub(crate) fn drop_hold(&mut self, url: UrlKey) {
        let Some(Hold { accounts, amounts }) = self.holds.remove(&url) else { return };
        for key in accounts {
            if let Some(open) = self.open.get_mut(&key) {
                open.reserved -= amounts;
                open.holds -= 1;
            }
            self.close(key);
        }
    }

    fn close(&mut self, key: AccountKey) {
        if key != CRAWL && self.open.get(&key).is_some_and(|open| open.holds == 0) {
            self.open.remove(&key);
        }
    }

    /// The new value in the store.
    pub(crate) fn booked(&mut self, key: AccountKey, account: Account) {
        if let Some(open) = self.open.get_mut(&key) {
            open.account = account;
        }
    }

    pub(crate) fn open_keys(&self) -> Vec<AccountKey> {
        self.open.keys().copied().collect()
    }

    /// The crawl's used and reserved amounts of a budget.
    pub(crate) fn of_crawl(&self, budget: &Budget, now: EpochMs) -> (u64, u64) {
        let Some(open) = self.open.get(&CRAWL) else { return (0, 0) };
        let spent = open.account.in_period(budget.per, now, self.run);
        (spent.get(budget.what), open.reserved.get(budget.what))
    }

    /// The crawl's amounts of all runs.
    pub(crate) fn fetched_amounts(&self) -> Amounts {
        self.account(CRAWL).map_or_else(Amounts::default, |account| account.in_period(Period::Life, 0, self.run))
    }
}
