//! What is known of a host's traps, in sentences.

use super::Console;
use crate::frontier::FrontierError;
use crate::traps::HostTraps;

impl Console {
    /// None: it has none.
    pub(super) fn traps(&self, origin: &str) -> Result<Option<HostTraps>, FrontierError> {
        let (_, kept) = self.frontier.traps(origin)?;
        Ok(kept.and_then(|kept| HostTraps::from_bytes(&kept)))
    }

    /// What cools down of a host, and what its links lose: a line each.
    pub(super) fn trap_lines(&self, origin: &str) -> Result<Vec<String>, FrontierError> {
        Ok(self.traps(origin)?.map(|traps| traps.lines()).unwrap_or_default())
    }
}
