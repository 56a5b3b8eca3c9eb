//! A world: a web that changes for 30 days, its mishaps, and the configuration of its crawl. It is plain data, generated from
//! a seed. Times are milliseconds since 1970 of the world's own clock, which never jumps.

mod answer;
mod body;
mod generate;
mod later_kinds;
pub mod mishap;
pub mod script;
pub mod settings;
#[allow(dead_code)] // tests/simulate_world plants nothing
mod shapes;
mod shrink;
mod truth;
pub mod web;

use std::collections::HashMap;

// The engine uses all of these; tests/simulate_world.rs does not.
#[allow(unused_imports)]
pub use answer::digest;
#[allow(unused_imports)]
pub use answer::{Answer, Meant, Reply, Request, Resolved, Says};
pub use mishap::Mishap;
#[allow(unused_imports)]
pub use script::{DestinationEvent, Event, NewSettings, Order, Scripted, Trouble};
pub use settings::Settings;
#[allow(unused_imports)]
pub use truth::{Look, Looks, Place, Truth};
use web::{Host, Page, To};

pub const SECOND: u64 = 1000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;

/// When every world begins: June 2025.
pub const BEGINS_MS: u64 = 1_750_000_000_000;
/// How long every world lasts.
pub const LASTS_MS: u64 = 30 * DAY;

#[derive(Debug, Clone)]
pub struct World {
    pub seed: u64,
    pub begins_ms: u64,
    /// From here on nothing changes and nothing goes wrong.
    pub calm_ms: u64,
    pub ends_ms: u64,
    pub settings: Settings,
    pub seeds: Vec<String>,
    pub hosts: Vec<Host>,
    pub mishaps: Vec<Mishap>,
    pub events: Vec<Scripted>,
    places: Places,
    past: Past,
}

/// Indices of hosts and pages in `hosts`.
#[derive(Debug, Clone, Default)]
struct Places {
    hosts: HashMap<String, usize>,
    by_id: HashMap<u32, usize>,
    urls: HashMap<String, (usize, usize)>,
    pages: HashMap<u32, (usize, usize)>,
}

/// The requests so far.
#[derive(Debug, Clone, Default)]
struct Past {
    asked: HashMap<String, u32>,
    struck: Vec<u32>,
}

/// The document of a URL at a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// SHA-256 of the body in lower-case hexadecimal digits.
    pub body_digest: String,
    /// When the page was fetched, by the crawl's clock.
    pub fetched_ms: u64,
}

/// A change that a destination accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub at_ms: u64,
    pub url: String,
    pub what: Done,
}

/// `fetched_ms`: when the page was fetched, by the crawl's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    Delivered {
        fetched_ms: u64,
        digest: String,
    },
    Removed {
        fetched_ms: u64,
    },
    /// The page is unchanged.
    Touched {
        fetched_ms: u64,
    },
}

impl Change {
    pub fn fetched_ms(&self) -> u64 {
        match self.what {
            Done::Delivered { fetched_ms, .. } | Done::Removed { fetched_ms } | Done::Touched { fetched_ms } => {
                fetched_ms
            }
        }
    }
}

impl World {
    /// Must be called after hosts or pages were changed.
    fn index(&mut self) {
        let mut places = Places::default();
        for (at, host) in self.hosts.iter().enumerate() {
            let origin = host.origin();
            places.by_id.insert(host.id, at);
            for (nth, page) in host.pages.iter().enumerate() {
                places.urls.insert(format!("{origin}{}", page.path), (at, nth));
                places.pages.insert(page.id, (at, nth));
            }
            places.hosts.insert(origin, at);
        }
        self.places = places;
        self.past = Past { asked: HashMap::new(), struck: vec![0; self.mishaps.len()] };
    }

    /// The URLs from which the crawl starts.
    pub fn seeds(&self) -> Vec<String> {
        self.seeds.clone()
    }

    #[allow(dead_code)] // tests/simulate_world writes it
    pub fn config_yaml(&self) -> String {
        self.settings.yaml()
    }

    pub fn pages(&self) -> usize {
        self.hosts.iter().map(|host| host.pages.len()).sum()
    }

    pub fn host_of(&self, url: &str) -> Option<&Host> {
        self.places.hosts.get(split(url).0).map(|at| &self.hosts[*at])
    }

    /// The host and the page that have this URL.
    pub fn page_at(&self, url: &str) -> Option<(&Host, &Page)> {
        let (host, page) = self.places.urls.get(url)?;
        Some((&self.hosts[*host], &self.hosts[*host].pages[*page]))
    }

