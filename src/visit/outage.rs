//! Outages of this machine: DNS servers do not answer, or the network is down. One failing host is host trouble. If
//! hosts that were healthy fail one after the other and nothing succeeds, it is an outage. It also is one if a host and
//! the DNS servers are silent together and nobody has answered lately: a crawl of one site has no other hosts. Then
//! fetching pauses and one host is probed now and then. Neither URLs nor hosts are charged. The first success ends the
//! outage.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use parking_lot::Mutex;
use seine_parse::page::{EpochMs, FailureReason, Outcome};
use seine_simulation_hooks::planted;

/// What can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Resolver,
    Network,
    /// The limit of open files, including connections.
    Files,
}

/// A failure that can be a sign of an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The DNS servers failed or were silent.
    Unresolved,
    /// No connection or no response in time.
    Silence,
    /// The kernel has no route to the address (ENETUNREACH, EHOSTUNREACH, ENETDOWN).
    NoRoute,
    /// One of the last two, and the DNS servers do not answer either.
    NoNetwork,
    /// The kernel refuses to open more files (EMFILE, ENFILE).
    NoFiles,
}

/// The evidence of a request about this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Somebody answered, even if only to refuse or break the connection, so the network works.
    Answered,
    Failed(Sign),
    /// No request was sent.
    Nothing,
}

/// A present outage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    pub part: Part,
    pub since: EpochMs,
    /// One of its failures: whom we tried to reach, and the error.
    pub example: String,
}

/// Whether hosts may be leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Open,
    /// One host with one URL may be visited as a probe. Then call [`OutageDetector::probed`].
    Probe,
    /// No host may be visited before this time, or before the present probe has ended.
    Closed(EpochMs),
}

/// Finds outages from the evidence of requests, and says when hosts may be leased.
#[derive(Debug, Default)]
pub struct OutageDetector(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    resolver: Watch,
    network: Watch,
    files: Watch,
    /// When somebody last answered.
    answered: EpochMs,
    /// When DNS servers last answered.
    resolved: EpochMs,
    probe: Probe,
}

/// The signs of an outage of one part, since it last worked.
#[derive(Debug, Default)]
struct Watch {
    /// Names and addresses that could not be reached, when, and the weight of that sign.
    suspects: HashMap<String, (EpochMs, u32)>,
    outage: Option<Outage>,
    /// The DNS servers were silent when the network's outage began, so their answer ends it.
    is_without_dns: bool,
}

#[derive(Debug, Default)]
struct Probe {
    is_out: bool,
    next: EpochMs,
    failed: u32,
}

/// Older failures do not count.
const WINDOW: Duration = Duration::from_secs(60);
/// Total weight that makes an outage: three names, five silent addresses, or two without a route.
const ENOUGH: u32 = 30;
/// Hosts with cached names can be fetched without DNS servers. While servers answer, only hosts that cannot be resolved
/// wait, and the network is not away.
const ANSWERS_ARE_NEW: Duration = Duration::from_secs(10);
/// Time between probes; each failed probe doubles it …
const FIRST_PROBE: Duration = Duration::from_secs(1);
/// … up to this.
const LAST_PROBE: Duration = Duration::from_secs(15);

impl Evidence {
    pub fn of(outcome: &Outcome) -> Evidence {
        match outcome {
            Outcome::Response(_) => Evidence::Answered,
            Outcome::Failure(failure) => Evidence::of_failure(failure.reason),
        }
    }

    pub fn of_failure(reason: FailureReason) -> Evidence {
        use FailureReason::*;
        match reason {
            Resolver => Evidence::Failed(Sign::Unresolved),
            Connect | Timeout => Evidence::Failed(Sign::Silence),
            NoRoute => Evidence::Failed(Sign::NoRoute),
            OpenFiles => Evidence::Failed(Sign::NoFiles),
            ConnectionRefused | ConnectionBroken | Tls | Protocol | UnwantedType | Cut => Evidence::Answered,
            Dns | PrivateAddress | RobotsDenied | RobotsUnreachable | TooManyRedirects | BadRedirect | BadUrl
            | HostBusy | HostUnreachable | OutOfScope | Alias | UnknownHost | Fault => Evidence::Nothing,
        }
    }
}

impl Sign {
    fn part(self) -> Part {
        match self {
            Sign::Unresolved => Part::Resolver,
            Sign::Silence | Sign::NoRoute | Sign::NoNetwork => Part::Network,
            Sign::NoFiles => Part::Files,
        }
    }

    fn weight(self) -> u32 {
        match self {
            Sign::Unresolved => ENOUGH / 3,
            Sign::Silence => ENOUGH / 5,
            Sign::NoRoute => ENOUGH / 2,
            // Never caused by a host.
            Sign::NoNetwork | Sign::NoFiles => ENOUGH,
        }
    }
}

