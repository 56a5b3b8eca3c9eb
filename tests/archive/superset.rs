//! After any damage, `seine recover` saves every record that `seine cat` reads.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use fastrand::Rng;
use seine::archive::inputs::{ArchiveInputs, FoundInput, InputOptions};
use seine::archive::read::Pages;
use seine::archive::recover::recover;
use seine_formats::Format;

use crate::{events, write};

/// The readable pages by URL and content, and how often each occurs.
fn read(path: &Path, format: Format) -> BTreeMap<(String, Vec<u8>), usize> {
    let options = InputOptions { format: Some(format), ..InputOptions::default() };
    let mut found = BTreeMap::new();
    for input in ArchiveInputs::open(&[path.to_str().unwrap().to_owned()], options).unwrap() {
        let FoundInput::Input(input) = input.unwrap() else { continue };
        for page in Pages::open(&input, 0, &Default::default()).unwrap().flatten() {
            let body = page.event.response().unwrap().body.to_vec();
            *found.entry((page.event.url, body)).or_default() += 1;
        }
    }
    found
}

#[track_caller]
fn assert_saved(bytes: &[u8], format: Format, what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (damaged, out) = (folder.path().join("damaged"), folder.path().join("out"));
    std::fs::write(&damaged, bytes).unwrap();
    let wanted = read(&damaged, format);
    let recovery = recover(&damaged, &out, Some(format), &mut |_, _| ()).unwrap();
    let saved = read(&out, format);
    for (page, count) in &wanted {
        let found = saved.get(page).copied().unwrap_or(0);
        if found < *count {
            panic!("{what}: {format}: cat reads {} {count} times, and saved is {found}: {recovery:?}", page.0);
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file of a format as a crawl writes it.
fn written(format: Format) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<_> = events::random(40)
        .into_iter()
        .chain(
            (40..60).map(|n| events::page(n, format!("<p>\"{n}\",\r\nnet {{ \"tide\" }} gull</p>").repeat(n as usize))),
        )
        .collect();
    write(format, &pages, folder.path());
    let file = walkdir::WalkDir::new(folder.path()).into_iter().flatten().find(|it| it.file_type().is_file());
    std::fs::read(file.unwrap().path()).unwrap()
}

fn decompressed(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let _ = std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes), &mut plain)
        .or_else(|_| std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(bytes), &mut plain));
    if plain.is_empty() { bytes.to_vec() } else { plain }
}

/// The same records in different forms: plain, compressed as a whole, in members that end anywhere.
fn shapes(format: Format) -> Vec<Vec<u8>> {
    let bytes = written(format);
    let plain = decompressed(&bytes);
    let members = plain.chunks(plain.len() / 7 + 1).flat_map(gzip).collect();
    vec![bytes, gzip(&plain), members, plain]
}

const FORMATS: [Format; 6] =
    [crate::FILES, crate::CDR31, crate::ELASTIC, crate::WEB_INDEX, crate::WARC, crate::TIANWANG];

/// Lines before records, as in files of other programs and in damaged ones.
const LINES: [&str; 14] = [
    "\n",
    "x\n",
    "{\n",
    "{ ",
    "\"",
    "\"\"",
    " {\"url\":",
    "version: 1.0\n",
    "WARC/1.0\r\n\r\n",
    "[1]\n",
    "\u{feff}",
    "null\n",
    "\r\n\r\n",
    "\u{0}\u{0}\u{ff}\u{ff}",
];

fn harm(bytes: &mut Vec<u8>, rng: &mut Rng) -> String {
    let at = rng.usize(..=bytes.len());
    let end = (at + rng.usize(1..3000)).min(bytes.len());
    match rng.u8(..7) {
        0 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        1 => {
            let filling = *rng.choice(b"\0\n{\"x\xff").unwrap();
            bytes[at..end].fill(filling);
            format!("{at}..{end} filled with {filling}")
        }
        2 => {
            bytes.drain(at..end);
            format!("{at}..{end} taken out")
        }
        3 => {
            let copy = bytes[at..end].to_vec();
            let to = rng.usize(..=bytes.len());
            bytes.splice(to..to, copy);
            format!("{at}..{end} copied to {to}")
        }
        4 if at < bytes.len() => {
            bytes[at] ^= 1 << rng.u8(..8);
            format!("a bit at {at}")
        }
        _ => {
            let line: &str = LINES[rng.usize(..LINES.len())];
            // Before a record, if there is one.
            let to = memchr::memchr(b'\n', &bytes[at..]).map_or(at, |feed| at + feed + 1);
            bytes.splice(to..to, line.bytes());
            format!("{line:?} put in at {to}")
        }
    }
}

#[test]
fn every_record_that_cat_reads_is_saved_whatever_line_stands_before_it() {
    for format in FORMATS {
        for (shape, whole) in shapes(format).iter().enumerate() {
            assert_saved(whole, format, "whole");
            for line in LINES {
                let lines = [line.as_bytes(), whole].concat();
                assert_saved(&lines, format, &format!("shape {shape}, {line:?} before"));
            }
        }
    }
}

