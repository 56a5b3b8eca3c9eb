//! Whole sites, crawled in memory: finite ones are complete, and endless ones cost a bounded number of requests.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use proptest::prelude::*;
use seine::config::{Config, FrontierConfig};
use seine::telemetry::Metrics;
use seine::validate::Validator;
use seine_delivery::{Deriver, Entry, Offset};
use seine_frontier::ScopeConfig;
use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{
    EmbeddedFrontier, FrontierOptions, HostLeases, Lease, LeaseLimits, Proposal, RefusedLinks, Release, Scheduler,
    Verdicts,
};
use seine_parse::DeriveOptions;
use seine_parse::page::PageEvent;
use seine_policies::revisit::RevisitPolicy;
use tempfile::TempDir;

use crate::event;
use crate::site::{NAVIGATION, is_trap, links, site, text};

const ORIGIN: &str = "http://site.example";
/// Pages of a site of few words on its first day, and how many are added on each other day.
const FIRST: usize = 900;
const DAILY: usize = 30;
const DAY: Duration = Duration::from_secs(86_400);

/// A crawl of hosts in memory.
struct Bench {
    frontier: Arc<EmbeddedFrontier>,
    end: Offset,
    /// Its own time, because the clock of the process is shared by all tests.
    now: u64,
    /// URLs in the order of their requests.
    asked: Vec<String>,
    /// Every page is fetched again this long after its last fetch.
    every: Option<Duration>,
    /// It stops after this many requests.
    most: usize,
    _folder: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let options = FrontierOptions { default_delay: Duration::ZERO, ..FrontierOptions::default() };
        let frontier = Arc::new(EmbeddedFrontier::open(folder.path(), options, 0).unwrap());
        Bench {
            frontier,
            end: Offset::default(),
            now: seine_system::clock::now_ms(),
            asked: Vec::new(),
            every: None,
            most: usize::MAX,
            _folder: folder,
        }
    }

    /// Crawls from these seeds. `behind`: number of leases whose results are not yet known when the next one is taken.
    fn crawl(&mut self, seeds: &[String], traps: bool, behind: usize, site: &dyn Fn(&str) -> Option<String>) {
        let config = ScopeConfig { obey_nofollow: true, ..ScopeConfig::default() };
        let scope = CurrentScope::new(Scope::new(&config, seeds).unwrap(), RefusedLinks::default());
        let mut config = FrontierConfig { max_depth: None, traps, ..Config::default().frontier };
        if let Some(every) = self.every {
            let RevisitPolicy { interval, min_interval, max_interval, .. } = &mut config.revisit;
            (*interval, *min_interval, *max_interval) = (Some(every), every, every);
        }
        let metrics = Arc::new(Metrics::default());
        let validator = Validator::new(self.frontier.clone(), Arc::new(scope), config, metrics).unwrap();
        self.frontier.propose(&seeds.iter().map(|url| Proposal::seed(url)).collect::<Vec<_>>(), self.now).unwrap();
        let mut unread = VecDeque::new();
        loop {
            let lease = self.frontier.lease(self.now, LeaseLimits::new(1, 32)).unwrap().pop();
            let is_done = lease.is_none();
            unread.extend(lease.map(|lease| self.fetch(lease, site)));
            if unread.len() > behind || is_done {
                match unread.pop_front() {
                    Some(entries) => validator.validate(&entries).unwrap(),
                    None => break,
                }
            }
            assert!(self.asked.len() < 30_000, "it does not end");
            if self.asked.len() >= self.most {
                break;
            }
        }
    }

    fn fetch(&mut self, lease: Lease, site: &dyn Fn(&str) -> Option<String>) -> Vec<Arc<Entry>> {
        let deriver = Deriver::new(DeriveOptions::default());
        let mut entries = Vec::new();
        self.now += 1000;
        for work in &lease.work {
            self.asked.push(work.url.clone());
            self.end = Offset { index: self.end.index + 1, offset: self.end.offset + 100 };
            let (now, id) = (self.now, event::id(self.end.index));
            let (status, body) = site(&work.url).map_or((404, String::new()), |body| (200, body));
            let mut event = event::page(&*work.url, &[("content-type", "text/html; charset=utf-8")], body);
            event::response(&mut event).status = status;
            let event = PageEvent { id, depth: work.depth, started_ms: now, ended_ms: now, ..event };
            entries.push(Arc::new(Entry::new(self.end, Arc::new(event), &deriver)));
        }
        let fetched = lease.work.iter().map(|work| work.url.clone()).collect();
        self.frontier.release(lease, Release { fetched, ..Release::default() }).unwrap();
        entries
    }
}

