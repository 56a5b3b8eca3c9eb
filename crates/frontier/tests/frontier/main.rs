//! The frontier at its public edge: one conformance suite and one model test for every frontier, and `kill -9` and
//! damage for the embedded one.

mod addresses;
mod again;
mod budgets;
mod canonical_slots;
mod concurrent;
mod conformance;
mod deferred;
mod duplicates;
mod fairness;
mod forget;
mod full_disk;
mod kill;
mod leases;
mod memory;
mod model;
mod records;
mod restart;
#[path = "../../../../tests/support/small_disk.rs"]
mod small_disk;
mod store;
mod support;
mod targets;
mod trouble;
mod url_history;
