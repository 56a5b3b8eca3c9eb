#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]

pub mod blocking;
pub mod clock;
pub mod descriptors;
pub mod disk;
pub mod folders;
#[cfg(feature = "shuttle")]
mod shuttled;
