//! A slow data disk makes the crawl slow, and nothing else: the API answers as ever, and no fetch that was answered in time
//! counts as a timeout.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::slow_disk::SlowDisk;
use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::{Plan, TestSite};

/// Each write and each sync takes so long.
const SLOW: Duration = Duration::from_millis(400);
/// The API answers so soon.
const SOON: Duration = Duration::from_millis(50);
/// How long the disk is watched while it is slow.
const WATCHED: Duration = Duration::from_secs(20);
const APART: Duration = Duration::from_millis(20);

/// Everything that asks the frontier on the way of a page: redirects, canonical URLs, duplicates, budgets, sitemaps.
const SETTINGS: &str = "crawler_manager.downloader.redirects: first\n\
    crawler_manager.downloader.canonical: obey\n\
    crawler_manager.downloader.header_timeout: 1s\n\
    crawler_manager.downloader.httpclient.connection_timeout: 1s\n";

/// So many fetches have ended like this; none while the API does not answer.
fn fetches(address: SocketAddr, outcome: &str) -> Option<u64> {
    let (_, text) = get(address, "/metrics")?;
    let name = format!("seine_fetches_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok())
}

/// The result, and whether it came late.
fn timed<T>(ask: impl FnOnce() -> T) -> (T, bool) {
    let asked = Instant::now();
    let answer = ask();
    (answer, asked.elapsed() > SOON)
}

#[test]
fn a_slow_disk_stops_neither_the_api_nor_the_clock() {
    let plan = Plan { pages: 3_000, hosts: 40, failing_every: 0, ..Plan::default() };
    let (site, place, disk) = (TestSite::start(plan), Place::with(SETTINGS), SlowDisk::new());
    std::fs::create_dir(place.data()).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut command = place.crawl(&site.seeds(), &["--delay", "0", "--stay", "--listen", &address.to_string()]);
    disk.under(&place.data(), &mut command);
    let process = Process::start(command);
    eventually("it fetches", || fetches(address, "2xx").is_some_and(|pages| pages > 20));

    disk.takes(SLOW);
    let (data, copies) = (place.data(), tempfile::tempdir().unwrap());
    let (from, to) = (data.to_str().unwrap().to_owned(), copies.path().join("copy").to_str().unwrap().to_owned());
    let backup = std::thread::spawn(move || run(&["backup", "-o", &from, &to]).ok());
    let before = fetches(address, "2xx").unwrap_or_default();
    let site_itself = SocketAddr::new(site.running.addresses[0], site.running.port);
    let (began, mut late, mut late_of_site, mut answers) = (Instant::now(), 0, 0, 0);
    while began.elapsed() < WATCHED {
        let (answer, is_late) = timed(|| get(address, "/healthz"));
        assert!(answer.is_none_or(|(status, _)| status == 200), "it is alive");
        late += u32::from(is_late);
        late_of_site += u32::from(timed(|| get(site_itself, "/robots.txt")).1);
        answers += 1;
        std::thread::sleep(APART);
    }
    disk.takes(Duration::ZERO);
    eventually("it answers again", || fetches(address, "2xx").is_some());
    let [after, timeouts] = ["2xx", "timeout"].map(|outcome| fetches(address, outcome).unwrap());
    println!(
        "{late} of {answers} answers late, {late_of_site} of the site's; {} pages, {timeouts} timeouts",
        after - before
    );
    assert!(after > before, "it goes on");
    assert_eq!(timeouts, 0, "a fetch that was answered counts as a timeout");
    // A call that waits for the disk makes nearly every answer late. On a busy machine the site, which uses no disk, is late too.
    let bound = answers / 20 + 2 * late_of_site;
    assert!(late <= bound, "{late} of {answers} answers took longer than {SOON:?}; expected {bound} at most");
    backup.join().expect("the backup beside the slow crawl");
    process.signal("TERM");
    process.wait().ok();
}
