//! A simulated year of rechecks: the part of the time in which the copies are fresh. It is compared with three other
//! schedules, with the same number of rechecks: a uniform one, adaptive ones that multiply the interval after each recheck
//! (StormCrawler's and Nutch's), and the optimum, which knows how often each page changes. Then the same year with hints,
//! `hints.rs`.
//!
//!     cargo bench --bench recrawl [-- PAGES [PICTURE.svg]]

mod hints;
mod picture;

use std::time::{Duration, Instant};

use hints::Says;
use picture::{Bar, Kind};
use seine_parse::page::PageChange;
use seine_policies::revisit::{Belief, Budget, History, Outlook, RevisitPolicy, worth_after};

const DAY: u64 = 86_400_000;
const HOUR: u64 = DAY / 24;
const YEAR: u64 = 365 * DAY;
/// Pages are looked at so far apart on average.
const MEAN: u64 = 14 * DAY;

fn main() {
    let pages = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let picture = std::env::args().skip(1).find(|arg| arg.ends_with(".svg"));
    let mut bars = Vec::new();
    println!("{pages} pages, a look every {} days on average, one year", MEAN / DAY);
    for (shape, median_days, spread) in [("the web's", 60.0, 1.8), ("quick", 7.0, 1.5), ("alike", 14.0, 0.1)] {
        let rates = rates(pages, median_days, spread);
        let optimum = Optimum::new(&rates);
        println!("\n{shape}: changes every {median_days} days in the middle, spread e^{spread}");
        println!("  {:<22} {:>9} {:>9} {:>14} {:>10}", "schedule", "fresh", "of best", "looks a day", "CPU µs/look");
        print_row("optimum (knows rates)", optimum.fresh, optimum.fresh, optimum.looks_a_day, None);
        let schedules: [(&str, &mut dyn Schedule); 4] = [
            ("uniform", &mut Uniform),
            ("×2, ½ (StormCrawler)", &mut Adaptive { quicker: 0.5, slower: 2.0, stretch: Stretch::new(pages) }),
            ("+40 %, −20 % (Nutch)", &mut Adaptive { quicker: 0.8, slower: 1.4, stretch: Stretch::new(pages) }),
            ("learned (Seine)", &mut Learned::new(pages)),
        ];
        for (name, schedule) in schedules {
            let year = live_through(&rates, schedule);
            print_row(name, year.fresh, optimum.fresh, year.looks_a_day, Some(year.cpu_a_look));
            if shape == "the web's" {
                let kind = if name.contains("Seine") { Kind::Seine } else { Kind::Other };
                bars.push(Bar { name, fresh: year.fresh, kind });
            }
        }
        if shape == "the web's" {
            bars.push(Bar { name: "optimum without hints", fresh: optimum.fresh, kind: Kind::Best });
            let fresh = print_hints(&rates, optimum.fresh);
            bars.push(Bar { name: "learned, hints 80 % right (Seine)", fresh, kind: Kind::Seine });
        }
    }
    if let Some(path) = picture {
        bars.sort_by(|a, b| b.fresh.total_cmp(&a.fresh));
        std::fs::write(path, picture::draw(&bars, pages, MEAN / DAY)).expect("the picture is written");
    }
}

/// The web's rates, with sitemaps that tell of changes. Returns how fresh it is where they are right.
fn print_hints(rates: &[f64], best: f64) -> f64 {
    let mut with_truth = 0.0;
    println!("  with sitemaps that say when pages changed, one for 100 pages, its own looks counted:");
    for (name, says) in [
        ("no dates", Says::Nothing),
        ("80 % told, 80 % right", Says::Truth { told: 0.8, right: 0.8 }),
        ("lies: always now", Says::Now),
        ("lies: any time", Says::Nonsense),
    ] {
        let year = hints::live_through(rates, says, MEAN);
        print_row(name, year.fresh, best, year.looks_a_day, None);
        if matches!(says, Says::Truth { .. }) {
            with_truth = year.fresh;
            println!("  of a page's record, in bytes: {:.2} on average", year.bytes_a_page);
        }
    }
    let some = &rates[..rates.len() / 10];
    let (without, with) = hints::equally_fresh(some);
    let percent = 100.0 * (1.0 - with.looks_a_day / without.looks_a_day);
    println!("  as fresh with hints as without ({:.4}, {:.4}): {percent:.0} % fewer looks", with.fresh, without.fresh);
    with_truth
}

