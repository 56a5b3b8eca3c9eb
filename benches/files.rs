//! The cost of writing a page to a FILES file, and of reading it: `cargo bench --bench files`. CPU time of one thread, best
//! of several rounds, next to that of base64 and deflate alone, which cannot be avoided.

#[path = "support/cpu.rs"]
mod cpu;
#[path = "../crates/parse/tests/support/event.rs"]
mod event;
#[path = "support/pages.rs"]
mod pages;

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use flate2::{Compression, write::ZlibEncoder};
use seine::config;
use seine::sinks::{self, SinkContext};
use seine_delivery::{Deriver, Entry, Offset};
use seine_formats::base64;
use seine_formats::files::{FilesReader, parse_line, write_event};
use seine_formats::zlib_stream::ZlibStream;
use seine_parse::page::PageEvent;
use seine_parse::{DeriveOptions, Derived};

const PAGES: usize = 400;

fn main() {
    // Without `--bench`, as under `cargo test`, one round shows that it runs.
    let rounds = if std::env::args().any(|it| it == "--bench") { 7 } else { 1 };
    let events: Vec<PageEvent> = (0..PAGES).map(pages::page).collect();
    let bodies: Vec<&Bytes> = events.iter().map(|event| &event.response().expect("made with one").body).collect();
    let body_bytes: usize = bodies.iter().map(|it| it.len()).sum();
    println!("{PAGES} pages of {} bytes on average; MB are of page bodies", body_bytes / PAGES);
    let measure = |name: &str, run: &mut dyn FnMut() -> usize| {
        let (best, out) = cpu::best_of(rounds, run);
        let micros = best.as_secs_f64() * 1e6;
        let (a_page, rate) = (micros / PAGES as f64, body_bytes as f64 / micros);
        println!("{name:<44} {a_page:9.1} us/page {rate:9.1} MB/s  {:8} bytes out/page", out / PAGES);
    };

    let mut out = Vec::new();
    measure("bare base64", &mut || {
        out.clear();
        bodies.iter().for_each(|body| base64::encode_into(body, &mut out));
        out.len()
    });
    measure("record line", &mut || {
        out.clear();
        events.iter().zip(&bodies).for_each(|(event, body)| assert!(write_event(event, body, &mut out)));
        out.len()
    });
    let lines = out.clone();

    for level in [1, 6] {
        measure(&format!("bare deflate of the lines, level {level}"), &mut || {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
            encoder.write_all(&lines).expect("a Vec takes every byte");
            encoder.finish().expect("a Vec takes every byte").len()
        });
        measure(&format!("record line and stream, level {level}"), &mut || compress(&events, level).len());
        let entries = entries(&events);
        measure(&format!("FILES sink on disk, batches of 50, level {level}"), &mut || deliver(&entries, level));
    }

    let file = compress(&events, 6);
    measure("bare inflate", &mut || {
        let mut decoder = flate2::read::ZlibDecoder::new(file.as_slice());
        std::io::copy(&mut decoder, &mut std::io::sink()).expect("just written") as usize
    });
    measure("reading the lines", &mut || {
        lines.split_inclusive(|&b| b == b'\n').map(|line| parse_line(line).expect("just written").content.len()).sum()
    });
    measure("reading the file", &mut || {
        FilesReader::new(file.as_slice()).map(|record| record.expect("just written").content.len()).sum()
    });
}

fn compress(events: &[PageEvent], level: u32) -> Vec<u8> {
    let (mut line, mut out, mut stream) = (Vec::new(), Vec::new(), ZlibStream::new(level));
    for event in events {
        line.clear();
        write_event(event, &event.response().expect("made with one").body, &mut line);
        stream.write(&line, &mut out).expect("a new stream takes every byte");
    }
    stream.finish(&mut out).expect("a new stream takes every byte");
    out
}

fn deliver(entries: &[Arc<Entry>], level: u32) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = [("target_storage.data_format.files.compression_level", level.to_string())];
    let config = config::load_with(None, &[], &options).expect("it is right").config.sinks.remove(0);
    let state = serde_json::Value::Null;
    let mut sink = sinks::open(&config, &SinkContext::new(folder.path()), &state).expect("the folder was just made");
    for batch in entries.chunks(50) {
        sink.deliver(batch).expect("a disk with room");
    }
    sink.close().expect("a disk with room");
    let files = std::fs::read_dir(folder.path()).expect("the folder was just made");
    files.map(|file| file.and_then(|it| it.metadata()).expect("just written").len() as usize).sum()
}

fn entries(events: &[PageEvent]) -> Vec<Arc<Entry>> {
    let deriver = Deriver::keeping(usize::MAX, DeriveOptions::default());
    let entry = |event: &PageEvent| {
        let body = event.response().expect("made with one").body.clone();
        let kept = deriver.keep(event, Arc::new(Derived { body, ..Derived::default() }));
        Arc::new(Entry::shared(Offset::default(), Arc::new(event.clone()), kept, &deriver))
    };
    events.iter().map(entry).collect()
}
