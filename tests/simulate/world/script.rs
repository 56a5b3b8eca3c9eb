//! The script: events of the machine, of the destinations and of the operator, in time.

use std::fmt;

use super::settings::{Kind, Scope, Settings, Sink, Unchanged};
use super::{DAY, HOUR, MINUTE, SECOND, World, span};

#[derive(Debug, Clone, PartialEq)]
pub struct Scripted {
    pub at: u64,
    pub event: Event,
}

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The process is killed, and started again at once with the same configuration.
    Kill,
    /// The process ends after SIGTERM, and is started again with [`World::settings_at`].
    RestartWith(NewSettings),
    /// The running crawl reads its changed configuration.
    ReloadWith(NewSettings),
    DiskFull {
        lasts: u64,
    },
    /// No file can be opened.
    NoFiles {
        lasts: u64,
    },
    /// The machine's clock is set.
    ClockJump {
        by: i64,
    },
    /// The machine's name servers do not answer.
    NoResolver {
        lasts: u64,
    },
    /// The machine has no network.
    NoNetwork {
        lasts: u64,
    },
    Order(Order),
    /// `seine dead-letters replay` for this sink: beside the running crawl, or after it has ended by SIGTERM; then it is started again.
    ReplayLetters {
        sink: String,
        is_stopped: bool,
    },
    Destination(DestinationEvent),
}

#[derive(Debug, Clone, PartialEq)]
pub enum NewSettings {
    Nothing,
    Scope(Scope),
    /// A further destination.
    NewSink(Sink),
    Redirects,
    Canonical,
    Delay(u64),
    /// Depth and pages of a host are not limited any more.
    NoLimits,
    /// The destination of this name is not in the configuration any more.
    WithoutSink(String),
    /// What the destination of this name gets of unchanged pages.
    Unchanged(String, Unchanged),
}