fn print_row(name: &str, fresh: f64, best: f64, looks: f64, cpu: Option<Duration>) {
    let cpu = cpu.map_or_else(String::new, |cpu| format!("{:.1}", cpu.as_secs_f64() * 1e6));
    println!("  {name:<22} {fresh:>9.4} {:>9.4} {looks:>14.0} {cpu:>10}", fresh / best);
}

/// Changes a day, log-normal: most pages hardly ever change, some all the time.
fn rates(pages: usize, median_days: f64, spread: f64) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut normal = || {
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * random.f64()).cos()
    };
    (0..pages).map(|_| (spread * normal()).exp() / median_days).collect()
}

/// When a page is looked at next.
trait Schedule {
    fn next(&mut self, page: usize, now: u64, elapsed: u64, has_changed: bool) -> u64;
}

struct Uniform;

impl Schedule for Uniform {
    fn next(&mut self, _: usize, _: u64, _: u64, _: bool) -> u64 {
        MEAN
    }
}

/// The interval times one number after a change, times another without; all of them stretched so that the looks are as many as
/// everybody's.
struct Adaptive {
    quicker: f64,
    slower: f64,
    stretch: Stretch,
}

struct Stretch {
    intervals: Vec<f64>,
    looks_a_day: f64,
    factor: f64,
}

impl Stretch {
    fn new(pages: usize) -> Stretch {
        let mean = MEAN as f64 / DAY as f64;
        Stretch { intervals: vec![mean; pages], looks_a_day: pages as f64 / mean, factor: 1.0 }
    }
}

impl Schedule for Adaptive {
    fn next(&mut self, page: usize, _: u64, _: u64, has_changed: bool) -> u64 {
        let Stretch { intervals, looks_a_day, factor } = &mut self.stretch;
        let old = intervals[page];
        let new = (old * if has_changed { self.quicker } else { self.slower }).clamp(1.0 / 24.0, 180.0);
        intervals[page] = new;
        *looks_a_day += 1.0 / new - 1.0 / old;
        let budget = intervals.len() as f64 / (MEAN as f64 / DAY as f64);
        let error = (*looks_a_day / *factor / budget - 1.0).clamp(-1.0, 1.0);
        *factor *= 1.0 + 10.0 * error / intervals.len() as f64;
        (new * *factor * DAY as f64) as u64
    }
}

/// What the crawl does.
struct Learned {
    policy: RevisitPolicy,
    budget: Budget,
    histories: Vec<History>,
}

impl Learned {
    fn new(pages: usize) -> Learned {
        let days = |days: u64| Duration::from_millis(days * DAY);
        let policy = RevisitPolicy {
            interval: Some(Duration::from_millis(MEAN)),
            min_interval: Duration::from_millis(HOUR),
            max_interval: days(180),
            confirm_gone: days(1),
            ..RevisitPolicy::default()
        };
        Learned { policy, budget: Budget::new(MEAN, None, MEAN), histories: vec![History::new(0); pages] }
    }
}

impl Schedule for Learned {
    fn next(&mut self, page: usize, now: u64, elapsed: u64, has_changed: bool) -> u64 {
        let pages = self.histories.len() as u64;
        let history = &mut self.histories[page];
        let is_late = self.policy.is_late(history.belief, Outlook::default(), self.budget.price(), elapsed);
        self.budget.count_recheck(now, pages, is_late);
        // The year begins with pages looked at before it.
        history.alive_ms = now.saturating_sub(elapsed);
        let change = if has_changed { PageChange::Changed } else { PageChange::Unchanged };
        *history = history.seen(now, change, None);
        self.policy.interval_ms(history.belief, Outlook::default(), self.budget.price())
    }
}

