//! Remote workers: which hosts each has, what it may get, and how its pages are handled. A page that a worker sends is
//! a proposal. This module checks that the URL was given to this worker, under this fence, and that the lease has not
//! ended. The visit that leased the host out judges the content, and sometimes fetches the page itself
//! (`visit/lent.rs`).

mod desk;
mod journal;
mod loans;
mod proposal;
mod worker_record;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use seine_frontier::{EmbeddedFrontier, FrontierError, Notes, Verdicts};
use seine_page_log::PageLog;
use seine_system::blocking;
use seine_system::clock::{event_id, now_ms};
use tokio_util::task::TaskTracker;

use crate::api::schema::work::ClientStatus;
use crate::config::WorkConfig;
use crate::shutdown::Shutdown;
use crate::visit::loan::LoanResult;
pub(super) use desk::Desk;
use journal::Journal;
use loans::LoanOut;
use worker_record::{EndedLease, WorkerRecord};

/// One for the whole crawl.
pub(crate) struct Clients {
    /// The configuration in force.
    config: RwLock<Arc<WorkConfig>>,
    folder: PathBuf,
    frontier: Arc<EmbeddedFrontier>,
    /// Id of this process, so that fences of an earlier process are invalid.
    life: String,
    /// Loans by fence.
    loans: Mutex<HashMap<String, LoanOut>>,
    /// The visits of lent hosts. The page log stays open until all have ended.
    pub visits: TaskTracker,
    /// Locked while hosts are leased to a worker, so that its number of hosts does not change meanwhile.
    leasing: Mutex<()>,
    /// Locked shared while a page is accepted without our own fetch. An exclusive lock waits until all such pages are
    /// in the log or refused.
    taking: RwLock<()>,
    log: PageLog,
    shutdown: Shutdown,
    records: Mutex<BTreeMap<String, WorkerRecord>>,
}

/// Prefix of the notes in the frontier; the worker's name follows.
const NOTE: &str = "client:";
/// How often to check whether the validator has caught up.
const CHECK_EVERY: Duration = Duration::from_millis(50);

impl Clients {
    pub(crate) fn open(
        config: &WorkConfig,
        folder: &Path,
        frontier: Arc<EmbeddedFrontier>,
        log: PageLog,
        shutdown: Shutdown,
    ) -> Result<Clients, FrontierError> {
        let records = kept(config, &frontier)?;
        let (config, folder) = (RwLock::new(Arc::new(config.clone())), folder.to_owned());
        Ok(Clients {
            config,
            folder,
            frontier,
            life: event_id(),
            loans: Mutex::default(),
            visits: TaskTracker::new(),
            leasing: Mutex::default(),
            taking: RwLock::default(),
            log,
            shutdown,
            records: Mutex::new(records),
        })
    }

    fn config(&self) -> Arc<WorkConfig> {
        self.config.read().clone()
    }

    /// Applies a new configuration. A worker that is no longer in it gets no more leases. Its record stays, in case it
    /// returns.
    pub(crate) fn configure(&self, config: &WorkConfig) -> Result<(), FrontierError> {
        let new = kept(config, &self.frontier)?;
        {
            let mut records = self.records.lock();
            new.into_iter().for_each(|(name, record)| _ = records.entry(name).or_insert(record));
        }
        let is_gone = |client: &str| config.clients.iter().all(|(name, _)| name != client);
        self.loans.lock().values_mut().filter(|loan| is_gone(&loan.client)).for_each(LoanOut::end);
        *self.config.write() = Arc::new(config.clone());
        Ok(())
    }

    /// Admits a worker again that was shut out.
    pub(crate) fn readmit(&self, client: &str) -> Result<(), FrontierError> {
        let record = {
            let mut records = self.records.lock();
            let record = records.entry(client.to_owned()).or_default();
            record.readmit();
            record.clone()
        };
        keep(&self.frontier, client, &record)
    }

    fn record(&self, client: &str) -> WorkerRecord {
        self.records.lock().get(client).cloned().unwrap_or_default()
    }

    /// Changes the record of a worker, and may shut it out. The record is saved now and then, and always if `is_kept`.
    fn change(&self, client: &str, is_kept: bool, change: impl FnOnce(&mut WorkerRecord)) {
        let (was_out, now) = {
            let mut records = self.records.lock();
            let record = records.entry(client.to_owned()).or_default();
            let was_out = record.shut_out.is_some();
            change(record);
            (was_out, record.clone())
        };
        if is_kept && let Err(error) = keep(&self.frontier, client, &now) {
            tracing::warn!(client, %error, "the record of a remote worker could not be saved");
        }
        if let Some(out) = now.shut_out.filter(|_| !was_out) {
            self.shut_out(client, &out.why);
        }
    }

