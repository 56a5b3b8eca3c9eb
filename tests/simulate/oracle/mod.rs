//! Judges whether the crawl of a world kept its promises. The oracle knows the world, every request, what each destination accepted, and
//! what the program reported. It does not know how the program works.

mod counters;
mod ends;
mod letters;
mod orders;
mod politeness;
mod recovery;
mod removals;
mod reports;
mod requests;
mod said;
mod stalls;
mod told;

use std::collections::{BTreeMap, HashMap};

use crate::world::settings::Kind;
use crate::world::{Answer, Change, DAY, Event, Held, NewSettings, Order, Request, Settings, Trouble, World, split};
use requests::Requests;
pub use said::{Books, Report, Said, Told};
// The simulation of whole crawls alone prints stories.
#[allow(unused_imports)]
pub use said::{is_told_of, tell_of, tell_why};

/// A promise that was not kept. The properties:
///
/// 1. After a calm time each destination holds exactly the live pages, in their last complete version.
/// 2. No live page was removed, except by a written rule with a time. No old version follows a newer one.
/// 3. The crawl obeyed the delays of hosts and addresses, robots.txt, and the orders of the operator.
/// 4. Every URL that is due and not forbidden is fetched.
/// 5. The counters balance, and all reports are true.
/// 6. Memory stays within what the configuration allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub property: u8,
    pub story: String,
}

/// What destinations hold, by sink and URL.
pub type Contents = BTreeMap<String, BTreeMap<String, Held>>;

/// The state when the world has ended; maps are by sink.
#[derive(Debug, Default)]
pub struct Ends {
    pub held: Contents,
    pub log: BTreeMap<String, Vec<Change>>,
    /// Pages that a destination refused for good.
    pub refused: BTreeMap<String, Vec<Change>>,
    pub books: Vec<Books>,
    /// How the crawl ended after SIGTERM.
    pub stopped: Option<Report>,
    /// How it ended by itself afterwards, without `--stay`, and what each destination held then.
    pub ran_out: Option<(Report, Contents)>,
    /// When that crawl began.
    pub ran_out_from: u64,
    /// The answers of `seine why` about some URLs just before the end.
    pub told: Vec<Told>,
    /// The findings of `seine audit` after the end.
    pub audit: Vec<String>,
    pub panics: Vec<String>,
    /// Of the process that took most; 0: not measured.
    pub peak_bytes: u64,
}

#[derive(Debug, Clone)]
pub struct Oracle {
    requests: Requests,
    /// Events of the script: begin, and end if it is over.
    events: Vec<(u64, Option<u64>, Event)>,
    /// When each process began, when it ended, and whether it ended by itself.
    lives: Vec<(u64, Option<(u64, bool)>)>,
    looks: Vec<(u64, Said)>,
    /// Orders that the program accepted, with the times from and until which they held.
    taken: Vec<(u64, Option<u64>, Order)>,
}

/// `index.gc_deletes` of an index that Seine creates.
const REMEMBERED: u64 = 7 * DAY;

/// Maximum number of stories to print for one property.
const TOLD: usize = 4;

impl Oracle {
    pub fn new(_: &World) -> Oracle {
        Oracle {
            requests: Requests::default(),
            events: Vec::new(),
            lives: Vec::new(),
            looks: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Every request, when it is sent.
    pub fn asked(&mut self, world: &World, request: &Request, answer: &Answer) {
        self.requests.add(world, request, answer);
    }

    pub fn happened(&mut self, _: &World, at_ms: u64, event: &Event) {
        self.events.push((at_ms, None, event.clone()));
    }

    /// An event that lasts is over.
    pub fn over(&mut self, _: &World, at_ms: u64, event: &Event) {
        let lasting = self.events.iter_mut().find(|(_, until, it)| until.is_none() && it == event);
        if let Some((_, until, _)) = lasting {
            *until = Some(at_ms);
        }
    }

    /// All URLs that were ever requested.
    pub fn urls(&self) -> Vec<String> {
        self.requests.by_url.keys().cloned().collect()
    }

    /// The program accepted an order.
    pub fn took(&mut self, at_ms: u64, order: &Order) {
        self.taken.push((at_ms, None, order.clone()));
    }

    /// The operator takes an order back. This ends all orders of its kind for the same host or sink.
    pub fn takes_back(&mut self, at_ms: u64, order: &Order) {
        let is_of_it = |other: &Order| match (order, other) {
            (Order::Pause { .. }, Order::Pause { .. }) => true,
            (Order::Block { origin: one, .. }, Order::Block { origin: other, .. }) => one == other,
            (Order::Limit { origin: one, .. }, Order::Limit { origin: other, .. }) => one == other,
            (Order::PauseSink { sink: one, .. }, Order::PauseSink { sink: other, .. }) => one == other,
            _ => false,
        };
        for (_, until, _) in self.taken.iter_mut().filter(|(_, until, it)| until.is_none() && is_of_it(it)) {
            *until = Some(at_ms);
        }
    }

    pub fn began(&mut self, at_ms: u64) {
        self.lives.push((at_ms, None));
    }

    /// Whether a process was killed in this time.
    fn is_killed_between(&self, from: u64, to: u64) -> bool {
        let mut ends = self.lives.iter().filter_map(|(_, end)| *end);
        ends.any(|(at, is_clean)| !is_clean && (from..=to).contains(&at))
    }

    pub fn ended(&mut self, at_ms: u64, clean: bool) {
        self.requests.break_off(at_ms);
        if let Some((_, end)) = self.lives.last_mut() {
            *end = Some((at_ms, clean));
        }
    }

    /// The program reported its status.
    pub fn look(&mut self, _: &World, at_ms: u64, said: &Said) {
        self.looks.push((at_ms, said.clone()));
    }

    pub fn end(self, world: &World, ends: &Ends) -> Vec<Broken> {
        self.judge(world, ends)
    }

    pub fn judge(&self, world: &World, ends: &Ends) -> Vec<Broken> {
        let settings = world.settings_at(world.ends_ms);
        let case = Case { world, oracle: self, ends, settings, longest_troubles: self.requests.longest_troubles() };
        let stories: [(u8, Vec<String>); 12] = [
            (1, ends::stories(&case)),
            (2, removals::stories(&case)),
            (2, letters::stories(&case)),
            (3, politeness::stories(&case)),
            (3, politeness::robots(&case)),
            (3, orders::stories(&case)),
            (4, stalls::stories(&case)),
            (4, recovery::stories(&case)),
            (5, counters::stories(&case)),
            (5, told::stories(&case)),
            (5, reports::stories(&case)),
            (6, counters::memory(&case).into_iter().collect()),
        ];
        let told = |(property, stories): (u8, Vec<String>)| {
            let more = stories.len().saturating_sub(TOLD);
            let last = (more > 0).then(|| format!("… and {more} more like these"));
            let told = stories.into_iter().take(TOLD).chain(last);
            told.map(move |story| Broken { property, story }).collect::<Vec<_>>()
        };
        stories.into_iter().flat_map(told).collect()
    }
}

/// All that is judged.
struct Case<'c> {
    world: &'c World,
    oracle: &'c Oracle,
    ends: &'c Ends,
    /// As they were in the end.
    settings: Settings,
    /// The longest time in which all requests to a host failed, by origin.
    longest_troubles: HashMap<String, u64>,
}

impl Case<'_> {
    /// Whether the operator added this destination during the crawl.
    fn was_added_later(&self, name: &str) -> bool {
        let adds = |event: &Event| matches!(event, Event::RestartWith(NewSettings::NewSink(sink)) if sink.name == name);
        let is_late = !self.world.settings.sinks.iter().any(|sink| sink.name == name);
        is_late && self.oracle.events.iter().any(|(_, _, event)| adds(event))
    }