struct Year {
    fresh: f64,
    looks_a_day: f64,
    cpu_a_look: Duration,
}

/// A virtual clock that ticks every hour.
fn live_through(rates: &[f64], schedule: &mut dyn Schedule) -> Year {
    let mut random = fastrand::Rng::with_seed(9);
    let hours = (YEAR / HOUR) as usize;
    let mut due: Vec<Vec<u32>> = vec![Vec::new(); hours + 1];
    // When each page was looked at last; the year begins in the middle of a uniform schedule.
    let begin = MEAN;
    let mut looked: Vec<u64> = Vec::with_capacity(rates.len());
    for page in 0..rates.len() {
        let first = random.u64(0..MEAN);
        looked.push(first);
        due[(first / HOUR) as usize].push(page as u32);
    }
    let (mut fresh_days, mut looks, mut cpu) = (0.0, 0_u64, Duration::ZERO);
    for hour in 0..=hours {
        let now = begin + hour as u64 * HOUR;
        let turn = std::mem::take(&mut due[hour]);
        let started = Instant::now();
        looks += turn.len() as u64;
        for page in turn {
            let (page, rate) = (page as usize, rates[page as usize]);
            let elapsed = now.saturating_sub(looked[page]).max(1);
            let has_changed = random.f64() < -(-rate * days(elapsed)).exp_m1();
            fresh_days += fresh_between(rate, begin.saturating_sub(looked[page]), elapsed);
            looked[page] = now;
            let next = now + schedule.next(page, now, elapsed, has_changed);
            let hour = (next - begin).div_ceil(HOUR).max(hour as u64 + 1) as usize;
            if let Some(list) = due.get_mut(hour) {
                list.push(page as u32);
            }
        }
        cpu += started.elapsed();
    }
    let end = begin + YEAR;
    for (rate, looked) in rates.iter().zip(&looked) {
        fresh_days += fresh_between(*rate, begin.saturating_sub(*looked), end - looked);
    }
    Year {
        fresh: fresh_days / (rates.len() as f64 * days(YEAR)),
        looks_a_day: looks as f64 / days(YEAR),
        cpu_a_look: cpu / looks.max(1) as u32,
    }
}

/// Days that a copy is expected to be fresh between two times after the look that made it.
fn fresh_between(rate: f64, from: u64, to: u64) -> f64 {
    ((-rate * days(from)).exp() - (-rate * days(to)).exp()) / rate
}

fn days(ms: u64) -> f64 {
    ms as f64 / DAY as f64
}

/// The best that can be done with so many looks by who knows each page's rate: all are looked at when a look is worth the same.
struct Optimum {
    fresh: f64,
    looks_a_day: f64,
}

impl Optimum {
    fn new(rates: &[f64]) -> Optimum {
        let budget = rates.len() as f64 / days(MEAN);
        let (mut low, mut high) = (1e-6_f64, 1e6_f64);
        while high / low > 1.0 + 1e-6 {
            let price = (low * high).sqrt();
            let looks: f64 = rates.iter().step_by(16).map(|rate| 16.0 / Self::interval(*rate, price)).sum();
            if looks > budget { low = price } else { high = price }
        }
        let mut optimum = Optimum { fresh: 0.0, looks_a_day: 0.0 };
        for rate in rates {
            let interval = Self::interval(*rate, low);
            optimum.fresh += -(-rate * interval).exp_m1() / (rate * interval) / rates.len() as f64;
            optimum.looks_a_day += 1.0 / interval;
        }
        optimum
    }

    /// A page whose rate is known for sure is one whose belief is very narrow.
    fn interval(rate: f64, price: f64) -> f64 {
        let known = Belief { changes: 1e6, days: (1e6 / rate) as f32 };
        worth_after(|elapsed| known.gain(elapsed), price, (1.0 / 24.0, 180.0))
    }
}
