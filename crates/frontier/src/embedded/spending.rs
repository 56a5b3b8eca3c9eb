//! Budgets: reads accounts before a request, and writes them with the validated amounts.

use super::changes::Changes;
use super::ledger::{AccountKey, CRAWL, Ledger};
use super::open::EmbeddedFrontier;
use super::reservations::Reservations;
use super::store::Store;
use crate::keys::UrlKey;
use crate::{BudgetStanding, FrontierError, NoBudget, Verdict};
use seine_parse::page::{EpochMs, Kind};
use seine_parse::url;
use seine_policies::budgets::{Account, Amounts, Budget, Whom};

impl Reservations {
    pub(super) fn hold_for(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<(), NoBudget>, FrontierError> {
        if self.ledger.lock().budgets.is_empty() {
            return Ok(Ok(()));
        }
        let (key, accounts) = (self.key_of(url)?, self.accounts_of(url));
        let store = self.shelf.store()?;
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
    fn accounts_of(&self, url: &str) -> Vec<AccountKey> {
        let host = url::host(url).unwrap_or_default();
        let mut accounts = vec![CRAWL];
        let ledger = self.ledger.lock();
        let is_counted = |of: Whom| ledger.budgets.iter().any(|budget| budget.of == of);
        if is_counted(Whom::Host) {
            accounts.push(AccountKey { of: Whom::Host, name: self.keys.host(host) });
        }
        if is_counted(Whom::Domain) {
            accounts.push(AccountKey { of: Whom::Domain, name: self.keys.host(url::registrable_domain(host)) });
        }
        accounts
    }

    /// The store was reopened: its accounts are valid, and they include all URLs with a verdict.
    pub(super) fn read_accounts_again(
        store: &Store,
        ledger: &mut Ledger,
        finished: impl Iterator<Item = UrlKey>,
        live: u64,
    ) -> Result<(), FrontierError> {
        finished.for_each(|url| ledger.drop_hold(url));
        ledger.batches += 1;
        for key in ledger.open_keys() {
            let account = if key == CRAWL { crawls(store, live)? } else { stored(store, key)? };
            ledger.booked(key, account);
        }
        Ok(())
    }
}

impl EmbeddedFrontier {
    /// All budgets with their use. O(1).
    pub fn budgets(&self, now: EpochMs) -> Vec<BudgetStanding> {
        let schedule = self.schedule.lock();
        let ledger = self.reservations.ledger.lock();
        let standing = |budget: &Budget| {
            let of_crawl = (budget.of == Whom::Crawl).then(|| ledger.of_crawl(budget, now));
            BudgetStanding {
                budget: *budget,
                spent: of_crawl.map(|(spent, _)| spent),
                in_flight: of_crawl.map_or(0, |(_, held)| held),
                resting: schedule.resting_for(budget),
            }
        };
        ledger.budgets.iter().map(standing).collect()
    }

    /// The pages and bytes fetched by all runs, as far as validated.
    pub fn fetched_amounts(&self) -> Amounts {
        self.reservations.ledger.lock().fetched_amounts()
    }
}

fn stored(store: &Store, key: AccountKey) -> Result<Account, FrontierError> {
    Ok(store.record(&store.accounts, &key.to_bytes())?.unwrap_or_default())
}

/// The crawl's account. `live`: number of live pages, for a crawl of a version without accounts.
pub(super) fn crawls(store: &Store, live: u64) -> Result<Account, FrontierError> {
    let account = store.record(&store.accounts, &CRAWL.to_bytes())?;
    Ok(account.unwrap_or_else(|| Account::with_pages(live)))
}

impl Changes<'_> {
    /// Adds the amounts in the batch that validates the event.
    pub fn add_fetched(&mut self, verdicts: &[Verdict]) -> Result<(), FrontierError> {
        for Verdict { url, attempt, fetched, .. } in verdicts {
            self.counted.push(self.frontier.key_of(url)?);
            for key in self.frontier.reservations.accounts_of(url) {
                let mut account = match self.accounts.get(&key) {
                    Some(account) => *account,
                    None => self.account(key)?,
                };
                account.book(*fetched, attempt.at, self.frontier.opened_at);
                self.accounts.insert(key, account);
            }
        }
        Ok(())
    }

    fn account(&self, key: AccountKey) -> Result<Account, FrontierError> {
        let open = self.frontier.reservations.ledger.lock().account(key);
        open.map_or_else(|| stored(&self.store, key), Ok)
    }

    /// The batch is written.
    pub(super) fn tell_ledger(&mut self) {
        let mut ledger = self.frontier.reservations.ledger.lock();
        ledger.batches += 1;
        std::mem::take(&mut self.accounts).into_iter().for_each(|(key, account)| ledger.booked(key, account));
        self.counted.drain(..).for_each(|url| ledger.drop_hold(url));
    }
}
