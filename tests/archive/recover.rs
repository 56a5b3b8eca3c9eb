//! Damage of every kind: intact records are saved, losses are listed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use seine::archive::recover::{RecoveryReport, recover};
use seine::sinks::SinkContext;
use seine_formats::Format;

use crate::support::program::run;
use crate::{CDR31, events, pages, write};

/// FILES as a crawl with many batches writes them.
fn files(count: u64) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    write(crate::FILES, &events::random(count), folder.path());
    std::fs::read(std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path()).unwrap()
}

/// FILES as lines.
fn lines(numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut lines = Vec::new();
    for number in numbers {
        let event = events::page(number, format!("<p>{number}</p>").repeat(number as usize % 40));
        let body = event.response().unwrap().body.clone();
        seine_formats::files::write_event(&event, &body, &mut lines);
    }
    lines
}

fn zlib(data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Recovers records from these bytes, and returns the numbers in their URLs, in order.
fn recovered(bytes: &[u8], format: Option<Format>) -> (Vec<u64>, RecoveryReport) {
    let folder = tempfile::tempdir().unwrap();
    let (damaged, out) = (folder.path().join("damaged"), folder.path().join("out.deflate"));
    std::fs::write(&damaged, bytes).unwrap();
    let recovery = recover(&damaged, &out, format, &mut |_, _| ()).unwrap();
    assert_eq!(std::fs::read(&damaged).unwrap(), bytes, "the damaged file is not touched");
    (numbers(&out), recovery)
}

/// Damage inside a URL cannot be detected; such pages have no number.
fn numbers(path: &Path) -> Vec<u64> {
    let number = |url: &str| url.rsplit('/').next()?.split('?').next()?.parse().ok();
    pages(path).iter().filter_map(|page| number(&page.event.url)).collect()
}

#[test]
fn a_whole_file_is_copied_and_nothing_is_lost() {
    for bytes in [lines(0..20), zlib(&lines(0..20)), [zlib(&lines(0..10)), zlib(&lines(10..20))].concat()] {
        let (numbers, recovery) = recovered(&bytes, None);
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        assert_eq!((recovery.ranges, recovery.lost_bytes, recovery.records), (0, 0, 20));
    }
}

#[test]
fn a_cut_costs_the_record_it_is_in() {
    let whole = zlib(&lines(0..50));
    let (numbers, recovery) = recovered(&whole[..whole.len() / 2], None);
    assert!(numbers.len() > 10 && numbers == (0..numbers.len() as u64).collect::<Vec<_>>(), "{numbers:?}");
    assert_eq!(recovery.ranges, 1);
    assert!(recovery.lost[0].why.contains("cut off"), "{recovery:?}");
}

#[test]
fn overwritten_lines_are_named_to_the_byte() {
    let mut bytes = lines(0..30);
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    // From the middle of line 10 into line 13.
    let (from, to) = (ends[9] + 20, ends[12] + 5);
    bytes[from..to].fill(0);
    let (numbers, recovery) = recovered(&bytes, None);
    assert_eq!(numbers, (0..10).chain(14..30).collect::<Vec<_>>());
    assert_eq!(
        recovery.lost.iter().map(|lost| (lost.from, lost.to)).collect::<Vec<_>>(),
        [(ends[9] as u64, ends[13] as u64)]
    );
}

#[test]
fn streams_behind_a_damaged_one_are_found() {
    let parts: Vec<Vec<u8>> = (0..4).map(|n| zlib(&lines(n * 20..n * 20 + 20))).collect();
    let mut bytes = parts.concat();
    let second = parts[0].len();
    bytes[second + parts[1].len() / 2..second + parts[1].len() / 2 + 8].fill(0xff);
    let (numbers, recovery) = recovered(&bytes, None);
    let found: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(found.len(), numbers.len(), "nothing twice");
    assert!((0..20).chain(40..80).all(|number| found.contains(&number)), "{numbers:?}");
    assert_eq!(recovery.ranges, 1, "{recovery:?}");
    let lost = &recovery.lost[0];
    assert!(lost.from >= second as u64 && lost.to == (second + parts[1].len()) as u64, "{lost:?}");

    // The end is missing, and there is garbage before and in between.
    let cut = [b"rubbish".to_vec(), parts[0][..parts[0].len() - 30].to_vec(), vec![0; 5000], parts[2].clone()].concat();
    let (numbers, recovery) = recovered(&cut, Some(crate::FILES));
    assert!((40..60).all(|number| numbers.contains(&number)), "{numbers:?}");
    assert_eq!(recovery.lost[0].to, 7);
}

#[test]
fn a_flipped_bit_in_a_file_of_ours_costs_the_pages_around_it() {
    // Over a megabyte between full flushes: several of them.
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut fastrand::Rng::with_seed(11);
    let mut noise = || (0..40_000).map(|_| rng.u8(..)).collect::<Vec<u8>>();
    let events: Vec<_> = (0..200).map(|n| events::page(n, noise())).collect();
    {
        let state = serde_json::Value::Null;
        let deriver = seine_delivery::Deriver::new(crate::options());
        let mut sink =
            seine::sinks::open(&crate::sink_config("FILES"), &SinkContext::new(folder.path()), &state).unwrap();
        for event in &events {
            let index = u64::from_str_radix(&event.id, 16).unwrap() + 1;
            let end = seine_delivery::Offset { index, offset: index };
            let entry = seine_delivery::Entry::new(end, std::sync::Arc::new(event.clone()), &deriver);
            sink.deliver(&[std::sync::Arc::new(entry)]).unwrap();
        }
        sink.close().unwrap();
    }
    let path: PathBuf = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0);
    let (numbers, recovery) = recovered(&bytes, None);
    let found: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(found.len(), numbers.len(), "nothing twice");
    assert!(numbers.len() >= 200 - 2 * 27, "{} of 200 saved: {recovery:?}", numbers.len());
    assert!(found.contains(&0) && found.contains(&199));
    // Inside a page's content, only the stream's checksum can detect damage.
    let is_told = recovery.lost.iter().any(|lost| lost.why.contains("checksum does not match"));
    assert!(is_told || saved_as_written(&bytes, &events), "{recovery:?}");
}

