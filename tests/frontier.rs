//! The frontier at its public edge: one conformance suite and one model test for every frontier, and `kill -9` and
//! damage for the embedded one.

#[path = "frontier/addresses.rs"]
mod addresses;
#[path = "frontier/again.rs"]
mod again;
#[path = "frontier/budgets.rs"]
mod budgets;
#[path = "frontier/concurrent.rs"]
mod concurrent;
#[path = "frontier/conformance.rs"]
mod conformance;
#[path = "frontier/duplicates.rs"]
mod duplicates;
#[path = "frontier/fairness.rs"]
mod fairness;
#[path = "frontier/forget.rs"]
mod forget;
#[path = "frontier/full_disk.rs"]
mod full_disk;
#[path = "frontier/kill.rs"]
mod kill;
#[path = "frontier/leases.rs"]
mod leases;
#[path = "frontier/memory/mod.rs"]
mod memory;
#[path = "frontier/model.rs"]
mod model;
#[path = "frontier/past.rs"]
mod past;
#[path = "frontier/records.rs"]
mod records;
#[path = "frontier/restart.rs"]
mod restart;
#[path = "support/small_disk.rs"]
mod small_disk;
#[path = "frontier/stand_ins.rs"]
mod stand_ins;
#[path = "frontier/store.rs"]
mod store;
#[path = "frontier/support.rs"]
mod support;
#[path = "frontier/targets.rs"]
mod targets;
#[path = "frontier/trouble.rs"]
mod trouble;
