//! Archives: reads files of any format as pages, and writes pages as files of any format.
//!
//! # Layout
//!
//! * [`detect`]: the format of a file, by its content; [`trees`]: the format of files that are named after their pages.
//! * [`inputs`]: expands what a user names (files, folders, patterns, topics) into inputs. [`topic`]: inputs from
//!   Kafka.
//! * [`read`]: reads an input as pages with their locations; `readers` opens the formats' own readers. [`filter`]:
//!   selects pages.
//! * [`transfer`]: sends pages through a sink with acknowledgements: conversion and replay. [`transfer_state`]: its
//!   progress on disk.
//! * [`record_position`]: finds one page in a file, given its approximate location.
//! * [`fill`]: fills in what a format demands and another does not have.
//! * [`migrate`]: migrates old pagestores.
//! * [`verify`]: checks whether an archive is intact. [`recover`]: saves records from a damaged file.

pub mod detect;
pub(crate) mod fill;
pub(crate) mod filter;
pub mod inputs;
pub mod migrate;
mod name_order;
mod rate_limit;
pub mod read;
mod readers;
pub(crate) mod record_position;
pub mod recover;
pub(crate) mod topic;
pub mod transfer;
pub mod transfer_state;
pub(crate) mod trees;
pub mod verify;
