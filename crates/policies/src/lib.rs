#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]

pub mod budgets;
pub mod duplicates;
pub mod focus;
pub mod relevance;
pub mod revisit;
pub mod traps;
