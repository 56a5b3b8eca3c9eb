//! What a crash cuts the files back to.

use serde::{Deserialize, Serialize};

use crate::page::EpochMs;

/// What is committed with the cursor.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedState {
    pub open: Option<Acknowledged>,
    pub reserved: EpochMs,
}

/// A file as of an acknowledgement: of a stream, it ends with a flush there.
#[derive(Serialize, Deserialize)]
pub(super) struct Acknowledged {
    pub name: String,
    pub length: u64,
    /// Of a stream's uncompressed bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adler32: Option<u32>,
}
