//! The client alone, without and with exact bytes: CPU time of this process to fetch the bench's website of 10,000 pages
//! (30 KB, 100 hosts, served by a process of its own) page by page, each host's over one connection.
//!
//! `cargo bench --bench fetch [-- ROUNDS]`: five rounds unless told, in turn; shown is the least.

#[path = "support/site.rs"]
mod site;

use std::sync::Arc;
use std::time::Duration;

use seine::config::{Config, FetchConfig};
use seine::fetch::Client;
use seine::fetch::client::Conditions;
use seine_parse::page::Outcome;

fn main() {
    if site::run_if_asked() {
        return;
    }
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let rounds = arguments.next().map_or(if is_bench { 5 } else { 1 }, |n| n.parse().expect("a number of rounds"));
    let pages_per_host = if is_bench { site::PAGES_PER_HOST } else { 2 };

    let site = site::spawn_site().expect("the site starts");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let config = FetchConfig { allow_private: true, ..Config::default().fetch };
    let clients = [("reqwest", Client::new(&config)), ("exact bytes", Client::keeping_wire(&config))];
    let clients = clients.map(|(name, client)| (name, Arc::new(client.expect("a client"))));
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        for ((_, client), best) in clients.iter().zip(&mut best) {
            let start = process_cpu();
            runtime.block_on(fetch_all(client, site.port, pages_per_host));
            *best = (*best).min(process_cpu().saturating_sub(start));
        }
    }
    let pages = (site::HOSTS * pages_per_host) as f64;
    println!("{pages} pages, best of {rounds}\n\nclient         CPU µs a page");
    for ((name, _), cpu) in clients.iter().zip(best) {
        println!("{name:<14} {:>10.1}", cpu.as_secs_f64() * 1e6 / pages);
    }
}

/// Every host's pages one after the other, all hosts at once.
async fn fetch_all(client: &Arc<Client>, port: u16, pages_per_host: usize) {
    let mut hosts = tokio::task::JoinSet::new();
    for host in 0..site::HOSTS {
        let client = client.clone();
        hosts.spawn(async move {
            for number in 0..pages_per_host {
                let url = site::url(port, host * site::PAGES_PER_HOST + number).parse().expect("a URL");
                let exchange = client.get(&url, &Conditions::default(), client.limits()).await;
                let Outcome::Response(response) = exchange.outcome else { panic!("{url}: {:?}", exchange.outcome) };
                assert_eq!((response.status, response.truncated), (200, None));
            }
        });
    }
    while let Some(host) = hosts.join_next().await {
        host.expect("fetching does not panic");
    }
}

/// CPU time of this process, all threads, where the system tells (Linux): the sum over those that live.
fn process_cpu() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
    let nanos = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
