//! Reads the whole log once, for an audit. Uses no reader or cursor and changes nothing.

use super::error::LogError;
use super::log::PageLog;
use super::segment::{Found, SegmentFile};
use super::status::Damage;
use seine_delivery::Offset;
use seine_parse::page::{PageEvent, codec};

/// The result of [`PageLog::scan`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// Number of readable events.
    pub events: u64,
    /// Everything else between the oldest event and the end of the log.
    pub damage: Vec<Damage>,
}

impl PageLog {
    /// Reads all segments. Calls `visit` with each readable event and the position after it, in order.
    pub fn scan(&self, visit: &mut dyn FnMut(Offset, &PageEvent)) -> Result<Scan, LogError> {
        let (segments, log_end) = {
            let state = self.inner.state.lock();
            (state.segments.clone(), state.end)
        };
        let mut scan = Scan::default();
        for (number, segment) in segments.iter().enumerate() {
            let end = segments.get(number + 1).map_or(log_end, |next| next.start);
            let file = SegmentFile::open(&segment.path, segment.start)?;
            let mut at = segment.start;
            while at.index < end.index {
                let (behind, event) = match file.read(at, end)? {
                    Found::Record { payload, end } => (end, codec::decode(&payload).ok()),
                    Found::Damaged { to } => (to, None),
                };
                match event {
                    Some(event) => {
                        scan.events += 1;
                        visit(behind, &event);
                    }
                    None => scan.damage.push(file.damage(at, behind)),
                }
                at = behind;
            }
        }
        Ok(scan)
    }
}
