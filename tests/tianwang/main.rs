//! Tianwang / Web InfoMall raw format 1.0: writing, reading, recovery, delivery.

mod damage;
mod hostile;
mod large;
mod reading;
mod recovery;
mod sink;
#[path = "../support/sink.rs"]
mod sinks;
mod support;
mod writing;
