//! Places in the budgets for fetches in progress. Reads accounts before a request.

use std::sync::Arc;

use locks::Mutex;

use super::ledger::{AccountKey, CRAWL, Ledger};
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::embedded::disk::store::Store;
use crate::keys::{Keys, UrlKey};
use crate::{FrontierError, NoBudget};
use seine_parse::page::{EpochMs, Kind};
use seine_parse::url;
use seine_policies::budgets::{Account, Amounts, BudgetScope};

/// The ledger, with the accounts of the store.
pub(crate) struct BudgetReservations {
    store_handle: Arc<ReopenableStore>,
    keys: Keys,
    /// Not held while the store is read.
    pub ledger: Mutex<Ledger>,
}

impl BudgetReservations {
    pub(crate) fn new(store_handle: Arc<ReopenableStore>, keys: Keys, ledger: Ledger) -> BudgetReservations {
        BudgetReservations { store_handle, keys, ledger: Mutex::new(ledger) }
    }

    /// Reserves a place in all budgets of a URL.
    pub(crate) fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<(), NoBudget>, FrontierError> {
        if self.ledger.lock().budgets.is_empty() {
            return Ok(Ok(()));
        }
        let (key, accounts) = (self.keys.key_of(url)?, self.accounts_of(url));
        let store = self.store_handle.store()?;
        let mut read = Vec::new();
        let mut batches = None;
        loop {
            let mut ledger = self.ledger.lock();
            // Amounts written meanwhile make the read ones outdated.
            if batches != Some(ledger.batches) {
                read.clear();
                batches = Some(ledger.batches);
            }
            read.drain(..).for_each(|(key, account)| ledger.open(key, account));
            let missing: Vec<_> = accounts.iter().copied().filter(|key| ledger.account(*key).is_none()).collect();
            if missing.is_empty() {
                return Ok(ledger.hold(key, accounts, Amounts::expected(kind), now));
            }
            drop(ledger); // no other thread waits for the disk
            for key in missing {
                read.push((key, stored(&store, key)?));
            }
        }
    }

    /// The crawl's account, and those of the URL's host and domain if they have budgets.
    pub(crate) fn accounts_of(&self, url: &str) -> Vec<AccountKey> {
        let host = url::host(url).unwrap_or_default();
        let mut accounts = vec![CRAWL];
        let ledger = self.ledger.lock();
        let is_counted = |of: BudgetScope| ledger.budgets.iter().any(|budget| budget.of == of);
        if is_counted(BudgetScope::Host) {
            accounts.push(AccountKey { of: BudgetScope::Host, name: self.keys.host(host) });
        }
        if is_counted(BudgetScope::Domain) {
            accounts.push(AccountKey { of: BudgetScope::Domain, name: self.keys.host(url::registrable_domain(host)) });
        }
        accounts
    }

    /// Drops the place of a URL.
    pub(crate) fn give_up(&self, url: UrlKey) {
        self.ledger.lock().drop_hold(url);
    }

    /// The store was reopened: its accounts are valid, and they include all URLs with a verdict. No account is opened
    /// meanwhile, since that needs the store. `live`: as in [`stored_of_crawl`].
    pub(crate) fn read_again(
        &self,
        store: &Store,
        finished: impl Iterator<Item = UrlKey>,
        live: u64,
    ) -> Result<(), FrontierError> {
        let open = {
            let mut ledger = self.ledger.lock();
            finished.for_each(|url| ledger.drop_hold(url));
            ledger.open_keys()
        };
        let mut accounts = Vec::with_capacity(open.len());
        for key in open {
            let account = if key == CRAWL { stored_of_crawl(store, live)? } else { stored(store, key)? };
            accounts.push((key, account));
        }
        let mut ledger = self.ledger.lock();
        ledger.batches += 1;
        accounts.into_iter().for_each(|(key, account)| ledger.booked(key, account));
        Ok(())
    }
}

pub(crate) fn stored(store: &Store, key: AccountKey) -> Result<Account, FrontierError> {
    Ok(store.record(&store.accounts, &key.to_bytes())?.unwrap_or_default())
}

/// The crawl's account. `live`: number of live pages, for a crawl of a version without accounts.
pub(crate) fn stored_of_crawl(store: &Store, live: u64) -> Result<Account, FrontierError> {
    let account = store.record(&store.accounts, &CRAWL.to_bytes())?;
    Ok(account.unwrap_or_else(|| Account::with_pages(live)))
}
