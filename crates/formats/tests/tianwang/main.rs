//! Tianwang / Web InfoMall raw format 1.0: writing, reading, recovery.

mod damage;
mod hostile;
mod large;
mod reading;
mod recovery;
mod support;
mod writing;
