//! A leased host while a worker has it: when it is due, its rules, and the state to release it with.

use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{Cause, Health, Lease, Release, Robots, Spent, Trouble, Work};
use seine_parse::page::preferences::Statement;
use seine_parse::page::{EpochMs, Failure, FailureReason, Kind, Outcome};
use seine_parse::preferences::tdm::TdmFile;
use seine_simulation_hooks::planted;
use seine_system::clock::now_ms;
use url::Url;

use super::rules_cache::Rules;
use crate::config::FrontierConfig;
use crate::judge::blame::{self, ChargedTo};
use crate::judge::trouble;

#[derive(Default)]
pub(super) struct LeasedHost {
    pub lease: Lease,
    /// Set when robots.txt is known.
    pub rules: Option<Rules>,
    /// Its TDM reservations, if they matter.
    pub tdm: Option<Arc<TdmFile>>,
    /// The earlier tdmrep.json, when it is fetched again.
    pub(super) tdm_before: Option<String>,
    /// The crawl delay of its last robots.txt, while robots.txt is fetched again.
    pub(super) known_delay: Duration,
    /// Its robots.txt was unknown before this lease.
    pub(super) had_no_robots: bool,
    /// Set if robots.txt was fetched during this lease.
    pub new_robots: Option<Robots>,
    /// The earliest time of the next request.
    pub not_before: EpochMs,
    /// How long to wait for its next request. If it takes longer, the host is released.
    pub patience: Duration,
    /// Its trouble, if any.
    pub trouble: Option<Trouble>,
    /// The host was given up, but long enough ago that Seine tries it once more. The first failure clears this.
    is_tried_again: bool,
    /// Set if the DNS servers answered for the second time that its name has no address, while they know other names.
    /// The host was never reached.
    pub(super) unknown_name: Option<String>,
    /// The last request failed because of the host, or its robots.txt could not be fetched: leave the host alone.
    pub was_charged: bool,
    is_borrowed: bool,
    /// It is in the parking, or lent from there to another worker.
    pub(super) is_parked: bool,
    /// Whether its control page has answered. One such request per lease is enough.
    pub(super) control_answer: Option<bool>,
    /// The control page asked for a pause until then (Retry-After).
    pub(super) control_pause: Option<EpochMs>,
    /// The lease was lent to a remote worker, so its remaining URLs are worth a longer wait.
    pub(super) is_lent: bool,
    /// The remote worker is known to be done with it.
    pub(super) client_is_done: bool,
    /// The blocked host to which its robots.txt redirects.
    pub(super) waits_for: Option<String>,
    /// A budget of the host is used up.
    pub(super) spent: Option<Spent>,
    /// Bytes received from it that no event has counted yet ([`seine_parse::page::PageEvent::bytes_beside`]).
    pub(super) bytes_beside: u64,
    /// URLs whose event is in the page log.
    pub(super) fetched: Vec<String>,
    /// The message of its last failure during this lease.
    last_failure: Option<String>,
}

/// How long a worker waits before the first request of a URL …
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// … and for a politeness slot. It is shorter because otherwise all workers would wait for a few addresses with many
/// hosts.
const PATIENCE_IN_LINE: Duration = Duration::from_millis(50);
/// For such a short delay a worker waits instead of releasing the host.
const SHORT_REST_MS: u64 = 100;
/// Patience in the middle of redirects, because starting again would lead to the same wait. Longer than any
/// crawl-delay, and than the wait for an address shared by hundreds of hosts.
const LONG_PATIENCE: Duration = Duration::from_secs(300);

/// The delay plus a millisecond: times are truncated to whole milliseconds, and a delay must not end early.
pub(super) fn round_up_delay(delay: Duration) -> Duration {
    if delay.is_zero() { delay } else { delay + Duration::from_millis(1) }
}

/// Delay between requests to a host: the configured one or the operator's, or that of robots.txt if it is longer.
pub(super) fn host_delay(config: &FrontierConfig, ordered: Option<Duration>, asked: Duration) -> Duration {
    ordered.unwrap_or(config.host_delay).max(asked.min(config.max_crawl_delay))
}

/// The delay between requests to an address. A long crawl-delay of one host must not delay other hosts of the address.
pub(super) fn address_delay(config: &FrontierConfig, ordered: Option<Duration>) -> Duration {
    config.ip_delay.unwrap_or(ordered.unwrap_or(config.host_delay))
}

impl LeasedHost {
    /// A host that is due.
    pub(super) fn new(lease: Lease) -> LeasedHost {
        let trouble = lease.host.trouble;
        let is_tried_again = trouble.is_some_and(|trouble| trouble.is_tried_again(now_ms()));
        LeasedHost { lease, patience: SHORT_PATIENCE, trouble, is_tried_again, ..LeasedHost::default() }
    }

