//! Shapes worlds for planted bugs: a generated world gets the mishap or the event without which the bug would do no harm.

use super::mishap::{Mishap, What, When, Which, Who};
use super::script::{DestinationEvent, Event, NewSettings, Order, Scripted, Trouble};
use super::settings::{Canonical, Kind, Removed, Sink, Unchanged};
use super::{DAY, HOUR, MINUTE, SECOND, World};

impl World {
    /// The world of this seed, shaped for a bug; none: it cannot show the bug. Without a bug the world is as generated. Every second world
    /// has only the mishaps and events of its shape, so its story is short.
    pub fn for_bug(seed: u64, bug: Option<&str>) -> Option<World> {
        let mut world = World::generate(seed);
        let Some(bug) = bug else { return Some(world) };
        if seed % 2 == 1 {
            world.mishaps.clear();
            world.events.clear();
        }
        let suits = world.shape(bug, &mut fastrand::Rng::with_seed(seed ^ 0xb06));
        world.events.sort_by_key(|it| it.at);
        world.index();
        suits.then_some(world)
    }

    // One arm for each bug, in the order of the list of bugs.
    #[allow(clippy::too_many_lines)]
    fn shape(&mut self, bug: &str, rng: &mut fastrand::Rng) -> bool {
        let (begins, interval) = (self.begins_ms, self.settings.interval);
        let middle = begins + (self.calm_ms - begins) / 2;
        match bug {
            "half_page_final" => {
                let few = Which::First(self.settings.retries + 3);
                self.strike_largest(What::Cut(50), (begins, begins + 2 * DAY), few);
            }
            "part_is_whole" => {
                let when = (begins + interval - 6 * HOUR, begins + interval + 6 * HOUR);
                self.strike_largest(What::Part(50), when, Which::All);
            }
            "limits_for_ever" => {
                (self.settings.max_depth, self.settings.most_pages) = (None, Some(10));
                self.happens(middle, Event::RestartWith(NewSettings::NoLimits));
            }
            "one_bad_hour" => {
                self.sinks_remove();
                self.settings.confirm_gone = DAY;
                let what = [What::Noindex, What::Empty, What::RedirectTo("/login".to_owned())];
                let what = what[rng.usize(..3)].clone();
                self.strike_some(what, (begins + interval - 6 * HOUR, begins + interval + 6 * HOUR), Which::All);
                return begins + interval + 6 * HOUR < self.calm_ms;
            }
            "gone_at_once" => {
                self.sinks_remove();
                self.settings.confirm_gone = DAY;
                let when = (begins + interval - 6 * HOUR, begins + interval + 6 * HOUR);
                self.strike_some(What::Status(404, None), when, Which::Known);
                return when.1 < self.calm_ms;
            }
            "stall_after_kill" => self.kills(3, 20 * MINUTE, rng),
            "addresses_forgotten" => {
                // The other hosts of an address wait as long as the operator ordered for the one that was asked last.
                (self.settings.host_delay, self.settings.address_delay) = (200, None);
                let orders =
                    self.hosts.iter().step_by(2).map(|host| Order::Delay { origin: host.origin(), ms: 20_000 });
                for order in orders.collect::<Vec<_>>() {
                    self.happens(begins + 5 * SECOND, Event::Order(order));
                }
                self.kills(12, 10 * MINUTE, rng);
            }
            "partitions_forgotten" => {
                self.has_sink(Kind::Kafka);
                self.settings.sinks.iter_mut().for_each(|sink| sink.removed = Removed::Delete);
                self.settings.sinks.retain(|sink| sink.to != Kind::Files);
                self.happens_to(Kind::Kafka, Trouble::PartitionsAdded(3), begins + interval / 2);
            }
            "rest_forgotten" => {
                (self.settings.host_delay, self.settings.address_delay) = (5 * SECOND, Some(200));
                self.kills(6, 10 * MINUTE, rng);
            }
            "emptied_unnoticed" => {
                self.has_sink(Kind::Elastic).unchanged = Unchanged::Skip;
                self.happens_to(Kind::Elastic, Trouble::Replaced, middle);
            }
            "cursor_early" => {
                self.has_sink(Kind::Elastic);
                self.happens_to(Kind::Elastic, Trouble::Away { lasts: HOUR }, begins + MINUTE);
                self.happens(begins + 20 * MINUTE, Event::Kill);
            }
            "version_dropped" => {
                self.has_sink(Kind::Elastic);
                self.happens_to(Kind::Elastic, Trouble::LostAcknowledgements { lasts: 2 * DAY }, middle);
            }
            "lost_tombstone" | "new_links_lost" => self.sinks_remove(),
            // With the bug nothing is due for 20 days.
            "wall_clock" => self.happens(middle, Event::ClockJump { by: -20 * DAY as i64 }),
            "page_pays_for_host" => {
                self.settings.backoff_max = HOUR;
                let when = (begins + interval - 6 * HOUR, begins + interval + 6 * HOUR);
                self.strike_largest(What::Refused, when, Which::All);
                return interval >= 4 * DAY && when.1 < self.calm_ms;
            }
            "outage_unnoticed" => {
                self.settings.backoff_max = DAY;
                let event = [Event::NoNetwork { lasts: 20 * HOUR }, Event::NoResolver { lasts: 20 * HOUR }];
                // At this time most pages are known, but not fetched yet.
                self.happens(begins + 2 * MINUTE, event[rng.usize(..2)].clone());
            }
            "retry_after_ignored" => {
                let what = What::Status([429, 503][rng.usize(..2)], Some(3600));
                self.strike_largest(what, (begins + MINUTE, begins + 2 * HOUR), Which::All);
            }
            "aliases_asleep" => {
                self.settings.canonical = Canonical::Obey;
                self.sinks_remove();
                return interval >= 4 * DAY;
            }
            "pause_forgotten" => {
                self.happens(begins + 2 * MINUTE, Event::Order(Order::Pause { lasts: 8 * HOUR }));
                self.happens(begins + HOUR, Event::Kill);
            }
            _ => {}
        }
        true
    }

