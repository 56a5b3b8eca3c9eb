//! Reading: many readers, their cursors, and the segments they keep.

use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use seine_delivery::{Cursor, Offset};
use seine_page_log::{Counters, LogError, PageLog, Reader};
use seine_parse::{DeriveOptions, Derived, derive};

use crate::event::page;
use crate::{
    LONG, Running, append, balance, block_on, config, event, moved, number, numbers, open_log, read_to_end, segments,
};

/// Reads and commits batch by batch until the log is closed; returns the numbers seen.
fn run_sink(mut reader: Reader, batch: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    loop {
        let entries = reader.next(batch, 200_000, LONG).unwrap();
        let Some(last) = entries.last() else {
            assert!(reader.is_closed_and_drained());
            return seen;
        };
        seen.extend(numbers(&entries));
        reader.commit(moved(&reader, last.end, entries.len() as u64)).unwrap();
    }
}

#[test]
fn readers_at_different_speeds_all_get_everything_in_order() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(3_000_000));
    let fast = running.log.reader("fast").unwrap();
    let small_steps = running.log.reader("small-steps").unwrap();
    let late = running.log.reader("late").unwrap();
    let (go, wait) = mpsc::channel::<()>();
    // Far more than the tail in memory holds.
    let count = 1500;
    let seen: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads = [
            scope.spawn(|| run_sink(fast, 1000)),
            scope.spawn(|| run_sink(small_steps, 3)),
            scope.spawn(move || {
                wait.recv().unwrap();
                run_sink(late, 100)
            }),
        ];
        running.append(1..count + 1, 20_000);
        assert_eq!(segments(dir.path()).len(), running.log.status().segments);
        assert!(running.log.status().segments >= 10, "the late reader holds everything");
        go.send(()).unwrap();
        running.close();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for numbers in seen {
        assert_eq!(numbers, (1..count + 1).collect::<Vec<_>>());
    }
    assert_eq!(segments(dir.path()).len(), 1, "everything was passed by everybody");
}

#[test]
fn what_was_derived_is_shared_with_readers_that_keep_up() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    let mut reader = running.log.reader("r").unwrap();
    let derived = Arc::new(Derived { digest: [7; 32], ..Derived::default() });
    block_on(async {
        running.log.append(event(1, 10), Some(derived.clone())).await.unwrap().accepted().await.unwrap().0
    });
    let entries = reader.next(10, 1000, LONG).unwrap();
    assert!(Arc::ptr_eq(&entries[0].facts(), &derived));
    running.close();
    drop((entries, reader));

    let running = Running::open(dir.path(), &config(1 << 20));
    let entries = running.log.reader("r").unwrap().next(10, 1000, LONG).unwrap();
    assert_eq!(*entries[0].facts(), derive(&event(1, 10), &DeriveOptions::default()));
    running.close();
}

#[test]
fn what_nobody_derived_yet_is_derived_by_the_first_who_needs_it_and_never_less_than_the_next_needs() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    let mut readers = ["a", "b"].map(|name| running.log.reader(name).unwrap());
    let body = b"<title>A page</title><a href=/x>".to_vec();
    let page = page("http://example.com/", &[("content-type", "text/html")], body.clone());
    let expected = derive(&page, &DeriveOptions::default());
    block_on(async { running.log.append(page, None).await.unwrap().accepted().await.unwrap().0 });
    let [first, second] = readers.each_mut().map(|reader| reader.next(1, 1, LONG).unwrap().remove(0));
    assert_eq!(
        (first.body(), first.content().digest),
        (bytes::Bytes::from(body), expected.digest),
        "less than what comes next"
    );
    let facts = first.facts();
    assert_eq!((&*facts, first.without_body().links.as_slice()), (&expected, &expected.links[..]));
    for shared in [second.facts(), second.content(), first.facts()] {
        assert!(Arc::ptr_eq(&shared, &facts));
    }
    // An entry that every reader has passed is dropped from memory; whoever still has it derives data for itself.
    for reader in &mut readers {
        reader.commit(moved(reader, first.end, 1)).unwrap();
    }
    assert!(!Arc::ptr_eq(&second.facts(), &facts) && second.facts() == facts);
    let text = second.text();
    assert!(text.facts == facts && text.page.is_some(), "the same, and the text");
    running.close();
}

#[test]
fn next_keeps_to_its_limits() {
    let dir = crate::folder();
    // First from memory, then from disk.
    for round in 0..2 {
        let running = Running::open(dir.path(), &config(1 << 20));
        let mut reader = running.log.reader("r").unwrap();
        if round == 0 {
            assert!(reader.next(10, 1000, Duration::from_millis(1)).unwrap().is_empty());
            assert!(!reader.is_closed_and_drained());
            running.append(1..101, 1000);
        }
        assert_eq!(reader.next(7, 1 << 20, LONG).unwrap().len(), 7);
        let some = reader.next(100, 5000, LONG).unwrap().len();
        assert!((2..=5).contains(&some), "5000 bytes are not {some} events");
        assert_eq!(reader.next(100, 0, LONG).unwrap().len(), 1);
        assert_eq!(reader.next(0, 0, LONG).unwrap().len(), 1);
        running.close();
    }
}