    /// When the dead letter of a page was replayed: of the version that was fetched then. None: it was not.
    fn replayed(&self, sink: &str, url: &str, fetched_ms: u64) -> Option<u64> {
        let refused = self.ends.refused.get(sink)?;
        let of = |it: &&Change| it.url == url && it.fetched_ms() == fetched_ms;
        let since = refused.iter().find(of)?.at_ms;
        let is_of = |event: &Event| matches!(event, Event::ReplayLetters { sink: of, .. } if of == sink);
        self.oracle.events.iter().rfind(|(at, _, event)| *at >= since && is_of(event)).map(|(at, ..)| *at)
    }

    /// Whether an index may have forgotten a deletion of that time until later: it is too long ago, or somebody did something to the index.
    fn has_forgotten_deletions(&self, which: Kind, from: u64, until: u64) -> bool {
        let is_changed = |(at, _, event): &(u64, Option<u64>, Event)| match event {
            Event::Destination(it) => it.which == which && it.what.lasts() == 0 && *at <= until,
            _ => false,
        };
        until > from + REMEMBERED || self.oracle.events.iter().any(is_changed)
    }

    /// Whether somebody emptied the destination between the two times. Then Seine sends again what its page log still has, in order.
    fn has_lost_all(&self, sink: &str, from: u64, until: u64) -> bool {
        let loses = |what: &Trouble| matches!(what, Trouble::Emptied | Trouble::Replaced | Trouble::Recreated);
        self.oracle.events.iter().any(|(at, _, event)| match event {
            Event::Destination(it) => it.which.name() == sink && loses(&it.what) && (from..=until).contains(at),
            _ => false,
        })
    }

    /// Whether the operator ordered the URL's host to be forgotten between the two times. Then Seine does not know what destinations have.
    fn was_forgotten(&self, url: &str, from: u64, until: u64) -> bool {
        self.oracle.taken.iter().any(|(at, _, order)| {
            let is_its = matches!(order, Order::Forget { origin } if origin == split(url).0);
            is_its && (from..=until).contains(at)
        })
    }

    fn day(&self, at: u64) -> String {
        self.world.day(at)
    }

    /// Events that begin, or go on, within a time.
    fn events_between(&self, from: u64, to: u64) -> impl Iterator<Item = &Event> {
        let events = self.oracle.events.iter();
        events.filter(move |(at, until, _)| *at <= to && until.unwrap_or(*at) >= from).map(|(_, _, event)| event)
    }

    /// By how much the crawl's clock may be further ahead after the starts between the two times: by all jumps of the machine's clock
    /// that the processes before had ignored.
    fn jump_of_starts_between(&self, from: u64, to: u64) -> u64 {
        if !self.oracle.lives.iter().any(|(at, _)| (from..=to).contains(at)) {
            return 0;
        }
        let jumps = self.oracle.events.iter().map(|(at, _, event)| match event {
            Event::ClockJump { by } if *at <= to => u64::try_from(*by).unwrap_or(0),
            _ => 0,
        });
        jumps.sum()
    }

    /// The machine's clock was set at some time.
    fn has_jumps(&self) -> bool {
        self.oracle.events.iter().any(|(_, _, event)| matches!(event, Event::ClockJump { .. }))
    }
}
