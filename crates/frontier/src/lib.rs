#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]
//!
//! The frontier: `work_proposed` (queued URLs by host, with due time and priority) and `page` (records of fetched
//! URLs), two of the three tables in ARCHITECTURE.md, behind a few narrow traits ([`contract`]).
//!
//! The way of a URL: proposed → leased with its host → its event accepted by the page log → [`Verdicts::apply`] by the
//! validator. Until then it stays on disk in `work_proposed`, so nothing is lost however the process ends.

mod addresses;
mod contract;
mod decisions;
pub mod deferred;
mod embedded;
mod error;
mod event_id;
mod keys;
mod learned;
mod lease;
mod options;
mod page;
pub mod pattern;
mod refused;
mod schedule;
pub mod scope;
mod scope_config;
mod share;
mod snapshot;
mod spending;
mod status;
mod trouble;
mod url_history;
mod verdict;
mod work;

pub use contract::{CLOCK_NOTE, ChooseRecheck, Fetching, HostLeases, Notes, Scheduler, Validation, Verdicts};
pub use decisions::TargetOwner;
pub use embedded::{
    CopiedRecord, Delays, EmbeddedFrontier, FORMAT, Forgotten, FrontierCopy, QueuedUrl, Recheck, Reservation, Settled,
    Survey,
};
pub use error::FrontierError;
pub use learned::{Harvest, Learned, QueuePosition, Ranked, Remembered};
pub use lease::{
    AddressLimit, Host, Lease, LeaseAnswer, LeaseLimits, PolitenessSlot, Release, Robots, RobotsAccess, Unjudged,
};
pub use options::FrontierOptions;
pub use page::{JudgedBy, PageRecord, PageState};
pub use refused::{Refused, RefusedLinks};
pub use schedule::{BLOCKED_REST_MS, HostRecord};
pub use scope_config::{ScopeConfig, ScopeRule};
pub use snapshot::{COUNTED, HostOrder, HostSnapshot, QueueState, UrlSnapshot, WhichHosts};
pub use spending::{BudgetStanding, NoBudget, Spent};
pub use status::{Counts, DiskState};
pub use trouble::{Cause, Errors, Health, Trouble, Troubled, WHEN_LINKED_AGAIN, Waiting, WaitingHost, url_mark};
pub use url_history::{Attempt, Attempts, Found, FoundBy, UrlHistory};
pub use verdict::{Applied, Batch, Change, Hint, HostPause, Reached, Verdict};
pub use work::{Proposal, Proposed, Work};
