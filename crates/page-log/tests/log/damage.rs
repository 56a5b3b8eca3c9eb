//! Damage on the disk: no panic, everything intact is delivered, everything lost is counted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use seine_delivery::Offset;
use seine_parse::page::{Outcome, PageEvent};
use tempfile::TempDir;

use crate::{Running, append, balance, config, copy_dir, event, moved, numbers, read_to_end, segments};

const EVENTS: u64 = 23;
const FILE_HEADER: u64 = 32;

struct Original {
    dir: TempDir,
    positions: Vec<Offset>,
}

/// A log of several segments.
static ORIGINAL: LazyLock<Original> = LazyLock::new(|| {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(2500));
    let positions = running.append(1..EVENTS + 1, 150);
    running.close();
    let segments = segments(dir.path());
    let last = segments.last().unwrap().1.index;
    assert!(segments.len() > 3 && (1..5).contains(&(EVENTS - last)), "the last of {segments:?} holds some");
    Original { dir, positions }
});

/// The event whose record contains a byte of a segment; none for the file's header.
fn event_at(start: Offset, file_offset: u64, positions: &[Offset]) -> Option<u64> {
    let offset = start.offset + file_offset.checked_sub(FILE_HEADER)?;
    Some(positions.partition_point(|end| end.offset <= offset) as u64 + 1)
}

/// Flips bytes. Returns the events hit, and whether a header was hit.
fn flip(dir: &Path, flips: &[(prop::sample::Index, u8)]) -> (BTreeSet<u64>, bool) {
    let (mut hit, mut header) = (BTreeSet::new(), false);
    let files = segments(dir);
    let sizes: Vec<u64> = files.iter().map(|(path, _)| path.metadata().unwrap().len()).collect();
    let mut places = BTreeSet::new();
    for (index, bits) in flips {
        let mut at = index.index(sizes.iter().sum::<u64>() as usize) as u64;
        // Flipping the same byte twice could restore it.
        if !places.insert(at) {
            continue;
        }
        let mut number = 0;
        while at >= sizes[number] {
            at -= sizes[number];
            number += 1;
        }
        let (path, start) = &files[number];
        let mut bytes = fs::read(path).unwrap();
        bytes[at as usize] ^= bits;
        fs::write(path, bytes).unwrap();
        match event_at(*start, at, &ORIGINAL.positions) {
            Some(event) => drop(hit.insert(event)),
            None => header = true,
        }
    }
    (hit, header)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn intact_records_survive_flipped_bytes_anywhere(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..5)
    ) {
        let dir = crate::folder();
        copy_dir(ORIGINAL.dir.path(), dir.path());
        let (hit, header) = flip(dir.path(), &flips);
        // Before the writer can create another segment, which it does at once if this one's header is damaged.
        let last_segment = segments(dir.path()).last().map_or(0, |(_, start)| start.index);
        let running = Running::open(dir.path(), &config(2500));
        let recovery = &running.recovery;
        let mut reader = running.log.reader("r").unwrap();
        let entries = read_to_end(&running.log, &mut reader);
        let intact: Vec<u64> = (1..EVENTS + 1).filter(|n| !hit.contains(n)).collect();
        prop_assert_eq!(numbers(&entries), intact);
        prop_assert!(entries.iter().all(|entry| entry.end == ORIGINAL.positions[entry.end.index as usize - 1]));

        // Losses are counted: as damage, or as a torn tail that was cut.
        let status = running.log.status();
        let damaged: u64 = status.damage.iter().map(|damage| damage.events).sum();
        let cut = EVENTS - status.end.index;
        prop_assert_eq!(damaged + cut, hit.len() as u64);
        prop_assert_eq!(recovery.torn.is_some(), cut > 0);
        let seen_at_open: u64 = recovery.damage.iter().map(|damage| damage.events).sum();
        prop_assert_eq!(seen_at_open + cut, hit.iter().filter(|&&n| n > last_segment).count() as u64);
        prop_assert!(!header || status.damage.iter().any(|damage| damage.offset == 0));

        // The log continues after the damage, and the counters balance.
        let next = append(&running.log, 200..201, 10)[0];
        prop_assert_eq!(next.index, status.end.index + 1);
        let more = read_to_end(&running.log, &mut reader);
        prop_assert_eq!(numbers(&more), [200]);
        reader.commit(moved(&reader, next, entries.len() as u64 + 1)).unwrap();
        prop_assert_eq!(reader.cursor().damaged, damaged);
        prop_assert!(running.log.status().readers[0].counters.is_some_and(balance));
        running.close();
    }

    #[test]
    fn a_segment_of_noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..500), number in 0..4usize) {
        let dir = crate::folder();
        copy_dir(ORIGINAL.dir.path(), dir.path());
        let files = segments(dir.path());
        fs::write(&files[number].0, noise).unwrap();
        let running = Running::open(dir.path(), &config(2500));
        let mut reader = running.log.reader("r").unwrap();
        let (first, next) = (files[number].1.index, files[number + 1].1.index);
        let rest: Vec<u64> = (1..EVENTS + 1).filter(|&n| n <= first || n > next).collect();
        prop_assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), rest);
        running.close();
    }
}

