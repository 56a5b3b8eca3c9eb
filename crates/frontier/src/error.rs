//! Errors of a frontier.

#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// The store in the folder `path` failed or cannot be opened.
    #[error("frontier in {path}: {source}; {remedy}")]
    Store { path: String, remedy: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    /// Nothing can be written or read at the moment. The call must be repeated when [`super::EmbeddedFrontier::standing`] is
    /// well; leases stay.
    #[error(
        "frontier in {path}: {why}; free some space on this disk; no event is lost, and the crawl continues by \
        itself"
    )]
    Waiting { path: String, why: String },
    /// Another process uses the folder `path`.
    #[error(
        "frontier in {path}: the folder is in use; another process uses it: stop it, or choose another data folder"
    )]
    InUse { path: String },
    /// The call had no effect.
    #[error("the frontier cannot store {0}: it needs a normalised http or https URL with a host")]
    BadUrl(String),
}

impl FrontierError {
    pub fn is_in_use(&self) -> bool {
        matches!(self, FrontierError::InUse { .. })
    }

    /// It passes when there is free space on the disk.
    pub fn is_waiting(&self) -> bool {
        matches!(self, FrontierError::Waiting { .. })
    }
}
