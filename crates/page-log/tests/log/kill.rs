//! `kill -9`, for real: the test binary starts itself as a child that appends, and kills it at random moments.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use seine_page_log::PageLog;

use crate::{LONG, config, copy_dir, event, moved, open_log, start_writer};

const CHILD: &str = "SEINE_LOG_TEST_CHILD";
const ROUNDS: u64 = 40;

/// This binary again, running [`the_child`] as `role` on `dir`.
pub fn child(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(child_arguments()).env(CHILD, format!("{role}:{}", dir.display()));
    command
}

pub fn child_arguments() -> [&'static str; 3] {
    ["kill::the_child", "--exact", "--nocapture"]
}

/// Not a test: the code of the children.
#[test]
fn the_child() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let (role, dir) = task.split_once(':').expect("role:folder");
    let dir = PathBuf::from(dir);
    match role {
        "open" => match open_log(&dir, &config(1000)) {
            Ok(_) => say("opened"),
            Err(e) => say(&e.to_string()),
        },
        "full" => crate::full_disk::scenario(&dir),
        round => append_until_killed(&dir, round.parse().expect("a round's number")),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).expect("the parent listens");
    out.flush().expect("the parent listens");
}

/// Appends from several tasks and reports accepted events; a sink reads at the same time and reports its commits.
fn append_until_killed(dir: &Path, round: u64) {
    let (log, _) = open_log(dir, &config(20_000)).expect("the log opens");
    let mut sink = log.reader("sink").expect("a reader");
    let keeper = log.reader("keeper").expect("a reader");
    start_writer(&log);
    std::thread::spawn(move || {
        loop {
            let entries = sink.next(10, 1 << 20, LONG).expect("it reads");
            let end = entries.last().expect("in a minute").end;
            sink.commit(moved(&sink, end, entries.len() as u64)).expect("it commits");
            say(&format!("committed {}", end.index));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8u64 {
            let log = log.clone();
            tasks.spawn(async move {
                for n in 0.. {
                    // Unique over all rounds; bodies of all sizes.
                    let number = round * 1_000_000 + task * 100_000 + n;
                    let ticket = log.append(event(number, (number % 4096) as usize), None).await.expect("taken");
                    let position = ticket.accepted().await.expect("accepted").0;
                    say(&format!("accepted {number} {}", position.index));
                }
            });
        }
        tasks.join_next().await;
    });
    drop(keeper);
}

/// The reports of the children so far.
#[derive(Default)]
struct Heard {
    /// Event number by index.
    accepted: BTreeMap<u64, u64>,
    committed: u64,
}

impl Heard {
    /// Only complete lines: the kill may cut the last one.
    fn line(&mut self, line: &str) {
        let Some(line) = line.strip_suffix('\n') else { return };
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words[..] {
            ["accepted", event, index] => {
                assert_eq!(self.accepted.insert(number(index), number(event)), None, "index {index} was given twice")
            }
            ["committed", index] => self.committed = number(index),
            _ => {}
        }
    }
}

#[test]
fn everything_accepted_survives_kill_9_exactly_once_and_in_order() {
    let dir = crate::folder();
    let mut random = fastrand::Rng::with_seed(9);
    let mut heard = Heard::default();
    for round in 0..ROUNDS {
        let mut process = child(&round.to_string(), dir.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        // Killed after some lines, sometimes before the first: while it opens.
        for _ in 0..random.u32(0..60) {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            heard.line(&line);
        }
        process.kill().unwrap();
        process.wait().unwrap();
        // Lines that it printed before the kill.
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap() > 0 {
            heard.line(&std::mem::take(&mut line));
        }
        if round % 8 == 7 {
            check(dir.path(), &heard);
        }
    }
    assert!(heard.accepted.len() > 500 && heard.committed > 100, "the children did too little to prove anything");
    check(dir.path(), &heard);
}

/// Checks a copy, so that the check changes nothing.
fn check(dir: &Path, heard: &Heard) {
    let copy = crate::folder();
    copy_dir(dir, copy.path());
    let (log, recovery) = open_log(copy.path(), &config(20_000)).unwrap();
    assert!(recovery.damage.is_empty() && recovery.unreadable.is_empty(), "{recovery:?}");
    let all = read_all(&log);
    let indexes: Vec<u64> = all.iter().map(|&(index, _)| index).collect();
    assert_eq!(indexes, (1..log.status().end.index + 1).collect::<Vec<_>>(), "dense, from the first on");
    let by_number: BTreeMap<u64, u64> = all.iter().map(|&(index, number)| (number, index)).collect();
    assert_eq!(by_number.len(), all.len(), "an event is there twice");
    for (index, number) in &heard.accepted {
        assert_eq!(by_number.get(number), Some(index), "event {number} was accepted");
    }
    let sink = log.reader("sink").unwrap();
    assert!(sink.cursor().position.index >= heard.committed, "a commit was lost");
    assert_eq!(sink.cursor().delivered, sink.cursor().position.index, "the cursor and its books are one");
}

fn read_all(log: &PageLog) -> Vec<(u64, u64)> {
    let mut reader = log.reader("reader").unwrap();
    let mut all = Vec::new();
    loop {
        let entries = reader.next(1000, 1 << 20, Duration::ZERO).unwrap();
        if entries.is_empty() {
            return all;
        }
        all.extend(entries.iter().map(|entry| (entry.end.index, crate::number(entry))));
    }
}
