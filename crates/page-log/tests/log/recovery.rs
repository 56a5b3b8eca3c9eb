//! Opening a log after a crash, after another process or by another version.

use std::fs::{self, File};
use std::io::Write;

use seine_delivery::Offset;
use seine_page_log::{LogError, PageLog};

use crate::{
    Running, append, balance, config, copy_dir, moved, numbers, open_log, read_to_end, segments, start_writer,
};

/// Opens a log whose complete records are `1..=intact`, appends one more, and reads everything.
fn goes_on_after(dir: &std::path::Path, intact: u64) -> Running {
    let running = Running::open(dir, &config(1 << 20));
    assert_eq!(running.kept(), intact);
    assert!(running.recovery.damage.is_empty());
    let positions = running.append(intact + 1..intact + 2, 40);
    assert_eq!(positions[0].index, intact + 1);
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), (1..intact + 2).collect::<Vec<_>>());
    assert!(running.log.status().damage.is_empty());
    running
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_and_nothing_else() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    running.append(1..3, 40);
    let before = running.log.status().bytes;
    running.append(3..4, 40);
    let after = running.log.status().bytes;
    running.close();

    for length in before..=after {
        let copy = crate::folder();
        copy_dir(dir.path(), copy.path());
        let (segment, _) = segments(copy.path()).remove(0);
        File::options().write(true).open(&segment).unwrap().set_len(length).unwrap();
        let whole = if length == after { 3 } else { 2 };
        open_log(copy.path(), &config(1 << 20)).unwrap();
        let kept = if length == after { after } else { before };
        assert_eq!(segment.metadata().unwrap().len(), kept, "cut to its last whole record");
        File::options().write(true).open(&segment).unwrap().set_len(length).unwrap();
        let running = goes_on_after(copy.path(), whole);
        match &running.recovery.torn {
            None => assert!(length == before || length == after),
            Some(torn) => assert_eq!((&torn.segment, torn.at, torn.bytes), (&segment, before, length - before)),
        }
        running.close();
    }
}

#[test]
fn zeros_or_noise_behind_the_last_record_are_cut() {
    for (noise, kind) in [(vec![0; 5000], "zeros"), ((0..5000u32).map(|n| ((n * 7919) >> 3) as u8).collect(), "noise")]
    {
        let dir = crate::folder();
        let running = Running::open(dir.path(), &config(1 << 20));
        running.append(1..3, 40);
        running.close();
        let (segment, _) = segments(dir.path()).remove(0);
        File::options().append(true).open(segment).unwrap().write_all(&noise).unwrap();
        let running = goes_on_after(dir.path(), 2);
        assert_eq!(running.recovery.torn.as_ref().unwrap().bytes, 5000, "{kind}");
        running.close();
    }
}

#[test]
fn an_empty_last_segment_file_is_no_trouble() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1));
    running.append(1..3, 40);
    running.close();
    let (last, start) = segments(dir.path()).pop().unwrap();
    assert_eq!(start.index, 2);
    fs::write(&last, b"").unwrap();
    let running = Running::open(dir.path(), &config(1));
    assert_eq!(running.append(3..4, 40)[0].index, 3);
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), [1, 2, 3]);
    running.close();
}

#[test]
fn an_empty_log_can_be_opened_again_and_again() {
    let dir = crate::folder();
    for _ in 0..3 {
        let running = Running::open(dir.path(), &config(100));
        assert_eq!(running.kept(), 0);
        running.close();
        open_log(dir.path(), &config(100)).unwrap();
    }
    assert_eq!(segments(dir.path()).len(), 1);
}

#[test]
fn a_freed_log_keeps_its_place() {
    let dir = crate::folder();
    for round in 0..4 {
        let running = Running::open(dir.path(), &config(500));
        let mut reader = running.log.reader("r").unwrap();
        let positions = running.append(round * 20 + 1..round * 20 + 21, 40);
        assert_eq!(positions[0].index, round * 20 + 1);
        assert_eq!(numbers(&read_to_end(&running.log, &mut reader)).len(), 20);
        reader.commit(moved(&reader, positions[19], 20)).unwrap();
        running.close();
        assert_eq!(segments(dir.path()).len(), 1);
    }
}

