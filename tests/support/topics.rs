//! A generated web of pages about topics. It has sites about one topic or many, a very large site, and many sites of a
//! single page. Directories link everywhere, and some clusters have links from other topics only. Pages mostly link to pages
//! on their own topic. The text of a link mostly describes its target, and often says nothing.

// Each test binary and bench uses its own part of this.
#![allow(dead_code)]

use std::fmt::Write;

const TOPICS: usize = 14;
/// The wanted topic.
pub const WANTED: usize = 0;
/// Shares words with the wanted topic.
const NEAR: usize = 1;
/// A directory, or a front page.
const NO_TOPIC: usize = TOPICS;
const WORDS: usize = 70;
const COMMON: usize = 260;

pub struct Page {
    pub host: usize,
    pub topic: usize,
    pub path: String,
    title: Vec<String>,
    links: Vec<Link>,
}

/// The target, the text, and the words before it.
struct Link {
    to: usize,
    anchor: String,
    before: String,
}

struct Host {
    name: String,
    /// None: all topics.
    topic: Option<usize>,
    /// Paths tell the topics of pages.
    speaks: bool,
    /// No page of its topic on other sites links to it; only directories do.
    is_island: bool,
    pages: Vec<usize>,
}

pub struct Web {
    pub pages: Vec<Page>,
    hosts: Vec<Host>,
    words: Vec<Vec<String>>,
    pub seeds: Vec<usize>,
}

/// Picks words at random, the first ones more often.
struct Writer<'a> {
    rng: fastrand::Rng,
    words: &'a [Vec<String>],
}

impl Writer<'_> {
    fn word(&mut self, topic: usize) -> String {
        let words = &self.words[topic];
        let at = (self.rng.f64().powi(2) * words.len() as f64) as usize;
        words[at].clone()
    }

    /// Mostly words of the topic, mixed with common words.
    fn text(&mut self, topic: usize, length: usize) -> Vec<String> {
        let words = (0..length).map(|_| {
            let about = if topic == NO_TOPIC || self.rng.f64() < 0.55 { NO_TOPIC } else { topic };
            self.word(about)
        });
        words.collect()
    }
}

impl Web {
    /// A web with about `pages` pages; some 5 in 100 are wanted.
    pub fn new(seed: u64, pages: usize) -> Web {
        let mut rng = fastrand::Rng::with_seed(seed);
        let words = vocabulary(&mut rng);
        let mut web = Web { pages: Vec::new(), hosts: Vec::new(), words, seeds: Vec::new() };
        web.make_hosts(&mut rng, pages);
        web.make_links(&mut rng);
        web.choose_seeds(&mut rng);
        web
    }

    pub fn is_wanted(&self, page: usize) -> bool {
        self.pages[page].topic == WANTED
    }

    /// The relevance that a classifier would give.
    pub fn relevance(&self, page: usize) -> f64 {
        match self.pages[page].topic {
            WANTED => 0.95,
            NEAR => 0.3,
            NO_TOPIC => 0.1,
            _ => 0.02,
        }
    }

    /// Number of pages reachable from the seeds, and how many of them are wanted.
    pub fn reachable(&self) -> (usize, usize) {
        let mut known = vec![false; self.pages.len()];
        let mut open = self.seeds.clone();
        open.iter().for_each(|seed| known[*seed] = true);
        while let Some(page) = open.pop() {
            for to in self.leads_to(page) {
                if !std::mem::replace(&mut known[to], true) {
                    open.push(to);
                }
            }
        }
        let all = (0..known.len()).filter(|page| known[*page]);
        (all.clone().count(), all.filter(|page| self.is_wanted(*page)).count())
    }

    pub fn url(&self, page: usize) -> String {
        let page = &self.pages[page];
        format!("http://{}/{}", self.hosts[page.host].name, page.path)
    }

    pub fn host_name(&self, page: usize) -> &str {
        &self.hosts[self.pages[page].host].name
    }

    pub fn leads_to(&self, page: usize) -> impl Iterator<Item = usize> {
        self.pages[page].links.iter().map(|link| link.to)
    }

