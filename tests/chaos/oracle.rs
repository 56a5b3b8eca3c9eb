//! Checks the result of a campaign. The truth is the web and its servers' own log; the counters of the crawl are compared
//! with them.
//!
//! * FILES, WARC, Kafka and Elasticsearch have every page of the web and nothing else. Each page has the bytes that the web
//!   sent, and comes from one accepted event.
//! * No host and no address was asked too soon, before its robots.txt was complete, or for a forbidden URL.
//! * No page is a dead letter, because every page can be delivered.
//! * The counters of the crawl balance, and agree with the destinations.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crawl::Crawl;
use crate::server::{Visit, is_machinery};
use crate::stores::Held;
use crate::web::{Expected, Web};

/// Between the end of one visit of a host, or of an address, and the start of the next.
pub const DELAY: Duration = Duration::from_millis(50);
/// Pages named of many that are wrong in the same way.
const NAMED: usize = 5;

pub struct Oracle {
    web: Web,
    contents: BTreeMap<String, Expected>,
    /// Everything that is wrong.
    pub complaints: Vec<String>,
}

impl Oracle {
    pub fn new(web: Web) -> Oracle {
        Oracle { web, contents: web.contents(), complaints: Vec::new() }
    }

    fn complain(&mut self, what: &str, of: Vec<String>) {
        if !of.is_empty() {
            let more = if of.len() > NAMED { " …" } else { "" };
            self.complaints.push(format!("{what}: {}: {}{more}", of.len(), of[..of.len().min(NAMED)].join(", ")));
        }
    }

    /// Compares the pages that `seine cat` finds in the folder of FILES.
    pub fn files(&mut self, crawl: &Crawl) {
        let mut wrong = Vec::new();
        let mut seen = BTreeMap::new();
        self.cat(crawl, "files", &mut |oracle, page| {
            *seen.entry(text(page, "url").to_owned()).or_insert(0) += 1;
            wrong.extend(oracle.wrong(text(page, "url"), text(page, "content")));
        });
        self.complain("files: not what the site sent", wrong);
        self.all_there_once("files", seen);
    }

    /// WARC holds every answer: those that are no pages, and before a page's own one those of its bodies that were cut.
    pub fn warc(&mut self, crawl: &Crawl) {
        let mut wrong = Vec::new();
        let mut seen = BTreeMap::new();
        self.cat(crawl, "warc", &mut |oracle, page| {
            let (url, content) = (text(page, "url"), text(page, "content"));
            if page["status"] == 200 {
                let is_piece = |expected: &Expected| expected.is_piece(&oracle.web, content);
                match oracle.wrong(url, content) {
                    None => *seen.entry(url.to_owned()).or_insert(0) += 1,
                    Some(_) if !seen.contains_key(url) && oracle.contents.get(url).is_some_and(is_piece) => {}
                    Some(what) => wrong.push(what),
                }
            }
        });
        self.complain("warc: not what the site sent", wrong);
        self.all_there_once("warc", seen);
    }

    fn cat(&mut self, crawl: &Crawl, sink: &str, each: &mut dyn FnMut(&Oracle, &Value)) {
        let mut cat = crawl.ground.seine(&["cat", "--content"]);
        let mut cat = cat.arg(crawl.ground.data().join(sink)).stdout(Stdio::piped()).spawn().expect("the program runs");
        for line in BufReader::new(cat.stdout.take().expect("it is piped")).lines() {
            each(self, &serde_json::from_str(&line.expect("cat prints text")).expect("cat prints JSON"));
        }
        let status = cat.wait().expect("it is ours");
        if !status.success() {
            self.complaints.push(format!("seine cat of {sink}: {status}"));
        }
    }

    fn all_there_once(&mut self, sink: &str, seen: BTreeMap<String, usize>) {
        let twice = seen.iter().filter(|(_, times)| **times > 1).map(|(url, times)| format!("{url} {times} times"));
        self.complain(&format!("{sink}: more than once"), twice.collect());
        self.all_there(sink, &seen.into_keys().collect());
    }

    /// Messages or documents. A message may be there again, as the same event.
    pub fn held(&mut self, sink: &str, held: &[Held]) {
        let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for one in held {
            wrong.extend(self.wrong(&one.url, &one.content));
            ids.entry(&one.url).or_default().insert(&one.id);
        }
        self.complain(&format!("{sink}: not what the site sent"), wrong);
        let twice = ids.iter().filter(|(_, ids)| ids.len() > 1).map(|(url, _)| (*url).to_owned()).collect();
        self.complain(&format!("{sink}: accepted more than once"), twice);
        self.all_there(sink, &ids.into_keys().map(str::to_owned).collect());
    }

