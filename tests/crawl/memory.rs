//! Memory is bounded by decoded size, not only by received size: pages that decode to a thousand times their size.

use std::io::Write;
use std::sync::Arc;

use crate::support::server::Answer;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::support::program::{Place, Process, eventually};
use crate::support::{Running, links};

/// Together far more than may be in memory.
const PAGES: usize = 36;
const DECODED: usize = 20 << 20;
/// Limit of peak memory.
const MOST_MIB: u64 = 400;

/// The same text in one coding after the other.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let text = b"All work and no play makes Jack a dull boy.\n".repeat(DECODED / 44);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
    gzip.write_all(&text).unwrap();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::new(6));
    zlib.write_all(&text).unwrap();
    let mut br = Vec::new();
    brotli::CompressorWriter::new(&mut br, 4096, 1, 22).write_all(&text).unwrap();
    let zstd = zstd::stream::encode_all(&text[..], 1).unwrap();
    vec![("gzip", gzip.finish().unwrap()), ("deflate", zlib.finish().unwrap()), ("br", br), ("zstd", zstd)]
}

pub fn peak_mib(process: &Process) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok().map(|kib: u64| kib >> 10)
}

#[test]
fn pages_that_decode_to_a_thousand_times_their_size_wait_for_a_sink_and_are_delivered_within_bounds() {
    let bombs = bombs();
    assert!(bombs.iter().all(|(_, body)| body.len() < 256 << 10), "they are small to send");
    let site = Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/" => {
                let pages: Vec<String> = (0..PAGES).map(|number| format!("/{number}")).collect();
                Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            path => match path[1..].parse::<usize>() {
                Ok(number) => {
                    let (coding, body) = &bombs[number % bombs.len()];
                    Answer::text(body.clone()).header("content-encoding", *coding)
                }
                Err(_) => Answer::text("").status(404),
            },
        })
    });
    let place = Place::with(
        "target_storage.data_format.files.compression_level: 1\ntarget_storage.data_format.filesystem.compress_data: true\n",
    );
    let folders = ["files", "filesystem_json"].map(|name| place.data().join(name));
    std::fs::create_dir_all(place.data()).unwrap();
    // A file is in place of the sinks' folders, so the sinks cannot work.
    folders.iter().for_each(|folder| std::fs::write(folder, "").unwrap());
    let more = ["--delay", "0", "--sink", "files", "--sink", "filesystem_json"];
    let seeds = [site.origin(0) + "/"];
    let away = Process::start(place.crawl(&seeds, &more));
    let asked = || site.visits.all().iter().filter(|visit| visit.path != "/robots.txt").count();
    eventually("every page is asked for", || asked() > PAGES);
    let while_away = peak_mib(&away).unwrap();
    assert!(away.kill(), "it ended, though nothing was delivered");
    folders.iter().for_each(|folder| std::fs::remove_file(folder).unwrap());

    let mut back = Process::start(place.crawl(&seeds, &more));
    let mut once_back = 0;
    eventually("it is done", || {
        once_back = peak_mib(&back).unwrap_or_default().max(once_back);
        back.has_ended()
    });
    back.wait().ok();
    println!("at most {while_away} MiB while they were away, {once_back} MiB after that");
    assert!(while_away > 0 && while_away <= MOST_MIB, "{while_away} MiB while the sinks were away");
    assert!(once_back > 0 && once_back <= MOST_MIB, "{once_back} MiB once they were back");
    let delivered = &place.stats()["sinks"];
    for sink in delivered.as_array().unwrap() {
        assert!(sink["delivered"].as_u64() > Some(PAGES as u64) && sink["pending"] == 0, "{sink}");
    }
}

/// Long bodies from many hosts at once: workers keep a bounded part of them in memory.
#[test]
fn long_bodies_from_many_hosts_take_turns() {
    const HOSTS: usize = 64;
    const MOST_MIB: u64 = 512;
    let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(7 << 20).collect();
    let body = bytes::Bytes::from(noise);
    let site = Running::start(
        HOSTS,
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::new(200, body.clone()).header("content-type", "application/octet-stream"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::new();
    let seeds: Vec<String> = (0..HOSTS).map(|host| site.origin(host) + "/").collect();
    let mut process = Process::start(place.crawl(&seeds, &["--delay", "0", "--sink", "void"]));
    let mut peak = 0;
    eventually("it is done", || {
        peak = peak_mib(&process).unwrap_or_default().max(peak);
        process.has_ended()
    });
    process.wait().ok();
    println!("at most {peak} MiB");
    assert!(peak > 0 && peak <= MOST_MIB, "{peak} MiB");
    assert_eq!(place.stats()["frontier"]["live"], HOSTS);
}