    /// A link's text, and the words before it.
    pub fn said(&self, page: usize) -> impl Iterator<Item = (usize, &str, &str)> {
        self.pages[page].links.iter().map(|link| (link.to, link.anchor.as_str(), link.before.as_str()))
    }

    pub fn html(&self, number: usize) -> String {
        let page = &self.pages[number];
        let mut writer = Writer { rng: fastrand::Rng::with_seed(number as u64), words: &self.words };
        let title = page.title.join(" ");
        let mut html = format!("<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1>\n");
        for (at, link) in page.links.iter().enumerate() {
            if at % 3 == 0 {
                let _ = writeln!(html, "<p>{}</p>", writer.text(page.topic, 12).join(" "));
            }
            let (url, anchor) = (self.url(link.to), &link.anchor);
            let _ = writeln!(html, "<p>{} <a href=\"{url}\">{anchor}</a>.</p>", link.before);
        }
        html + "</body></html>\n"
    }

    fn make_hosts(&mut self, rng: &mut fastrand::Rng, pages: usize) {
        // One host has a fifth of all pages, with all topics.
        self.add_host(rng, None, pages / 5);
        while self.pages.len() < pages {
            let (topic, size) = match rng.u32(..100) {
                0..55 => (Some(rng.usize(..TOPICS)), 1),
                55..70 => (None, rng.usize(10..60)),
                _ => (Some(rng.usize(..TOPICS)), rng.usize(8..80)),
            };
            self.add_host(rng, topic, size);
        }
    }

    fn add_host(&mut self, rng: &mut fastrand::Rng, topic: Option<usize>, size: usize) {
        let host = self.hosts.len();
        let mut writer = Writer { rng: rng.fork(), words: &self.words };
        let about = topic.filter(|_| writer.rng.f64() < 0.4).unwrap_or(NO_TOPIC);
        let name = format!("{}{host}.example", writer.word(about));
        let speaks = writer.rng.bool();
        let is_island = size > 1 && writer.rng.f64() < 0.18;
        let first = self.pages.len();
        let mut made = Vec::new();
        for number in 0..size {
            let of_page = match topic {
                // The front page of a site is roughly about its topic; a directory has no topic.
                _ if number == 0 && size > 1 => NO_TOPIC,
                _ if number % 25 == 24 => NO_TOPIC,
                Some(topic) if writer.rng.f64() < 0.8 => topic,
                Some(_) => writer.rng.usize(..TOPICS),
                // Sections.
                None if writer.rng.f64() < 0.85 => (number * TOPICS / size.max(1) + host) % TOPICS,
                None => writer.rng.usize(..TOPICS),
            };
            let length = writer.rng.usize(2..6);
            let title: Vec<String> = (0..length).map(|_| writer.word(of_page)).collect();
            let path = match (number, speaks) {
                (0, _) => String::new(),
                (_, true) => format!("{}/{}-{number}.html", self.words[of_page][of_page % 3], title.join("-")),
                (_, false) => format!("show?id={}", number * 7 + 1000),
            };
            made.push(Page { host, topic: of_page, path, title, links: Vec::new() });
        }
        self.pages.extend(made);
        self.hosts.push(Host { name, topic, speaks, is_island, pages: (first..self.pages.len()).collect() });
    }

    fn make_links(&mut self, rng: &mut fastrand::Rng) {
        let mut by_topic = vec![Vec::new(); TOPICS + 1];
        for (number, page) in self.pages.iter().enumerate() {
            if !self.hosts[page.host].is_island {
                by_topic[page.topic].push(number);
            }
        }
        for number in 0..self.pages.len() {
            let targets = self.targets(rng, number, &by_topic);
            let mut writer = Writer { rng: rng.fork(), words: &self.words };
            let links = targets.into_iter().filter(|to| *to != number);
            let links = links.map(|to| Link {
                anchor: anchor(&mut writer, &self.pages[to]),
                before: before(&mut writer, self.pages[number].topic, self.pages[to].topic),
                to,
            });
            self.pages[number].links = links.collect();
        }
    }

