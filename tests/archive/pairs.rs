//! From every format to every other: what both store comes back equal, and what the table says is not stored does not.

use std::path::Path;

use seine::archive::transfer::Summary;
use seine::archive::transfer_state::NotSent;
use seine_formats::Format;
use seine_formats::stored_fields::{Field, Stored};
use seine_parse::page::PageEvent;

use crate::facts::Known;
use crate::{Silent, events, pages, transfer, write};

/// Fields that are not compared: they are part of the content or describe a kind of page. An id that is not stored is
/// made anew.
fn is_compared(field: Field, format: Format) -> bool {
    match field {
        Field::OtherAnswers | Field::OtherTypes | Field::Failures => false,
        Field::BodyReceived | Field::EventId | Field::Exchange => format.holds(field) != Stored::No,
        _ => true,
    }
}

#[track_caller]
fn assert_kept(before: &[Known], after: &[Known], format: Format) {
    let mut kept: Vec<&Known> = before.iter().filter(|known| known.is_kept_by(format)).collect();
    let mut found: Vec<&Known> = after.iter().collect();
    if is_tree(format) {
        kept.sort_by_key(|known| known.field_in(Field::Url, format));
        found.sort_by_key(|known| known.field(Field::Url));
    }
    let expected: Vec<String> = kept.iter().map(|known| known.field_in(Field::Url, format)).collect();
    assert_eq!(found.iter().map(|known| known.field(Field::Url)).collect::<Vec<_>>(), expected, "in {format}");
    for (before, after) in kept.into_iter().zip(found) {
        for field in Field::all().filter(|field| is_compared(*field, format)) {
            if is_filled_in(before, field, format) {
                assert_ne!(after.field(field), "0", "{field} in {format}: 1970");
                continue;
            }
            let (expected, found) = (before.field_in(field, format), after.found(field, format));
            assert_eq!(found, expected, "{field} in {format} of {}", before.event.url);
        }
    }
}

/// An unknown time that had to be filled in.
fn is_filled_in(before: &Known, field: Field, format: Format) -> bool {
    matches!(field, Field::Fetched | Field::Started)
        && before.lacks.has(Field::Fetched)
        && format.demands(Field::Fetched)
}

/// Sorted by URL, since files named after their pages have no order.
fn is_tree(format: Format) -> bool {
    [crate::HTML, crate::JSON, crate::CBOR].contains(&format)
}

fn known(folder: &Path, format: Format) -> Vec<Known> {
    let pages = pages(folder);
    assert!(pages.iter().all(|page| page.format == format), "each is told by its content");
    for page in &pages {
        for field in Field::all().filter(|field| format.holds(*field) == Stored::No) {
            assert!(page.lacks.has(field), "{field} of {format} is made up");
        }
    }
    pages.into_iter().map(Known::read).collect()
}

/// Every field that the format demands and the archive lacks was filled in, and reported.
fn assert_said(between: &[Known], summary: &Summary, to: Format) {
    let fillings = [Field::Url, Field::FinalUrl, Field::Status, Field::Fetched, Field::Relevance];
    let sent: Vec<_> =
        between.iter().filter(|known| !(known.lacks.has(Field::Body) && to.demands(Field::Body))).collect();
    for field in fillings {
        let lacking = sent.iter().filter(|known| to.demands(field) && known.lacks.has(field)).count() as u64;
        let said: u64 = summary.filled.iter().filter(|((_, it), _)| *it == field).map(|(_, pages)| *pages).sum();
        assert_eq!(said, lacking, "{field} in {to}");
    }
}

fn through_every_pair(events: &[PageEvent]) {
    for from in Format::ALL {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("from");
        write(from, events, &first);
        let before: Vec<Known> = events.iter().cloned().map(Known::new).collect();
        let between = known(&first, from);
        assert_kept(&before, &between, from);
        for to in Format::ALL {
            let second = folder.path().join(to.name);
            let summary = transfer(&first, &second, to.name).run(&mut Silent).unwrap();
            let kept = between.iter().filter(|known| known.is_kept_by(to)).count() as u64;
            let Summary { delivered, skipped, dead, not_sent: NotSent { unreadable, without_content, .. }, .. } =
                summary;
            let expected = (kept, between.len() as u64 - kept, 0, 0);
            assert_eq!((delivered, skipped + without_content, dead, unreadable), expected, "{from} to {to}");
            assert_said(&between, &summary, to);
            if kept > 0 {
                assert_kept(&between, &known(&second, to), to);
            }
        }
    }
}

#[test]
fn nasty_pages_come_through_every_pair() {
    through_every_pair(&events::nasty());
}

#[test]
fn random_pages_come_through_every_pair() {
    through_every_pair(&events::random(60));
}

#[test]
fn every_status_comes_through_every_pair() {
    through_every_pair(&events::statuses());
}

#[test]
fn ten_thousand_headers_come_through_every_pair() {
    through_every_pair(&events::many_headers());
}

/// From each format to the next, so that every format is written from another and read for another.
#[test]
fn a_body_of_fifty_megabytes_comes_through_every_format_that_holds_it() {
    let mut body = vec![0; 50_000_000];
    fastrand::Rng::with_seed(3).fill(&mut body);
    let folder = tempfile::tempdir().unwrap();
    let event = events::with_type(1, "application/octet-stream", body);
    let at = |step: usize| folder.path().join(step.to_string());
    write(crate::FILES, std::slice::from_ref(&event), &at(0));
    let formats: Vec<Format> = Format::ALL
        .iter()
        .copied()
        .filter(|it| it.holds(Field::Body) == Stored::Complete && it.holds(Field::OtherTypes) != Stored::No)
        .collect();
    assert!(formats.len() >= 6, "{formats:?}");
    for (step, format) in formats.iter().enumerate() {
        transfer(&at(step), &at(step + 1), format.name).run(&mut Silent).unwrap();
        let read = pages(&at(step + 1));
        assert_eq!(read.len(), 1, "{format}");
        assert!(read[0].event.response().unwrap().body == event.response().unwrap().body, "{format}");
        std::fs::remove_dir_all(at(step)).unwrap();
    }
}

#[test]
fn what_is_lost_is_said_from_the_table() {
    let all: Vec<String> = Format::ALL
        .iter()
        .flat_map(|from| Format::ALL.iter().map(move |to| (from, to)))
        .filter_map(|(from, to)| Some(format!("from {from}: {}", from.losses_in(*to)?)))
        .collect();
    insta::assert_snapshot!(all.join("\n"));
    assert!(Format::ALL.iter().all(|format| format.losses_in(*format).is_none()));
}
