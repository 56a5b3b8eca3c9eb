//! Values that are never printed.

use std::fmt;

/// A password, key or cookie. Debug and Display say `***`; only [`Secret::expose`] gives it away.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

/// What is printed in a secret's place.
pub(super) const MASK: &str = "***";

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The secret itself, for the request that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
