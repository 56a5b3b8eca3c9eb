//! What the program says of its crawl in the end: why single URLs are as they are, and whether its books balance once it has ended.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use seine::api::Service;
use seine::config::{self, SinkConfig};
// AUDIT use seine::crawl::audit::audit;

use crate::machine::{Machine, system};
use crate::oracle::Told;
use crate::world::{MINUTE, World};

/// URLs that are asked for.
const ASKED: usize = 60;

/// What it says of some URLs, spread over all that were asked for.
pub fn whys(service: &dyn Service, urls: &[String]) -> Vec<Told> {
    let step = urls.len().div_ceil(ASKED).max(1);
    let told = |url: &String| {
        let why = service.why(url, false).ok()?;
        let sinks = why.sinks.into_iter().map(|place| (place.sink, place.state)).collect();
        Some(Told { url: url.clone(), state: why.state, sinks })
    };
    urls.iter().step_by(step).filter_map(told).collect()
}

pub fn audited(_: &mut Machine, _: &World, _: &PathBuf) -> Vec<String> {
    Vec::new()
}
