#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]

pub mod outside;
pub mod planted;
