//! Budgets: adds the validated amounts to the accounts.

use super::budget_reservations::stored;
use super::changes::Changes;
use super::ledger::AccountKey;
use crate::{FrontierError, Verdict};
use seine_policies::budgets::Account;

impl Changes<'_> {
    /// Adds the amounts in the batch that validates the event.
    pub fn add_fetched(&mut self, verdicts: &[Verdict]) -> Result<(), FrontierError> {
        for Verdict { url, attempt, fetched, .. } in verdicts {
            self.counted.push(self.memory.keys.key_of(url)?);
            for key in self.memory.reservations.budgets.accounts_of(url) {
                let mut account = match self.accounts.get(&key) {
                    Some(account) => *account,
                    None => self.account(key)?,
                };
                account.book(*fetched, attempt.at, self.memory.opening.at);
                self.accounts.insert(key, account);
            }
        }
        Ok(())
    }

    fn account(&self, key: AccountKey) -> Result<Account, FrontierError> {
        let open = self.memory.reservations.budgets.ledger.lock().account(key);
        open.map_or_else(|| stored(self.store, key), Ok)
    }

    /// The batch is written.
    pub(super) fn tell_ledger(&mut self) {
        let mut ledger = self.memory.reservations.budgets.ledger.lock();
        ledger.batches += 1;
        std::mem::take(&mut self.accounts).into_iter().for_each(|(key, account)| ledger.booked(key, account));
        self.counted.drain(..).for_each(|url| ledger.drop_hold(url));
    }
}
