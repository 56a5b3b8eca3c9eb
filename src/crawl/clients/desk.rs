//! Handles the requests of remote workers.

use seine_frontier::{LeaseLimits, Scheduler};
use std::io::Cursor;
use std::sync::Arc;

use seine_formats::warc::{WarcPages, WarcReader};
use seine_parse::page::Outcome;
use seine_system::clock::now_ms;
use tokio::sync::{mpsc, oneshot, watch};

use super::journal::Journal;
use super::proposal::Proposal;
use super::worker_record::WorkerRecord;
use crate::api::schema::work::{
    ClientStatus, LeasedWork, Leasing, PageRefused, PageSent, PagesTaken, Released, RenewedLease,
};
use crate::api::{Refusal, WorkDesk};
use crate::crawl::running::Running;
use crate::visit::loan::{LOAN_TIME, PageReply, WorkerPage};
use crate::visit::outage::Permission;

/// Maximum number of URLs of one host per lease.
const MAX_URLS: u64 = 32;
/// Space for the HTTP headers in a WARC record, besides the body.
const BESIDE_BODY: u64 = 1 << 20;
/// A worker that is not trusted gets fewer URLs, because all of its pages are fetched twice.
const UNPROVEN_URLS: u64 = 4;

/// The desk of a running crawl.
pub(in crate::crawl) struct Desk {
    pub running: Arc<Running>,
}

impl WorkDesk for Desk {
    fn max_body_bytes(&self) -> u64 {
        self.running.visitor().services.client.limits().body_bytes
    }

    fn terms(&self) -> LeasedWork {
        let user_agent = self.running.config().fetch.user_agent.header();
        LeasedWork { user_agent, max_body_bytes: self.max_body_bytes(), leases: Vec::new() }
    }

    fn changed(&self) -> watch::Receiver<()> {
        self.running.visitor().services.changed.subscribe()
    }

    fn lease(&self, client: &str, hosts: usize) -> Result<Vec<Leasing>, Refusal> {
        let _one_after_the_other = self.running.clients.leasing.lock();
        let record = self.running.clients.record(client);
        if let Some(out) = &record.shut_out {
            return Err(Refusal::Forbidden(format!("{client} is shut out: {}", out.why)));
        }
        let rest = record.rests_until.saturating_sub(now_ms());
        if rest > 0 {
            let why = format!(
                "{client} sent nothing for its last {} leases; it gets the next one in {} s",
                record.barren,
                rest.div_ceil(1000)
            );
            return Err(Refusal::Conflict(why));
        }
        let (has, most) = (self.running.clients.count_of(client), record.max_hosts(&self.running.clients.config()));
        if has >= most {
            let why = format!(
                "{client} has {has} hosts, and the maximum is {most}: send their pages, or release \
                them"
            );
            return Err(Refusal::Conflict(why));
        }
        self.lease_to(client, &record, hosts.min(most - has))
    }

    fn renew(&self, client: &str, lease: &str) -> Result<RenewedLease, Refusal> {
        self.running
            .clients
            .with_loan(client, lease, |loan| loan.renew(self.running.clients.config().lease, &self.running.frontier))
    }

    fn release(&self, client: &str, lease: &str) -> Result<Released, Refusal> {
        self.running.clients.with_loan(client, lease, |loan| {
            loan.end_by_client();
            Ok(Released { urls: loan.urls.len() as u64 })
        })
    }

    fn take(&self, client: &str, page: PageSent, taken: &mut PagesTaken) {
        let (url, lease) = (page.url.clone(), page.lease.clone());
        let proposal = Proposal::of_json(page, &self.running.visitor().services.client);
        self.count(client, taken, url, proposal.and_then(|proposal| self.propose(client, &lease, proposal)));
    }

    fn has_lease(&self, client: &str, lease: &str) -> Result<(), Refusal> {
        self.running.clients.with_loan(client, lease, |_| Ok(()))
    }

    fn take_warc(&self, client: &str, lease: &str, warc: Vec<u8>, taken: &mut PagesTaken) -> Result<(), Refusal> {
        // A few compressed bytes can decompress to a huge record. Records longer than the longest page are skipped.
        let reader = WarcReader::with_max_block(Cursor::new(warc), self.max_body_bytes() + BESIDE_BODY);
        let mut records = 0;
        for record in WarcPages::new(reader) {
            match record {
                Ok(event) => {
                    let url = event.url.clone();
                    let proposal = Proposal::of_event(event, &self.running.visitor().services.client);
                    self.count(client, taken, url, proposal.and_then(|proposal| self.propose(client, lease, proposal)));
                }
                Err(error) => taken.refused.push(PageRefused { url: String::new(), why: error.to_string() }),
            }
            records += 1;
        }
        match records {
            0 => Err(Refusal::Bad("the request has no WARC response record".to_owned())),
            _ => Ok(()),
        }
    }

