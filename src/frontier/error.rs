//! Why a frontier did not do what it was called for.

#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// The store in the folder `path` failed, or is not one that can be opened.
    #[error("frontier in {path}: {source}; {remedy}")]
    Store { path: String, remedy: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    /// Nothing can be written just now, or read. What the call was for is still to be done, once
    /// [`super::Frontier::standing`] is well; what was leased stays leased.
    #[error("frontier in {path}: {why}; free some space on this disk, nothing is lost and it goes on by itself")]
    Waiting { path: String, why: String },
    /// Another process works in the folder `path`.
    #[error(
        "frontier in {path}: the folder is in use; another process uses it: stop it, or choose another data folder"
    )]
    InUse { path: String },
    /// Nothing of the call's work was done.
    #[error("{0} is not a URL the frontier can hold: it wants a normalised http or https URL with a host")]
    BadUrl(String),
}

impl FrontierError {
    pub fn is_in_use(&self) -> bool {
        matches!(self, FrontierError::InUse { .. })
    }

    /// It passes by itself, once there is room on the disk.
    pub fn is_waiting(&self) -> bool {
        matches!(self, FrontierError::Waiting { .. })
    }
}
