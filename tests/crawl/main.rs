//! The program from end to end, as its user sees it: the real binary as a child process, real sockets, real files.

mod aliases;
mod api;
mod asks;
mod audit;
mod backfill;
mod backup;
mod bad_input;
mod books;
mod budgets;
mod canonical;
#[path = "../demo/catalogue.rs"]
mod catalogue;
mod changes;
mod clients;
mod clock;
mod data_folder;
mod demo;
mod doubts;
mod duplicates;
mod ending;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod feeds;
mod fetch_log;
mod forgetting;
mod full_disk;
mod full_log;
mod idle;
mod kill;
mod leaving;
mod lending;
mod letters;
mod limiting;
mod limits;
mod locations;
mod manager;
mod memory;
#[path = "../support/namespace.rs"]
mod namespace;
mod offered;
mod open_files;
mod outage;
mod packaging;
mod readers;
mod recrawl;
mod refused;
mod reload;
mod requisites;
mod resume;
mod robots;
mod secrets;
mod service_manager;
mod shorter_delays;
mod signals;
mod sinks;
mod slow;
#[path = "../support/slow_disk.rs"]
mod slow_disk;
#[path = "../support/small_disk.rs"]
mod small_disk;
mod steering;
mod tail;
mod traps;
mod trouble;
mod truncated;
mod watching;
mod why;

#[path = "../support/mod.rs"]
mod support;
