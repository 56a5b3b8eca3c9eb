#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]
//!
//! The frontier: `work_proposed` (queued URLs by host, with due time and priority) and `page` (records of fetched
//! URLs), two of the three tables in ARCHITECTURE.md, behind a few narrow traits ([`contract`]).
//!
//! The way of a URL: proposed → leased with its host → its event accepted by the page log → [`Verdicts::apply`] by the
//! validator. Until then it stays on disk in `work_proposed`, so nothing is lost however the process ends.

mod addresses;
mod claims;
mod contract;
mod embedded;
mod error;
mod event_id;
pub mod held;
mod keys;
mod learned;
mod lease;
mod look;
mod options;
mod page;
mod past;
pub mod pattern;
mod refused;
mod schedule;
pub mod scope;
mod scope_config;
mod share;
mod spending;
mod status;
mod trouble;
mod verdict;
mod work;

pub use claims::Claim;
pub use contract::{CLOCK_NOTE, Fetching, LookAt, Notes, Scheduler, Validation, Verdicts};
pub use embedded::{
    CopiedRecord, EmbeddedFrontier, FORMAT, Forgotten, FrontierCopy, Look, QueuedUrl, Reservation, Settled, Survey,
};
pub use error::FrontierError;
pub use learned::{Harvest, Learned, QueuePlace, Ranked, Remembered};
pub use lease::{Host, HostTurn, Lease, LeaseLimits, Release, Robots, RobotsAccess, Turn, Unjudged};
pub use look::{COUNTED, HostLook, HostOrder, Place, UrlLook, WhichHosts};
pub use options::FrontierOptions;
pub use page::{JudgedBy, PageRecord, PageState};
pub use past::{Attempt, Attempts, Found, Past, Way};
pub use refused::{Refused, RefusedLinks};
pub use schedule::HostRecord;
pub use scope_config::{ScopeConfig, ScopeRule};
pub use spending::{BudgetStanding, NoBudget, Spent};
pub use status::{Counts, Standing};
pub use trouble::{Cause, Errors, Health, Trouble, Troubled, WHEN_MET_AGAIN, Waiting, WaitingHost, url_mark};
pub use verdict::{Applied, Batch, Change, Hint, HostPause, Verdict};
pub use work::{Proposal, Proposed, Work};