    fn strike(&mut self, who: Who, what: What, (from, until): (u64, u64), which: Which) {
        self.mishaps.push(Mishap { who, what, when: When { from, until: until.min(self.calm_ms), which } });
    }

    /// Strikes the host with the most pages.
    fn strike_largest(&mut self, what: What, when: (u64, u64), which: Which) {
        let largest = self.hosts.iter().max_by_key(|host| host.pages.len()).map(|host| host.name.clone());
        self.strike(Who::Host(largest.unwrap_or_default()), what, when, which);
    }

    /// Strikes the largest host with less than 100 pages. Larger hosts would cost the oracle too much time.
    fn strike_some(&mut self, what: What, when: (u64, u64), which: Which) {
        let some = self.hosts.iter().filter(|host| host.pages.len() < 100).max_by_key(|host| host.pages.len());
        let name = some.map(|host| host.name.clone()).unwrap_or_default();
        self.strike(Who::Host(name), what, when, which);
    }

    fn happens(&mut self, at: u64, event: Event) {
        self.events.push(Scripted { at, event });
    }

    fn happens_to(&mut self, which: Kind, what: Trouble, at: u64) {
        self.happens(at, Event::Destination(DestinationEvent { which, what }));
    }

    fn kills(&mut self, count: u32, within: u64, rng: &mut fastrand::Rng) {
        for _ in 0..count {
            self.happens(self.begins_ms + rng.u64(..within), Event::Kill);
        }
    }

    /// Makes all sinks delete pages that are gone.
    fn sinks_remove(&mut self) {
        self.settings
            .sinks
            .iter_mut()
            .filter(|sink| sink.to != Kind::Files)
            .for_each(|sink| sink.removed = Removed::Delete);
        self.has_sink(Kind::Elastic);
    }

    fn has_sink(&mut self, to: Kind) -> &mut Sink {
        let sinks = &mut self.settings.sinks;
        let at = sinks.iter().position(|sink| sink.to == to).unwrap_or_else(|| {
            let unchanged = Unchanged::Send;
            sinks.push(Sink { name: to.name().to_owned(), to, removed: Removed::Delete, unchanged });
            sinks.len() - 1
        });
        &mut sinks[at]
    }
}
