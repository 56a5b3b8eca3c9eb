//! Orders for readers wait for the disk. Workers ask the log for its free space meanwhile, and never wait with them.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;

use seine_delivery::{BegunAnew, Offset};
use seine_page_log::{LogError, PageLog, VALIDATOR};

use crate::{LONG, Running, config};

/// What a worker asks of the log before a request, and what the API shows of it.
fn assert_workers_go_on(log: &PageLog) {
    let (answer, answered) = mpsc::channel();
    let log = log.clone();
    std::thread::spawn(move || answer.send((log.room(), log.is_near_end(VALIDATOR), log.status().end)));
    let answered = answered.recv_timeout(LONG).expect("a worker does not wait for the disk");
    assert_eq!(answered, (true, true, Offset::default()));
}

/// A file that can be read only when somebody else writes it.
fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

#[test]
fn workers_do_not_wait_for_a_copy_that_reads_cursors() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    let slow = dir.path().join("cursors/slow.cursor");
    make_fifo(&slow);
    std::thread::scope(|threads| {
        let copy = threads.spawn(|| running.log.copy(|| Ok::<_, LogError>(())));
        // Opens when the copy has opened it for reading. The copy then waits until this is dropped.
        let unread = OpenOptions::new().write(true).open(&slow).expect("it opens");
        assert_workers_go_on(&running.log);
        drop(unread);
        let (copy, ()) = copy.join().unwrap().expect("a copy");
        assert_eq!(copy.cursors.len(), 1, "it has waited for the slow file");
    });
    running.close();
}

#[test]
fn workers_do_not_wait_for_a_reader_that_is_reset() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    drop(running.log.reader("sink").unwrap());
    let anew = BegunAnew { at_ms: 1, why: "a test".to_owned() };
    let missed = running.log.begin_anew("sink", anew, Clone::clone, |missed| -> Result<(), LogError> {
        assert_workers_go_on(&running.log);
        assert_eq!(missed, 0);
        Ok(())
    });
    assert_eq!(missed.unwrap(), 0);
    running.close();
}

/// A reset reader begins at the oldest event. It stays, though every other reader passes it during the reset.
#[test]
fn no_segment_is_removed_while_a_reader_is_reset() {
    let dir = crate::folder();
    let running = Running::open(dir.path(), &config(1000));
    let mut other = running.log.reader("other").unwrap();
    running.append(1..31, 100);
    let last = crate::read_to_end(&running.log, &mut other)[29].end;
    let anew = BegunAnew { at_ms: 1, why: "a test".to_owned() };
    let missed = running
        .log
        .begin_anew("sink", anew, Clone::clone, |_| -> Result<(), LogError> {
            other.commit(crate::moved(&other, last, 30))
        })
        .unwrap();
    assert_eq!((missed, running.log.status().oldest.index), (0, 0));
    let mut sink = running.log.reader("sink").unwrap();
    assert_eq!(crate::read_to_end(&running.log, &mut sink).len(), 30);
    running.close();
}