/// Paths in the order of their requests, and the number of URLs deferred at the end.
pub struct Crawled {
    pub asked: Vec<String>,
    pub held: u64,
}

/// Crawls one host, from `/` on.
fn crawl(site: &dyn Fn(&str) -> Option<String>, behind: usize) -> Crawled {
    crawl_up_to(usize::MAX, site, behind)
}

/// The same, up to a number of requests.
pub fn crawl_up_to(most: usize, site: &dyn Fn(&str) -> Option<String>, behind: usize) -> Crawled {
    let mut bench = Bench::new();
    bench.most = most;
    bench.crawl(&[format!("{ORIGIN}/")], true, behind, &|url| site(&url[ORIGIN.len()..]));
    let asked = bench.asked.iter().map(|url| url[ORIGIN.len()..].to_owned()).collect();
    Crawled { asked, held: bench.frontier.counts().deferred }
}

/// Crawls a finite site, given by its pages.
fn check_is_complete(pages: &BTreeMap<String, String>, behind: usize) {
    let Crawled { asked, held } = crawl(&|path| pages.get(path).cloned(), behind);
    let kept: BTreeSet<&String> = asked.iter().filter(|path| pages.contains_key(*path)).collect();
    let missing: Vec<_> = pages.keys().filter(|path| !kept.contains(path)).take(5).collect();
    assert!(kept.len() == pages.len() && held == 0, "{} of {}, {held} held: {missing:?}", kept.len(), pages.len());
}

/// `/` leads to `/1`, and each page to those given by `next`.
fn numbered(
    count: usize,
    body: impl Fn(usize) -> String,
    next: impl Fn(usize) -> Vec<usize>,
) -> BTreeMap<String, String> {
    let page = |number: usize| {
        let to: Vec<String> =
            next(number).into_iter().filter(|to| (1..=count).contains(to)).map(|to| format!("/photo/{to}")).collect();
        (format!("/photo/{number}"), format!("{NAVIGATION}{}{}", body(number), links(&to)))
    };
    let first = [("/".to_owned(), links(&["/photo/1"])), ("/page/1".to_owned(), text(1))];
    (1..=count).map(page).chain(first).collect()
}

/// A calendar of years, months and days, whose pages have no other text.
fn calendar(years: usize) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("/".to_owned(), links(&["/cal/2000/1"]))]);
    for month in 0..years * 12 {
        let at = |month: usize| format!("/cal/{}/{}", 2000 + month / 12, month % 12 + 1);
        let days: Vec<String> = (1..=28).map(|day| format!("{}/{day}", at(month))).collect();
        pages.extend(days.iter().map(|day| (day.clone(), format!("Nothing on {day}. {}", links(&[at(month)])))));
        let next = [month.checked_sub(1), Some(month + 1)].into_iter().flatten().filter(|next| *next < years * 12);
        let to: Vec<String> = next.map(at).chain(days).collect();
        pages.insert(at(month), format!("Month {} {}", at(month), links(&to)));
    }
    pages
}

/// A paginated list in every order of its columns; the pages of its things differ only by numbers.
fn sorted(things: usize, orders: usize) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("/".to_owned(), links(&["/things?page=0&sort=0"]))]);
    let last = (things - 1) / 20;
    for page in 0..=last {
        for order in 0..orders {
            let at = |page: usize, order: usize| format!("/things?page={page}&sort={order}");
            let shown: Vec<usize> =
                (page * 20..(page * 20 + 20).min(things)).map(|at| (at * (order + 1)) % things).collect();
            let to = shown.iter().map(|thing| format!("/thing/{thing}"));
            let to = to.chain([at(page.saturating_sub(1), order), at((page + 1).min(last), order)]);
            let to: Vec<String> = to.chain((0..orders).map(|order| at(page, order))).collect();
            pages.insert(at(page, order), format!("{NAVIGATION}{shown:?}{}", links(&to)));
        }
    }
    pages.insert("/page/1".to_owned(), text(1));
    pages.extend(
        (0..things)
            .map(|thing| (format!("/thing/{thing}"), format!("{NAVIGATION}Thing {thing}, {} in stock", thing * 7))),
    );
    pages
}

