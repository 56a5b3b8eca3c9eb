//! Other people's crawlers: who has which host, what they may have, and what becomes of what they send. What a client sends is a
//! proposal: that it was given out to this client, under this fence, and is not late, is checked here; what it says of the page is
//! judged, and now and then seen for ourselves, by the visit whose host is lent (`visit/lent.rs`).

mod desk;
mod journal;
mod loans;
mod proposal;
mod standing;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio_util::task::TaskTracker;

use crate::api::said::work::ClientStatus;
use crate::blocking;
use crate::clock::{event_id, now_ms};
use crate::config::WorkConfig;
use crate::frontier::{Frontier, FrontierError};
use crate::page_log::PageLog;
use crate::shutdown::Shutdown;
use crate::visit::loan::Lent;
use journal::Journal;
use loans::LoanOut;
use standing::{EndedLease, Standing};

/// One for the whole crawl.
pub(crate) struct Clients {
    /// As it is in force.
    config: RwLock<Arc<WorkConfig>>,
    folder: PathBuf,
    frontier: Arc<dyn Frontier>,
    /// Of this process: a fence of the one before is nobody's.
    life: String,
    /// By fence.
    loans: Mutex<HashMap<String, LoanOut>>,
    /// Their visits: the page log stays open until the last of them has ended.
    pub visits: TaskTracker,
    /// Held while hosts are leased to a client: how many it has does not change meanwhile.
    leasing: Mutex<()>,
    /// Shared by whoever is just taking a page unseen. Had alone, all of them are in the page log, or never will be.
    taking: RwLock<()>,
    log: PageLog,
    shutdown: Shutdown,
    standings: Mutex<BTreeMap<String, Standing>>,
}