/// Found by fuzzing: bytes before a version line on the same line shifted the position of the next record by one byte.
#[test]
fn a_record_behind_a_mark_in_the_middle_of_a_file_is_saved() {
    let shapes = shapes(crate::WARC);
    let plain: Vec<_> = shapes.iter().filter(|whole| whole.starts_with(b"WARC/")).collect();
    assert!(!plain.is_empty());
    for whole in plain {
        let starts = memchr::memmem::find_iter(whole, b"\r\n\r\nWARC/1.1\r\n").map(|at| at + 4);
        for at in starts.step_by(7) {
            for mark in ["\u{feff}", "junk "] {
                let marked = [&whole[..at], mark.as_bytes(), &whole[at..]].concat();
                assert_saved(&marked, crate::WARC, &format!("{mark:?} at {at}"));
            }
        }
    }
}

/// Found by fuzzing: `cat` read the record, and `recover` dropped it.
#[test]
fn a_record_that_breaks_off_before_its_line_end_is_saved() {
    let records: [(Format, &[u8]); 3] = [
        (crate::FILES, br#"{"url":"http://a.example/1","content":""}"#),
        (crate::ELASTIC, br#"{"url":"http://a.example/1","html":""}"#),
        (crate::WEB_INDEX, br#"{"original_url": "http://a.example/1"}"#),
    ];
    for (format, record) in records {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(record).unwrap();
        encoder.flush().unwrap();
        let begun = encoder.get_ref().clone();
        assert_saved(&begun, format, "the first of a stream");
        assert_saved(&[gzip(&[record, b"\n"].concat()), begun].concat(), format, "the first of the next stream");
    }
}

/// Found by fuzzing: the line end after a block with a wrong length was missing in the record that it had swallowed.
#[test]
fn a_record_inside_a_block_that_is_too_long_is_read_as_it_stands() {
    let pages: Vec<_> = (0..3).map(|n| events::page(n, format!("page {n}"))).collect();
    let folder = tempfile::tempdir().unwrap();
    write(crate::WARC, &pages, folder.path());
    let file = walkdir::WalkDir::new(folder.path()).into_iter().flatten().find(|it| it.file_type().is_file());
    let whole = decompressed(&std::fs::read(file.unwrap().path()).unwrap());
    let responses: Vec<_> = memchr::memmem::find_iter(&whole, b"WARC-Type: response\r\n").collect();
    let after = |at: usize, what: &[u8]| at + memchr::memmem::find(&whole[at..], what).unwrap() + what.len();
    let value = after(responses[0], b"\r\nContent-Length: ");
    let block = after(value, b"\r\n\r\n");
    let head = &whole[responses[1]..after(responses[1], b"\r\n\r\n")];
    for end in memchr::memmem::find_iter(head, b"\r\n") {
        let length = (responses[1] + end - block).to_string();
        let damaged = [&whole[..value], length.as_bytes(), &whole[block - 4..]].concat();
        let path = folder.path().join("damaged.warc");
        std::fs::write(&path, &damaged).unwrap();
        let urls: Vec<_> = read(&path, crate::WARC).into_keys().map(|(url, _)| url).collect();
        assert_eq!(urls, [pages[1].url.as_str(), pages[2].url.as_str()], "{length}");
        assert_saved(&damaged, crate::WARC, &length);
    }
}

#[test]
fn records_of_others_are_saved() {
    let spaced = "junk\n { \"url\" : \"http://a.example/1\", \"content\":\"\"}\n{   \t \"content\":\"\",\"url\":\"http://a.example/2\"}";
    assert_saved(spaced.as_bytes(), crate::FILES, "blanks");
    assert_saved(&gzip(spaced.as_bytes()), crate::FILES, "blanks");
    let rows = "x\n\"{\"\"original_url\"\":\r\n\"\"http://a.example/1\"\"}\",\"more\"\r\nodd \" quote\n{},\n\"{ \"\"original_url\"\": \"\"http://a.example/2\"\"}\"";
    assert_saved(rows.as_bytes(), crate::WEB_INDEX, "rows");
    let record = "Version:1.0\r\nurl:http://a.example/1\r\ndate:x\r\nlength:2\r\n\r\nab\n\nrubbish";
    assert_saved(record.as_bytes(), crate::TIANWANG, "a head of others");
    assert_saved(&gzip(record.as_bytes()), crate::TIANWANG, "a head of others");
}

#[test]
fn every_record_that_cat_reads_of_a_damaged_file_is_saved() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut rng = Rng::with_seed(seed);
    for format in FORMATS {
        for (shape, whole) in shapes(format).iter().enumerate() {
            for _ in 0..10 {
                let mut bytes = whole.clone();
                let harms: Vec<_> = (0..rng.usize(1..4)).map(|_| harm(&mut bytes, &mut rng)).collect();
                assert_saved(&bytes, format, &format!("SEED={seed}, shape {shape}, {harms:?}"));
            }
        }
    }
}