/// Pages of several kinds with the same few words in different orders. An earlier page links to each of them: to the
/// first `FIRST` mostly one of the first pages, to later ones mostly a page of the same day. Each page links to some
/// earlier pages. With more pages, the earlier ones stay the same, except for links to new ones.
fn few_words(count: usize, seed: u64) -> BTreeMap<String, String> {
    let dictionary = text(1);
    let dictionary: Vec<&str> = dictionary.split(' ').take(64).collect();
    let mut paths: Vec<String> = Vec::new();
    let (mut bodies, mut to) = (Vec::new(), vec![Vec::new(); count]);
    for number in 0..count {
        let mut rng = Rng::with_seed(seed.wrapping_add(number as u64 * 7919));
        let path = match rng.usize(..6) {
            _ if number == 0 => "/".to_owned(),
            0 => format!("/item?id={number}"),
            1 => format!("/list?page={number}&sort=date"),
            2 => format!("/private/{number}"),
            3 => format!("/news/{}/{number}.html", 2020 + number % 6),
            _ => format!("/articles/{number}"),
        };
        bodies.push((0..60).map(|_| format!("{} ", dictionary[rng.usize(..64)])).collect::<String>());
        if number > 0 {
            let by = match number.checked_sub(FIRST).map(|late| late % DAILY).filter(|late| *late > 0) {
                None => rng.usize(..number).min(rng.usize(..number)),
                Some(late) => number - 1 - rng.usize(..late),
            };
            to[by].push(path.clone());
            to[number].extend((0..rng.usize(..3)).map(|_| paths[rng.usize(..number)].clone()));
        }
        paths.push(path);
    }
    bodies.into_iter().zip(to).zip(paths).map(|((body, to), path)| (path, body + &links(&to))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_chain_of_equal_pages_is_complete(count in 1..500_usize, behind in 0..2_usize, is_numbered: bool) {
        let body = |number| if is_numbered { format!("Photo {number}") } else { "A photo".to_owned() };
        check_is_complete(&numbered(count, body, |number| vec![number - 1, number + 1]), behind);
    }

    #[test]
    fn a_tree_of_equal_pages_is_complete(count in 1..500_usize, children in 1..9_usize, behind in 0..2_usize) {
        let next = |number: usize| (number * children + 2 - children..number * children + 2).collect();
        check_is_complete(&numbered(count, |_| "A photo".to_owned(), next), behind);
    }

    #[test]
    fn a_list_of_equal_pages_is_complete(count in 300..3000_usize, of_each in 20..1500_usize, behind in 0..2_usize) {
        let mut pages = BTreeMap::from([("/".to_owned(), links(&["/list/0"]))]);
        for list in 0..=count / of_each {
            let to = (list * of_each..(list * of_each + of_each).min(count)).map(|thin| format!("/thin/{thin}"));
            let to: Vec<String> = to.chain((list < count / of_each).then(|| format!("/list/{}", list + 1))).collect();
            pages.insert(format!("/list/{list}"), format!("A list {list} {}", links(&to)));
            pages.extend(to.into_iter().filter(|to| to.starts_with("/thin")).map(|thin| (thin, "Sign in first".into())));
        }
        check_is_complete(&pages, behind);
    }

    #[test]
    fn a_site_of_few_words_is_complete(count in 300..1600_usize, seed: u64, behind in 0..2_usize) {
        check_is_complete(&few_words(count, seed), behind);
    }

    #[test]
    fn a_calendar_that_ends_is_complete(years in 1..15_usize, behind in 0..2_usize) {
        check_is_complete(&calendar(years), behind);
    }

    // At most 450 lists that link to each other: 480 would use up the allowance of 512.
    #[test]
    fn a_list_in_every_order_is_complete(things in 20..1800_usize, orders in 1..6_usize, behind in 0..2_usize) {
        check_is_complete(&sorted(things, orders), behind);
    }
}

#[test]
fn what_ends_is_complete_beside_what_does_not() {
    let thin = 2500;
    let pages = |path: &str| match path.strip_prefix("/thin/").map(str::parse::<usize>) {
        Some(number) => (number.unwrap() < thin).then(|| "Sign in first".to_owned()),
        None => {
            let more: Vec<String> = match path.strip_prefix("/page/").map(str::parse::<usize>) {
                Some(Ok(page)) => (page * 5..(page * 5 + 5).min(thin)).map(|thin| format!("/thin/{thin}")).collect(),
                _ => Vec::new(),
            };
            Some(site(path, 800)? + &links(&more))
        }
    };
    let Crawled { asked, held } = crawl(&pages, 1);
    let found = |kind: &str| asked.iter().filter(|path| path.starts_with(kind)).collect::<BTreeSet<_>>().len();
    assert_eq!((found("/page/"), found("/thin/")), (800, 2495));
    let traps = asked.iter().filter(|path| is_trap(path)).count();
    assert!(held > 0 && traps < 1100, "{traps} requests for traps");
}

#[test]
fn six_traps_without_end_cost_little() {
    for (pages, behind, most) in [(4000, 1, 15), (4000, 0, 15), (3000, 1, 18), (20_000, 1, 10)] {
        let Crawled { asked, held } = crawl(&|path| site(path, pages), behind);
        assert_eq!(asked.iter().filter(|path| path.starts_with("/page/")).count(), pages);
        let traps = asked.iter().filter(|path| is_trap(path)).count();
        eprintln!("{pages} pages, {behind} behind: {traps} requests for traps, {held} held");
        assert!(traps * 100 <= asked.len() * most, "{traps} of {} requests", asked.len());
    }
}

/// The site has nothing but the trap.
#[test]
fn a_small_site_with_a_trap_costs_a_bounded_number_of_requests() {
    type Site = fn(&str) -> Option<String>;
    let sites: [(&str, Site); 4] = [
        ("a chain", |path| Some(links(&[format!("/{}", path[1..].parse().unwrap_or(0) + 1)]))),
        ("a tree", |path| {
            let number: u64 = path[1..].parse().unwrap_or(1);
            Some(links(&[1, 2, 3].map(|at| format!("/{}", number.wrapping_mul(3).wrapping_add(at)))))
        }),
        ("all traps", |path| site(path, 40)),
        ("leaves", |path| {
            let number: u64 = path[1..].parse().unwrap_or(0);
            let leaves = (1..30).map(|leaf| format!("/{}", number + leaf)).collect::<Vec<_>>();
            Some(if number.is_multiple_of(30) {
                links(&leaves) + &links(&[format!("/{}", number + 30)])
            } else {
                "leaf".into()
            })
        }),
    ];
    for (name, site) in sites {
        let Crawled { asked, held } = crawl(&site, 1);
        eprintln!("{name}: {} requests, {held} held", asked.len());
        assert!(asked.len() < 1000 && held > 0, "{name}: {} requests, {held} held", asked.len());
    }
}

/// Crawls `/` and the pages behind it, day after day. `site`: the page at a path on a day. Returns the requested paths
/// of each day.
fn crawl_daily(days: usize, site: &dyn Fn(usize, &str) -> Option<String>) -> (Vec<Vec<String>>, u64) {
    let mut bench = Bench::new();
    bench.every = Some(DAY);
    let mut asked = Vec::new();
    for day in 0..days {
        bench.crawl(&[format!("{ORIGIN}/")], true, 1, &|url| site(day, &url[ORIGIN.len()..]));
        asked.push(bench.asked.drain(..).map(|url| url[ORIGIN.len()..].to_owned()).collect());
        bench.now += DAY.as_millis() as u64;
    }
    (asked, bench.frontier.counts().deferred)
}

/// For a long time the site has no new words, so its new pages are deferred. The crawl reaches its end on each day.
#[test]
fn new_pages_of_a_site_of_few_words_come_in_a_crawl_that_goes_on() {
    let days = 10;
    let pages: Vec<BTreeMap<String, String>> = (0..days).map(|day| few_words(FIRST + day * DAILY, 7)).collect();
    let (asked, held) = crawl_daily(days, &|day, path| pages[day].get(path).cloned());
    let asked: BTreeSet<String> = asked.into_iter().flatten().collect();
    let missing: Vec<&String> = pages[days - 1].keys().filter(|path| !asked.contains(*path)).take(5).collect();
    assert!(missing.is_empty() && held == 0, "{held} held: {missing:?}");
}

/// A gallery linked by "next" that is longer than the allowance is complete after some days.
#[test]
fn a_long_gallery_is_complete_in_a_crawl_that_goes_on() {
    let pages = numbered(900, |_| "A photo".to_owned(), |number| vec![number + 1]);
    let (asked, held) = crawl_daily(8, &|_, path| pages.get(path).cloned());
    let of_each: Vec<usize> = asked.iter().map(Vec::len).collect();
    let asked: BTreeSet<String> = asked.into_iter().flatten().collect();
    let missing = pages.keys().filter(|path| !asked.contains(*path)).count();
    assert!(missing == 0 && held == 0, "{missing} missing, {held} held, {of_each:?}");
    assert!(of_each[0] < pages.len(), "it was complete on the first day, so this tests nothing");
}

/// Photos with equal texts, found after an endless trap has used up the allowance.
#[test]
fn a_few_new_pages_come_beside_a_trap_without_end() {
    let pages = |day: usize, path: &str| {
        let photos = match path {
            "/page/399" => 1..41,
            "/" if day > 1 => 50..51,
            "/photo/50" => 51..71,
            _ => 0..0,
        };
        let page = if path.starts_with("/photo/") { "A photo".to_owned() } else { site(path, 400)? };
        Some(page + &links(&photos.map(|photo| format!("/photo/{photo}")).collect::<Vec<_>>()))
    };
    let (asked, held) = crawl_daily(12, &pages);
    let of_each = asked.iter().map(|asked| asked.iter().filter(|path| path.starts_with("/photo/")).count());
    let of_each: Vec<usize> = of_each.collect();
    assert!(of_each[0] == 40 && of_each[2] < 61 && of_each[11] == 61 && held > 0, "{of_each:?}, {held} held");
}

#[test]
fn traps_without_end_get_little_each_day_in_a_crawl_that_goes_on() {
    let pages = 1500;
    let (asked, held) = crawl_daily(5, &|_, path| site(path, pages));
    let mut known = BTreeSet::new();
    for (day, asked) in asked.into_iter().enumerate() {
        let (requests, traps) = (asked.len(), asked.iter().filter(|path| is_trap(path)).count());
        let new = asked.into_iter().filter(|path| is_trap(path) && known.insert(path.clone())).count();
        eprintln!("day {day}: {requests} requests, {traps} of them for traps, {new} new ones of these");
        assert!(requests > pages && (day == 0 || new <= 100), "day {day}: {new} new of {requests}");
    }
    assert!(held > 0);
}

/// Two hosts with the same pages at many paths, and also pages of their own.
#[test]
fn what_a_mirror_alone_has_is_asked_for() {
    let (one, other) = ("http://one.example", "http://the-other.example");
    let site = |url: &str| {
        let (host, path) = url.split_at(url.find(".example").unwrap() + ".example".len());
        let number: usize = path.trim_start_matches(|it: char| !it.is_ascii_digit()).parse().unwrap_or(0);
        let (kind, next) = if path.starts_with("/own") { ("own", 3) } else { ("manual", 2) };
        let to = (number * next + 1..=number * next + next).filter(|to| *to < 400).map(|to| match kind {
            "own" => format!("/own/{}/{to}", &host[7..10]),
            _ => format!("/manual/{to}"),
        });
        let own = (number == 60).then(|| format!("/own/{}/0", &host[7..10]));
        let salt = if kind == "own" { host.len() * 1000 } else { 0 };
        Some(format!("{}{}", text(number + salt), links(&to.chain(own).collect::<Vec<_>>())))
    };
    let mut bench = Bench::new();
    bench.crawl(&[one, other].map(|host| format!("{host}/manual/0")), true, 1, &site);
    let asked = |begin: &str| bench.asked.iter().filter(|url| url.starts_with(begin)).collect::<BTreeSet<_>>().len();
    assert_eq!((asked("http://one.example/manual"), asked("http://one.example/own")), (400, 400));
    assert_eq!(
        asked("http://the-other.example/own"),
        400,
        "{} of the manual",
        asked("http://the-other.example/manual")
    );
    assert!(asked("http://the-other.example/manual") < 300 && bench.frontier.counts().deferred > 100);
}

/// The learned parameters of a host stay valid when trap detection is turned off.
#[test]
fn links_lose_a_session_though_nobody_watches_any_more() {
    let visits = Cell::new(0_usize);
    let site = |url: &str| {
        visits.set(visits.get() + 1);
        let path = url[ORIGIN.len()..].split('?').next().unwrap().to_owned();
        let number: usize = path.rsplit('/').next().unwrap().parse().unwrap_or(0);
        let to =
            [number / 2, number * 2 + 1, number * 2 + 2, (number * 7 + 3) % 300].into_iter().filter(|to| *to < 300);
        let to: Vec<String> = to.map(|to| format!("/shop/{to}?visitor={}", visits.get())).collect();
        Some(text(number) + &links(&to) + &links(&[format!("/more{path}?visitor={}", visits.get())]))
    };
    let mut bench = Bench::new();
    let crawl = |bench: &mut Bench, seed: &str, traps: bool, site: &dyn Fn(&str) -> Option<String>| {
        bench.crawl(&[format!("{ORIGIN}{seed}")], traps, 1, site);
    };
    crawl(&mut bench, "/shop/0", true, &|url| if url.contains("/more") { None } else { site(url) });
    let before = bench.asked.len();
    let old = visits.get();
    crawl(&mut bench, "/shop/new", false, &|url| if url.contains("/more/more") { None } else { site(url) });
    let after = &bench.asked[before..];
    assert!(after.contains(&format!("{ORIGIN}/more/shop/new")), "{after:?}");
    // URLs deferred before are released as they were found.
    let is_new =
        |url: &&String| url.split_once("visitor=").is_some_and(|(_, visit)| visit.parse::<usize>().unwrap() > old);
    let with = after.iter().filter(is_new).count();
    assert!(with == 0, "{with} of {}", after.len());
}
