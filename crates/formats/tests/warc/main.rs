//! WARC: what is written, what is read, and what comes of damage.

mod damage;
mod index;
mod pages;
mod reading;
mod support;
mod writing;

use support::*;
