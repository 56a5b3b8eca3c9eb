//! Our files read by other programs: warcio (Python), FastWARC (Rust) and jwarc (Java). A script installs them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use seine_formats::warc::surt::surt;

use crate::warc::{WarcConfig, config, entry, files, open};
use crate::warc_pages::*;
use serde_json::Value;
use sha1::{Digest, Sha1};

fn script(arguments: &[&str], paths: &[PathBuf]) -> Command {
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/services/warc-readers"));
    command.args(arguments).args(paths);
    command
}

fn run(arguments: &[&str], paths: &[PathBuf]) -> Output {
    script(arguments, paths).output().expect("scripts/services/warc-readers runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes every kind of page with the sink, some of them twice, and returns the files.
fn written(folder: &Path, config: &WarcConfig, events: Vec<PageEvent>) -> Vec<PathBuf> {
    let mut sink = open(config, folder, &Value::Null);
    let entries: Vec<_> = events.into_iter().enumerate().map(|(at, event)| entry(at as u64, event)).collect();
    sink.deliver(&entries).unwrap();
    sink.close().unwrap();
    files(folder, if config.compress { ".warc.gz" } else { ".warc" })
}

fn twice(mut events: Vec<PageEvent>) -> Vec<PageEvent> {
    for (number, mut event) in events.clone().into_iter().enumerate() {
        event.id = format!("019350000000700080000000ffff{number:04x}");
        event.started_ms += 86_400_000;
        event.ended_ms += 86_400_000;
        events.push(event);
    }
    events
}

fn full(compress: bool) -> WarcConfig {
    WarcConfig { compress, metadata: true, revisits: 1000, cdxj: true, ..config() }
}

#[test]
fn all_of_them_find_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, config) in [
        ("gzip", full(true)),
        ("plain", full(false)),
        ("bare", config()),
        ("rolled", WarcConfig { max_file_size: 4_000, ..full(true) }),
    ] {
        paths.extend(written(&folder.path().join(name), &config, twice(zoo())));
    }
    assert!(paths.len() > 6);
    let output = run(&["check"], &paths);
    assert!(output.status.success(), "{}{}", text(&output), String::from_utf8_lossy(&output.stderr));
    assert_eq!(text(&output), "");

    // Checks that these programs do find errors.
    let mut damaged = std::fs::read(&paths[0]).unwrap();
    let all = records(&damaged);
    let mut wrong = all[1].clone();
    wrong.block = Bytes::from(wrong.block.to_vec().iter().rev().copied().collect::<Vec<_>>());
    damaged.clear();
    wrong.write(&mut damaged);
    let path = folder.path().join("wrong.warc");
    std::fs::write(&path, damaged).unwrap();
    let output = run(&["check"], &[path]);
    assert!(!output.status.success());
    for program in ["warcio: ", "FastWARC: ", "jwarc: "] {
        assert!(text(&output).contains(program), "{program}: {}", text(&output));
    }
}

/// A cut body is shorter than its head says, and its last chunk is missing, as received. Two programs accept that.
/// jwarc compares lengths without reading `WARC-Truncated`, and reports only that.
#[test]
fn exact_bytes_of_a_body_that_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let mut short = exact(1, b"0123456789");
    let response_of_short = response(&mut short);
    response_of_short.body = response_of_short.body.slice(..4);
    response_of_short.truncated = Some(Truncated::Disconnect);
    let paths = written(folder.path(), &config(), vec![short, exact(2, b"whole")]);
    let output = run(&["check"], &paths);
    let said = text(&output);
    let complaints: Vec<_> = said.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(complaints.len(), 1, "{said}");
    assert!(complaints[0].ends_with("invalid HTTP header Content-Length: 10"), "{said}");
    assert!(!said.contains("warcio: ") && !said.contains("FastWARC: "), "{said}");
}