/// In the frontier's notes, with the client's name behind it.
const NOTE: &str = "client:";
/// So often it is looked whether the validator has come far enough.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Clients {
    pub fn open(
        config: &WorkConfig,
        folder: &Path,
        frontier: Arc<dyn Frontier>,
        log: PageLog,
        shutdown: Shutdown,
    ) -> Result<Clients, FrontierError> {
        let standings = kept(config, &*frontier)?;
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
            standings: Mutex::new(standings),
        })
    }

    fn config(&self) -> Arc<WorkConfig> {
        self.config.read().clone()
    }

    /// Takes another configuration. Who is not in it any more gets nothing more; what is known of who comes back still holds.
    pub fn configure(&self, config: &WorkConfig) -> Result<(), FrontierError> {
        let new = kept(config, &*self.frontier)?;
        {
            let mut standings = self.standings.lock();
            new.into_iter().for_each(|(name, standing)| _ = standings.entry(name).or_insert(standing));
        }
        let is_gone = |client: &str| config.clients.iter().all(|(name, _)| name != client);
        self.loans.lock().values_mut().filter(|loan| is_gone(&loan.client)).for_each(LoanOut::end);
        *self.config.write() = Arc::new(config.clone());
        Ok(())
    }

    /// The operator believes a client again that was shut out.
    pub fn readmit(&self, client: &str) -> Result<(), FrontierError> {
        let standing = {
            let mut standings = self.standings.lock();
            let standing = standings.entry(client.to_owned()).or_default();
            standing.readmit();
            standing.clone()
        };
        keep(&*self.frontier, client, &standing)
    }

    fn standing(&self, client: &str) -> Standing {
        self.standings.lock().get(client).cloned().unwrap_or_default()
    }

    /// Changes what is known of a client, which may be shut out for it; kept now and then, and whenever `is_kept`.
    fn change(&self, client: &str, is_kept: bool, change: impl FnOnce(&mut Standing)) {
        let (was_out, now) = {
            let mut standings = self.standings.lock();
            let standing = standings.entry(client.to_owned()).or_default();
            let was_out = standing.shut_out.is_some();
            change(standing);
            (was_out, standing.clone())
        };
        if is_kept && let Err(error) = keep(&*self.frontier, client, &now) {
            tracing::warn!(client, %error, "what is known of a client is not kept");
        }
        if let Some(out) = now.shut_out.filter(|_| !was_out) {
            self.shut_out(client, &out.why);
        }
    }

    /// A loan is over, and what was ours of it is done.
    fn ended(&self, fence: &str, lent: &Lent) {
        let Some(loan) = self.loans.lock().remove(fence) else { return };
        self.change(&loan.client, true, |standing| {
            if loan.given > 0 {
                let LoanOut { given, since_ms: since, delay, .. } = loan;
                standing.ended(&EndedLease { given, since, delay, lent }, &self.config(), now_ms());
            }
            lent.agreed.iter().for_each(|agrees| standing.checked(*agrees, now_ms()));
        });
    }

    /// A client is believed no more: it gets nothing, and what was taken of it unseen is fetched again.
    fn shut_out(&self, client: &str, why: &str) {
        self.loans.lock().values_mut().filter(|loan| *loan.client == *client).for_each(LoanOut::end);
        if !self.is_taken_validated() {
            tracing::warn!(
                client,
                why,
                "a client is shut out; what was taken of it unseen is fetched again at the next start"
            );
            return;
        }
        match Journal::of(&self.folder, client).question(&*self.frontier) {
            Ok(urls) => {
                tracing::warn!(client, why, urls, "a client is shut out; what was taken of it unseen is fetched again");
                self.change(client, true, |standing| standing.in_question += urls);
            }
            Err(error) => {
                tracing::error!(client, why, %error, "a client is shut out; what was taken of it is fetched again at the next start");
            }
        }
    }

    /// Waits until what was taken by now is validated: what is not is still in flight, and stays as it is if it is asked for again.
    /// False when the crawl ends before.
    fn is_taken_validated(&self) -> bool {
        drop(self.taking.write());
        let end = self.log.status().end.index;
        while self.frontier.cursor().is_ok_and(|cursor| cursor.index < end) {
            if self.shutdown.is_finishing() {
                return false;
            }
            blocking::sleep(LOOK_AGAIN);
        }
        true
    }

    /// What a crash, an end, or a full disk has left of that; once everything is validated that was accepted before.
    pub fn question_again(&self) {
        let out: Vec<String> = {
            let standings = self.standings.lock();
            standings.iter().filter(|(_, standing)| standing.shut_out.is_some()).map(|(name, _)| name.clone()).collect()
        };
        for client in out {
            match Journal::of(&self.folder, &client).question(&*self.frontier) {
                Ok(0) => {}
                Ok(urls) => self.change(&client, true, |standing| standing.in_question += urls),
                Err(error) => {
                    tracing::error!(client, %error, "what was taken of a client that is shut out is not fetched again yet")
                }
            }
        }
    }

    pub fn statuses(&self) -> Vec<ClientStatus> {
        let (config, standings) = (self.config(), self.standings.lock().clone());
        let configured = standings.iter().filter(|(name, _)| config.clients.iter().any(|(client, _)| client == *name));
        configured.map(|(name, known)| known.status(name, self.count_of(name) as u64, &config)).collect()
    }
}

/// What is known of the clients of a crawl at rest.
pub(super) fn at_rest(config: &WorkConfig, frontier: &dyn Frontier) -> Result<Vec<ClientStatus>, FrontierError> {
    Ok(kept(config, frontier)?.iter().map(|(name, standing)| standing.status(name, 0, config)).collect())
}

/// Of a crawl at rest.
pub(super) fn readmit(config: &WorkConfig, frontier: &dyn Frontier, client: &str) -> Result<(), FrontierError> {
    let mut standing = kept(config, frontier)?.remove(client).unwrap_or_default();
    standing.readmit();
    keep(frontier, client, &standing)
}

fn keep(frontier: &dyn Frontier, client: &str, standing: &Standing) -> Result<(), FrontierError> {
    frontier.set_note(&format!("{NOTE}{client}"), &serde_json::to_string(standing).unwrap_or_default())
}

/// What was kept of those that are configured.
fn kept(config: &WorkConfig, frontier: &dyn Frontier) -> Result<BTreeMap<String, Standing>, FrontierError> {
    let mut standings = BTreeMap::new();
    for (name, _) in &config.clients {
        let kept = frontier.note(&format!("{NOTE}{name}"))?;
        standings.insert(name.clone(), kept.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default());
    }
    Ok(standings)
}
