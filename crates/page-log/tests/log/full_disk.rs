//! A full disk, for real: a tmpfs of 4 MiB, mounted in a mount namespace of a child process.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

use seine_page_log::{LogError, PageLog, Ticket};

use crate::kill::{child, child_arguments};
use crate::{LONG, block_on, config, event, moved, numbers, open_log, segments};

#[test]
fn a_full_disk_loses_nothing_and_the_log_goes_on_by_itself() {
    let may_mount = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        // Visible with --nocapture. In CI this runs as root.
        println!("SKIPPED: no right to make a mount namespace (unshare -m): run this test as root");
        return;
    }
    let dir = crate::folder();
    let script = r#"mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@""#;
    let task = child("full", dir.path());
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .arg(dir.path())
        .arg(task.get_program())
        .args(child_arguments())
        .envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the whole scenario has run"), "{said}");
}

/// A writer that reports each failure and restarts when told: like the supervisor, but controlled by the test.
fn supervised(log: &PageLog) -> (Receiver<LogError>, Sender<()>, std::thread::JoinHandle<()>) {
    let (failed, failures) = channel();
    let (again, told) = channel();
    let log = log.clone();
    let writer = std::thread::spawn(move || {
        while let Err(e) = log.run_writer(&mut || ()) {
            failed.send(e).unwrap();
            told.recv().unwrap();
        }
    });
    (failures, again, writer)
}

fn assert_full(error: &LogError) {
    assert!(matches!(error, LogError::Io { source, .. } if source.kind() == ErrorKind::StorageFull), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
}

fn queue(log: &PageLog, events: std::ops::Range<u64>) -> Vec<Ticket> {
    block_on(async {
        let mut tickets = Vec::new();
        for n in events {
            tickets.push(log.append(event(n, 10_000), None).await.unwrap());
        }
        tickets
    })
}

/// Runs in the child, with `dir` on the small disk.
pub fn scenario(dir: &Path) {
    let (filler, log_dir) = (dir.join("filler"), dir.join("log"));
    fs::write(&filler, vec![1; 2 << 20]).unwrap();
    let (log, _) = open_log(&log_dir, &config(200_000)).unwrap();
    let mut reader = log.reader("r").unwrap();
    let (failures, again, writer) = supervised(&log);

    // 6 MB do not fit into the 2 MB left.
    let tickets = queue(&log, 1..601);
    for _ in 0..5 {
        assert_full(&failures.recv_timeout(LONG).unwrap());
        assert!(log.status().end.index < 400);
        assert!(segments(&log_dir).len() < 20, "failures must not multiply segments");
        again.send(()).unwrap();
    }
    assert_full(&failures.recv_timeout(LONG).unwrap());

    // The disk stays full; readers that commit make room. Some writes still fail in between.
    let mut seen = Vec::new();
    again.send(()).unwrap();
    let start = std::time::Instant::now();
    while seen.len() < 600 {
        assert!(start.elapsed() < LONG, "only {} of 600 events came", seen.len());
        let entries = reader.next(20, 1 << 20, std::time::Duration::from_millis(5)).unwrap();
        if let Some(last) = entries.last() {
            seen.extend(numbers(&entries));
            reader.commit(moved(&reader, last.end, entries.len() as u64)).unwrap();
        }
        if let Ok(error) = failures.try_recv() {
            assert_full(&error);
            again.send(()).unwrap();
        }
    }
    assert_eq!(seen, (1..601).collect::<Vec<_>>());
    for (ticket, n) in tickets.into_iter().zip(1..) {
        assert_eq!(block_on(ticket.accepted()).unwrap().0.index, n);
    }

    // Full again, and somebody deletes another file.
    let tickets = queue(&log, 601..901);
    assert_full(&failures.recv_timeout(LONG).unwrap());
    fs::remove_file(&filler).unwrap();
    again.send(()).unwrap();
    for (ticket, n) in tickets.into_iter().zip(601..) {
        assert_eq!(block_on(ticket.accepted()).unwrap().0.index, n);
    }
    log.close();
    writer.join().unwrap();
    let cursor = reader.cursor().position;
    drop((reader, log));

    // And the same after a restart.
    let (log, recovery) = open_log(&log_dir, &config(200_000)).unwrap();
    assert_eq!((recovery.torn, recovery.damage.len()), (None, 0));
    let mut reader = log.reader("r").unwrap();
    assert_eq!(reader.cursor().position, cursor);
    assert_eq!(numbers(&crate::read_to_end(&log, &mut reader)), (601..901).collect::<Vec<_>>());
    println!("the whole scenario has run");
}
