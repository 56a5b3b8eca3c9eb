//! Everything on disk: the store, how its values are encoded, and reads of several of them.

pub(super) mod buffers;
pub(super) mod canonical_slots;
pub(super) mod content_slots;
pub(super) mod records;
pub(super) mod reopenable_store;
pub(super) mod store;
pub(super) mod target_keys;