/// The disk lost accepted events that a sink had delivered. New events do not get their numbers, or that sink would
/// never get them.
#[test]
fn numbers_that_a_reader_has_seen_are_never_used_again() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    let mut fast = running.log.reader("fast").unwrap();
    let slow = running.log.reader("slow").unwrap();
    let positions = running.append(1..11, 40);
    assert_eq!(read_to_end(&running.log, &mut fast).len(), 10);
    fast.commit(moved(&fast, positions[9], 10)).unwrap();
    running.close();
    drop((fast, slow));
    let (segment, _) = segments(dir.path()).remove(0);
    File::options().write(true).open(segment).unwrap().set_len(32 + positions[3].offset).unwrap();

    for (round, first) in [(0, 11), (1, 12)] {
        let running = Running::open(dir.path(), &config(1 << 20));
        assert_eq!(running.append(first..first + 1, 40)[0].index, first);
        let mut fast = running.log.reader("fast").unwrap();
        assert_eq!(numbers(&read_to_end(&running.log, &mut fast)), (11..first + 1).collect::<Vec<_>>());
        let mut slow = running.log.reader("slow").unwrap();
        let entries = read_to_end(&running.log, &mut slow);
        assert_eq!(numbers(&entries), [1, 2, 3, 4].into_iter().chain(11..first + 1).collect::<Vec<_>>());
        assert_eq!(running.log.status().damage.iter().map(|damage| damage.events).sum::<u64>(), 6);
        if round == 1 {
            slow.commit(moved(&slow, entries.last().unwrap().end, entries.len() as u64)).unwrap();
            assert_eq!(slow.cursor().damaged, 6);
            let status = running.log.status();
            assert!(status.readers.iter().all(|reader| reader.counters.is_some_and(balance)), "{:?}", status.readers);
        }
        running.close();
    }
}

#[test]
fn a_follower_ahead_of_a_log_that_was_deleted_gets_what_is_new() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(1000)).unwrap();
    let far = Offset { index: 5000, offset: 1_000_000 };
    let mut validator = log.follower("validator", far).unwrap();
    let writer = start_writer(&log);
    assert_eq!(append(&log, 1..2, 40)[0].index, 5001);
    assert_eq!(numbers(&read_to_end(&log, &mut validator)), [1]);
    let further = log.follower("other", Offset { index: 6000, offset: 2_000_000 });
    assert!(matches!(further, Err(LogError::Ahead { .. })), "the writer is at work");
    log.close();
    writer.join().unwrap().unwrap();
}

#[test]
fn a_second_process_is_told_that_the_log_is_in_use() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(1000)).unwrap();
    let output = crate::kill::child("open", dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("in use by another seine"), "{text}");
    let reader = log.reader("r").unwrap();
    drop(log);
    assert!(
        matches!(PageLog::open(dir.path(), &config(1000), Default::default()), Err(LogError::Locked { .. })),
        "a reader holds it too"
    );
    drop(reader);
    let output = crate::kill::child("open", dir.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("opened"));
}

#[test]
fn a_newer_format_and_a_renamed_segment_are_refused() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    running.append(1..3, 40);
    running.close();
    let (segment, _) = segments(dir.path()).remove(0);
    let other = segment.with_file_name("00000000000000000007-00000000000000000000.log");
    fs::rename(&segment, &other).unwrap();
    let error = open_log(dir.path(), &config(1 << 20)).unwrap_err();
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
    fs::rename(&other, &segment).unwrap();

    let mut bytes = fs::read(&segment).unwrap();
    bytes[8] = 2;
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    fs::write(&segment, &bytes).unwrap();
    let error = open_log(dir.path(), &config(1 << 20)).unwrap_err();
    assert!(matches!(error, LogError::Newer { found: 2, known: 1, .. }), "{error}");
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let dir = crate::folder();
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = open_log(&file.join("log"), &config(1000)).unwrap_err();
    assert!(error.to_string().contains("file/log"), "{error}");
}