#[test]
fn records_of_their_own_behind_damage_are_saved() {
    let events = events::random(40);
    for format in [crate::WARC, crate::TIANWANG, crate::CDR31, crate::WEB_INDEX] {
        let folder = tempfile::tempdir().unwrap();
        write(format, &events, &folder.path().join("from"));
        let file = walkdir::WalkDir::new(folder.path().join("from")).into_iter().flatten();
        let path = file.filter(|it| it.file_type().is_file()).map(|it| it.into_path()).next().unwrap();
        let before = pages(&path).len();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 50].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        let verified = run(&["verify", path.to_str().unwrap()]);
        assert_eq!(verified.status.code(), Some(1), "{format}: {}", verified.stdout);
        let out = folder.path().join("out");
        let recovery = recover(&path, &out, None, &mut |_, _| ()).unwrap();
        let after = pages(&out);
        assert!(after.len() < before && after.len() + 3 >= before, "{format}: {} of {before}", after.len());
        assert!(after.iter().all(|page| page.format == format));
        let hit = recovery.lost.iter().any(|lost| lost.from < middle as u64 + 50 && lost.to > middle as u64);
        assert!(hit, "{format}: {recovery:?}");
        run(&["verify", out.to_str().unwrap()]).ok();
    }
}

/// Whether every recovered page equals one of these, to the last byte.
fn saved_as_written(bytes: &[u8], events: &[seine_parse::page::PageEvent]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (damaged, out) = (folder.path().join("damaged"), folder.path().join("out"));
    std::fs::write(&damaged, bytes).unwrap();
    recover(&damaged, &out, None, &mut |_, _| ()).unwrap();
    let body = |event: &seine_parse::page::PageEvent| event.response().unwrap().body.clone();
    let is_one = |event: &seine_parse::page::PageEvent| {
        events.iter().any(|known| known.url == event.url && body(known) == body(event))
    };
    pages(&out).iter().all(|page| is_one(&page.event))
}

