//! Archives delete nothing: the records of a page that is gone stay. Unchanged pages can be skipped.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use seine::sinks::Delivered;
use seine_delivery::Entry;
use seine_parse::page::{Outcome, PageChange, PageEvent, TextChange, TextsGiven, Withheld};
use serde_json::Value;

use crate::files::{entry_of, event};
use crate::sink;

/// A page that is new, unchanged (a 200, and a 304), and gone.
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
        // Only WARC and TIANWANG store answers of any status.
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

/// Event `number` of a page: its change, and the distance of its text by threshold.
fn told(number: u64, change: PageChange, distances: &[(u8, u8)]) -> Arc<Entry> {
    let text = TextChange { distances: distances.iter().copied().collect(), ..TextChange::default() };
    let event = PageEvent { change: Some(change), text: Some(text), ..event(number, b"<title>There</title>") };
    entry_of(number, event)
}

#[test]
fn what_has_changed_too_little_is_as_it_was() {
    use PageChange::{Changed, New, Unchanged};
    let story = [
        told(0, New, &[]),
        told(1, Changed, &[(0, 4), (5, 4)]),
        told(2, Changed, &[(0, 1), (5, 5)]),
        // The distance is unknown for this sink, or for all; or the page has not changed.
        told(3, Changed, &[(0, 1), (9, 1)]),
        told(4, Changed, &[]),
        told(5, New, &[(5, 0)]),
        told(6, Unchanged, &[(5, 0)]),
    ];
    for (name, group) in
        [("FILES", "records"), ("WARC", "records"), ("FILESYSTEM_HTML", "filesystem"), ("PAGESTORE", "pagestore")]
    {
        for (min_change, skipped) in [("5", 2), ("4", 1), ("9", 2), ("0", 1)] {
            let folder = tempfile::tempdir().unwrap();
            let keys = [(format!("{group}.unchanged"), "skip"), (format!("{group}.min_change"), min_change)];
            let keys = keys.each_ref().map(|(key, value)| (key.as_str(), *value));
            let mut sink = sink::open(&sink::config(name, &keys), folder.path(), &Value::Null);
            let delivered = sink.deliver(&story).unwrap();
            sink.close().unwrap();
            assert_eq!((delivered.delivered, delivered.skipped), (7 - skipped, skipped), "{name} from {min_change} on");
        }
    }
}

proptest! {
    /// However small the steps: the text last given to a sink is never as far from the page as its threshold, and is
    /// not replaced sooner.
    #[test]
    fn no_page_drifts_away(
        flips in prop::collection::vec(prop::collection::vec(0..64u32, 0..4), 1..60),
        thresholds in prop::collection::btree_set(0..=64u8, 1..4),
    ) {
        let (mut now, mut known) = (0x5eed_u64, TextsGiven::new());
        let mut given: Vec<(u8, Option<u64>)> = thresholds.iter().map(|threshold| (*threshold, None)).collect();
        for flip in flips {
            now = flip.into_iter().fold(now, |now, bit| now ^ (1 << bit));
            let text = TextChange::of(now, &known, &thresholds);
            for (threshold, last) in &mut given {
                let distance = text.distances.get(threshold).copied();
                prop_assert_eq!(distance.map(u32::from), last.map(|last| (last ^ now).count_ones()));
                if distance.is_none_or(|distance| distance >= *threshold) {
                    *last = Some(now);
                }
                prop_assert!(last.is_some_and(|last| last == now || (last ^ now).count_ones() < u32::from(*threshold)));
            }
            known = text.given;
        }
        prop_assert!(known.keys().copied().collect::<BTreeSet<_>>() == thresholds);
    }
}

/// An archive stores every answer, whoever may see it.
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