    fn targets(&self, rng: &mut fastrand::Rng, number: usize, by_topic: &[Vec<usize>]) -> Vec<usize> {
        let page = &self.pages[number];
        let host = &self.hosts[page.host];
        let mut targets = Vec::new();
        if page.path.is_empty() || page.topic == NO_TOPIC {
            // Directories link to many pages of their site, and to other sites' front pages.
            let step = (host.pages.len() / 40).max(1);
            targets.extend(host.pages.iter().copied().skip(rng.usize(..step)).step_by(step));
            targets.extend((0..rng.usize(4..14)).map(|_| self.hosts[rng.usize(..self.hosts.len())].pages[0]));
        } else {
            targets.push(host.pages[0]);
            // Neighbours in its site.
            let at = number - host.pages[0];
            targets.extend(
                [at + 1, at + 2, at + 25 - at % 25 - 1].into_iter().filter_map(|at| host.pages.get(at)).copied(),
            );
            for _ in 0..rng.usize(3..14) {
                let pool = match rng.u32(..100) {
                    0..55 => &by_topic[page.topic],
                    55..85 => &host.pages,
                    _ => &by_topic[rng.usize(..TOPICS + 1)],
                };
                targets.push(pool[rng.usize(..pool.len())]);
            }
        }
        targets
    }

    /// Two wanted pages and three front pages of sites on any topic.
    fn choose_seeds(&mut self, rng: &mut fastrand::Rng) {
        let is_large = |page: &usize| (6..1000).contains(&self.hosts[self.pages[*page].host].pages.len());
        let wanted: Vec<usize> = (0..self.pages.len()).filter(|page| self.is_wanted(*page)).filter(is_large).collect();
        let mut seeds: Vec<usize> = (0..2).map(|_| wanted[rng.usize(..wanted.len())]).collect();
        let fronts: Vec<usize> =
            self.hosts.iter().filter(|host| host.pages.len() > 5).map(|host| host.pages[0]).collect();
        seeds.extend((0..3).map(|_| fronts[rng.usize(..fronts.len())]));
        seeds.sort_unstable();
        seeds.dedup();
        self.seeds = seeds;
    }
}

/// Each topic has its own words; the last list is common to all texts. The near topic shares a third of its words with
/// the wanted one.
fn vocabulary(rng: &mut fastrand::Rng) -> Vec<Vec<String>> {
    let mut word = || {
        let syllables = rng.usize(2..4);
        let one = |rng: &mut fastrand::Rng| {
            let (c, v) = (b"bcdfghklmnprstvz"[rng.usize(..16)], b"aeiou"[rng.usize(..5)]);
            [char::from(c), char::from(v)]
        };
        (0..syllables).flat_map(|_| one(rng)).collect::<String>()
    };
    let mut words: Vec<Vec<String>> = (0..TOPICS).map(|_| (0..WORDS).map(|_| word()).collect()).collect();
    words.push((0..COMMON).map(|_| word()).collect());
    let shared: Vec<String> = words[WANTED].iter().skip(10).step_by(3).cloned().collect();
    for (place, word) in words[NEAR].iter_mut().skip(10).step_by(3).zip(shared) {
        *place = word;
    }
    words
}

fn anchor(writer: &mut Writer, to: &Page) -> String {
    const NOTHING: [&str; 6] = ["read more", "here", "next", "continue", "this page", "link"];
    match writer.rng.u32(..100) {
        0..30 => NOTHING[writer.rng.usize(..NOTHING.len())].to_owned(),
        30..88 => to.title.iter().take(1 + writer.rng.usize(..3)).cloned().collect::<Vec<_>>().join(" "),
        _ => {
            let other = writer.rng.usize(..TOPICS);
            writer.text(other, 2).join(" ")
        }
    }
}

/// Words about the page's topic, sometimes about the target's.
fn before(writer: &mut Writer, from: usize, to: usize) -> String {
    let length = writer.rng.usize(..7);
    let about = if writer.rng.f64() < 0.35 { to } else { from };
    writer.text(about, length).join(" ")
}
