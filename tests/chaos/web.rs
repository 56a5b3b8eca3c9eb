//! The web that is crawled, as a pure function of its seed: hosts, pages, their content, and pages with troubles of
//! their own. Page `n` is `/p/n` on host `n % hosts`; all are reached from the first.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Maximum length of a decompressed body, as the crawl is configured. A bomb is much longer.
pub const MAX_DECODED: usize = 256 << 10;
const BOMB: usize = 4 << 20;
/// The domain whose hosts are the web.
const DOMAIN: &str = "chaos.test";

#[derive(Debug, Clone, Copy)]
pub struct Web {
    pub seed: u64,
    pub hosts: usize,
    pub pages: usize,
    pub port: u16,
    /// Whether pages and robots.txt have troubles of their own.
    pub has_troubled_pages: bool,
    pub has_troubled_robots: bool,
}

/// A kind of URL. The number is that of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Page(usize),
    /// Leads to a page, of another host as often as not.
    Moved(usize),
    Missing(usize),
    /// robots.txt forbids it.
    Private(usize),
    /// A page that is thousands of times longer than what is sent of it.
    Bomb(usize),
}

/// A page's own trouble: the fault of its first answers, while its host is healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    ResetInBody,
    /// Less than Content-Length says.
    CutLength,
    /// Chunks without a last one.
    CutChunks,
    /// A gzip stream without its end; the body is as long as Content-Length says.
    CutGzip,
    Error500,
}

/// The first answers of a host for its robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsTrouble {
    Error503,
    /// The rule that forbids is in the half that does not come.
    Cut,
    Reset,
}

