//! Appending: the limit of the queue, the disk limit, closing, a writer that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use seine_page_log::LogConfig;
use seine_page_log::{LogError, PageLog};

use crate::{
    LONG, Running, append, block_on, config, event, moved, numbers, open_log, read_to_end, segments, start_writer,
};

fn is_pending(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn accepted_positions_are_dense_and_readable() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    let mut reader = running.log.reader("all").unwrap();
    let positions = running.append(1..501, 100);
    assert_eq!(positions.iter().map(|p| p.index).collect::<Vec<_>>(), (1..501).collect::<Vec<_>>());
    let entries = read_to_end(&running.log, &mut reader);
    assert_eq!(numbers(&entries), (1..501).collect::<Vec<_>>());
    assert_eq!(entries.iter().map(|entry| entry.end).collect::<Vec<_>>(), positions);
    assert_eq!(running.log.status().end, positions[499]);
    running.close();
}

#[test]
fn append_waits_when_the_queue_is_full_and_goes_on_when_it_is_written() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(1 << 20)).unwrap();
    let mut tickets = Vec::new();
    let waiting = block_on(async {
        // No writer yet: some events of 3 MiB fill the queue, and memory stays bounded.
        for n in 0..100 {
            let mut append = Box::pin(log.append(event(n, 3 << 20), None));
            match append.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                std::task::Poll::Ready(ticket) => tickets.push(ticket.unwrap()),
                std::task::Poll::Pending => return append,
            }
        }
        panic!("300 MiB fit into the queue");
    });
    let mut late = pin!(log.append(event(200, 3 << 20), None));
    assert!(is_pending(late.as_mut()));
    let count = tickets.len() as u64;
    let writer = start_writer(&log);
    let last = block_on(async { waiting.await.unwrap().accepted().await.unwrap().0 });
    assert_eq!(last.index, count + 1);
    assert_eq!(block_on(async { late.await.unwrap().accepted().await.unwrap().0 }).index, count + 2);
    for (ticket, n) in tickets.into_iter().zip(1..) {
        assert_eq!(block_on(ticket.accepted()).unwrap().0.index, n);
    }
    log.close();
    writer.join().unwrap().unwrap();
}

#[test]
fn an_event_larger_than_the_queue_passes_alone() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1 << 20));
    running.append(1..4, 20 << 20);
    let mut reader = running.log.reader("r").unwrap();
    assert_eq!(numbers(&read_to_end(&running.log, &mut reader)), [1, 2, 3]);
    running.close();
}

#[test]
fn close_drains_the_queue_then_refuses() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(1 << 20)).unwrap();
    let mut reader = log.reader("r").unwrap();
    let tickets = block_on(async {
        let mut tickets = Vec::new();
        for n in 1..11 {
            tickets.push(log.append(event(n, 10), None).await.unwrap());
        }
        tickets
    });
    log.close();
    assert!(matches!(block_on(log.append(event(11, 10), None)), Err(LogError::Closed)));
    assert!(!reader.is_closed_and_drained());
    log.run_writer(&mut || ()).unwrap();
    for ticket in tickets {
        block_on(ticket.accepted()).unwrap();
    }
    assert!(!reader.is_closed_and_drained());
    assert_eq!(reader.next(100, 1 << 20, LONG).unwrap().len(), 10);
    // The log is closed, so nothing waits, however long the timeout.
    assert!(reader.next(100, 1 << 20, Duration::MAX).unwrap().is_empty());
    assert!(reader.is_closed_and_drained());
}

#[test]
fn close_tells_those_who_wait_for_room_in_the_queue() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(1 << 20)).unwrap();
    let _first = block_on(log.append(event(1, 20 << 20), None)).unwrap();
    let mut waits = pin!(log.append(event(2, 10), None));
    assert!(is_pending(waits.as_mut()));
    log.close();
    assert!(matches!(block_on(waits), Err(LogError::Closed)));
}

#[test]
fn a_log_that_goes_away_tells_who_waits() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(1 << 20)).unwrap();
    let ticket = block_on(log.append(event(1, 10), None)).unwrap();
    drop(log);
    assert!(matches!(block_on(ticket.accepted()), Err(LogError::Closed)));
}

/// The writer closes a full segment and removes it without help.
fn wait_for_room(log: &PageLog) {
    let began = Instant::now();
    while !log.status().room {
        assert!(began.elapsed() < LONG, "there is no room");
        std::thread::yield_now();
    }
}

