//! Hosts that wait for nothing but their delay.

use super::record::HostRecord;
use super::state::Schedule;
use crate::keys::HostKey;
use seine_parse::page::EpochMs;

impl Schedule {
    /// The hosts that rest at `now`.
    pub(crate) fn resting(&self, now: EpochMs) -> Vec<HostKey> {
        self.hosts.keys().copied().filter(|host| self.rests(*host, now)).collect()
    }

    /// The hosts that rest because their robots.txt is at this host, which is blocked.
    pub(crate) fn waiting_for(&self, origin: &str) -> Vec<String> {
        let hosts = self.hosts.values().filter(|state| state.record.waits_for() == Some(origin));
        hosts.map(|state| state.record.origin.to_string()).collect()
    }

    /// Lets a resting host come at `at`, if it would come later. Returns its changed record.
    pub(crate) fn bring_forward(&mut self, host: HostKey, at: EpochMs, now: EpochMs) -> Option<HostRecord> {
        if !self.rests(host, now) {
            return None;
        }
        let state = self.hosts.get_mut(&host).filter(|state| state.record.not_before > at)?;
        state.record.not_before = at;
        let record = state.record.record();
        self.unwritten.insert(host);
        self.list(host);
        Some(record)
    }

    /// Neither leased nor in trouble: a host in trouble waits for its back-off, or as long as its server asked for.
    fn rests(&self, host: HostKey, now: EpochMs) -> bool {
        self.hosts.get(&host).is_some_and(|state| {
            let is_in_trouble = state
                .record
                .trouble()
                .is_some_and(|trouble| trouble.is_troubled() || trouble.asked_until.is_some_and(|until| until > now));
            state.record.not_before > now && state.busy().lease.is_none() && !is_in_trouble
        })
    }
}
