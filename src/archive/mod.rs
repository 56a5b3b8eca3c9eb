//! Archives: files of any format, read as pages, and pages written as files of any format.
//!
//! # Layout
//!
//! * [`detect`]: which format a file has, by its content; [`trees`]: of files that are named after their pages.
//! * [`inputs`]: what a user names (files, folders, patterns, topics) as parts, in order. [`topic`]: those of Kafka.
//! * [`read`]: any part as pages, each with its place; `readers` opens what the formats' own readers read. [`filter`]: only some of them.
//! * [`transfer`]: pages through a sink, acknowledged place by place: conversion and replay. [`transfer_state`]: how far it is.
//! * [`place`]: one page in a file, from where it is known to be on.
//! * [`fill`]: what a format demands and another does not hold.
//! * [`migrate`]: old pagestores made new.
//! * [`verify`]: is everything whole? [`recover`]: what can be saved of a damaged file?

pub mod detect;
pub mod fill;
pub(crate) mod filter;
pub mod inputs;
pub mod migrate;
mod name_order;
mod pace;
pub mod place;
pub mod read;
mod readers;
pub mod recover;
pub(crate) mod topic;
pub mod transfer;
pub mod transfer_state;
pub(crate) mod trees;
pub mod verify;
