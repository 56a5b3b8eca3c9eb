//! Everything on disk: the store, how its values are encoded, and reads of several of them.

pub mod canonical_slots;
pub mod content_slots;
pub mod records;
pub mod shelf;
pub mod store;
pub mod target_keys;
