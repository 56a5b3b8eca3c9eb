//! The web of a world: hosts, their pages, and how these change. Pages refer to each other by number. So removing a page leaves the
//! others as they were, and links to it lead to a 404.

use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub id: u32,
    pub is_https: bool,
    pub name: String,
    /// The registrable domain of `name`.
    pub domain: String,
    /// The address of its name.
    pub address: IpAddr,
    pub pages: Vec<Page>,
    /// Versions of its robots.txt, each with the time of its beginning; the first holds from the start of the world.
    pub robots: Vec<(u64, Robots)>,
    /// It has a /sitemap.xml that names its pages.
    pub has_sitemap: bool,
    /// All of its URLs redirect to the same path of this host.
    pub forwards: Option<u32>,
    /// A trap, endless or not.
    pub trap: Option<Trap>,
    /// The status for a page that it does not have.
    pub missing: u16,
    /// From the request to the first byte of the answer, in milliseconds.
    pub latency: u64,
    /// Its answers say when they were made.
    pub has_date: bool,
    /// None: bodies come at once.
    pub bytes_per_second: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub id: u32,
    /// With the query.
    pub path: String,
    /// Times between which the page exists; the ends are excluded.
    pub lives: Vec<(u64, u64)>,
    /// Times at which its content changes.
    pub changes: Vec<u64>,
    /// From this time on the URL redirects.
    pub moved: Option<Moved>,
    pub links: Vec<Link>,
    /// The page that it names as canonical.
    pub canonical: Option<u32>,
    /// The times between which it has noindex.
    pub noindex: Option<(u64, u64)>,
    /// Its content is that of this page, byte for byte.
    pub twin_of: Option<u32>,
    /// Its content is that of this page but for a few words.
    pub near: Option<u32>,
    /// Text besides its links, in bytes.
    pub size: u32,
    pub media: Media,
    pub has_etag: bool,
    pub has_last_modified: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Html,
    Plain,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    pub at: u64,
    pub status: u16,
    pub to: To,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub to: To,
    /// The link stands in the page from this time until that one.
    pub from: u64,
    pub until: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum To {
    Page(u32),
    /// The page under its path at a host that forwards to the page's own host.
    Via {
        host: u32,
        page: u32,
    },
    Url(String),
}

/// The robots.txt of a host.
#[derive(Debug, Clone, PartialEq)]
pub enum Robots {
    /// There is no robots.txt: 404.
    Missing,
    /// Another status instead. 4xx forbids nothing (RFC 9309), except 429.
    Error(u16),
    Rules(Rules),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// Beginnings of paths.
    pub disallow: Vec<String>,
    pub allow: Vec<String>,
    /// In milliseconds.
    pub delay: Option<u64>,
    pub names_sitemap: bool,
}

/// `/calendar/17` links to `/calendar/18` and `/calendar/19`, and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct Trap {
    pub prefix: String,
    /// Number of its pages, which are real pages then; none: it has no end.
    pub ends: Option<u64>,
    /// Every page has the same text.
    pub is_monotonous: bool,
}

impl Trap {
    pub fn has(&self, number: u64) -> bool {
        self.ends.is_none_or(|ends| number < ends)
    }
}

impl Host {
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.is_https { "https" } else { "http" }, self.name)
    }

    pub fn robots_at(&self, at: u64) -> &Robots {
        let now = self.robots.iter().rev().find(|(from, _)| *from <= at);
        now.or(self.robots.first()).map_or(&Robots::Missing, |(_, robots)| robots)
    }
}

impl Page {
    pub fn is_there(&self, at: u64) -> bool {
        self.lives.iter().any(|(from, until)| (*from..*until).contains(&at))
    }

    /// Counted from 0.
    pub fn version_at(&self, at: u64) -> u32 {
        self.changes.partition_point(|change| *change <= at) as u32
    }

    /// When a version began; 0 for the first.
    pub fn begins(&self, version: u32) -> u64 {
        version.checked_sub(1).map_or(0, |before| self.changes[before as usize])
    }

    /// The links of a version.
    pub fn links_of(&self, version: u32) -> impl Iterator<Item = &Link> {
        let at = self.begins(version);
        self.links.iter().filter(move |link| (link.from..link.until).contains(&at))
    }

    pub fn moved_at(&self, at: u64) -> Option<&Moved> {
        self.moved.as_ref().filter(|moved| moved.at <= at)
    }

    pub fn is_noindex(&self, at: u64) -> bool {
        self.noindex.is_some_and(|(from, until)| (from..until).contains(&at))
    }
}

impl Rules {
    /// The longest rule that the path begins with decides; of two equally long ones, the allowing one.
    pub fn allow(&self, path: &str) -> bool {
        let longest = |rules: &[String]| rules.iter().filter(|rule| path.starts_with(*rule)).map(String::len).max();
        longest(&self.disallow).is_none_or(|forbids| longest(&self.allow).is_some_and(|allows| allows >= forbids))
    }

    pub fn text(&self, origin: &str) -> String {
        let mut text = String::from("User-agent: *\n");
        self.disallow.iter().for_each(|path| text += &format!("Disallow: {path}\n"));
        self.allow.iter().for_each(|path| text += &format!("Allow: {path}\n"));
        if let Some(delay) = self.delay {
            text += &format!("Crawl-delay: {}\n", delay as f64 / 1000.0);
        }
        if self.names_sitemap {
            text += &format!("Sitemap: {origin}/sitemap.xml\n");
        }
        text
    }
}

impl Robots {
    pub fn allow(&self, path: &str) -> bool {
        match self {
            Robots::Missing => true,
            Robots::Error(status) => *status < 500 && *status != 429,
            Robots::Rules(rules) => rules.allow(path),
        }
    }
}
