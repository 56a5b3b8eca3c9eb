//! Kinds of trouble that were added when there were many recorded worlds. Their random numbers are their own, so most worlds stay
//! as they were.

use super::mishap::{What, WrongRobots};
use super::script::{Event, NewSettings, Order, Scripted};
use super::settings::Unchanged;
use super::web::Trap;
use super::{MINUTE, World};

impl World {
    pub(super) fn add_later_kinds(&mut self) {
        self.answer_parts();
        self.raise_limits();
        self.add_gallery();
        self.change_while_running();
        self.answer_seldom();
        self.limit_host();
        self.change_sinks();
    }

    /// Some bodies do not break off: the server says that it sends only a part, or nothing.
    fn answer_parts(&mut self) {
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x206);
        for mishap in &mut self.mishaps {
            match mishap.what {
                What::Cut(percent) if rng.u32(..3) == 0 => mishap.what = What::Part(percent),
                What::Empty if rng.bool() => mishap.what = What::NoContent,
                _ => {}
            }
        }
    }

    /// Some crawls begin with a limit, which a restart lifts.
    fn raise_limits(&mut self) {
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x11417);
        match rng.u32(..16) {
            0 => self.settings.max_depth = Some(rng.u16(1..4)),
            1 => self.settings.most_pages = Some(rng.u64(2..60)),
            _ => return,
        }
        let at = rng.u64(self.begins_ms..self.calm_ms);
        self.events.push(Scripted { at, event: Event::RestartWith(NewSettings::NoLimits) });
    }

    /// What looks like a trap, but ends: every page is a real one.
    fn add_gallery(&mut self) {
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x6a11e);
        if rng.u32(..12) != 0 {
            return;
        }
        let is_free = |host: &&mut super::web::Host| host.trap.is_none() && host.forwards.is_none();
        if let Some(host) = self.hosts.iter_mut().filter(is_free).max_by_key(|host| host.pages.len()) {
            let prefix = "/gallery/".to_owned();
            host.trap = Some(Trap { prefix, ends: Some(rng.u64(10..120)), is_monotonous: false });
        }
    }

    /// The operator changes a delay in the configuration and has it read again.
    fn change_while_running(&mut self) {
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x4e10ad);
        for _ in 0..rng.u32(..8).saturating_sub(5) {
            let at = rng.u64(self.begins_ms..self.calm_ms);
            let event = Event::ReloadWith(NewSettings::Delay(rng.u64(200..5000)));
            self.events.push(Scripted { at, event });
        }
    }

    /// Statuses and answers for robots.txt that are seldom seen.
    fn answer_seldom(&mut self) {
        const STATUSES: [u16; 12] = [400, 402, 405, 406, 408, 418, 421, 423, 425, 451, 504, 520];
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x451);
        for mishap in &mut self.mishaps {
            match mishap.what {
                What::Status(_, None) if rng.u32(..4) == 0 => {
                    mishap.what = What::Status(STATUSES[rng.usize(..STATUSES.len())], None);
                }
                What::Robots(WrongRobots::Html) if rng.bool() => mishap.what = What::Robots(WrongRobots::Redirect),
                What::Robots(WrongRobots::Cut) if rng.bool() => mishap.what = What::Robots(WrongRobots::Hang),
                _ => {}
            }
        }
    }

    /// The operator limits the pages of a host for some time.
    fn limit_host(&mut self) {
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x11713);
        if rng.u32(..8) != 0 {
            return;
        }
        let Some(host) = rng.choice(&self.hosts) else { return };
        let (origin, pages) = (host.origin(), rng.u64(1..40));
        let at = rng.u64(self.begins_ms..self.calm_ms);
        let lasts = rng.u64(1..self.calm_ms - at + 1);
        self.events.push(Scripted { at, event: Event::Order(Order::Limit { origin, pages, lasts }) });
    }

    /// The operator changes what a destination gets, or removes it from the configuration.
    fn change_sinks(&mut self) {
        let rng = &mut fastrand::Rng::with_seed(self.seed ^ 0x5145);
        if rng.u32(..8) != 0 {
            return;
        }
        let adds = |it: &Scripted| matches!(it.event, Event::RestartWith(NewSettings::NewSink(_)));
        let from = self.events.iter().filter(|it| adds(it)).map(|it| it.at + 1).max().unwrap_or(self.begins_ms);
        if from >= self.calm_ms {
            return;
        }
        let at = rng.u64(from..self.calm_ms);
        let sinks = self.settings_at(at).sinks;
        let Some(sink) = rng.choice(&sinks) else { return };
        let change = match sinks.len() {
            2.. if rng.bool() => {
                let event = Event::Order(Order::RemoveSink { sink: sink.name.clone() });
                self.events.push(Scripted { at: at + MINUTE, event });
                NewSettings::WithoutSink(sink.name.clone())
            }
            _ if sink.unchanged == Unchanged::Send => NewSettings::Unchanged(sink.name.clone(), Unchanged::Skip),
            _ => NewSettings::Unchanged(sink.name.clone(), Unchanged::Send),
        };
        self.events.push(Scripted { at, event: Event::RestartWith(change) });
    }
}
