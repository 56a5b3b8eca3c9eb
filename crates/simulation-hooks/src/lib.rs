#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod outside;
pub mod planted;
