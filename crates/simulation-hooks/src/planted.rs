//! Bugs that a simulation plants, one at a time, to show that it would find them. There are none without the feature
//! `simulate`.

#[cfg(feature = "simulate")]
mod switch {
    use std::sync::OnceLock;

    static PLANTED: OnceLock<String> = OnceLock::new();

    /// Plants a bug for the rest of the process.
    pub fn plant(name: &str) {
        let _ = PLANTED.set(name.to_owned());
    }

    pub fn is(name: &str) -> bool {
        PLANTED.get().is_some_and(|planted| planted == name)
    }
}

#[cfg(feature = "simulate")]
pub use switch::{is, plant};

/// Whether the bug with this name is planted.
#[cfg(not(feature = "simulate"))]
#[inline(always)]
pub const fn is(_name: &str) -> bool {
    false
}