impl Web {
    pub fn host_name(host: usize) -> String {
        format!("h{host}.{DOMAIN}")
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<usize> {
        let number = name.strip_suffix(DOMAIN)?.strip_suffix('.')?.strip_prefix('h')?;
        number.parse().ok().filter(|number| *number < self.hosts)
    }

    /// Every tenth host lives at its predecessor's address.
    pub fn address(host: usize) -> IpAddr {
        let number = if host % 10 == 9 { host - 1 } else { host };
        Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 0, 64, 1)) + number as u32).into()
    }

    pub fn url(&self, target: Target) -> String {
        let (folder, number) = match target {
            Target::Page(number) => ("p", number),
            Target::Moved(number) => ("moved", number),
            Target::Missing(number) => ("missing", number),
            Target::Private(number) => ("private", number),
            Target::Bomb(number) => ("bomb", number),
        };
        format!("http://{}:{}/{folder}/{number}", Web::host_name(number % self.hosts), self.port)
    }

    pub fn target(&self, host: usize, path: &str) -> Option<Target> {
        let (folder, number) = path.strip_prefix('/')?.split_once('/')?;
        let number: usize = number.parse().ok()?;
        let target = match folder {
            "p" => Target::Page(number),
            "moved" => Target::Moved(number),
            "private" => Target::Private(number),
            "bomb" => Target::Bomb(number),
            _ => return None,
        };
        (number < self.pages && number % self.hosts == host).then_some(target)
    }

    /// Where the redirect of page `number` leads.
    pub fn moved_to(&self, number: usize) -> usize {
        (number * 7 + 3) % self.pages
    }

    fn specials(&self, number: usize) -> impl Iterator<Item = Target> + use<> {
        let kinds = [
            (10, Target::Moved(number)),
            (15, Target::Missing(number)),
            (20, Target::Private(number)),
            (200, Target::Bomb(number)),
        ];
        kinds.into_iter().filter(move |(every, _)| number % every == every - 1).map(|(_, target)| target)
    }

    fn links(&self, number: usize) -> Vec<Target> {
        let mut rng = Rng::with_seed(self.drawn("links", number));
        let children = (number * 4 + 1..number * 4 + 5).filter(|child| *child < self.pages);
        let others: Vec<usize> = (0..4).map(|_| rng.usize(..self.pages)).collect();
        children.chain(others).map(Target::Page).chain(self.specials(number)).collect()
    }

    /// The same number for the same seed.
    fn drawn(&self, what: &str, number: usize) -> u64 {
        xxh3_64_with_seed(format!("{what} {number}").as_bytes(), self.seed)
    }

    pub fn html(&self, number: usize) -> String {
        let mut rng = Rng::with_seed(self.drawn("text", number));
        let length = if number % 97 == 96 { 60_000 } else { rng.usize(500..4000) };
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            text.push_str(["net ", "tide ", "gull ", "rope ", "salt ", "lamp ", "keel ", "weir "][rng.usize(..8)]);
        }
        let item = |target: Target| format!("<li><a href=\"{0}\">{0}</a></li>\n", self.url(target));
        let links: String = self.links(number).into_iter().map(item).collect();
        format!("<!DOCTYPE html>\n<title>Page {number}</title>\n<p>{text}</p>\n<ul>\n{links}</ul>\n")
    }

    /// All of it.
    pub fn bomb(number: usize) -> String {
        let mut text = format!("<!DOCTYPE html>\n<title>Bomb {number}</title>\n<p>");
        text.extend(std::iter::repeat_n("lamp ", BOMB / 5));
        text
    }

    pub fn trouble(&self, number: usize) -> Option<(Trouble, u32)> {
        const KINDS: [Trouble; 5] =
            [Trouble::ResetInBody, Trouble::CutLength, Trouble::CutChunks, Trouble::CutGzip, Trouble::Error500];
        let drawn = self.drawn("trouble", number) as usize;
        let is_troubled = self.has_troubled_pages && drawn.is_multiple_of(12);
        is_troubled.then(|| (KINDS[drawn / 12 % KINDS.len()], 1 + (drawn / 60 % 2) as u32))
    }

    /// Its body comes in pieces.
    pub fn is_slow(&self, number: usize) -> bool {
        self.drawn("slow", number).is_multiple_of(25)
    }

    /// Of its robots.txt: the trouble, and how often.
    pub fn robots_trouble(&self, host: usize) -> Option<(RobotsTrouble, u32)> {
        const KINDS: [RobotsTrouble; 3] = [RobotsTrouble::Error503, RobotsTrouble::Cut, RobotsTrouble::Reset];
        let drawn = self.drawn("robots", host) as usize;
        let is_troubled = self.has_troubled_robots && drawn.is_multiple_of(3);
        is_troubled.then(|| (KINDS[drawn / 3 % KINDS.len()], 1 + (drawn / 9 % 2) as u32))
    }

    /// The body behind every URL that is a page in the end, a redirect's being its target's.
    pub fn contents(&self) -> BTreeMap<String, Expected> {
        let mut contents = BTreeMap::new();
        for number in 0..self.pages {
            contents.insert(self.url(Target::Page(number)), Expected::Page(number));
            for special in self.specials(number) {
                let expected = match special {
                    Target::Moved(number) => Expected::Page(self.moved_to(number)),
                    Target::Bomb(number) => Expected::Bomb(number),
                    Target::Page(_) | Target::Missing(_) | Target::Private(_) => continue,
                };
                contents.insert(self.url(special), expected);
            }
        }
        contents
    }

    pub fn missing(&self) -> usize {
        (0..self.pages).flat_map(|page| self.specials(page)).filter(|it| matches!(it, Target::Missing(_))).count()
    }
}

/// The expected content of a destination for a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Page(usize),
    Bomb(usize),
}

impl Expected {
    /// Of a bomb at least what the crawl's limit lets through is there, and nothing that was not sent.
    pub fn is(self, web: &Web, content: &str) -> bool {
        match self {
            Expected::Page(number) => content == web.html(number),
            Expected::Bomb(number) => content.len() >= MAX_DECODED && Web::bomb(number).starts_with(content),
        }
    }

    /// The beginning of a page, of an answer that was cut.
    pub fn is_piece(self, web: &Web, content: &str) -> bool {
        matches!(self, Expected::Page(number) if web.html(number).starts_with(content))
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}