#[test]
fn a_missing_segment_is_damage_too() {
    let dir = crate::folder();
    copy_dir(ORIGINAL.dir.path(), dir.path());
    let files = segments(dir.path());
    fs::remove_file(&files[1].0).unwrap();
    let running = Running::open(dir.path(), &config(2500));
    let mut reader = running.log.reader("r").unwrap();
    let (first, next) = (files[1].1.index, files[2].1.index);
    let rest: Vec<u64> = (1..EVENTS + 1).filter(|&n| n <= first || n > next).collect();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), rest);
    assert_eq!(running.log.status().damage[0].events, next - first);
    running.close();
}

#[test]
fn a_reader_whose_next_segments_are_gone_is_told_how_much_it_lost() {
    let dir = crate::folder();
    copy_dir(ORIGINAL.dir.path(), dir.path());
    let running = Running::open(dir.path(), &config(2500));
    drop(running.log.reader("r").unwrap());
    running.close();
    let files = segments(dir.path());
    fs::remove_file(&files[0].0).unwrap();
    let lost = files[1].1.index;
    let running = Running::open(dir.path(), &config(2500));
    let mut reader = running.log.reader("r").unwrap();
    let entries = read_to_end(&running.log, &mut reader);
    assert_eq!(numbers(&entries), (lost + 1..EVENTS + 1).collect::<Vec<_>>());
    reader.commit(moved(&reader, entries[0].end, 1)).unwrap();
    assert_eq!(reader.cursor().damaged, lost);
    assert!(running.log.status().readers[0].counters.is_some_and(balance));
    running.close();
}

/// The next record is searched for window by window. A record may start at any byte of a window, or span two.
#[test]
fn the_next_record_is_found_wherever_it_begins() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 30));
    let small = running.append(1..2, 0)[0].offset;
    let bodies: Vec<u64> = (0..40).map(|n| (64 << 10) - small - 20 + n).collect();
    let mut starts = Vec::new();
    for (&body, n) in bodies.iter().zip(1..) {
        starts.push(FILE_HEADER + running.log.status().end.offset);
        running.append(2 * n..2 * n + 1, body as usize);
        running.append(2 * n + 1..2 * n + 2, 0);
    }
    running.close();
    let (segment, _) = segments(dir.path()).remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    for start in starts {
        bytes[start as usize] ^= 1;
    }
    fs::write(&segment, bytes).unwrap();
    let running = Running::open(dir.path(), &config(1 << 30));
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), (0..41).map(|n| 2 * n + 1).collect::<Vec<_>>());
    assert_eq!(running.log.status().damage.len(), 40);
    running.close();
}

/// A page that contains a piece of a page log must not be taken for records when the record around it is damaged.
#[test]
fn records_inside_a_page_are_not_taken_for_records() {
    let dir = crate::folder();
    let (segment, _) = segments(ORIGINAL.dir.path()).remove(0);
    let mut page: PageEvent = event(1, 0);
    if let Outcome::Response(response) = &mut page.outcome {
        response.body = fs::read(segment).unwrap().into();
    }
    let running = Running::open(dir.path(), &config(1 << 20));
    crate::block_on(async { running.log.append(page, None).await.unwrap().accepted().await.unwrap().0 });
    running.append(2..3, 10);
    running.close();

    let (segment, _) = segments(dir.path()).remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[FILE_HEADER as usize + 5] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let running = Running::open(dir.path(), &config(1 << 20));
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), [2]);
    running.close();
}