    /// A loan has ended, and our work for it is done.
    fn ended(&self, fence: &str, lent: &LoanResult) {
        let Some(loan) = self.loans.lock().remove(fence) else { return };
        self.change(&loan.client, true, |record| {
            if loan.given > 0 {
                let LoanOut { given, since_ms: since, delay, .. } = loan;
                record.ended(&EndedLease { given, since, delay, lent }, &self.config(), now_ms());
            }
            lent.agreed.iter().for_each(|agrees| record.checked(*agrees, now_ms()));
        });
    }

    /// Shuts out a worker: it gets no more leases, and its pages that we did not fetch ourselves are refetched.
    fn shut_out(&self, client: &str, why: &str) {
        self.loans.lock().values_mut().filter(|loan| *loan.client == *client).for_each(LoanOut::end);
        if !self.is_taken_validated() {
            tracing::warn!(
                client,
                why,
                "a remote worker is shut out; its pages that were not compared are refetched at the next start"
            );
            return;
        }
        match Journal::of(&self.folder, client).question(&self.frontier) {
            Ok(urls) => {
                tracing::warn!(
                    client,
                    why,
                    urls,
                    "a remote worker is shut out; its pages that were not compared \
                    are refetched"
                );
                self.change(client, true, |record| record.in_question += urls);
            }
            Err(error) => {
                tracing::error!(client, why, %error, "a remote worker is shut out; its pages are refetched at the \
                    next start");
            }
        }
    }

    /// Waits until all pages accepted so far are validated. Earlier, their URLs are still in flight, and queueing them
    /// again would have no effect. False if the crawl ends first.
    fn is_taken_validated(&self) -> bool {
        drop(self.taking.write());
        let end = self.log.status().end.index;
        while self.frontier.cursor().is_ok_and(|cursor| cursor.index < end) {
            if self.shutdown.is_finishing() {
                return false;
            }
            blocking::sleep(CHECK_EVERY);
        }
        true
    }

    /// Finishes refetches that a crash, an end or a full disk interrupted. Runs when all earlier events are validated.
    pub(crate) fn question_again(&self) {
        let out: Vec<String> = {
            let records = self.records.lock();
            records.iter().filter(|(_, record)| record.shut_out.is_some()).map(|(name, _)| name.clone()).collect()
        };
        for client in out {
            match Journal::of(&self.folder, &client).question(&self.frontier) {
                Ok(0) => {}
                Ok(urls) => self.change(&client, true, |record| record.in_question += urls),
                Err(error) => {
                    tracing::error!(client, %error, "the pages of a shut-out remote worker are not queued for a \
                        refetch yet")
                }
            }
        }
    }

    pub(crate) fn statuses(&self) -> Vec<ClientStatus> {
        let (config, records) = (self.config(), self.records.lock().clone());
        let configured = records.iter().filter(|(name, _)| config.clients.iter().any(|(client, _)| client == *name));
        configured.map(|(name, known)| known.status(name, self.count_of(name) as u64, &config)).collect()
    }
}

/// The remote workers of a stopped crawl.
pub(super) fn while_stopped(
    config: &WorkConfig,
    frontier: &EmbeddedFrontier,
) -> Result<Vec<ClientStatus>, FrontierError> {
    Ok(kept(config, frontier)?.iter().map(|(name, record)| record.status(name, 0, config)).collect())
}

/// For a stopped crawl.
pub(super) fn readmit(config: &WorkConfig, frontier: &EmbeddedFrontier, client: &str) -> Result<(), FrontierError> {
    let mut record = kept(config, frontier)?.remove(client).unwrap_or_default();
    record.readmit();
    keep(frontier, client, &record)
}

fn keep(frontier: &EmbeddedFrontier, client: &str, record: &WorkerRecord) -> Result<(), FrontierError> {
    frontier.set_note(&format!("{NOTE}{client}"), &serde_json::to_string(record).unwrap_or_default())
}

/// The stored records of the configured workers.
fn kept(config: &WorkConfig, frontier: &EmbeddedFrontier) -> Result<BTreeMap<String, WorkerRecord>, FrontierError> {
    let mut records = BTreeMap::new();
    for (name, _) in &config.clients {
        let kept = frontier.note(&format!("{NOTE}{name}"))?;
        records.insert(name.clone(), kept.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default());
    }
    Ok(records)
}
