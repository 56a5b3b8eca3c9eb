//! Makes smaller worlds from a world, so that a failure has a short story. Removing a part does not change the rest.

use super::World;
use super::script::{Event, NewSettings};

impl World {
    /// All worlds with one part removed, those with the largest removed part first.
    pub fn smaller(&self) -> Vec<World> {
        let mut smaller = Vec::new();
        let halves = |length: usize| (length > 1).then_some([0..length / 2, length / 2..length]).into_iter().flatten();
        smaller.extend(halves(self.events.len()).map(|range| self.with(|world| _ = world.events.drain(range))));
        smaller.extend(halves(self.mishaps.len()).map(|range| self.with(|world| _ = world.mishaps.drain(range))));
        // The first host has a seed, so it stays.
        smaller.extend(
            halves(self.hosts.len().saturating_sub(1))
                .map(|range| self.with(|world| _ = world.hosts.drain(range.start + 1..range.end + 1))),
        );
        smaller.extend((0..self.events.len()).map(|at| self.without_event(at)));
        smaller.extend((0..self.mishaps.len()).map(|at| self.without_mishap(at)));
        smaller.extend((1..self.hosts.len()).map(|at| self.without_host(at)));
        if self.hosts.iter().any(|host| host.pages.len() > 1) {
            smaller.push(self.with_fewer_pages());
        }
        smaller
    }

    pub fn without_event(&self, at: usize) -> World {
        self.with(|world| _ = world.events.remove(at))
    }

    pub fn without_mishap(&self, at: usize) -> World {
        self.with(|world| _ = world.mishaps.remove(at))
    }

    pub fn without_host(&self, at: usize) -> World {
        self.with(|world| _ = world.hosts.remove(at))
    }

    /// Each host loses the second half of its pages.
    pub fn with_fewer_pages(&self) -> World {
        self.with(|world| {
            world.hosts.iter_mut().for_each(|host| host.pages.truncate(host.pages.len().div_ceil(2).max(1)))
        })
    }

    fn with(&self, change: impl FnOnce(&mut World)) -> World {
        let mut world = self.clone();
        change(&mut world);
        let is_there = |world: &World, seed: &str| world.hosts.iter().any(|host| format!("{}/", host.origin()) == seed);
        let seeds = world.seeds.iter().filter(|seed| is_there(&world, seed)).cloned().collect();
        world.seeds = seeds;
        // The truth knows no limits, so they do not stay.
        if !world.events.iter().any(|it| it.event == Event::RestartWith(NewSettings::NoLimits)) {
            (world.settings.max_depth, world.settings.most_pages) = (None, None);
        }
        world.index();
        world
    }
}
