//! `seine demo`: the first thing a newcomer tries.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};

use crate::catalogue::{Expected, Known, catalogue};
use crate::support::program::{cat, command, run, stats};

#[test]
fn ends_by_itself_with_exactly_the_pages_of_the_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let ran = run(&["demo".as_ref(), "-o".as_ref(), data.as_os_str()]).ok();
    assert_eq!(ran.stdout, "", "standard output is for data");

    let pages = cat(&data.join("files"));
    let path_of = |url: &str| {
        let url = url::Url::parse(url).unwrap();
        format!("{}{}", url.host_str().unwrap(), &url[url::Position::BeforePath..])
    };
    let urls: Vec<String> = pages.iter().map(|page| path_of(page["url"].as_str().unwrap())).collect();
    let found: BTreeSet<String> = urls.iter().cloned().collect();
    assert_eq!(urls.len(), found.len(), "a page is in the files twice");
    let wanted = |known: &Known| matches!(known.expected, Expected::Fetched | Expected::Redirect { .. });
    let mut expected: BTreeSet<String> =
        catalogue().into_iter().filter(wanted).map(|known| known.host + &known.path).collect();
    assert_eq!(found.difference(&expected).collect::<Vec<_>>(), [""; 0], "found, and not in the catalogue");

    let mut aliases = 0;
    for known in catalogue() {
        let Expected::Redirect { to } = &known.expected else { continue };
        let asked = format!("{}{}", known.host, known.path);
        let target = to.replacen("http://", "", 1);
        // The URL found first has the page, and the other is its alias.
        match urls.iter().position(|url| *url == asked) {
            Some(at) => {
                assert_eq!(path_of(pages[at]["redirected_url"].as_str().unwrap()), target, "{asked}");
                assert!(expected.remove(&target), "{target} is in the catalogue, once");
            }
            None => assert!(expected.remove(&asked)),
        }
        aliases += 1;
    }
    assert_eq!(expected.difference(&found).collect::<Vec<_>>(), [""; 0], "in the catalogue, and not found");
    assert_eq!(expected, found, "a redirect and its target both have the page");

    let stats = stats(&data);
    let count = |state: &str| stats["frontier"][state].as_u64().unwrap() as usize;
    // Two pages of the radio ask not to be indexed; archives store them.
    assert_eq!([count("live"), count("withheld"), count("alias")], [expected.len() - 2, 2, aliases]);
    assert_eq!(stats["remaining"], 0);
    for told in ["Done: nothing is left to fetch.", "attempts", "robots_denied", "seine cat"] {
        assert!(ran.stderr.contains(told), "{told:?} is not in the summary:\n{}", ran.stderr);
    }
    let plain = ran.stderr.lines().any(|line| line.contains(" pages  ") && line.contains(" queued"));
    assert!(plain, "no line of progress:\n{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "no terminal, and so no escape codes:\n{}", ran.stderr);
}

#[test]
fn replaces_an_earlier_demo_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    let path = folder.path().to_str().unwrap();
    run(&["demo", "-o", path]).fails_naming(&[path, "choose another folder with -o"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("thesis.txt")).unwrap(), "years of work");
}

/// People paste the printed URLs into curl, into a browser, and into Seine.
#[test]
fn what_serve_prints_answers() {
    let mut serving = command(&["demo", "--serve"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut seeds: Vec<String> = Vec::new();
    let mut crawl = String::new();
    for line in BufReader::new(serving.stderr.take().unwrap()).lines().map(Result::unwrap) {
        if let Some(told) = line.strip_prefix("To crawl it: ") {
            crawl = told.to_owned();
            break;
        }
        seeds.extend(line.strip_prefix("  ").map(str::to_owned));
    }
    assert_eq!(seeds.len(), 8, "{seeds:?}");
    for seed in &seeds {
        let asked = ["-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", seed];
        let said = Command::new("curl").args(asked).output().expect("curl is there");
        assert_eq!(String::from_utf8_lossy(&said.stdout), "200", "{seed}: {}", String::from_utf8_lossy(&said.stderr));
        // Browsers resolve names below .localhost to loopback, IPv4 or IPv6.
        let port = url::Url::parse(seed).unwrap().port().unwrap();
        let reached = ("127.0.0.1", port).to_socket_addrs().unwrap().all(|at| TcpStream::connect(at).is_ok());
        assert!(reached, "{seed}");
    }
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<&str> =
        crawl.split(' ').skip(1).map(|word| if word == "data/town" { "town" } else { word }).collect();
    let mut crawl = command(&words);
    crawl.args(["--max-pages", "3", "--delay", "10ms"]).current_dir(folder.path());
    crate::support::program::Process::start(crawl).wait().ok();
    assert_eq!(cat(&folder.path().join("town/files")).len(), 3);
    let _ = serving.kill();
    let _ = serving.wait();
}
