//! Archives take nothing away: what they wrote of a page that is gone stays. What is as it was can be left out.

use std::path::Path;
use std::sync::Arc;

use seine::delivery::Entry;
use seine::page::{Outcome, PageChange, Withheld};
use seine::sinks::Delivered;
use serde_json::Value;

use crate::files::{entry_of, event};
use crate::sink;

/// A page that comes, is as it was (a 200, and a 304), and is gone.
fn story() -> Vec<Arc<Entry>> {
    use PageChange::{Gone, New, Unchanged};
    let looks = [(New, 200), (Unchanged, 200), (Unchanged, 304), (Gone, 404)];
    let look = |(number, (change, status)): (usize, (PageChange, u16))| {
        let mut look = event(1, if status == 200 { b"<title>There</title><p>Text" } else { b"" });
        let Outcome::Response(response) = &mut look.outcome else { unreachable!() };
        response.status = status;
        look.change = Some(change);
        look.ended_ms += number as u64;
        entry_of(number as u64, look)
    };
    looks.into_iter().enumerate().map(look).collect()
}

fn deliver(folder: &Path, name: &str, keys: &[(&str, &str)]) -> Delivered {
    let mut sink = sink::open(&sink::config(name, keys), folder, &Value::Null);
    let delivered = sink.deliver(&story()).unwrap();
    sink.close().unwrap();
    delivered
}

#[test]
fn what_is_gone_is_kept() {
    let page = |folder: &Path| folder.join("a.example/http%3A%2F%2Fa.example%2F1");
    for (name, held) in
        [("FILES", 2), ("ELASTIC", 2), ("FILESYSTEM_HTML", 2), ("PAGESTORE", 2), ("WARC", 4), ("TIANWANG", 4)]
    {
        let folder = tempfile::tempdir().unwrap();
        let delivered = deliver(folder.path(), name, &[]);
        // Answers of whatever status are records of WARC and TIANWANG, and of no other.
        assert_eq!((delivered.delivered, delivered.skipped), (held, 4 - held), "{name}");
        if name == "FILESYSTEM_HTML" {
            assert!(page(folder.path()).is_file());
        }
    }
}

#[test]
fn what_is_as_it_was_can_be_left_out() {
    for (name, key, held) in [
        ("FILES", "records.unchanged", 1),
        ("WARC", "records.unchanged", 2),
        ("FILESYSTEM_CBOR", "filesystem.unchanged", 1),
        ("PAGESTORE", "pagestore.unchanged", 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let delivered = deliver(folder.path(), name, &[(key, "skip")]);
        assert_eq!((delivered.delivered, delivered.skipped), (held, 4 - held), "{name}");
    }
}

/// An archive holds what was answered, whoever may be shown it.
#[test]
fn what_asks_not_to_be_indexed_is_archived() {
    for (name, held) in [("FILES", 2), ("WARC", 2), ("PAGESTORE", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = sink::open(&sink::config(name, &[]), folder.path(), &Value::Null);
        let withheld = [None, Some(PageChange::Gone)].into_iter().zip(0..).map(|(change, number)| {
            let mut event = event(1, b"<title>Not for everybody</title>");
            (event.change, event.withheld) = (change, Some(Withheld::Noindex));
            event.ended_ms += number;
            entry_of(number, event)
        });
        let delivered = sink.deliver(&withheld.collect::<Vec<_>>()).unwrap();
        sink.close().unwrap();
        assert_eq!((delivered.delivered, delivered.skipped), (held, 0), "{name}");
    }
}