    pub fn page(&self, id: u32) -> Option<(&Host, &Page)> {
        let (host, page) = self.places.pages.get(&id)?;
        Some((&self.hosts[*host], &self.hosts[*host].pages[*page]))
    }

    fn host(&self, id: u32) -> Option<&Host> {
        self.places.by_id.get(&id).map(|at| &self.hosts[*at])
    }

    pub fn url_of(&self, id: u32) -> Option<String> {
        self.page(id).map(|(host, page)| format!("{}{}", host.origin(), page.path))
    }

    /// The URL of a link; none if its page was removed from the world.
    pub fn url_of_link(&self, to: &To) -> Option<String> {
        match to {
            To::Page(id) => self.url_of(*id),
            To::Via { host, page } => Some(format!("{}{}", self.host(*host)?.origin(), self.page(*page)?.1.path)),
            To::Url(url) => Some(url.clone()),
        }
    }

    /// The pages that link to a URL, and when, for people.
    pub fn linking_to(&self, url: &str) -> Vec<String> {
        let pages = self.hosts.iter().flat_map(|host| host.pages.iter().map(move |page| (host, page)));
        let lines = pages.flat_map(|(host, page)| {
            let shown = self.content(host, page).1;
            let links = shown.links.iter().filter(|link| self.url_of_link(&link.to).as_deref() == Some(url));
            links.map(move |link| {
                let until = if link.until == u64::MAX { "its end".into() } else { self.day(link.until) };
                let (from, lives) = (self.day(link.from.max(self.begins_ms)), page.lives.iter());
                let lives: Vec<String> =
                    lives.map(|life| format!("{}..", self.day(life.0.max(self.begins_ms)))).collect();
                format!("{}{} links there from {from} until {until}; it lives {lives:?}", host.origin(), page.path)
            })
        });
        lines.collect()
    }

    /// The page whose content a page shows: itself, or the page that it is a twin of.
    fn content<'w>(&'w self, host: &'w Host, page: &'w Page) -> (&'w Host, &'w Page) {
        page.twin_of.and_then(|twin| self.page(twin)).unwrap_or((host, page))
    }

    /// `day 3, 14:05` for people.
    pub fn day(&self, at: u64) -> String {
        let passed = at.saturating_sub(self.begins_ms);
        let (hours, minutes, seconds) = (passed % DAY / HOUR, passed % HOUR / MINUTE, passed % MINUTE / SECOND);
        format!("day {}, {hours:02}:{minutes:02}:{seconds:02}", passed / DAY)
    }

    /// Describes the world for people, in a few lines, and one line for each mishap and event.
    pub fn story(&self) -> String {
        let Settings { scope, interval, confirm_gone, redirects, canonical, .. } = &self.settings;
        let mut story = format!(
            "World {}: {} pages on {} hosts, {} seeds. Scope {scope:?}, pages are fetched every {}, gone pages are confirmed after {}, \
             redirects {redirects:?}, canonical {canonical:?}.\n",
            self.seed,
            self.pages(),
            self.hosts.len(),
            self.seeds.len(),
            span(*interval),
            span(*confirm_gone),
        );
        for sink in &self.settings.sinks {
            story += &format!("  Sink {}: removed {:?}, unchanged {:?}.\n", sink.name, sink.removed, sink.unchanged);
        }
        let mut lines: Vec<(u64, String)> = Vec::new();
        lines.extend(self.mishaps.iter().map(|mishap| (mishap.when.from, mishap.describe(self))));
        lines.extend(self.events.iter().map(|it| (it.at, format!("{}: {}.", self.day(it.at), it.event))));
        lines.sort();
        lines.iter().for_each(|(_, line)| story += &format!("  {line}\n"));
        story + &format!("  From {} on all is calm, until {}.\n", self.day(self.calm_ms), self.day(self.ends_ms))
    }
}

/// Origin, and path with query.
pub fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    url.split_at(url[host..].find('/').map_or(url.len(), |at| at + host))
}

/// `3 h` for people.
pub fn span(ms: u64) -> String {
    match ms {
        0..SECOND => format!("{ms} ms"),
        SECOND..MINUTE => format!("{} s", ms / SECOND),
        MINUTE..HOUR => format!("{} min", ms / MINUTE),
        HOUR..DAY => format!("{} h {} min", ms / HOUR, ms % HOUR / MINUTE),
        _ => format!("{} days {} h", ms / DAY, ms % DAY / HOUR),
    }
}

/// Mixes two numbers into a hash.
pub fn mix(one: u64, other: u64) -> u64 {
    let mut x = one.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ other.wrapping_add(0xD1B5_4A32_D192_ED03).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 30;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
