//! Budgets: adds the validated amounts to the accounts, in the batch that validates the events.

use std::collections::BTreeMap;

use fjall::OwnedWriteBatch;

use crate::embedded::disk::records;
use crate::embedded::disk::store::Store;
use crate::embedded::memory::budget_reservations::{BudgetReservations, stored};
use crate::embedded::memory::ledger::AccountKey;
use crate::keys::UrlKey;
use crate::{FrontierError, Verdict};
use seine_parse::page::EpochMs;
use seine_policies::budgets::Account;

/// Accounts after this batch.
pub(crate) struct Accounts<'a> {
    store: &'a Store,
    reservations: &'a BudgetReservations,
    /// When this run began.
    run: EpochMs,
    changed: BTreeMap<AccountKey, Account>,
    /// The URLs whose events are counted.
    counted: Vec<UrlKey>,
}

impl<'a> Accounts<'a> {
    pub(crate) fn new(store: &'a Store, reservations: &'a BudgetReservations, run: EpochMs) -> Accounts<'a> {
        Accounts { store, reservations, run, changed: BTreeMap::new(), counted: Vec::new() }
    }

    pub(crate) fn add_fetched(&mut self, verdicts: &[Verdict]) -> Result<(), FrontierError> {
        for Verdict { url, attempt, fetched, .. } in verdicts {
            self.counted.push(self.store.keys.key_of(url)?);
            for key in self.reservations.accounts_of(url) {
                let mut account = match self.changed.get(&key) {
                    Some(account) => *account,
                    None => self.account(key)?,
                };
                account.book(*fetched, attempt.at, self.run);
                self.changed.insert(key, account);
            }
        }
        Ok(())
    }

    fn account(&self, key: AccountKey) -> Result<Account, FrontierError> {
        let open = self.reservations.ledger.lock().account(key);
        open.map_or_else(|| stored(self.store, key), Ok)
    }

    pub(crate) fn write(&self, batch: &mut OwnedWriteBatch) {
        for (key, account) in &self.changed {
            batch.insert(&self.store.accounts, key.to_bytes(), records::to_bytes(account));
        }
    }

    /// Updates the ledger when the batch is written.
    pub(crate) fn remember(&mut self) {
        let mut ledger = self.reservations.ledger.lock();
        ledger.batches += 1;
        std::mem::take(&mut self.changed).into_iter().for_each(|(key, account)| ledger.booked(key, account));
        self.counted.drain(..).for_each(|url| ledger.drop_hold(url));
    }
}
