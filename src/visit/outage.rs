//! This machine's own trouble: name servers that do not answer, a network that is away. One host in trouble is that host's;
//! when hosts that were well fail one after the other, whichever they are, and nothing succeeds, it is ours. Then fetching
//! pauses, one host is tried now and then, and neither URLs nor hosts pay for it. The first success ends it.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use parking_lot::Mutex;

use crate::page::{EpochMs, FailureReason, Outcome};
use crate::planted;

/// What may be away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Resolver,
    Network,
    /// Files that this process may open, connections among them.
    Files,
}

/// A failure that could be this machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The name servers failed, or kept silent.
    Unresolved,
    /// No connection, or no answer, in time.
    Silence,
    /// The kernel knows no way to the address (ENETUNREACH, EHOSTUNREACH, ENETDOWN).
    NoRoute,
    /// The kernel opens no more files for us (EMFILE, ENFILE).
    NoFiles,
}

/// What an exchange says of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// Somebody answered, if only to refuse a connection or to break it off: the network is there.
    Answered,
    Failed(Sign),
    /// Nobody was asked.
    Nothing,
}

/// What is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    pub part: Part,
    pub since: EpochMs,
    /// The failure that gave it away: whom it was to reach, and how it failed.
    pub example: String,
}

/// Whether hosts may be visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    Open,
    /// One of them, with one URL; [`Outage::probed`] is to be called when that is over.
    Probe,
    /// None before this, or before the probe that is out comes back.
    Closed(EpochMs),
}

#[derive(Debug, Default)]
pub struct Outage(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    resolver: Watch,
    network: Watch,
    files: Watch,
    /// When somebody last answered.
    answered: EpochMs,
    probe: Probe,
}

/// What speaks for one part being away, since it last worked.
#[derive(Debug, Default)]
struct Watch {
    /// Who could not be reached, when, and what that weighs.
    suspects: HashMap<String, (EpochMs, u32)>,
    away: Option<Away>,
}

#[derive(Debug, Default)]
struct Probe {
    is_out: bool,
    next: EpochMs,
    failed: u32,
}

/// What failed longer ago than this says nothing of now.
const WINDOW: Duration = Duration::from_secs(60);
/// So much must have come together: three names, five silent addresses, or two without a way to them.
const ENOUGH: u32 = 30;
/// Names known from before can be visited without name servers: while servers answer, only who cannot be resolved waits.
const ANSWERS_ARE_NEW: Duration = Duration::from_secs(10);
/// Between probes, doubled with each that fails …
const FIRST_PROBE: Duration = Duration::from_secs(1);
/// … up to this.
const LAST_PROBE: Duration = Duration::from_secs(15);

impl Says {
    pub fn of(outcome: &Outcome) -> Says {
        match outcome {
            Outcome::Response(_) => Says::Answered,
            Outcome::Failure(failure) => Says::of_failure(failure.reason),
        }
    }

    pub fn of_failure(reason: FailureReason) -> Says {
        use FailureReason::*;
        match reason {
            Resolver => Says::Failed(Sign::Unresolved),
            Connect | Timeout => Says::Failed(Sign::Silence),
            NoRoute => Says::Failed(Sign::NoRoute),
            OpenFiles => Says::Failed(Sign::NoFiles),
            ConnectionRefused | ConnectionBroken | Tls | Protocol | UnwantedType | Cut => Says::Answered,
            Dns | PrivateAddress | RobotsDenied | RobotsUnreachable | TooManyRedirects | BadRedirect | BadUrl
            | HostBusy | HostUnreachable | OutOfScope | Alias | UnknownHost | Fault => Says::Nothing,
        }
    }
}

impl Sign {
    fn part(self) -> Part {
        match self {
            Sign::Unresolved => Part::Resolver,
            Sign::Silence | Sign::NoRoute => Part::Network,
            Sign::NoFiles => Part::Files,
        }
    }

    fn weight(self) -> u32 {
        match self {
            Sign::Unresolved => ENOUGH / 3,
            Sign::Silence => ENOUGH / 5,
            Sign::NoRoute => ENOUGH / 2,
            // Never a host's doing.
            Sign::NoFiles => ENOUGH,
        }
    }
}

impl Outage {
    /// `who` (a name for the resolver, an address for the network) could not be reached. `was_well`: its host was not in
    /// trouble before; one that was says nothing new. True when that is this machine's trouble.
    pub fn failed(&self, sign: Sign, who: &str, was_well: bool, message: &str, now: EpochMs) -> bool {
        if planted::is("outage_unnoticed") {
            return false;
        }
        let state = &mut *self.0.lock();
        let part = sign.part();
        let watch = state.watch(part);
        if watch.away.is_some() {
            return true;
        }
        if !was_well && sign != Sign::NoFiles {
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
            "{part} away: fetching pauses and tries one host now and then; neither URLs nor hosts pay for it"
        );
        watch.suspects.clear();
        watch.away = Some(Away { part, since: now, example });
        state.probe = Probe { next: now + millis(FIRST_PROBE), ..Probe::default() };
        true
    }

    /// Somebody answered, whatever it was: the network is there.
    pub fn answered(&self, now: EpochMs) {
        let state = &mut *self.0.lock();
        state.answered = state.answered.max(now);
        state.network.works(now);
        state.files.works(now);
    }

    /// The name servers said something of a name at `at`, even that it does not exist. What they said before a failure does
    /// not count.
    pub fn resolved(&self, at: EpochMs, now: EpochMs) {
        let watch = &mut self.0.lock().resolver;
        watch.suspects.retain(|_, (failed, _)| *failed > at);
        if watch.away.as_ref().is_some_and(|away| at >= away.since) {
            watch.works(now);
        }
    }

    /// What keeps fetching from going on; none when it goes on.
    pub fn pause(&self, now: EpochMs) -> Option<Away> {
        self.0.lock().pause(now).cloned()
    }

    /// What is away, whether or not fetching goes on without it.
    pub fn away(&self) -> Vec<Away> {
        let state = self.0.lock();
        [&state.network, &state.files, &state.resolver].into_iter().filter_map(|watch| watch.away.clone()).collect()
    }

    /// Asked before hosts are leased.
    pub fn opening(&self, now: EpochMs) -> Opening {
        let state = self.0.lock();
        match state.pause(now) {
            None => Opening::Open,
            Some(_) if state.probe.is_out => Opening::Closed(now + millis(LAST_PROBE)),
            Some(_) if state.probe.next > now => Opening::Closed(state.probe.next),
            Some(_) => Opening::Probe,
        }
    }

    /// A host is being tried.
    pub fn probing(&self) {
        self.0.lock().probe.is_out = true;
    }

    /// It has been tried.
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

    fn pause(&self, now: EpochMs) -> Option<&Away> {
        let goes_on = now.saturating_sub(self.answered) < millis(ANSWERS_ARE_NEW);
        self.network.away.as_ref().or(self.files.away.as_ref()).or(self.resolver.away.as_ref().filter(|_| !goes_on))
    }
}

impl Watch {
    fn works(&mut self, now: EpochMs) {
        self.suspects.clear();
        if let Some(away) = self.away.take() {
            let seconds = now.saturating_sub(away.since) / 1000;
            tracing::info!(state = "back", seconds, "{} back: fetching goes on", away.part);
        }
    }
}

impl Away {
    /// For people, as a notice.
    pub fn notice(&self, now: EpochMs) -> String {
        let seconds = now.saturating_sub(self.since) / 1000;
        format!("{} away for {seconds} s, one host is tried now and then", self.part)
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
