//! The configuration of a world's crawl: plain data, written as the YAML file that a user would write.

use std::fmt::Write;

use super::{DAY, HOUR, LASTS_MS, MINUTE, SECOND};

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub scope: Scope,
    pub max_depth: Option<u16>,
    /// `link_storage.max_pages_per_domain`
    pub most_pages: Option<u64>,
    /// Delay between two requests to a host, in milliseconds, as all times here.
    pub host_delay: u64,
    /// The same for an address; none: as for a host.
    pub address_delay: Option<u64>,
    pub max_crawl_delay: u64,
    pub retries: u32,
    pub backoff_base: u64,
    pub backoff_max: u64,
    pub retry_after_max: u64,
    pub give_up_after: u64,
    /// Average time from one fetch of a page to the next; never more than `max_interval`.
    pub interval: u64,
    pub max_interval: u64,
    pub confirm_gone: u64,
    pub workers: u32,
    pub redirects: Redirects,
    pub canonical: Canonical,
    pub duplicates: bool,
    pub sitemaps: bool,
    pub traps: bool,
    /// In bytes.
    pub log_segment: u64,
    pub log_max: u64,
    pub sinks: Vec<Sink>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Links are followed anywhere.
    Any,
    /// The hosts of the seeds.
    Host,
    /// The registrable domains of the seeds.
    Domain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// A page that several URLs redirect to is delivered once.
    First,
    /// The page is delivered under each of them.
    Follow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canonical {
    Ignore,
    Obey,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sink {
    pub name: String,
    pub to: Kind,
    pub removed: Removed,
    pub unchanged: Unchanged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Kafka,
    Elastic,
    Files,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    Keep,
    /// The document is deleted; a topic gets a tombstone.
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchanged {
    Send,
    Touch,
    Skip,
}

/// `link_storage.cache_size` in bytes, the smallest that Seine accepts.
pub const CACHE: u64 = 1 << 20;

/// Maximum number of page fetches in a world; more only if even the longest interval needs more.
const MOST_FETCHES: u64 = 2400;

impl Settings {
    pub fn generate(rng: &mut fastrand::Rng, pages: usize) -> Settings {
        let scope = match rng.u32(..10) {
            0..4 => Scope::Any,
            4..8 => Scope::Host,
            _ => Scope::Domain,
        };
        // So a world takes about a second.
        let shortest = (pages as u64 * LASTS_MS / MOST_FETCHES).min(7 * DAY);
        let intervals = [12 * HOUR, DAY, 2 * DAY, 3 * DAY, 4 * DAY, 5 * DAY, 6 * DAY, 7 * DAY];
        let intervals: Vec<u64> = intervals.into_iter().filter(|interval| *interval >= shortest).collect();
        let interval = intervals[rng.usize(..intervals.len())];
        let max_interval = if rng.u32(..3) == 0 { (2 * interval).min(7 * DAY).max(interval) } else { interval };
        let pick = |rng: &mut fastrand::Rng, of: &[u64]| of[rng.usize(..of.len())];
        Settings {
            scope,
            max_depth: None,
            most_pages: None,
            host_delay: pick(rng, &[200, 500, SECOND, SECOND, 2 * SECOND, 5 * SECOND]),
            address_delay: if rng.u32(..4) == 0 { Some(pick(rng, &[200, SECOND, 3 * SECOND])) } else { None },
            max_crawl_delay: pick(rng, &[10 * SECOND, MINUTE]),
            retries: pick(rng, &[2, 3, 3]) as u32,
            backoff_base: pick(rng, &[5 * SECOND, 5 * SECOND, 30 * SECOND]),
            backoff_max: pick(rng, &[HOUR, 6 * HOUR, DAY]),
            retry_after_max: HOUR,
            give_up_after: pick(rng, &[3 * DAY, 7 * DAY, 7 * DAY, 30 * DAY]),
            interval,
            max_interval,
            confirm_gone: pick(rng, &[6 * HOUR, DAY, DAY]),
            workers: pick(rng, &[4, 20, 100]) as u32,
            redirects: if rng.u32(..4) == 0 { Redirects::Follow } else { Redirects::First },
            canonical: if rng.bool() { Canonical::Obey } else { Canonical::Ignore },
            duplicates: rng.u32(..8) == 0,
            sitemaps: rng.u32(..5) != 0,
            traps: rng.u32(..8) != 0,
            log_segment: pick(rng, &[256 << 10, 1 << 20, 4 << 20]),
            log_max: pick(rng, &[8 << 20, 64 << 20, 8 << 30]),
            sinks: sinks(rng),
        }
    }

    /// Whether links are left out that are in scope.
    pub fn is_limited(&self) -> bool {
        self.max_depth.is_some() || self.most_pages.is_some()
    }

    /// The configuration file.
    pub fn yaml(&self) -> String {
        let mut yaml = String::new();
        let mut key = |key: &str, value: &dyn std::fmt::Display| _ = writeln!(yaml, "{key}: {value}");
        let ms = |time: u64| format!("{time}ms");
        key("link_storage.link_strategy.use_scope", &(self.scope != Scope::Any));
        key("link_storage.link_strategy.scope", &if self.scope == Scope::Domain { "domain" } else { "host" });
        if let Some(depth) = self.max_depth {
            key("link_storage.link_classifier.max_depth", &depth);
        }
        if let Some(pages) = self.most_pages {
            key("link_storage.max_pages_per_domain", &pages);
        }
        key("link_storage.link_strategy.traps", &self.traps);
        key("link_storage.download_sitemap_xml", &self.sitemaps);
        key("link_storage.scheduler.host_min_access_interval", &ms(self.host_delay));
        if let Some(delay) = self.address_delay {
            key("link_storage.scheduler.ip_min_access_interval", &ms(delay));
        }
        key("link_storage.scheduler.max_crawl_delay", &ms(self.max_crawl_delay));
        key("crawler_manager.downloader.max_retry_count", &self.retries);
        key("link_storage.scheduler.backoff_base", &ms(self.backoff_base));
        key("link_storage.scheduler.backoff_max", &ms(self.backoff_max));
        key("link_storage.scheduler.retry_after_max", &ms(self.retry_after_max));
        key("link_storage.scheduler.give_up_after", &ms(self.give_up_after));
        key("link_storage.recrawl.interval", &ms(self.interval));
        key("link_storage.recrawl.max_interval", &ms(self.max_interval));
        key("link_storage.recrawl.confirm_gone", &ms(self.confirm_gone));
        key("crawler_manager.downloader.download_thread_pool_size", &self.workers);
        key(
            "crawler_manager.downloader.redirects",
            &match self.redirects {
                Redirects::First => "first",
                Redirects::Follow => "follow",
            },
        );
        key(
            "crawler_manager.downloader.canonical",
            &match self.canonical {
                Canonical::Ignore => "ignore",
                Canonical::Obey => "obey",
            },
        );
        key("crawler_manager.downloader.allow_private_addresses", &true);
        if self.duplicates {
            key("duplicates.enabled", &true);
            key("duplicates.distance", &0);
        }
        key("link_storage.cache_size", &CACHE);
        key("page_log.segment_size", &self.log_segment);
        key("page_log.max_size", &self.log_max);
        let sinks: Vec<String> = self.sinks.iter().map(Sink::yaml).collect();
        key("target_storage.sinks", &format!("[{}]", sinks.join(", ")));
        key("http.enabled", &false);
        key("logging.interval", &"6h");
        yaml
    }
}

fn sinks(rng: &mut fastrand::Rng) -> Vec<Sink> {
    let all = [Kind::Kafka, Kind::Elastic, Kind::Files];
    let some: &[Kind] = match rng.u32(..10) {
        0..5 => &all[..2],
        5..7 => &all[..1],
        7..9 => &all[1..2],
        _ => &all[..],
    };
    some.iter().map(|to| Sink::generate(*to, rng)).collect()
}

impl Sink {
    pub fn generate(to: Kind, rng: &mut fastrand::Rng) -> Sink {
        let unchanged = match (to, rng.u32(..3)) {
            (Kind::Elastic, 0) => Unchanged::Touch,
            (_, 1) => Unchanged::Skip,
            _ => Unchanged::Send,
        };
        let removed = match to {
            Kind::Files => Removed::Keep,
            _ if rng.u32(..6) == 0 => Removed::Keep,
            _ => Removed::Delete,
        };
        Sink { name: to.name().to_owned(), to, removed, unchanged }
    }

    fn yaml(&self) -> String {
        let unchanged = match self.unchanged {
            Unchanged::Send => "send",
            Unchanged::Touch => "touch",
            Unchanged::Skip => "skip",
        };
        let name = &self.name;
        let removed = |gone: &'static str| if self.removed == Removed::Keep { "keep" } else { gone };
        match self.to {
            Kind::Kafka => format!(
                "{{name: {name}, destination: kafka, options: {{topic_name: {name}, create_topic: true, partitions: 3, \
                 removed: {}, unchanged: {unchanged}}}}}",
                removed("tombstone")
            ),
            Kind::Elastic => format!(
                "{{name: {name}, destination: elasticsearch, options: {{index_name: {name}, removed: {}, \
                 unchanged: {unchanged}}}}}",
                removed("delete")
            ),
            Kind::Files => {
                format!("{{name: {name}, destination: files, format: FILES, options: {{unchanged: {unchanged}}}}}")
            }
        }
    }
}

impl Kind {
    /// The memory of a sink of this kind for pages on their way, in bytes, with the defaults of the configuration.
    pub fn on_the_way(self) -> u64 {
        match self {
            // `buffer.memory`
            Kind::Kafka => 32 << 20,
            // `bulk_size`: two bulks are on their way, and one is filled.
            Kind::Elastic => 3 * (5 << 20),
            Kind::Files => 1 << 20,
        }
    }

    /// Of the sink, its topic and its index.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kafka => "pages-topic",
            Kind::Elastic => "pages-index",
            Kind::Files => "pages-files",
        }
    }
}