#[test]
fn warcio_reads_what_we_wrote() {
    let folder = tempfile::tempdir().unwrap();
    for compress in [true, false] {
        let config = WarcConfig { metadata: true, compress, ..config() };
        let paths = written(&folder.path().join(compress.to_string()), &config, zoo());
        let output = run(&["list"], &paths);
        let seen: Vec<Value> = text(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ours = records(&std::fs::read(&paths[0]).unwrap());
        assert_eq!(seen.len(), ours.len());
        for (seen, ours) in seen.iter().zip(&ours) {
            assert_eq!(seen["type"], ours.kind());
            assert_eq!(seen["id"].as_str(), ours.get("WARC-Record-ID"));
            assert_eq!(seen["url"].as_str(), ours.target_uri());
        }
        // Bodies without chunks.
        let bodies: BTreeSet<_> = zoo()
            .iter()
            .map(|event| Sha1::digest(&event.response().unwrap().body).iter().map(|it| format!("{it:02x}")).collect())
            .collect::<BTreeSet<String>>();
        let main = seen.iter().filter(|it| it["type"] == "response" && it["length"] != 0);
        let found: BTreeSet<String> = main.map(|it| it["sha1"].as_str().unwrap().to_owned()).collect();
        let empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        assert_eq!(found, bodies.into_iter().filter(|it| it != empty).collect());
    }
}

#[test]
fn jwarc_makes_the_same_index() {
    let folder = tempfile::tempdir().unwrap();
    for compress in [true, false] {
        let folder = folder.path().join(compress.to_string());
        let [path] = <[_; 1]>::try_from(written(&folder, &full(compress), twice(zoo()))).unwrap();
        let ours = std::fs::read_to_string(&files(&folder, ".cdxj")[0]).unwrap();
        let output = run(&["cdxj"], &[path]);
        let parse = |line: &str| {
            let [key, time, json] = <[&str; 3]>::try_from(line.splitn(3, ' ').collect::<Vec<_>>()).unwrap();
            let mut json: Value = serde_json::from_str(json).unwrap();
            // It writes `-` or nothing for absent values.
            json.as_object_mut().unwrap().retain(|_, value| value != "-");
            (json["offset"].as_str().unwrap().parse::<u64>().unwrap(), key.to_owned(), time.to_owned(), json)
        };
        let mut ours: Vec<_> = ours.lines().map(parse).collect();
        ours.sort_by_key(|it| it.0);
        let mut theirs: Vec<_> = text(&output).lines().map(parse).collect();
        theirs.sort_by_key(|it| it.0);
        // If a record states no digest, because its body is chunked or absent, the other program writes none.
        for ((.., ours), (.., theirs)) in ours.iter_mut().zip(&theirs) {
            if theirs.get("digest").is_none() {
                let digest = ours.as_object_mut().unwrap().remove("digest");
                assert!(
                    digest.is_none() || [url(3), url(900), url(901)].contains(&ours["url"].as_str().unwrap().into()),
                    "{ours}"
                );
            }
        }
        assert_eq!(ours, theirs);
    }
}

#[test]
fn keys_are_those_of_the_internet_archive() {
    let mut urls: Vec<String> = [
        "http://www.archive.org/goo/?a=2&b&a=1",
        "http://archive.org:8080/index.php?foo=bar&PHPSESSID=9682993c8daa2c5497996114facdc805&BAZ=1",
        "https://WWW12.Example.ORG/Some%2FPath/../x/./y//z/",
        "http://example.org/a?jsessionid=0123456789abcdefghijklemopqrstuv",
        "http://example.org/a?x=1&sid=0123456789abcdefghijklemopqrstuv&y=2",
        "http://example.org/a?cfid=1&cftoken=2",
        "http://example.org/(a(4hqa0555fwsecu455xqckv45)S(4hqa0555fwsecu455xqckv45)f(4hqa0555fwsecu455xqckv45))/mileg.aspx?page=sessionschedules",
        "http://example.org/((((4hqa0555fwsecu455xqckv45/x.aspx",
        "http://user:pass@example.org/#fragment",
        "http://example.org/%25%32%35?q=%2526&%41=%7e",
        "http://example.org/caf\u{e9}?\u{fc}=\u{df}",
        "http://example.org",
        "http://example.org?",
        "http://example.org/?&&a=",
        "http://10.0.0.1:81/a b",
        "http://example.org./x",
        "http://www.www.example.org/www.",
        "http://example.org/a;b=c,d/e!f'g(h)*",
        "http://example.org/\"<>[]^`{|}\\",
        "http://example.org/?q=\"<>[]^`{|}\\#x",
        "http://wwwexample.org/",
        "http://example.org/..",
        "http://example.org/a/..",
        "http://example.org:443/",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..500 {
        let parts =
            ["a", "B", "/", "/", ".", "..", "%20", "%2e", "?", "&", "=", "z", "1", "%c3%a9", ";", "+", ":", "~", "%25"];
        let tail: String = (0..random.usize(0..20)).map(|_| parts[random.usize(..parts.len())]).collect();
        urls.push(format!("http://Sub.example.org/{tail}"));
    }
    let mut child =
        script(&["surt"], &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("warc-readers runs");
    let mut stdin = child.stdin.take().unwrap();
    let lines = urls.iter().map(|url| format!("{url}\n")).collect::<String>();
    let feeder = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let theirs: Vec<_> = text(&output).lines().map(str::to_owned).collect();
    assert_eq!(theirs.len(), urls.len());
    for (url, theirs) in urls.iter().zip(theirs) {
        assert_eq!(surt(url), theirs, "{url}");
    }
}
