//! Rolling files of complete records: every acknowledged page is there, once, whatever happened in between.

use std::path::Path;

use proptest::prelude::*;
use seine::sinks::rolling::{RollingFiles, RollingOptions};
use seine_formats::layout::{FileContent, NameStamp, RollingLayout};
use seine_formats::records::ReadSeek;
use serde_json::Value;

/// Records are lines here.
fn whole_lines(file: &mut dyn ReadSeek) -> std::io::Result<u64> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1))
}

fn rolling(max_file_size: u64) -> RollingOptions {
    let layout = RollingLayout {
        suffixes: &[".txt"],
        suffix: |_| ".txt",
        stamp: NameStamp::UtcMillis,
        serial_digits: 5,
        content: FileContent::Records(whole_lines),
        record_end: b"",
        index: None,
    };
    RollingOptions { layout, suffix: ".txt", level: 0, max_file_size }
}

fn open(folder: &Path, max_file_size: u64, state: &Value) -> RollingFiles {
    RollingFiles::open(folder, rolling(max_file_size), state).unwrap()
}

fn append(files: &mut RollingFiles, number: u32) {
    files.append(format!("{number}\n").as_bytes(), |name| format!("# {name}\n").into_bytes()).unwrap();
}

/// Names and contents in order.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), std::fs::read_to_string(folder.join(name)).unwrap())).collect()
}

fn numbers(folder: &Path) -> Vec<u32> {
    let all: String = contents(folder).into_iter().map(|(_, text)| text).collect();
    all.lines().filter(|line| !line.starts_with('#')).map(|line| line.parse().unwrap()).collect()
}

#[test]
fn a_file_is_named_by_its_time_and_open_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = open(folder.path(), 1000, &Value::Null);
    append(&mut files, 1);
    files.sync().unwrap();
    let (name, text) = contents(folder.path()).remove(0);
    let pattern = regex::Regex::new(r"^crawl_data-20\d{15}-00000\.txt\.open$").unwrap();
    assert!(pattern.is_match(&name), "{name}");
    assert_eq!(text, format!("# {}\n1\n", name.strip_suffix(".open").unwrap()));
    files.close().unwrap();
    assert_eq!(contents(folder.path())[0].0, name.strip_suffix(".open").unwrap());
}

#[test]
fn a_full_file_is_closed_and_a_record_larger_than_a_file_has_one_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = open(folder.path(), 60, &Value::Null);
    for record in [&[b'a'; 20][..], &[b'b'; 100], &[b'c'; 20], &[b'd'; 20]] {
        files.append(record, |_| Vec::new()).unwrap();
    }
    files.sync().unwrap();
    files.close().unwrap();
    let lengths: Vec<_> = contents(folder.path()).iter().map(|(_, text)| text.len()).collect();
    assert_eq!(lengths, [20, 100, 40]);
}

#[test]
fn without_a_state_what_was_left_open_is_closed_behind_its_last_whole_record() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("crawl_data-1-00000.txt.open"), "1\n2\nhal").unwrap();
    std::fs::write(folder.path().join("crawl_data-1-00001.txt.open"), "ha").unwrap();
    std::fs::write(folder.path().join("notes.txt.open"), "mine").unwrap();
    drop(open(folder.path(), 1000, &Value::Null));
    let expected = [("crawl_data-1-00000.txt", "1\n2\n"), ("notes.txt.open", "mine")];
    assert_eq!(contents(folder.path()), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
}

#[test]
fn a_state_of_something_else_counts_as_none() {
    let folder = tempfile::tempdir().unwrap();
    for state in [r#"{"open":{"name":"../x.txt","length":0},"reserved":1}"#, "[]", r#"{"reserved":"x"}"#] {
        let mut files = open(folder.path(), 1000, &serde_json::from_str(state).unwrap());
        append(&mut files, 1);
        files.sync().unwrap();
    }
    assert_eq!(numbers(folder.path()), [1, 1, 1]);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Append,
    Sync,
    Close,
    /// Dropped without an end, as by a kill, and reopened with the last state.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![6 => Just(Step::Append), 2 => Just(Step::Sync), 1 => Just(Step::Close), 1 => Just(Step::Crash)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn after_any_crash_there_is_what_was_acknowledged_and_what_came_again(steps in prop::collection::vec(step(), 1..60), size in 1..200_u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut files = open(folder.path(), size, &Value::Null);
        let mut state = files.sync().unwrap();
        let (mut next, mut acknowledged) = (0, 0);
        for step in steps {
            match step {
                Step::Append => {
                    append(&mut files, next);
                    next += 1;
                }
                Step::Sync => {
                    state = files.sync().unwrap();
                    acknowledged = next;
                }
                Step::Close => drop(files.close().unwrap()),
                Step::Crash => {
                    drop(files);
                    files = open(folder.path(), size, &state);
                    prop_assert_eq!(numbers(folder.path()), (0..acknowledged).collect::<Vec<_>>());
                    state = files.sync().unwrap();
                    next = acknowledged;
                }
            }
        }
        files.sync().unwrap();
        files.close().unwrap();
        prop_assert_eq!(numbers(folder.path()), (0..next).collect::<Vec<_>>());
        prop_assert!(contents(folder.path()).iter().all(|(name, _)| !name.ends_with(".open")));
    }
}