#[test]
fn at_the_disk_limit_there_is_no_room_until_readers_have_passed() {
    let dir = crate::folder();
    let limited = LogConfig { max_bytes: 100_000, ..config(1 << 20) };
    let running = Running::open(dir.path(), &limited);
    let log = &running.log;
    let mut reader = log.reader("slow").unwrap();
    let mut n = 0;
    while log.room() {
        n += 1;
        append(log, n..n + 1, 3000);
    }
    assert!(log.status().bytes >= 100_000 && !log.status().room);
    let entries = read_to_end(log, &mut reader);
    assert!(!log.status().room, "reading alone frees nothing");
    reader.commit(moved(&reader, entries.last().unwrap().end, entries.len() as u64)).unwrap();
    wait_for_room(log);
    assert!(log.status().bytes < 100_000);
    append(log, n + 1..n + 2, 3000);
    assert_eq!(numbers(&read_to_end(log, &mut reader)), [n + 1]);
    running.close();
}

/// One event fills the log to its limit. The segment must then close by itself, or it could never be removed.
#[test]
fn an_event_larger_than_the_disk_limit_does_not_stop_the_log_for_good() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &LogConfig { max_bytes: 100_000, ..config(1 << 20) });
    let mut reader = running.log.reader("r").unwrap();
    for n in 1..4 {
        running.append(n..n + 1, 300_000);
        let entries = reader.next(10, 1, LONG).unwrap();
        reader.commit(moved(&reader, entries[0].end, 1)).unwrap();
        wait_for_room(&running.log);
    }
    running.close();
}

#[test]
fn company_comes_into_one_commit() {
    let dir = crate::folder();
    let patient = LogConfig { commit_interval: LONG, ..config(1 << 30) };
    let (log, _) = open_log(dir.path(), &patient).unwrap();
    let (beats, beaten) = mpsc::channel();
    let writer = {
        let log = log.clone();
        std::thread::spawn(move || log.run_writer(&mut || beats.send(log.status().end.index).unwrap()))
    };
    // The commit interval would outlast the test, but soon enough events are queued.
    block_on(async {
        let mut first = pin!(log.append(event(1, 40_000), None).await.unwrap().accepted());
        for n in 2.. {
            log.append(event(n, 40_000), None).await.unwrap();
            if !is_pending(first.as_mut()) {
                break;
            }
        }
    });
    // It also stops waiting when the log is closed.
    log.close();
    writer.join().unwrap().unwrap();
    let mut commits: Vec<u64> = beaten.iter().filter(|&index| index > 0).collect();
    commits.dedup();
    assert!(commits[0] >= 10, "the first commits ended behind events {commits:?}");
}

#[test]
fn a_writer_that_panics_goes_on_where_it_was() {
    let dir = crate::folder();
    let (log, _) = open_log(dir.path(), &config(2000)).unwrap();
    let mut reader = log.reader("r").unwrap();
    let tickets = block_on(async {
        let mut tickets = Vec::new();
        for n in 1..51 {
            tickets.push(log.append(event(n, 500), None).await.unwrap());
        }
        tickets
    });
    log.close();
    let mut panics = 0;
    loop {
        let mut turns = 0;
        let run = catch_unwind(AssertUnwindSafe(|| {
            log.run_writer(&mut || {
                turns += 1;
                assert!(turns < 2, "as asked by the test"); // it has written two batches
            })
        }));
        match run {
            Ok(ended) => break ended.unwrap(),
            Err(_) => panics += 1,
        }
    }
    assert!(panics > 5);
    assert_eq!(numbers(&read_to_end(&log, &mut reader)), (1..51).collect::<Vec<_>>());
    for (ticket, n) in tickets.into_iter().zip(1..) {
        assert_eq!(block_on(ticket.accepted()).unwrap().0.index, n);
    }
}

#[test]
fn thousands_of_tiny_segments() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1));
    let mut reader = running.log.reader("r").unwrap();
    running.append(1..2001, 10);
    let entries = read_to_end(&running.log, &mut reader);
    assert_eq!(numbers(&entries), (1..2001).collect::<Vec<_>>());
    reader.commit(moved(&reader, entries[999].end, 1000)).unwrap();
    running.close();
    assert_eq!(segments(dir.path()).len(), 1001, "one an event, and the next one");
    drop(reader);

    let running = Running::open(dir.path(), &config(1));
    assert_eq!((running.log.status().segments, running.kept()), (1001, 1000));
    let mut reader = running.log.reader("r").unwrap();
    let entries = read_to_end(&running.log, &mut reader);
    assert_eq!(numbers(&entries), (1001..2001).collect::<Vec<_>>());
    reader.commit(moved(&reader, entries[999].end, 1000)).unwrap();
    running.close();
    assert_eq!(segments(dir.path()).len(), 1);
}
