//! A website that lives. In each round some of its pages are removed for good, changed, gone for a moment, failing or cut
//! short; one host's robots.txt forbids all of it, and another host is away. All of it is a pure function of seed, round and
//! page, but for what a flapping page has been asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::server::{Answer, Ask, Body};
use fastrand::Rng;

use crate::support::{Running, links};

/// Links to further pages on each.
const CHILDREN: usize = 4;

#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub pages: usize,
    pub hosts: usize,
}

/// The change of a page in a round. Each of them happens to a tenth of the pages, except for the last few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Same,
    /// 404 or 410 from now on.
    Removed,
    /// 404 when it is first asked for, and there afterwards.
    Flapping,
    Changed,
    /// 500, throughout the round.
    Failing,
    /// Its body breaks off, throughout the round.
    Cut,
}

/// Page `n` is `/p/n` on host `n % hosts`.
#[derive(Clone)]
pub struct Web {
    pub size: Size,
    seed: u64,
    port: u16,
    round: Arc<AtomicUsize>,
}

impl Web {
    /// In round 0, in which everything is there.
    pub fn start(size: Size, seed: u64) -> (Web, Running) {
        let round = Arc::new(AtomicUsize::new(0));
        let web = |port| Web { size, seed, port, round: round.clone() };
        let running = Running::start_with(size.hosts, |port| {
            let (web, asked) = (web(port), Mutex::new(HashMap::new()));
            Arc::new(move |ask| web.answer(ask, &asked))
        });
        (web(running.port), running)
    }

    pub fn begin(&self, round: usize) {
        self.round.store(round, Ordering::SeqCst);
    }

    /// The first page of each host: nothing ever happens to it but to its host.
    pub fn seeds(&self) -> Vec<String> {
        (0..self.size.hosts).map(|page| self.url(page)).collect()
    }

    fn url(&self, page: usize) -> String {
        format!("http://127.0.0.{}:{}/p/{page}", 11 + page % self.size.hosts, self.port)
    }

    /// The pages of a destination after a round: every live page, as it was when it was last available.
    pub fn live(&self, round: usize) -> BTreeMap<String, String> {
        let pages = (0..self.size.pages).filter(|page| self.is_live(*page, round));
        pages.map(|page| (self.url(page), self.content(page, round))).collect()
    }

    /// Whether the page at this URL may be missing in a round.
    pub fn may_leave(&self, url: &str, round: usize) -> bool {
        let page = url.rsplit('/').next().and_then(|number| number.parse().ok()).expect("a page's URL");
        assert_eq!(url, self.url(page), "no page of this web");
        !self.is_live(page, round)
    }

    fn is_live(&self, page: usize, round: usize) -> bool {
        !self.is_removed(page, round) && !self.is_closed(page % self.size.hosts, round)
    }

    fn is_removed(&self, page: usize, round: usize) -> bool {
        (1..=round).any(|round| self.fate(page, round) == Fate::Removed)
    }

    fn content(&self, page: usize, round: usize) -> String {
        let version = (1..=round).filter(|round| self.fate(page, *round) == Fate::Changed).count();
        let first = self.size.hosts + page * CHILDREN;
        let children = (first..first + CHILDREN).filter(|child| *child < self.size.pages);
        let children: Vec<String> = children.map(|child| self.url(child)).collect();
        let links = links(&children.iter().map(String::as_str).collect::<Vec<_>>());
        format!("{links}<h1>Page {page}</h1>\n<p>{}</p>\n", format!("Version {version} of page {page}. ").repeat(20))
    }

    /// Its robots.txt forbids everything.
    fn is_closed(&self, host: usize, round: usize) -> bool {
        round > 0 && host == (3 * round + 1) % self.size.hosts
    }

    fn is_away(&self, host: usize, round: usize) -> bool {
        round > 0 && host == (3 * round + 2) % self.size.hosts
    }

    fn fate(&self, page: usize, round: usize) -> Fate {
        let host = page % self.size.hosts;
        if round == 0 || page < self.size.hosts || self.is_closed(host, round) || self.is_away(host, round) {
            return Fate::Same;
        }
        // A removed page can only come back if its host answers.
        let comes_back = self.is_closed(host, round - 1);
        let of_its_own = self.seed.wrapping_mul(1_000_003).wrapping_add((page * 64 + round) as u64);
        match Rng::with_seed(of_its_own).u32(..100) {
            0..10 => Fate::Removed,
            10..20 => Fate::Flapping,
            20..30 => Fate::Changed,
            30..35 if !comes_back => Fate::Failing,
            35..40 if !comes_back => Fate::Cut,
            _ => Fate::Same,
        }
    }

    fn answer(&self, ask: &Ask, asked: &Mutex<HashMap<(usize, usize), u32>>) -> Answer {
        let round = self.round.load(Ordering::SeqCst);
        let number = |text: &str| text.parse::<usize>().ok().filter(|page| *page < self.size.pages);
        let Some(host) = ask.host.rsplit('.').next().and_then(|it| it.parse::<usize>().ok()) else {
            return Answer::text("").status(400);
        };
        let host = host - 11;
        if self.is_away(host, round) {
            return Answer::close();
        }
        if ask.path() == "/robots.txt" {
            return Answer::text(if self.is_closed(host, round) { "User-agent: *\nDisallow: /\n" } else { "" });
        }
        match ask.path().strip_prefix("/p/").and_then(number).filter(|page| page % self.size.hosts == host) {
            Some(page) => self.page(page, round, ask, asked),
            None => Answer::text("").status(404),
        }
    }

    fn page(&self, page: usize, round: usize, ask: &Ask, asked: &Mutex<HashMap<(usize, usize), u32>>) -> Answer {
        if self.is_removed(page, round) {
            return Answer::text("").status(if page.is_multiple_of(2) { 404 } else { 410 });
        }
        let content = self.content(page, round);
        let tag = format!("\"{:016x}\"", xxhash_rust::xxh3::xxh3_64(content.as_bytes()));
        match self.fate(page, round) {
            Fate::Failing => return Answer::text("").status(500),
            Fate::Cut => {
                let (announced, half) = (content.len() as u64, content[..content.len() / 2].to_owned());
                return Answer::html("").body(Body::Cut { bytes: half.into(), announced });
            }
            Fate::Flapping => {
                let mut asked = asked.lock().expect("no handler panics");
                let times = asked.entry((round, page)).or_default();
                *times += 1;
                if *times == 1 {
                    return Answer::text("").status(404);
                }
            }
            Fate::Same | Fate::Removed | Fate::Changed => {}
        }
        // Half of the pages can be asked for under a condition.
        match ask.header("if-none-match") == Some(&tag) {
            true => Answer::new(304, "").header("etag", tag),
            false if page.is_multiple_of(2) => Answer::html(content).header("etag", tag),
            false => Answer::html(content),
        }
    }
}