#[test]
fn what_stands_behind_damage_is_not_trusted() {
    // Text that compresses well still looks like text after damage.
    let events: Vec<_> =
        (0..300).map(|n| events::page(n, format!("<p>{n} net tide gull rope</p>").repeat(200))).collect();
    let folder = tempfile::tempdir().unwrap();
    write(crate::FILES, &events, folder.path());
    let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(path).unwrap();
    let mut rng = fastrand::Rng::with_seed(23);
    for _ in 0..10 {
        let mut bytes = whole.clone();
        let at = rng.usize(100..bytes.len() - 200);
        bytes[at..at + 100].fill(0);
        assert!(saved_as_written(&bytes, &events), "damaged at {at}");
    }
    // An invalid line in an undamaged stream costs only itself.
    let (numbers, recovery) = recovered(&zlib(&[lines(0..5), b"junk\n".to_vec(), lines(5..9)].concat()), None);
    assert_eq!(numbers, (0..9).collect::<Vec<_>>());
    assert_eq!(recovery.ranges, 1);
}

#[test]
fn the_command_tells_what_it_saved_and_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let bytes = files(40);
    std::fs::write(at("cut.deflate"), &bytes[..bytes.len() - 300]).unwrap();
    let (cut, out) = (at("cut.deflate"), at("saved.deflate"));
    let ran = run(&["recover", cut.to_str().unwrap(), out.to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(1), "something is lost");
    assert!(ran.stdout.contains("records of FILES saved in") && ran.stdout.contains("lost: bytes "), "{}", ran.stdout);
    run(&["verify", out.to_str().unwrap()]).ok();
    run(&["recover", cut.to_str().unwrap(), out.to_str().unwrap()]).fails_naming(&["already exists"]);

    std::fs::write(at("noise"), b"\x00\x01\x02").unwrap();
    let noise = at("noise");
    run(&["recover", noise.to_str().unwrap(), at("x").to_str().unwrap()]).fails_naming(&["00 01 02", "--format"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// After any damage: every readable line outside the damage is saved, none is made up, and none comes twice.
    #[test]
    fn any_damage_to_plain_lines_costs_only_the_lines_it_touches(
        from in 0.0..1.0_f64,
        length in 0..3000_usize,
        filling in prop_oneof![Just(0_u8), Just(b'\n'), Just(b'{'), Just(0x78), any::<u8>()],
    ) {
        let whole = lines(0..60);
        let at = (from * whole.len() as f64) as usize;
        let end = (at + length).min(whole.len());
        let mut bytes = whole.clone();
        bytes[at..end].fill(filling);
        let mut begin = 0;
        let mut untouched = Vec::new();
        for (number, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
            // An overwritten line feed joins a line with the next.
            let touched = begin < end && at < begin + line.len() || (begin == end && at < end && filling != b'\n');
            if !touched {
                untouched.push(number as u64);
            }
            begin += line.len();
        }
        let (numbers, _) = recovered(&bytes, Some(crate::FILES));
        let found: BTreeSet<u64> = numbers.iter().copied().collect();
        prop_assert_eq!(found.len(), numbers.len());
        for number in untouched {
            prop_assert!(found.contains(&number), "{} is missing", number);
        }
    }
}

/// Damage in the first record, before the keys that identify the format.
#[test]
fn what_is_damaged_at_its_beginning_is_known_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    write(CDR31, &events::random(5), folder.path());
    let whole = std::fs::read(std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path()).unwrap();
    let mut bytes = whole.clone();
    let value = whole.windows(2).position(|two| two == b": " || two == b"\":").unwrap() + 4;
    bytes[value..value + 3].fill(0);
    let (damaged, out) = (folder.path().join("damaged"), folder.path().join("saved"));
    std::fs::write(&damaged, &bytes).unwrap();
    let recovery = recover(&damaged, &out, None, &mut |_, _| ()).unwrap();
    let written = whole.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!((recovery.format, recovery.records), (CDR31, written - 1));
}