#[test]
fn a_reader_that_is_opened_again_goes_on_at_its_last_commit() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    let mut reader = running.log.reader("r").unwrap();
    running.append(1..31, 100);
    let entries = read_to_end(&running.log, &mut reader);
    reader.commit(moved(&reader, entries[9].end, 10)).unwrap();
    drop(reader);
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), (11..31).collect::<Vec<_>>());
    drop(reader);
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(number(&reader.next(1, 1, LONG).unwrap()[0]), 11);
    running.close();
}

#[test]
fn cursors_books_and_state_survive_a_restart() {
    let dir = crate::folder();
    // Several sizes of state: within its slot, and too large for it.
    let state = |n: usize| serde_json::json!({ "file": "x".repeat(n * 3000), "n": n });
    for round in 0..6u64 {
        let running = Running::open(dir.path(), &config(1500));
        let mut reader = running.log.reader("files").unwrap();
        if round > 0 {
            assert_eq!(reader.cursor().delivered, round * 3);
            assert_eq!(reader.cursor().state, state(round as usize - 1));
            assert_eq!(running.recovery.readers, [("files".to_owned(), reader.cursor().position)]);
        }
        running.append(round * 10 + 1..round * 10 + 11, 50);
        let mut entries = Vec::new();
        while entries.len() < 5 {
            // A batch may end early, at the end of its segment.
            entries.extend(reader.next(5 - entries.len(), 1 << 20, LONG).unwrap());
        }
        assert_eq!(numbers(&entries), (round * 5 + 1..round * 5 + 6).collect::<Vec<_>>());
        let now = reader.cursor().clone();
        let cursor = Cursor {
            position: entries[4].end,
            delivered: now.delivered + 3,
            skipped: now.skipped + 1,
            dead: now.dead + 1,
            state: state(round as usize),
            ..now
        };
        reader.commit(cursor).unwrap();
        let status = running.log.status();
        let books = status.readers[0].counters.unwrap();
        let done = round + 1;
        let wanted = Counters {
            accepted: done * 10,
            delivered: done * 3,
            skipped: done,
            dead: done,
            damaged: 0,
            pending: done * 5,
        };
        assert_eq!(books, wanted);
        assert!(balance(books));
        running.close();
    }
}

#[test]
fn a_new_reader_starts_at_the_oldest_event_kept() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    let mut first = running.log.reader("first").unwrap();
    running.append(1..101, 100);
    let entries = read_to_end(&running.log, &mut first);
    first.commit(moved(&first, entries[49].end, 50)).unwrap();
    let mut second = running.log.reader("second").unwrap();
    let seen = numbers(&read_to_end(&running.log, &mut second));
    assert!(seen[0] > 40 && seen[0] <= 51, "segments of about 2 events; it begins at {}", seen[0]);
    assert_eq!(seen, (seen[0]..101).collect::<Vec<_>>());
    let status = running.log.status();
    assert_eq!(status.readers[1].counters.unwrap().accepted, 101 - seen[0]);
    assert!(status.readers.iter().all(|reader| reader.counters.is_some_and(balance)));
    running.close();
}

#[test]
fn a_reader_that_nobody_opened_holds_its_segments_and_is_named() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    drop(running.log.reader("gone").unwrap());
    running.close();

    let running = Running::open(dir.path(), &config(1000));
    assert_eq!(running.recovery.readers, [("gone".to_owned(), Offset::default())]);
    let mut here = running.log.reader("here").unwrap();
    running.append(1..51, 100);
    let entries = read_to_end(&running.log, &mut here);
    here.commit(moved(&here, entries[49].end, 50)).unwrap();
    let status = running.log.status();
    let gone = status.readers.iter().find(|reader| reader.name == "gone").unwrap();
    assert!(!gone.opened && gone.pending == 50);
    assert_eq!(status.oldest, Offset::default());
    let mut gone = running.log.reader("gone").unwrap();
    assert_eq!(read_to_end(&running.log, &mut gone).len(), 50);
    running.close();
}

#[test]
fn a_follower_holds_segments_until_it_releases_them() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    let mut sink = running.log.reader("sink").unwrap();
    let mut validator = running.log.follower("validator", Offset::default()).unwrap();
    running.append(1..51, 100);
    let entries = read_to_end(&running.log, &mut sink);
    sink.commit(moved(&sink, entries[49].end, 50)).unwrap();
    assert_eq!(running.log.status().oldest.index, 0);
    let entries = read_to_end(&running.log, &mut validator);
    validator.release(entries[24].end);
    let status = running.log.status();
    assert!((20..=25).contains(&status.oldest.index), "{status:?}");
    let follower = &status.readers[1];
    assert!(follower.counters.is_none() && follower.pending == 25 && follower.position.index == 25);
    drop(validator);
    let mut validator = running.log.follower("validator", entries[24].end).unwrap();
    assert_eq!(number(&validator.next(1, 1, LONG).unwrap()[0]), 26);
    running.close();
    drop((sink, validator));

    // A run without the validator must not lose what the validator has not read.
    let running = Running::open(dir.path(), &config(1000));
    let mut sink = running.log.reader("sink").unwrap();
    running.append(51..101, 100);
    let entries = read_to_end(&running.log, &mut sink);
    sink.commit(moved(&sink, entries[49].end, 50)).unwrap();
    let mut validator = running.log.follower("validator", Offset { index: 25, offset: 12345 }).unwrap();
    let seen = numbers(&read_to_end(&running.log, &mut validator));
    assert_eq!(seen, (26..101).collect::<Vec<_>>(), "found by its index, though the offset is wrong");
    running.close();
}

