//! A leased host while a worker has it: its clock, its rules, what it will be given back with.

use std::sync::Arc;
use std::time::Duration;

use super::retry::{self, Whose};
use super::rules::Rules;
use crate::clock::now_ms;
use crate::config::FrontierConfig;
use crate::fetch::client::Exchange;
use crate::frontier::{Cause, Health, Lease, Release, Robots, Spent, Trouble, Work};
use crate::page::{EpochMs, Failure, FailureReason, Outcome};
use crate::parse::preferences::tdm::TdmFile;
use crate::planted;

#[derive(Default)]
pub struct LeasedHost {
    pub lease: Lease,
    /// Set once robots.txt is known.
    pub rules: Option<Rules>,
    /// What it reserves of mining, where that is asked for.
    pub tdm: Option<Arc<TdmFile>>,
    /// The file it had of that, when it is asked for anew.
    pub(super) tdm_before: Option<String>,
    /// Nothing was known of its robots.txt before this lease.
    pub(super) had_no_robots: bool,
    /// Set when robots.txt was fetched during this lease.
    pub new_robots: Option<Robots>,
    /// No request before this.
    pub not_before: EpochMs,
    /// How long its turn is waited for; for a longer time it is given back.
    pub patience: Duration,
    /// What is wrong with it, if anything is.
    pub trouble: Option<Trouble>,
    /// Name servers that know other names said for the second time that its name has no address: what they said. It was never
    /// reached.
    pub(super) unknown_name: Option<String>,
    /// The last answer says that it should be left alone for now.
    pub is_ailing: bool,
    is_borrowed: bool,
    /// What came of asking for a page that is known to be there, in this lease: once is enough.
    pub(super) witness: Option<bool>,
    /// Somebody else asked for its URLs: what is left of them is worth a longer wait.
    pub(super) is_lent: bool,
    /// That client is known to be done with it.
    pub(super) client_is_done: bool,
    /// A budget of it is spent.
    pub(super) spent: Option<Spent>,
    /// Bytes received of it that no event has counted yet ([`crate::page::PageEvent::bytes_beside`]).
    pub(super) bytes_beside: u64,
    /// URLs whose event the page log has accepted.
    pub(super) fetched: Vec<String>,
    /// What it failed with during this lease, for people.
    last_words: Option<String>,
}

/// Before the first request of a URL, a worker has better things to do than wait.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// … still less in line before an address: with many hosts there, or many such addresses, all workers would stand in line.
const PATIENCE_IN_LINE: Duration = Duration::from_millis(50);
/// A worker waits so long rather than give a host back and have it leased anew.
const SHORT_REST_MS: u64 = 100;
/// In the middle of redirects it waits: begun again, it would come to the same place. More than any crawl-delay, and than
/// the line before an address shared by hundreds of hosts.
const LONG_PATIENCE: Duration = Duration::from_secs(300);

/// Times are cut to whole milliseconds: what began late in one would end early by up to that much.
pub fn whole_rest(delay: Duration) -> Duration {
    if delay.is_zero() { delay } else { delay + Duration::from_millis(1) }
}

impl LeasedHost {
    /// A host that may be visited now.
    pub fn new(lease: Lease) -> LeasedHost {
        let trouble = lease.host.trouble;
        LeasedHost { lease, patience: SHORT_PATIENCE, trouble, ..LeasedHost::default() }
    }

    /// A host that a redirect leads to.
    pub fn borrowed(lease: Lease) -> LeasedHost {
        LeasedHost { patience: LONG_PATIENCE, is_borrowed: true, ..LeasedHost::new(lease) }
    }

    /// It was in no trouble when it was leased.
    pub fn was_well(&self) -> bool {
        self.lease.host.trouble.is_none_or(|trouble| trouble.failures == 0)
    }

    /// When name servers are asked, it is the second time or a later one: they said in an earlier lease that its name has no
    /// address.
    pub(super) fn was_unknown(&self) -> bool {
        let trouble = self.lease.host.trouble.filter(|trouble| trouble.failures > 0);
        trouble.is_some_and(|trouble| trouble.cause == Cause::Failure(FailureReason::Dns))
    }