    fn wrong(&self, url: &str, content: &str) -> Option<String> {
        match self.contents.get(url) {
            Some(expected) if expected.is(&self.web, content) => None,
            Some(_) => Some(format!("{url} ({} bytes)", content.len())),
            None => Some(format!("{url}, no page")),
        }
    }

    fn all_there(&mut self, sink: &str, seen: &BTreeSet<String>) {
        let missing = self.contents.keys().filter(|url| !seen.contains(*url)).cloned().collect();
        self.complain(&format!("{sink}: missing"), missing);
    }

    /// `kills`: the times of the kills, which ended all visits.
    pub fn politeness(&mut self, visits: &[Visit], kills: &[Instant]) {
        let mut hosts: BTreeMap<_, Vec<&Visit>> = BTreeMap::new();
        let mut addresses: BTreeMap<_, Vec<&Visit>> = BTreeMap::new();
        for visit in visits {
            hosts.entry(visit.host).or_default().push(visit);
            addresses.entry(Web::address(visit.host)).or_default().push(visit);
        }
        let killed_after = |at: Instant| kills.get(kills.partition_point(|kill| *kill < at)).copied();
        let (mut soon, mut shortest) = (Vec::new(), Duration::MAX);
        for pair in hosts.values().flat_map(|visits| visits.windows(2)) {
            let (before, next) = (pair[0], pair[1]);
            let kill = killed_after(before.arrived);
            let ended = kill.map_or(before.ended, |kill| kill.min(before.ended));
            let gap = next.arrived.saturating_duration_since(ended);
            // A crawl that is killed before the answer is on disk does not know the delay that the host requested.
            let is_known = kill.is_none_or(|kill| kill > next.arrived);
            let rest = if is_known { DELAY.max(before.asked_rest) } else { DELAY };
            shortest = shortest.min(gap);
            if gap < rest {
                soon.push(format!("h{}{} after {gap:?} of {rest:?}", next.host, next.path));
            }
        }
        println!("{} requests, the shortest rest of a host {shortest:?}", visits.len());
        self.complain("hosts asked too soon", soon);
        let mut soon = Vec::new();
        for pair in addresses.values().flat_map(|visits| visits.windows(2)) {
            let (before, next) = (pair[0], pair[1]);
            let ended = killed_after(before.arrived).map_or(before.ended, |kill| kill.min(before.ended));
            let gap = next.arrived.saturating_duration_since(ended);
            if gap < DELAY {
                soon.push(format!("h{}{} after {gap:?}", next.host, next.path));
            }
        }
        self.complain("addresses asked too soon", soon);
    }

    pub fn robots(&mut self, visits: &[Visit]) {
        let mut allowed = BTreeSet::new();
        let mut wrong = Vec::new();
        for visit in visits {
            if visit.path == "/robots.txt" {
                if visit.status == 200 {
                    allowed.insert(visit.host);
                }
            } else if visit.path.starts_with("/private/") || !allowed.contains(&visit.host) {
                wrong.push(format!("h{}{}", visit.host, visit.path));
            }
        }
        self.complain("asked for although robots.txt forbids it, or was not there", wrong);
        let asked: BTreeSet<_> = visits.iter().filter(|visit| !is_machinery(&visit.path)).map(|it| it.host).collect();
        let unasked = (0..self.web.hosts).filter(|host| !asked.contains(host)).map(Web::host_name).collect();
        self.complain("hosts never asked", unasked);
    }

    /// Compares the crawl's counters with the web and the destinations.
    pub fn books(&mut self, crawl: &Crawl) {
        let stats: Value = serde_json::from_str(&crawl.books()).expect("stats are JSON");
        let pages = self.contents.len() as u64;
        let missing = self.web.missing() as u64;
        let mut expect = |what: &str, is: &Value, should: u64| {
            if *is != should {
                self.complaints.push(format!("{what}: {is} instead of {should} in {stats}"));
            }
        };
        expect("pages", &stats["frontier"]["live"], pages);
        expect("refused", &stats["frontier"]["refused"], missing);
        expect("work_proposed", &stats["work_proposed"], 0);
        expect("page_proposed", &stats["page_proposed"], 0);
        for sink in stats["sinks"].as_array().expect("stats have sinks") {
            for book in ["pending", "dead_lettered", "damaged"] {
                expect(&format!("{} {book}", sink["name"]), &sink[book], 0);
            }
            // WARC has the answers that are no pages as well.
            if sink["name"] != "warc" {
                expect(&format!("{} delivered", sink["name"]), &sink["delivered"], pages);
            }
        }
        let audit = crawl.audit();
        if !audit.status.success() {
            self.complaints.push(format!("audit: {}\n{}{}", audit.status, audit.stdout, audit.stderr));
        }
    }
}

fn text<'a>(page: &'a Value, name: &str) -> &'a str {
    page[name].as_str().unwrap_or_default()
}