impl OutageDetector {
    /// `who` (a name for DNS, an address for the network) could not be reached. `was_well`: its host was not in trouble
    /// before; otherwise the failure is no new sign. True if this is an outage.
    pub fn failed(&self, sign: Sign, who: &str, was_well: bool, message: &str, now: EpochMs) -> bool {
        if planted::is("outage_unnoticed") {
            return false;
        }
        let state = &mut *self.0.lock();
        let part = sign.part();
        // Without a network there are no DNS servers.
        if state.watch(part).outage.is_some() || (part == Part::Resolver && state.network.outage.is_some()) {
            return true;
        }
        // A dead host may have its DNS server on the same machine. While others answer, that is its own trouble.
        let others_answer = now.saturating_sub(state.answered.max(state.resolved)) < millis(ANSWERS_ARE_NEW);
        let sign = if sign == Sign::NoNetwork && others_answer { Sign::Silence } else { sign };
        let watch = state.watch(part);
        if !was_well && sign.weight() < ENOUGH {
            return false;
        }
        watch.suspects.retain(|_, (at, _)| now.saturating_sub(*at) < millis(WINDOW));
        let weight = watch.suspects.get(who).map_or(sign.weight(), |(_, before)| sign.weight().max(*before));
        watch.suspects.insert(who.to_owned(), (now, weight));
        let weight: u32 = watch.suspects.values().map(|(_, weight)| weight).sum();
        if weight < ENOUGH {
            return false;
        }
        let suspects = watch.suspects.len();
        let example = format!("{who}: {message}");
        tracing::warn!(
            state = "away",
            hosts = suspects,
            example,
            "{part} away: fetching pauses, except for one host now and then; no URL and no host is charged"
        );
        watch.suspects.clear();
        watch.is_without_dns = sign == Sign::NoNetwork;
        watch.outage = Some(Outage { part, since: now, example });
        state.probe = Probe { next: now + millis(FIRST_PROBE), ..Probe::default() };
        true
    }

    /// Somebody answered, so the network works.
    pub fn answered(&self, now: EpochMs) {
        let state = &mut *self.0.lock();
        state.answered = state.answered.max(now);
        state.network.works(now);
        state.files.works(now);
    }

    /// The DNS servers answered for a name at `at`, even if it does not exist. An answer from before a failure does not
    /// count.
    pub fn resolved(&self, at: EpochMs, now: EpochMs) {
        let state = &mut *self.0.lock();
        state.resolved = state.resolved.max(at);
        state.resolver.suspects.retain(|_, (failed, _)| *failed > at);
        state.resolver.resolved(at, now);
        if state.network.is_without_dns {
            state.network.resolved(at, now);
        }
    }

    /// The outage that pauses fetching, if any.
    pub fn pause(&self, now: EpochMs) -> Option<Outage> {
        self.0.lock().pause(now).cloned()
    }

    /// All present outages, whether or not they pause fetching.
    pub fn outages(&self) -> Vec<Outage> {
        let state = self.0.lock();
        [&state.network, &state.files, &state.resolver].into_iter().filter_map(|watch| watch.outage.clone()).collect()
    }

    /// Called before hosts are leased.
    pub fn permission(&self, now: EpochMs) -> Permission {
        let state = self.0.lock();
        match state.pause(now) {
            None => Permission::Open,
            Some(_) if state.probe.is_out => Permission::Closed(now + millis(LAST_PROBE)),
            Some(_) if state.probe.next > now => Permission::Closed(state.probe.next),
            Some(_) => Permission::Probe,
        }
    }

    /// A probe starts.
    pub fn probing(&self) {
        self.0.lock().probe.is_out = true;
    }

    /// The probe has ended.
    pub fn probed(&self, now: EpochMs) {
        let probe = &mut self.0.lock().probe;
        let wait = FIRST_PROBE.saturating_mul(2u32.saturating_pow(probe.failed + 1)).min(LAST_PROBE);
        *probe = Probe { is_out: false, next: now + millis(wait), failed: (probe.failed + 1).min(16) };
    }
}

impl State {
    fn watch(&mut self, part: Part) -> &mut Watch {
        match part {
            Part::Resolver => &mut self.resolver,
            Part::Network => &mut self.network,
            Part::Files => &mut self.files,
        }
    }

    fn pause(&self, now: EpochMs) -> Option<&Outage> {
        let goes_on = now.saturating_sub(self.answered) < millis(ANSWERS_ARE_NEW);
        let resolver = self.resolver.outage.as_ref().filter(|_| !goes_on);
        self.network.outage.as_ref().or(self.files.outage.as_ref()).or(resolver)
    }
}

impl Watch {
    /// DNS servers answered at `at`. An answer from before the outage does not end it.
    fn resolved(&mut self, at: EpochMs, now: EpochMs) {
        if self.outage.as_ref().is_some_and(|outage| at >= outage.since) {
            self.works(now);
        }
    }

    fn works(&mut self, now: EpochMs) {
        self.suspects.clear();
        if let Some(outage) = self.outage.take() {
            let seconds = now.saturating_sub(outage.since) / 1000;
            tracing::info!(state = "back", seconds, "{} back: fetching continues", outage.part);
        }
    }
}

impl Outage {
    /// The notice for the user.
    pub fn notice(&self, now: EpochMs) -> String {
        let seconds = now.saturating_sub(self.since) / 1000;
        format!("{} away for {seconds} s; Seine tries one host now and then", self.part)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Part::Resolver => "the name servers are",
            Part::Network => "the network is",
            Part::Files => "files to open are",
        })
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
