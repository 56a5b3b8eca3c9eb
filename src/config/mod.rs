//! Configuration: raw (what the file says) → checked (types that cannot be wrong).

pub mod checked;

pub use checked::*;
