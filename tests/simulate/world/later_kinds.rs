//! Kinds of trouble that were added when there were many recorded worlds. Their random numbers are their own, so most worlds stay
//! as they were.

use super::World;
use super::mishap::What;
use super::script::{Event, NewSettings, Scripted};

impl World {
    pub(super) fn add_later_kinds(&mut self) {
        self.answer_parts();
        self.raise_limits();
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
}