    /// Somebody has answered by its name before, as far as it is known.
    pub(super) fn was_reached(&self) -> bool {
        self.lease.host.robots.is_some() || self.lease.work.iter().any(|work| work.was_there)
    }

    pub fn origin(&self) -> &str {
        &self.lease.host.origin
    }

    /// How long its turn is waited for while other hosts of its address come first.
    pub(super) fn patience_in_line(&self) -> Duration {
        if self.patience > SHORT_PATIENCE { self.patience } else { PATIENCE_IN_LINE }
    }

    /// Another URL's turn: nothing of it was asked yet.
    pub fn begin(&mut self) {
        self.patience = if self.is_lent { LONG_PATIENCE } else { SHORT_PATIENCE };
        self.is_ailing = false;
    }

    /// In the middle of a URL's redirects, whoever visits it.
    pub(super) fn go_on(&mut self) {
        self.patience = LONG_PATIENCE;
    }

    /// Between the end of one visit and the start of the next: the configured delay, or what the operator said of this host, or
    /// robots.txt's when longer.
    pub fn delay(&self, config: &FrontierConfig) -> Duration {
        let asked = match &self.rules {
            Some(Rules::File(_)) if planted::is("crawl_delay_ignored") => Duration::ZERO,
            Some(Rules::File(file)) => file.crawl_delay().unwrap_or_default().min(config.max_crawl_delay),
            _ => Duration::ZERO,
        };
        self.lease.host.ordered_delay.unwrap_or(config.host_delay).max(asked)
    }

    /// robots.txt was just read and asks for more than the usual delay. It must be on disk before the next visit: killed
    /// in the middle of it, we would not know.
    pub fn has_new_delay(&self, config: &FrontierConfig) -> bool {
        self.new_robots.is_some() && self.delay(config) > config.host_delay
    }

    /// robots.txt was just read, and the host rests now. The worker visits others meanwhile: of the web's many hosts with one page
    /// each, most of a visit would be spent asleep.
    pub(super) fn rests_after_robots(&self) -> bool {
        let rest = self.not_before.saturating_sub(now_ms());
        self.new_robots.is_some() && !self.is_lent && !self.is_borrowed && rest > SHORT_REST_MS
    }

    /// A request was answered (or not) at `ended`: the next one waits for the delay.
    pub fn visited(&mut self, ended: EpochMs, config: &FrontierConfig) {
        self.not_before = self.not_before.max(ended + whole_rest(self.delay(config)).as_millis() as u64);
        self.patience = LONG_PATIENCE;
    }

    /// Whose trouble an answer (or none) to a request on behalf of `work` is, as far as it alone can tell.
    pub fn whose(&self, outcome: &Outcome, work: &Work) -> Whose {
        match retry::whose(outcome, &work.url, work.was_put_off, self.trouble.as_ref()) {
            // Nobody knows yet whether it answers at all.
            Whose::Part if !self.was_reached() => Whose::Host,
            whose => whose,
        }
    }

    /// What an answer (or none) means for the host.
    pub fn bears(&mut self, whose: Whose, outcome: &Outcome, work: &Work, ended: EpochMs, config: &FrontierConfig) {
        let errors = retry::errors_after(outcome, work, ended, self.trouble.as_ref(), config);
        if let Some(health) = retry::health_after(outcome, whose, &work.url, ended, self.trouble, config) {
            self.trouble = self.trouble.map(|before| Trouble { errors, ..before });
            let health = match health {
                Health::Well => Health::Well,
                Health::Troubled(now) => Health::Troubled(Trouble { errors, ..now }),
            };
            self.is_now(health, outcome, ended, config);
        }
        self.is_ailing = whose == Whose::Host;
    }

    /// When a URL is tried again whose trouble is that of a part of the host, or that would fail for good by this, were it not
    /// for many others of the host that fail, too.
    pub(super) fn tries_part_again(
        &self,
        whose: Whose,
        exchange: &Exchange,
        work: &Work,
        config: &FrontierConfig,
    ) -> Option<EpochMs> {
        let (outcome, ended) = (&exchange.outcome, exchange.ended_ms);
        match whose {
            Whose::Part => Some(retry::tried_after_others(work, ended, config)),
            Whose::Page => retry::tried_with_others(outcome, work, self.trouble.as_ref(), ended, config),
            Whose::Nobody | Whose::Host => None,
        }
    }

