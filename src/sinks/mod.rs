//! Sinks: destinations, each with any suitable encoder. A sink gets entries and never sees the frontier.

mod count;
pub mod dead_letters;
pub mod elasticsearch;
pub(crate) mod filesystem;
pub(crate) mod folder;
mod identified;
pub mod kafka;
pub mod live_keys;
mod local;
mod locate;
pub(crate) mod location_notes;
pub(crate) mod on_disk;
pub(crate) mod page_location;
pub mod pagestore;
pub(crate) mod pump;
pub mod rolling;
mod rolling_sink;
mod sink;
pub(crate) mod staging;
pub mod stdout;
mod table;
pub(crate) mod watch;
pub(crate) mod whole_file;

pub use self::sink::{Delivered, Sink, SinkContext, SinkError};
pub(crate) use self::table::{Counted, row};
use crate::config::SinkConfig;

/// Builds a sink. `state` is that of its last committed [`Delivered`]; null for a sink that has delivered nothing.
pub fn open(config: &SinkConfig, context: &SinkContext, state: &serde_json::Value) -> Result<Box<dyn Sink>, SinkError> {
    identified::open(config, state, |own| (row(config).open)(config, context, own))
}

/// The part of a sink's state that stays valid when it starts again with empty counters.
pub fn kept_state(config: &SinkConfig, state: &serde_json::Value) -> serde_json::Value {
    (row(config).kept_state)(&identified::own(state))
}