/// An order of the operator.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Fetching pauses for this time.
    Pause {
        lasts: u64,
    },
    Block {
        origin: String,
        lasts: u64,
    },
    /// A delay between two requests to the host.
    Delay {
        origin: String,
        ms: u64,
    },
    /// The host may have this number of pages for this time.
    Limit {
        origin: String,
        pages: u64,
        lasts: u64,
    },
    Retry,
    /// The URLs of a host are forgotten.
    Forget {
        origin: String,
    },
    /// The crawl reads its configuration again; nothing in it is new.
    Reload,
    /// A sink that is not in the configuration any more is given up.
    RemoveSink {
        sink: String,
    },
    /// A sink is paused for this time.
    PauseSink {
        sink: String,
        lasts: u64,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct DestinationEvent {
    pub which: Kind,
    pub what: Trouble,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    Away {
        lasts: u64,
    },
    /// Every answer is late by this time.
    Slow {
        by: u64,
        lasts: u64,
    },
    /// Every request is refused with this status (Kafka: every message with an error that may pass).
    Refusing {
        status: u16,
        lasts: u64,
    },
    /// Some pages are refused for good, in each of their versions.
    Rejecting {
        lasts: u64,
    },
    /// Requests are executed, but their answers get lost.
    LostAcknowledgements {
        lasts: u64,
    },
    /// All documents or messages are gone; the index or topic stays.
    Emptied,
    /// Another server, with nothing on it.
    Replaced,
    /// The index or topic is deleted and made again by somebody else, with other settings.
    Recreated,
    /// A topic gets this number of further partitions.
    PartitionsAdded(u32),
    AliasRolledOver,
    /// A compacted topic is compacted; an index forgets its deletions.
    Compacted,
}

impl World {
    /// The events in order.
    pub fn script(&self) -> Vec<(u64, Event)> {
        self.events.iter().map(|it| (it.at, it.event.clone())).collect()
    }

    /// The configuration after all restarts until then.
    pub fn settings_at(&self, at: u64) -> Settings {
        let mut settings = self.settings.clone();
        for it in self.events.iter().filter(|it| it.at <= at) {
            if let Event::RestartWith(change) | Event::ReloadWith(change) = &it.event {
                settings.apply(change);
            }
        }
        settings
    }
}

impl Settings {
    fn apply(&mut self, change: &NewSettings) {
        use super::settings::{Canonical, Redirects};
        match change {
            NewSettings::Nothing => {}
            NewSettings::Scope(scope) => self.scope = *scope,
            NewSettings::NewSink(sink) if self.sinks.iter().any(|it| it.name == sink.name) => {}
            NewSettings::NewSink(sink) => self.sinks.push(sink.clone()),
            NewSettings::Redirects => {
                self.redirects = if self.redirects == Redirects::First { Redirects::Follow } else { Redirects::First };
            }
            NewSettings::Canonical => {
                self.canonical = if self.canonical == Canonical::Obey { Canonical::Ignore } else { Canonical::Obey };
            }
            NewSettings::Delay(ms) => self.host_delay = *ms,
            NewSettings::NoLimits => (self.max_depth, self.most_pages) = (None, None),
            NewSettings::WithoutSink(name) => self.sinks.retain(|sink| sink.name != *name),
            NewSettings::Unchanged(name, unchanged) => {
                let its = self.sinks.iter_mut().filter(|sink| sink.name == *name);
                its.for_each(|sink| sink.unchanged = *unchanged);
            }
        }
    }
}

/// Adds kills: none, a few, or many.
pub fn generate(world: &World, rng: &mut fastrand::Rng) -> Vec<Scripted> {
    let count = match rng.u32(..10) {
        0..3 => 0,
        3..6 => 1,
        6..9 => rng.usize(2..5),
        _ => rng.usize(5..10),
    };
    let mut events: Vec<Scripted> = (0..count).filter_map(|_| one(world, rng)).collect();
    if rng.u32(..4) == 0 {
        // Several kills during the first fetches, one soon after the other.
        let mut at = world.begins_ms + rng.u64(..5 * MINUTE);
        for _ in 0..rng.u32(1..6) {
            events.push(Scripted { at, event: Event::Kill });
            at += rng.u64(SECOND..20 * MINUTE);
        }
    }
    events.sort_by_key(|it| it.at);
    events
}

fn one(world: &World, rng: &mut fastrand::Rng) -> Option<Scripted> {
    let troubled = world.calm_ms - world.begins_ms;
    let at = world.begins_ms + if rng.u32(..3) == 0 { rng.u64(..HOUR) } else { rng.u64(..troubled) };
    let most = world.calm_ms.saturating_sub(at).max(1);
    let lasts = match rng.u32(..4) {
        0 => rng.u64(SECOND..MINUTE),
        1 => rng.u64(MINUTE..HOUR),
        2 => rng.u64(HOUR..8 * HOUR),
        _ => rng.u64(8 * HOUR..2 * DAY),
    }
    .min(most);
    let event = match rng.u32(..20) {
        0..5 => Event::Kill,
        5..7 => Event::RestartWith(change(world, rng)),
        7 => Event::DiskFull { lasts },
        8 => Event::NoFiles { lasts },
        9 => Event::ClockJump { by: rng.i64(-2 * DAY as i64..2 * DAY as i64) },
        10 => Event::NoResolver { lasts },
        11 => Event::NoNetwork { lasts },
        12..15 => Event::Order(order(world, rng, lasts)?),
        _ => destination(world, rng, lasts)?,
    };
    Some(Scripted { at, event })
}

/// In some worlds a destination refuses some pages for good, so they become dead letters. The operator replays them now and then, and when
/// all is calm. The random numbers are its own, so other worlds stay as they are.
pub fn letters(world: &World) -> Vec<Scripted> {
    let rng = &mut fastrand::Rng::with_seed(world.seed ^ 0x1e77e4);
    let remote: Vec<Kind> = world.settings.sinks.iter().map(|sink| sink.to).filter(|to| *to != Kind::Files).collect();
    let Some(which) = rng.choice(&remote).copied().filter(|_| rng.u32(..5) == 0) else { return Vec::new() };
    let (begins, calm) = (world.begins_ms, world.calm_ms);
    let mut events = Vec::new();
    for _ in 0..rng.u32(1..4) {
        let at = begins + if rng.u32(..3) == 0 { rng.u64(..HOUR) } else { rng.u64(..calm - begins) };
        let lasts = rng.u64(HOUR..8 * DAY).min(calm - at);
        let event = Event::Destination(DestinationEvent { which, what: Trouble::Rejecting { lasts } });
        events.push(Scripted { at, event });
    }
    let replay = |is_stopped| Event::ReplayLetters { sink: which.name().to_owned(), is_stopped };
    for _ in 0..rng.u32(..4) {
        events.push(Scripted { at: begins + rng.u64(..calm - begins), event: replay(rng.bool()) });
    }
    events.push(Scripted { at: calm, event: replay(true) });
    events
}

fn change(world: &World, rng: &mut fastrand::Rng) -> NewSettings {
    match rng.u32(..6) {
        0 => NewSettings::Delay(rng.u64(200..5000)),
        1 => NewSettings::Canonical,
        2 => NewSettings::Redirects,
        3 => {
            let has = |to: Kind| world.settings.sinks.iter().any(|sink| sink.to == to);
            let new = [Kind::Kafka, Kind::Elastic].into_iter().find(|to| !has(*to));
            new.map_or(NewSettings::Nothing, |to| NewSettings::NewSink(Sink::generate(to, rng)))
        }
        4 if world.settings.scope != Scope::Any => NewSettings::Scope(match world.settings.scope {
            Scope::Host => Scope::Domain,
            _ => Scope::Host,
        }),
        _ => NewSettings::Nothing,
    }
}

fn order(world: &World, rng: &mut fastrand::Rng, lasts: u64) -> Option<Order> {
    let origin = rng.choice(&world.hosts)?.origin();
    Some(match rng.u32(..8) {
        0 => Order::Pause { lasts },
        1 | 2 => Order::Block { origin, lasts },
        3 => Order::Delay { origin, ms: rng.u64(500..20_000) },
        4 => Order::Retry,
        5 => Order::Reload,
        6 => Order::Forget { origin },
        _ => Order::PauseSink { sink: rng.choice(&world.settings.sinks)?.name.clone(), lasts },
    })
}

fn destination(world: &World, rng: &mut fastrand::Rng, lasts: u64) -> Option<Event> {
    let remote: Vec<Kind> = world.settings.sinks.iter().map(|sink| sink.to).filter(|to| *to != Kind::Files).collect();
    let which = *rng.choice(&remote)?;
    let what = match (which, rng.u32(..12)) {
        (_, 0..3) => Trouble::Away { lasts },
        (_, 3) => Trouble::Slow { by: rng.u64(500..20_000), lasts },
        (_, 4) => Trouble::Refusing { status: *rng.choice(&[429, 503, 403, 401])?, lasts },
        (_, 5) => Trouble::LostAcknowledgements { lasts },
        (_, 6) => Trouble::Replaced,
        (_, 7) => Trouble::Compacted,
        (_, 8) => return Some(Event::ReplayLetters { sink: which.name().to_owned(), is_stopped: false }),
        (_, 9) => Trouble::Recreated,
        (Kind::Kafka, 10) => Trouble::PartitionsAdded(rng.u32(1..4)),
        (Kind::Elastic, 10) => Trouble::AliasRolledOver,
        _ => Trouble::Emptied,
    };
    Some(Event::Destination(DestinationEvent { which, what }))
}

impl Event {
    /// The duration of the event.
    pub fn lasts(&self) -> u64 {
        match self {
            Event::DiskFull { lasts }
            | Event::NoFiles { lasts }
            | Event::NoResolver { lasts }
            | Event::NoNetwork { lasts }
            | Event::Order(
                Order::Pause { lasts }
                | Order::Block { lasts, .. }
                | Order::Limit { lasts, .. }
                | Order::PauseSink { lasts, .. },
            ) => *lasts,
            Event::Destination(it) => it.what.lasts(),
            _ => 0,
        }
    }
}

impl Trouble {
    pub fn lasts(&self) -> u64 {
        match self {
            Trouble::Away { lasts }
            | Trouble::Slow { lasts, .. }
            | Trouble::Refusing { lasts, .. }
            | Trouble::Rejecting { lasts }
            | Trouble::LostAcknowledgements { lasts } => *lasts,
            _ => 0,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Event::Kill => write!(out, "the process is killed and started again"),
            Event::RestartWith(change) => write!(out, "the process is restarted with {change:?}"),
            Event::ReloadWith(change) => write!(out, "the crawl reads its configuration again, with {change:?}"),
            Event::DiskFull { lasts } => write!(out, "the disk is full for {}", span(*lasts)),
            Event::NoFiles { lasts } => write!(out, "no file can be opened for {}", span(*lasts)),
            Event::ClockJump { by } if *by < 0 => {
                write!(out, "the machine's clock is set back by {}", span(by.unsigned_abs()))
            }
            Event::ClockJump { by } => write!(out, "the machine's clock is set ahead by {}", span(by.unsigned_abs())),
            Event::NoResolver { lasts } => write!(out, "the name servers are away for {}", span(*lasts)),
            Event::NoNetwork { lasts } => write!(out, "the machine has no network for {}", span(*lasts)),
            Event::Order(order) => write!(out, "the operator orders {order}"),
            Event::ReplayLetters { sink, is_stopped } => {
                let how = if *is_stopped { "ends the crawl, replays" } else { "replays" };
                write!(out, "the operator {how} the dead letters of {sink}")
            }
            Event::Destination(it) => write!(out, "{:?}: {}", it.which, it.what),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Order::Pause { lasts } => write!(out, "a pause of {}", span(*lasts)),
            Order::Block { origin, lasts } => write!(out, "{origin} to be blocked for {}", span(*lasts)),
            Order::Delay { origin, ms } => write!(out, "a delay of {ms} ms for {origin}"),
            Order::Limit { origin, pages, lasts } => {
                write!(out, "a limit of {pages} pages for {origin} for {}", span(*lasts))
            }
            Order::Retry => write!(out, "a retry of what failed"),
            Order::Forget { origin } => write!(out, "{origin} to be forgotten"),
            Order::Reload => write!(out, "a reload of the configuration"),
            Order::RemoveSink { sink } => write!(out, "the sink {sink} to be given up"),
            Order::PauseSink { sink, lasts } => write!(out, "the sink {sink} to pause for {}", span(*lasts)),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::Away { lasts } => write!(out, "it is away for {}", span(*lasts)),
            Trouble::Slow { by, lasts } => write!(out, "every answer takes {} for {}", span(*by), span(*lasts)),
            Trouble::Refusing { status, lasts } => {
                write!(out, "it refuses everything with {status} for {}", span(*lasts))
            }
            Trouble::Rejecting { lasts } => write!(out, "it refuses some pages for good, for {}", span(*lasts)),
            Trouble::LostAcknowledgements { lasts } => {
                write!(out, "its acknowledgements are lost for {}", span(*lasts))
            }
            Trouble::Emptied => write!(out, "somebody empties it"),
            Trouble::Replaced => write!(out, "an empty server takes its place"),
            Trouble::Recreated => write!(out, "somebody deletes it and makes it again with other settings"),
            Trouble::PartitionsAdded(more) => write!(out, "the topic gets {more} more partitions"),
            Trouble::AliasRolledOver => write!(out, "the alias is rolled over to a new index"),
            Trouble::Compacted => write!(out, "it forgets its deletions"),
        }
    }
}