    /// Its robots.txt cannot be had: it rests, longer each time.
    pub fn has_no_rules(&mut self, why: &Failure, outcome: &Outcome, ended: EpochMs, config: &FrontierConfig) {
        let asked_until = retry::asked_until(outcome, ended, config);
        let failed = retry::failed_again(self.trouble, Cause::Failure(why.reason), ended, config);
        self.is_now(Health::Troubled(Trouble { asked_until, ..failed }), outcome, ended, config);
        self.is_ailing = true;
    }

    /// Its robots.txt can be had: that is the end of a trouble that keeps everything away, not of one with its pages.
    pub fn has_rules(&mut self) {
        use FailureReason::*;
        let ends = |trouble: &Trouble| match trouble.cause {
            Cause::Failure(Dns | Resolver | NoRoute | Tls | RobotsUnreachable) => true,
            Cause::Failure(Connect | ConnectionRefused | ConnectionBroken) => true,
            Cause::Failure(_) | Cause::Status(_) => false,
        };
        if self.trouble.as_ref().is_some_and(ends) {
            self.answers();
        }
    }

    /// It asks not to be visited before (Retry-After).
    pub(super) fn rests_until(&mut self, asked_until: Option<EpochMs>) {
        self.not_before = self.not_before.max(asked_until.unwrap_or_default());
    }

    /// It answers: what troubled it is over.
    pub(super) fn answers(&mut self) {
        self.trouble = self.trouble.and_then(Trouble::over);
    }

    fn is_now(&mut self, health: Health, outcome: &Outcome, ended: EpochMs, config: &FrontierConfig) {
        self.last_words = match outcome {
            Outcome::Failure(failure) => Some(failure.message.clone()),
            Outcome::Response(_) => None,
        };
        self.trouble = match health {
            Health::Well => self.trouble.and_then(Trouble::over),
            Health::Troubled(trouble) => {
                // One that a redirect leads to has no work that could fail: whose work leads here is told, and it is
                // asked again by the next.
                let is_hopeless = self.unknown_name.is_some() || retry::is_hopeless(&trouble, config);
                let given_up = trouble.given_up || (!self.is_borrowed && is_hopeless);
                Some(Trouble { given_up, ..trouble })
            }
        };
        let (delay, trouble) = (self.delay(config), self.trouble.as_ref());
        let rested = retry::host_not_before(outcome, ended, delay, trouble, self.origin(), config);
        self.not_before = self.not_before.max(rested);
    }

    /// In trouble for so long that nobody shall wait for it: why, for people.
    pub fn is_hopeless(&self, config: &FrontierConfig) -> Option<Failure> {
        let is_hopeless = |trouble: &Trouble| trouble.given_up || retry::is_hopeless(trouble, config);
        if let Some(message) = &self.unknown_name {
            return Some(Failure { reason: FailureReason::UnknownHost, message: message.clone() });
        }
        let trouble = self.trouble.filter(is_hopeless)?;
        if trouble.is_unknown_name() && !retry::is_hopeless(&trouble, config) {
            let message = format!("the name of {} has no address: name servers said so twice", self.origin());
            return Some(Failure { reason: FailureReason::UnknownHost, message });
        }
        let hours = trouble.last.saturating_sub(trouble.since) / 3_600_000;
        let words = self.last_words.as_ref().map(|words| format!(" ({words})")).unwrap_or_default();
        let message =
            format!("{} has been in trouble for {hours} hours, at last with {}{words}", self.origin(), trouble.cause);
        Some(Failure { reason: FailureReason::HostUnreachable, message })
    }

    /// The lease's end.
    pub fn release(self, config: &FrontierConfig) -> (Lease, Release) {
        let delay = self.delay(config);
        let now = self.trouble.map_or(Health::Well, Health::Troubled);
        let health = (self.trouble != self.lease.host.trouble).then_some(now);
        let Self { lease, fetched, not_before, new_robots: robots, spent, client_is_done, .. } = self;
        (lease, Release { fetched, not_before, robots, health, spent, delay, client_is_done })
    }
}