    fn clients(&self) -> Vec<ClientStatus> {
        self.running.clients.statuses()
    }
}

impl Desk {
    /// Hosts that are due now; empty while nothing may be fetched.
    fn lease_to(&self, client: &str, record: &WorkerRecord, hosts: usize) -> Result<Vec<Leasing>, Refusal> {
        if !self.running.may_lease() || self.running.visitor().services.outage.permission(now_ms()) != Permission::Open
        {
            return Ok(Vec::new());
        }
        let delay = self.running.config().frontier.host_delay.as_millis().max(1);
        let most = if record.is_proven(&self.running.clients.config()) { MAX_URLS } else { UNPROVEN_URLS };
        let urls = record.max_urls(((LOAN_TIME.as_millis() / delay) as u64).clamp(1, most));
        let limits = self.running.within_budgets(LeaseLimits::new(hosts, urls as usize));
        let leases = self.running.frontier.lease(now_ms(), limits)?;
        let visitor = self.running.visitor();
        Ok(leases.into_iter().map(|lease| self.running.clients.lend(client.into(), lease, &visitor)).collect())
    }

    /// Checks that the worker may report on this URL. The error says why not.
    fn propose(&self, client: &str, lease: &str, mut proposal: Proposal) -> Result<PageReply, String> {
        let mut is_too_fast = false;
        let given = self.running.clients.with_loan(client, lease, |loan| {
            let has_conditions = *loan.urls.get(&proposal.url).ok_or_else(|| {
                Refusal::NotFound("the URL does not belong to this lease, or was sent already".to_owned())
            })?;
            let is_unchanged = matches!(&proposal.exchange.outcome, Outcome::Response(it) if it.status == 304);
            if is_unchanged && !has_conditions {
                return Err(Refusal::Bad("304 for a URL that was lent without conditions".to_owned()));
            }
            is_too_fast = !loan.is_in_time();
            // The request cannot have started before the lease.
            proposal.exchange.started_ms = proposal.exchange.started_ms.max(loan.since_ms);
            Ok(loan.give_back(&proposal.url))
        });
        let pages = given.map_err(|refusal| refusal.to_string())?;
        if is_too_fast {
            self.running.clients.change(client, true, |record| record.checked(false, now_ms()));
            return Err("sent too early for the delay of its host: see delay_ms".to_owned());
        }
        self.hand_over(client, proposal, pages)
    }

    /// Passes the page to the visit that leased the host out, unless the worker was shut out.
    fn hand_over(
        &self,
        client: &str,
        Proposal { url, exchange }: Proposal,
        pages: Option<mpsc::Sender<WorkerPage>>,
    ) -> Result<PageReply, String> {
        let _taking = self.running.clients.taking.read();
        let record = self.running.clients.record(client);
        if record.shut_out.is_some() {
            return Err(format!("{client} is shut out"));
        }
        let config = &self.running.clients.config();
        let is_proven = record.is_proven(config);
        let must_check = !is_proven || fastrand::f64() < config.verify_share;
        if !must_check {
            let noted = Journal::of(&self.running.folder, client).add(&url);
            noted.map_err(|error| format!("the page cannot be accepted now: the server cannot record it ({error})"))?;
        }
        let (answer, answered) = oneshot::channel();
        let sent = WorkerPage { url, exchange, must_check, is_trusted: is_proven, answer };
        let is_sent = pages.is_some_and(|pages| pages.blocking_send(sent).is_ok());
        match is_sent.then(|| answered.blocking_recv().ok()).flatten() {
            None | Some(PageReply::NotAccepted) => {
                Err("the lease has ended, or the page log accepts nothing now".to_owned())
            }
            Some(taken) => Ok(taken),
        }
    }

    fn count(&self, client: &str, taken: &mut PagesTaken, url: String, what: Result<PageReply, String>) {
        match &what {
            Ok(PageReply::Accepted) => taken.accepted += 1,
            Ok(PageReply::Refetch | PageReply::NotAccepted) => taken.refetched += 1,
            Err(why) => taken.refused.push(PageRefused { url, why: why.clone() }),
        }
        self.running.clients.change(client, false, |record| match what {
            Ok(PageReply::Accepted) => record.accepted += 1,
            Ok(PageReply::Refetch | PageReply::NotAccepted) => record.refetched += 1,
            Err(_) => record.refused += 1,
        });
    }
}
