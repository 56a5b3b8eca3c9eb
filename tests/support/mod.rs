//! Websites for tests: a generated one with known URLs and final states, and others made from a handler. The site runs
//! in the test's process, so its record of visits survives a killed crawler.

// Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod dns;
pub mod program;
pub mod server;
pub mod visits;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::oneshot;

use server::{Answer, Ask, Handler};
use visits::{Visit, VisitLog};

/// A server on its own thread and runtime, for sync and async tests. Stops when dropped.
pub struct Running {
    pub port: u16,
    /// 127.0.0.11 and up, one per host.
    pub addresses: Vec<IpAddr>,
    pub visits: VisitLog,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Serves `handler` on `hosts` loopback addresses.
    pub fn start(hosts: usize, handler: Handler) -> Running {
        Running::start_with(hosts, |_| handler)
    }

    /// The same for a handler that needs the port.
    pub fn start_with(hosts: usize, handler: impl FnOnce(u16) -> Handler) -> Running {
        let addresses: Vec<IpAddr> = (0..hosts).map(address).collect();
        let visits = VisitLog::default();
        let (bound, port) = mpsc::channel();
        let (handlers, handler_given) = oneshot::channel::<Handler>();
        let (stop, stopped) = oneshot::channel();
        let on = addresses.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listeners = server::bind(&on).await.expect("loopback addresses to listen on");
                bound.send(listeners.port).expect("the test waits for the port");
                let handler = handler_given.await.expect("the test gives a handler");
                let server = server::answer_on(listeners, handler);
                let _ = stopped.await;
                server.stop().await;
            });
        });
        let port = port.recv().expect("the server's thread started");
        let _ = handlers.send(visits.watch(handler(port)));
        Running { port, addresses, visits, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.11:PORT`, of host number `host`.
    pub fn origin(&self, host: usize) -> String {
        origin(self.port, host)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the test site's thread panicked");
        }
    }
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 0, 0, 11)) + host as u32).into()
}

pub fn origin(port: u16, host: usize) -> String {
    format!("http://{}:{port}", address(host))
}

/// A handler that gets the number of requests for the path, including this one.
pub fn counted(answer: impl Fn(&Ask, u32) -> Answer + Send + Sync + 'static) -> Handler {
    let asked = Mutex::new(HashMap::<String, u32>::new());
    Arc::new(move |ask| {
        let mut asked = asked.lock().expect("no handler panics");
        let times = asked.entry(ask.path().to_owned()).or_default();
        *times += 1;
        answer(ask, *times)
    })
}

/// A page with one link.
pub fn link(to: &str) -> String {
    links(&[to])
}

/// A page with these links.
pub fn links(to: &[&str]) -> String {
    let links: String = to.iter().map(|url| format!("<li><a href=\"{url}\">{url}</a></li>\n")).collect();
    format!("<!DOCTYPE html>\n<title>Links</title>\n<ul>\n{links}</ul>\n")
}

/// The parameters of a [`TestSite`]. "Every n-th" counts pages; 0 means none.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub pages: usize,
    pub hosts: usize,
    /// Links to pages on each page.
    pub links: usize,
    /// Every n-th page links to a redirect as well …
    pub redirect_every: usize,
    /// … to a missing page …
    pub missing_every: usize,
    /// … to a page that robots.txt forbids.
    pub private_every: usize,
    /// Every n-th page answers 503 at its first request.
    pub failing_every: usize,
    /// The 503's Retry-After, in seconds.
    pub retry_after: Option<u32>,
    /// Bytes of text on each page, besides the links …
    pub text: usize,
    /// … and on every n-th page.
    pub long_every: usize,
    pub long_text: usize,
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            pages: 200,
            hosts: 4,
            links: 8,
            redirect_every: 10,
            missing_every: 15,
            private_every: 20,
            failing_every: 25,
            retry_after: None,
            text: 500,
            long_every: 0,
            long_text: 0,
            seed: 1,
        }
    }
}

/// The final state of a URL after a full crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Final {
    /// 200, perhaps after a 503.
    Fetched,
    /// 301 to this page.
    Redirected(String),
    /// 404.
    Missing,
    /// Never requested, since robots.txt forbids it.
    Forbidden,
}

/// A generated website. Page `i` is `/p/i` on host `i % hosts`; all are reachable from the first page of each host.
pub struct TestSite {
    pub plan: Plan,
    pub running: Running,
    graph: Graph,
    /// Delay of every answer in milliseconds.
    pace: Arc<AtomicU64>,
}

impl TestSite {
    pub fn start(plan: Plan) -> TestSite {
        let pace = Arc::new(AtomicU64::new(0));
        let wait = pace.clone();
        let running = Running::start_with(plan.hosts, |port| {
            let graph = Graph { plan, port };
            let asked = Mutex::new(HashMap::new());
            Arc::new(move |ask| graph.answer(ask, &asked).after(Duration::from_millis(wait.load(Ordering::Relaxed))))
        });
        TestSite { plan, graph: Graph { plan, port: running.port }, running, pace }
    }

    /// Sets the delay of all answers from now on.
    pub fn set_pace(&self, pace: Duration) {
        self.pace.store(pace.as_millis() as u64, Ordering::Relaxed);
    }

    /// The first page of each host.
    pub fn seeds(&self) -> Vec<String> {
        (0..self.plan.hosts).map(|page| self.graph.url(Target::Page(page))).collect()
    }

    /// Every URL of the site with its final state after a full crawl from the seeds.
    pub fn oracle(&self) -> BTreeMap<String, Final> {
        self.graph.oracle()
    }

    /// Every request so far, robots.txt included, in order of arrival.
    pub fn visits(&self) -> Vec<Visit> {
        self.running.visits.all()
    }

    /// The shortest time between the starts of two requests to a host (`127.0.0.11`, no port), robots.txt included.
    pub fn min_gap(&self, host: &str) -> Option<Duration> {
        self.running.visits.min_gap(|visit| visit.host == host)
    }

    /// The shortest time between two requests to the same host.
    pub fn shortest_gap(&self) -> Duration {
        let hosts: BTreeSet<String> = self.visits().into_iter().map(|visit| visit.host).collect();
        hosts.iter().filter_map(|host| self.min_gap(host)).min().unwrap_or(Duration::MAX)
    }

    /// URLs that end as pages, including redirects: the expected content of the FILES sink.
    pub fn pages(&self) -> BTreeSet<String> {
        let kept = |state: &Final| matches!(state, Final::Fetched | Final::Redirected(_));
        self.oracle().into_iter().filter(|(_, state)| kept(state)).map(|(url, _)| url).collect()
    }

    /// The body of each of [`TestSite::pages`]; a redirect has that of its target.
    pub fn contents(&self) -> BTreeMap<String, String> {
        let content = |target: Target| match target {
            Target::Page(number) => Some(self.graph.page(number)),
            Target::Redirect(number) => Some(self.graph.page(self.graph.redirect_target_number(number))),
            Target::Missing(_) | Target::Private(_) => None,
        };
        self.graph.targets().filter_map(|target| Some((self.graph.url(target), content(target)?))).collect()
    }

    /// Number of URLs with such a final state.
    pub fn count(&self, is_so: impl Fn(&Final) -> bool) -> u64 {
        self.oracle().values().filter(|state| is_so(state)).count() as u64
    }

    /// URLs requested at least once, without robots.txt and the guessed sitemap.
    pub fn visited_urls(&self) -> BTreeSet<String> {
        let pages = self.visits().into_iter().filter(|visit| !is_machinery(&visit.path));
        pages.map(|visit| format!("http://{}:{}{}", visit.host, self.running.port, visit.path)).collect()
    }

    /// Number of requests for a URL.
    pub fn asks(&self, url: &str) -> usize {
        let port = self.running.port;
        self.visits().iter().filter(|visit| format!("http://{}:{port}{}", visit.host, visit.path) == url).count()
    }
}

fn is_machinery(path: &str) -> bool {
    path == "/robots.txt" || path == "/sitemap.xml"
}

/// The kind of a URL; the number is that of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Page(usize),
    Redirect(usize),
    Missing(usize),
    Private(usize),
}

#[derive(Debug, Clone, Copy)]
struct Graph {
    plan: Plan,
    port: u16,
}

impl Graph {
    fn url(&self, target: Target) -> String {
        let (folder, number) = match target {
            Target::Page(number) => ("p", number),
            Target::Redirect(number) => ("moved", number),
            Target::Missing(number) => ("missing", number),
            Target::Private(number) => ("private", number),
        };
        format!("{}/{folder}/{number}", origin(self.port, number % self.plan.hosts))
    }

    /// Links of page `number`: its children in a forest that reaches all pages, random pages, and special URLs.
    fn links(&self, number: usize) -> Vec<Target> {
        let Plan { pages, hosts, links, seed, .. } = self.plan;
        let branches = self.branches();
        let first_child = hosts + number * branches;
        let mut targets: Vec<Target> =
            (first_child..first_child + branches).filter(|n| *n < pages).map(Target::Page).collect();
        let mut rng = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        targets.extend((targets.len()..links).map(|_| Target::Page(rng.usize(..pages))));
        targets.extend(self.specials(number));
        targets
    }

    fn branches(&self) -> usize {
        self.plan.links.clamp(1, 4)
    }

    fn specials(&self, number: usize) -> impl Iterator<Item = Target> + use<> {
        let Plan { redirect_every, missing_every, private_every, .. } = self.plan;
        let kinds = [
            (redirect_every, Target::Redirect(number)),
            (missing_every, Target::Missing(number)),
            (private_every, Target::Private(number)),
        ];
        kinds.into_iter().filter(move |(every, _)| is_nth(number, *every)).map(|(_, target)| target)
    }

    /// The target of page `number`'s redirect; on another host as often as not.
    fn redirect_target(&self, number: usize) -> String {
        self.url(Target::Page(self.redirect_target_number(number)))
    }

    fn redirect_target_number(&self, number: usize) -> usize {
        (number * 7 + 3) % self.plan.pages
    }

    /// Every URL of the site.
    fn targets(&self) -> impl Iterator<Item = Target> {
        (0..self.plan.pages).flat_map(|number| [Target::Page(number)].into_iter().chain(self.specials(number)))
    }

    fn oracle(&self) -> BTreeMap<String, Final> {
        self.targets()
            .map(|target| {
                let state = match target {
                    Target::Page(_) => Final::Fetched,
                    Target::Redirect(number) => Final::Redirected(self.redirect_target(number)),
                    Target::Missing(_) => Final::Missing,
                    Target::Private(_) => Final::Forbidden,
                };
                (self.url(target), state)
            })
            .collect()
    }

    fn answer(&self, ask: &Ask, asked: &Mutex<HashMap<usize, u32>>) -> Answer {
        if ask.path() == "/robots.txt" {
            return Answer::text("User-agent: *\nDisallow: /private/\n");
        }
        let known = self.target(ask.path()).filter(|target| self.belongs_to(*target, ask));
        match known {
            Some(Target::Page(number)) if self.fails_now(number, asked) => self.unavailable(),
            Some(Target::Page(number)) => Answer::html(self.page(number)),
            Some(Target::Redirect(number)) => Answer::redirect(301, &self.redirect_target(number)),
            Some(Target::Private(_)) => Answer::html("<title>Private</title>"),
            Some(Target::Missing(_)) | None => Answer::text("nothing here\n").status(404),
        }
    }

    fn target(&self, path: &str) -> Option<Target> {
        let (folder, number) = path.strip_prefix('/')?.split_once('/')?;
        let number: usize = number.parse().ok().filter(|number| *number < self.plan.pages)?;
        match folder {
            "p" => Some(Target::Page(number)),
            "moved" => Some(Target::Redirect(number)),
            "private" => Some(Target::Private(number)),
            _ => None,
        }
    }

    fn belongs_to(&self, target: Target, ask: &Ask) -> bool {
        let (Target::Page(n) | Target::Redirect(n) | Target::Missing(n) | Target::Private(n)) = target;
        address(n % self.plan.hosts) == ask.address
    }

    fn fails_now(&self, number: usize, asked: &Mutex<HashMap<usize, u32>>) -> bool {
        let mut asked = asked.lock().expect("no handler panics");
        let times = asked.entry(number).or_insert(0);
        *times += 1;
        is_nth(number, self.plan.failing_every) && *times == 1
    }

    fn unavailable(&self) -> Answer {
        let answer = Answer::text("not just now\n").status(503);
        match self.plan.retry_after {
            Some(seconds) => answer.header("retry-after", seconds.to_string()),
            None => answer,
        }
    }

    fn page(&self, number: usize) -> String {
        let links = self
            .links(number)
            .into_iter()
            .map(|target| format!("<li><a href=\"{0}\">{0}</a></li>\n", self.url(target)));
        let mut rng = Rng::with_seed(self.plan.seed ^ number as u64);
        let Plan { text: length, long_every, long_text, .. } = self.plan;
        let length = if is_nth(number, long_every) { long_text } else { length };
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            text.push_str(["net ", "tide ", "gull ", "rope ", "salt ", "lamp ", "keel ", "weir "][rng.usize(..8)]);
        }
        let links: String = links.collect();
        format!("<!DOCTYPE html>\n<title>Page {number}</title>\n<p>{text}</p>\n<ul>\n{links}</ul>\n")
    }
}

/// The last of each `every` numbers, so that page 0, a seed, is an ordinary page.
fn is_nth(number: usize, every: usize) -> bool {
    every > 0 && number % every == every - 1
}