#[test]
fn what_cannot_be_asked_of_a_reader_is_an_error() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    for name in ["", "../x", "A", "a/b", "ä", &"x".repeat(65)] {
        assert!(matches!(running.log.reader(name), Err(LogError::ReaderName(_))), "{name}");
    }
    let mut reader = running.log.reader("r").unwrap();
    assert!(matches!(running.log.reader("r"), Err(LogError::ReaderOpen(_))));
    assert!(matches!(running.log.follower("r", Offset::default()), Err(LogError::ReaderOpen(_))));
    let positions = running.append(1..4, 10);
    reader.next(2, 1 << 20, LONG).unwrap();
    assert!(matches!(reader.commit(moved(&reader, positions[2], 3)), Err(LogError::Commit { .. })), "not read yet");
    reader.commit(moved(&reader, positions[1], 2)).unwrap();
    assert!(matches!(reader.commit(moved(&reader, positions[0], 0)), Err(LogError::Commit { .. })), "backwards");
    assert_eq!(reader.cursor().position, positions[1]);
    drop(reader);
    assert_eq!(running.log.reader("r").unwrap().cursor().position, positions[1], "it can be opened again");
    running.close();
}

#[test]
fn a_cursor_survives_damage_to_one_of_its_slots() {
    let dir = crate::folder();
    let path = dir.path().join("cursors/r.cursor");
    let running = Running::open(dir.path(), &config(1000));
    let mut reader = running.log.reader("r").unwrap();
    let positions = running.append(1..4, 10);
    reader.next(3, 1 << 20, LONG).unwrap();
    reader.commit(moved(&reader, positions[0], 1)).unwrap();
    reader.commit(moved(&reader, positions[1], 1)).unwrap();
    running.close();
    drop(reader);

    let whole = std::fs::read(&path).unwrap();
    let (slot, mut found) = (whole.len() / 2, Vec::new());
    for torn in [0..slot / 4, slot..slot + slot / 4] {
        let mut bytes = whole.clone();
        bytes[torn].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let (log, _) = open_log(dir.path(), &config(1000)).unwrap();
        found.push(log.reader("r").unwrap().cursor().position);
    }
    found.sort();
    assert_eq!(found, positions[..2], "the last commit, or the one before when that is torn");

    std::fs::write(&path, vec![b'x'; whole.len()]).unwrap();
    let (log, recovery) = open_log(dir.path(), &config(1000)).unwrap();
    assert_eq!(recovery.unreadable[0].0, "r");
    let error = log.reader("r").unwrap_err();
    assert!(error.to_string().contains("r.cursor") && error.to_string().contains("delete"), "{error}");
    assert_eq!(append_holds_everything(&log), 0);
}

/// The oldest event kept after another reader has passed everything.
fn append_holds_everything(log: &PageLog) -> u64 {
    let writer = crate::start_writer(log);
    let mut other = log.reader("other").unwrap();
    append(log, 4..54, 100);
    let entries = read_to_end(log, &mut other);
    other.commit(moved(&other, entries.last().unwrap().end, entries.len() as u64)).unwrap();
    log.close();
    writer.join().unwrap().unwrap();
    log.status().oldest.index
}

/// Waiting for a reader to come near the end is woken by every change that brings it there, in either order.
#[test]
fn nobody_waits_for_a_reader_that_is_near_the_end() {
    const ROUNDS: usize = 150;
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 30));
    let end = *running.append(0..3, 4 << 20).last().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for round in 0..ROUNDS {
        let mut behind = running.log.follower("validator", Offset::default()).unwrap();
        assert!(!running.log.is_near_end("validator"));
        let (begin, log) = (Barrier::new(2), &running.log);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                begin.wait();
                match round % 3 {
                    // The reader reads on …
                    0 => {
                        while behind.position() < end {
                            behind.next(10, 64 << 20, LONG).unwrap();
                        }
                        behind.release(end);
                    }
                    // … is opened at another position …
                    1 => {
                        drop(behind);
                        drop(log.follower("validator", end).unwrap());
                    }
                    // … or is removed.
                    _ => {
                        drop(behind);
                        assert!(log.forget("validator").unwrap());
                    }
                }
            });
            begin.wait();
            let near = runtime.block_on(async { tokio::time::timeout(LONG, log.near_end("validator")).await });
            near.unwrap_or_else(|_| panic!("round {round}: nobody told"));
        });
    }
    running.close();
}