    /// The host of a redirect target.
    pub(super) fn borrowed(lease: Lease) -> LeasedHost {
        LeasedHost { patience: LONG_PATIENCE, is_borrowed: true, ..LeasedHost::new(lease) }
    }

    /// It may be lent to other workers while its own one waits: it is leased by this visit, and not from the parking.
    pub(super) fn may_be_parked(&self) -> bool {
        !self.is_borrowed && !self.is_parked
    }

    /// It was in no trouble when it was leased.
    pub(super) fn was_well(&self) -> bool {
        self.lease.host.trouble.is_none_or(|trouble| trouble.failures == 0)
    }

    /// Whether DNS servers answered in an earlier lease that its name has no address.
    pub(super) fn was_unknown(&self) -> bool {
        let trouble = self.lease.host.trouble.filter(|trouble| trouble.failures > 0);
        trouble.is_some_and(|trouble| trouble.cause == Cause::Failure(FailureReason::Dns))
    }

    /// Whether the host is known to have answered before.
    pub(super) fn was_reached(&self) -> bool {
        self.lease.host.robots.is_some() || self.lease.work.iter().any(|work| work.was_found)
    }

    pub(super) fn origin(&self) -> &str {
        &self.lease.host.origin
    }

    /// Its statements about one of its URLs: robots.txt and TDM reservations. They do not apply to a URL that
    /// robots.txt forbids and that is fetched nevertheless (ATTACH §3.1).
    pub(super) fn statements_about(&self, url: &Url, obeys_robots: bool) -> Vec<Statement> {
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let mut said = match &self.rules {
            Some(Rules::File(file)) if obeys_robots || file.allows(path) => file.preferences(path),
            _ => Vec::new(),
        };
        said.extend(self.tdm.as_ref().and_then(|file| file.statement(path)));
        said
    }

    /// Why robots.txt forbids one of its URLs, if it does.
    pub(super) fn refusal(&self, url: &Url, kind: Kind, obeys_robots: bool) -> Option<Failure> {
        match self.rules.as_ref().filter(|_| obeys_robots)? {
            Rules::Unreachable(failure) => Some(failure.clone()),
            // A sitemap that robots.txt names is meant to be read.
            rules if !(rules.allows(url) || (kind == Kind::Sitemap && rules.names_sitemap(url))) => {
                Some(Failure { reason: FailureReason::RobotsDenied, message: "robots.txt disallows it".to_owned() })
            }
            _ => None,
        }
    }

    /// How long to wait for a politeness slot.
    pub(super) fn patience_in_line(&self) -> Duration {
        if self.patience > SHORT_PATIENCE { self.patience } else { PATIENCE_IN_LINE }
    }

    /// Sets the patience for the next URL, of which nothing has been requested yet.
    pub(super) fn begin_url(&mut self) {
        self.patience = if self.is_lent { LONG_PATIENCE } else { SHORT_PATIENCE };
        self.was_charged = false;
    }

    /// Sets the patience in the middle of a URL's redirects.
    pub(super) fn begin_redirect(&mut self) {
        self.patience = LONG_PATIENCE;
    }

    /// Delay between requests: the configured one, the operator's, or that of robots.txt if it is longer.
    pub(super) fn delay(&self, config: &FrontierConfig) -> Duration {
        let asked = match &self.rules {
            _ if planted::is("crawl_delay_ignored") => Duration::ZERO,
            Some(Rules::File(file)) => file.crawl_delay().unwrap_or_default(),
            Some(Rules::AllowAll | Rules::Unreachable(_)) => Duration::ZERO,
            None => self.known_delay,
        };
        host_delay(config, self.lease.host.ordered_delay, asked)
    }

    /// robots.txt is new and asks for a longer delay than usual. The delay must be on disk before the next request,
    /// because a crash would lose it.
    pub(super) fn has_new_delay(&self, config: &FrontierConfig) -> bool {
        self.new_robots.is_some() && self.delay(config) > config.host_delay
    }

    /// robots.txt was just fetched, and the host must wait now. The worker leaves it, because with many hosts of one
    /// page each it would spend most of its time waiting.
    pub(super) fn rests_after_robots(&self) -> bool {
        let rest = self.not_before.saturating_sub(now_ms());
        self.new_robots.is_some() && !self.is_lent && !self.is_borrowed && rest > SHORT_REST_MS
    }

