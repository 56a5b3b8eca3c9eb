//! The website that `seine demo` crawls, served on loopback by the program itself.
//!
//! * [`listen`]: several loopback addresses on one port.
//! * [`site`]: Saltmere, a harbour town of eight hosts, with most of what a crawler meets on the web.
//!
//! The other modules are the parts of the site: one file per host, its vocabulary and its layout. The texts are in
//! `assets/`, one folder per host. `pages.txt` has whole pages (`written`). Lists have one entry per line, with
//! `{slots}` that `words` fills.

pub mod listen;
pub mod site;

mod coding;
mod entry;
mod harbour;
mod library;
mod market;
mod museum;
mod radio;
mod skin;
mod tides;
mod weather;
mod words;
mod written;

pub use entry::MAX_DEPTH;
pub(crate) use site::{BACKOFF_BASE, HOST_DELAY, MAX_RETRIES, start_for_visitors};
pub use site::{DemoSite, MAX_PAGES_PER_HOST, start};