    /// A request ended at `ended`; the next one waits for the delay.
    pub(super) fn visited(&mut self, ended: EpochMs, config: &FrontierConfig) {
        self.not_before = self.not_before.max(ended + round_up_delay(self.delay(config)).as_millis() as u64);
        self.patience = LONG_PATIENCE;
    }

    /// Updates the host after an outcome.
    pub(super) fn apply_outcome(
        &mut self,
        whose: ChargedTo,
        outcome: &Outcome,
        work: &Work,
        ended: EpochMs,
        config: &FrontierConfig,
    ) {
        let errors = blame::errors_after(outcome, work, ended, self.trouble.as_ref(), config);
        if let Some(health) = trouble::health_after(outcome, whose, &work.url, ended, self.trouble, config) {
            self.trouble = self.trouble.map(|before| Trouble { errors, ..before });
            let health = match health {
                Health::Well => Health::Well,
                Health::Troubled(now) => Health::Troubled(Trouble { errors, ..now }),
            };
            self.set_health(health, outcome, ended, config);
        }
        self.was_charged = whose == ChargedTo::Host;
    }

    /// Its robots.txt cannot be fetched: the host backs off.
    pub(super) fn robots_failed(&mut self, why: &Failure, outcome: &Outcome, ended: EpochMs, config: &FrontierConfig) {
        let asked_until = trouble::asked_until(outcome, ended, config);
        let failed = trouble::failed_again(self.trouble, Cause::Failure(why.reason), ended, config);
        self.set_health(Health::Troubled(Trouble { asked_until, ..failed }), outcome, ended, config);
        self.was_charged = true;
    }

    /// Its robots.txt can be fetched: this ends connection trouble, but not trouble with its pages.
    pub(super) fn robots_fetched(&mut self) {
        if self.trouble.as_ref().is_some_and(trouble::ends_with_robots_txt) {
            self.end_trouble();
        }
    }

    /// The server asked for a pause (Retry-After). It stays after a restart, also if the host was in trouble before.
    pub(super) fn rests_until(&mut self, asked_until: Option<EpochMs>) {
        self.not_before = self.not_before.max(asked_until.unwrap_or_default());
        if let Some(trouble) = &mut self.trouble {
            trouble.asked_until = trouble.asked_until.max(asked_until);
        }
    }

    /// The host answers, so its trouble is over.
    pub(super) fn end_trouble(&mut self) {
        self.trouble = self.trouble.and_then(Trouble::over);
    }

    /// Records a failure or the end of the trouble, and when the host may be requested next.
    fn set_health(&mut self, health: Health, outcome: &Outcome, ended: EpochMs, config: &FrontierConfig) {
        self.is_tried_again = false;
        self.last_failure = match outcome {
            Outcome::Failure(failure) => Some(failure.message.clone()),
            Outcome::Response(_) => None,
        };
        self.trouble = match health {
            Health::Well => self.trouble.and_then(Trouble::over),
            Health::Troubled(trouble) => {
                // A borrowed host has no URLs of its own that could fail. The URL that redirects to it fails, and the
                // next one tries the host again. A name that does not exist needs no back-off: the next URL that
                // redirects there costs a lookup, and would otherwise wait for those that came before it.
                let is_hopeless = !self.is_borrowed && trouble::is_hopeless(&trouble, config);
                let given_up = trouble.given_up || self.unknown_name.is_some() || is_hopeless;
                Some(Trouble { given_up, ..trouble })
            }
        };
        let (delay, trouble) = (self.delay(config), self.trouble.as_ref());
        let rested = trouble::host_not_before(outcome, ended, delay, trouble, self.origin(), config);
        self.not_before = self.not_before.max(rested);
    }

    /// It is given up and not tried once more: its URLs fail without a request.
    pub(super) fn is_given_up(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.given_up) && !self.is_tried_again
    }

    /// The failure of its URLs if it has failed for so long that it is given up, also if it is tried once more.
    pub(super) fn given_up_failure(&self, config: &FrontierConfig) -> Option<Failure> {
        if let Some(message) = &self.unknown_name {
            return Some(Failure { reason: FailureReason::UnknownHost, message: message.clone() });
        }
        trouble::given_up_failure(self.trouble.as_ref()?, self.origin(), self.last_failure.as_deref(), config)
    }

    /// The end of the lease.
    pub(super) fn release(self, config: &FrontierConfig) -> (Lease, Release) {
        let delay = self.delay(config);
        let now = self.trouble.map_or(Health::Well, Health::Troubled);
        let health = (self.trouble != self.lease.host.trouble).then_some(now);
        let Self { lease, fetched, not_before, new_robots: robots, spent, waits_for, client_is_done, .. } = self;
        (lease, Release { fetched, not_before, robots, health, spent, waits_for, delay, client_is_done })
    }
}
