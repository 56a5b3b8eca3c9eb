//! The recovery algorithm of the format's document, case by case.

use std::io::{self, Cursor};

use seine_formats::tianwang::{recover, whole_length};

use crate::support::{file_of, numbered, numbers, record, recovered, written};

/// Damage without structure.
const JUNK: &[u8] = b"\0\x01junk: \n\n junk \xff";

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn fake(number: usize, length: usize, data: &str) -> Vec<u8> {
    format!("version: 1.0\nurl: http://fake.example/{number}\ndate: y\nlength: {length}\n\n{data}\n").into_bytes()
}

#[test]
fn of_a_whole_file_every_record_is_found_as_it_stands() {
    let file = file_of(0..20);
    let recovered = recovered(&file);
    assert!(recovered.lost.is_empty());
    for (number, found) in recovered.found.iter().enumerate() {
        assert_eq!(found.bytes, numbered(number));
        assert!(found.record.data.ends_with(format!("<p>page {number}</p>").as_bytes()));
    }
    assert_eq!(recovered.found.len(), 20);
    assert_eq!(recovered_nothing(b""), 0);
    assert_eq!(recovered_nothing(JUNK), 1);
}

fn recovered_nothing(file: &[u8]) -> usize {
    let recovered = recovered(file);
    assert!(recovered.found.is_empty());
    recovered.lost.len()
}

#[test]
fn of_a_fragment_every_whole_record_is_found_wherever_it_was_cut() {
    let (file, ends) = (file_of(0..5), (0..=5).map(|count| file_of(0..count).len()).collect::<Vec<_>>());
    let whole = |from: usize, to: usize| -> Vec<usize> {
        (0..5).filter(|number| ends[*number] >= from && ends[number + 1] <= to).collect()
    };
    for from in 0..file.len() {
        assert_eq!(numbers(&file[from..]), whole(from, file.len()), "{from}..");
    }
    for to in 0..file.len() {
        assert_eq!(numbers(&file[..to]), whole(0, to), "..{to}");
        // A fragment of the middle, starting in the first record.
        assert_eq!(numbers(&file[3.min(to)..to]), whole(3, to), "3..{to}");
    }
}

#[test]
fn three_in_a_row_are_true_and_fewer_are_not() {
    let five = |middle: &[u8]| joined(&[JUNK, middle, JUNK, &file_of(6..9)]);
    assert_eq!(numbers(&five(&file_of(0..3))), [0, 1, 2, 6, 7, 8]);
    for count in 1..3 {
        let file = five(&file_of(0..count));
        assert_eq!(numbers(&file), [6, 7, 8]);
        let lost = recovered(&file).lost;
        assert_eq!((lost.len(), &lost[0].range), (1, &(0..(file.len() - file_of(6..9).len()) as u64)));
    }
    // Fewer than three, if the file ends or a possible record is cut by its end.
    let next = numbered(9);
    for tail in [&b""[..], b"v", b"version:", b"version: 1", &next[..20], &next[..next.len() - 1]] {
        assert_eq!(numbers(&joined(&[JUNK, &file_of(0..2), tail])), [0, 1], "{}", tail.escape_ascii());
        assert_eq!(numbers(&joined(&[JUNK, &file_of(0..1), tail])), [0], "{}", tail.escape_ascii());
    }
    assert_eq!(recovered_nothing(&joined(&[JUNK, &file_of(0..2), JUNK])), 1);
    // Records at the file's first byte need no search, so fewer are enough.
    assert_eq!(numbers(&joined(&[&file_of(0..2), JUNK, &file_of(2..3)])), [0, 1, 2]);
    assert_eq!(numbers(&joined(&[&file_of(0..1), JUNK])), [0]);
}

#[test]
fn behind_records_that_are_true_each_whole_one_is() {
    // The fourth record is damaged. The nine others are found, including those right before it.
    let good = |number| numbered(number);
    let fourth = numbered(3);
    let head_end = memchr::memmem::find(&fourth, b"\n\n").unwrap() + 2;
    let without = |at: usize| [&fourth[..at], &fourth[at + 1..]].concat();
    let changed = |at: usize, to: u8| [&fourth[..at], &[to], &fourth[at + 1..]].concat();
    for damaged in [
        Vec::new(),
        JUNK.to_vec(),
        changed(0, b'V'),
        changed(9, b'\r'),
        without(head_end - 1),
        without(head_end + 3),
        changed(head_end + 3, b'!'),
        fourth[..fourth.len() / 2].to_vec(),
        fourth[..head_end].to_vec(),
        fourth[..fourth.len() - 1].to_vec(),
        [&fourth[..], b"x"].concat(),
        b"version: 1.0\nurl: x\ndate: y\nlength: 4000000000000\n\nabc\n".to_vec(),
        b"version: 1.0\nurl: x\ndate: y\nlength: 99999999999999999999\n\nabc\n".to_vec(),
    ] {
        let file: Vec<u8> = (0..3).flat_map(good).chain(damaged.clone()).chain((4..10).flat_map(good)).collect();
        let mut found = numbers(&file);
        found.retain(|number| *number != 3);
        assert_eq!(found, [0, 1, 2, 4, 5, 6, 7, 8, 9], "{}", damaged.escape_ascii());
    }
}

#[test]
fn a_record_whose_data_does_not_inflate_is_given_up_alone() {
    let mut damaged = numbered(3);
    let at = damaged.len() - 4;
    damaged[at] ^= 0x55;
    let file = joined(&[&file_of(0..3), &damaged, &file_of(4..6)]);
    let recovered = recovered(&file);
    let offset = file_of(0..3).len() as u64;
    let [loss] = &recovered.lost[..] else { panic!("{:?}", recovered.lost) };
    assert_eq!(loss.range, offset..offset + damaged.len() as u64);
    assert!(loss.record.as_ref().unwrap().contains("inflate"), "{loss:?}");
    assert_eq!(numbers(&file), [0, 1, 2, 4, 5]);
}

#[test]
fn a_page_that_holds_records_is_one_record() {
    let inner =
        String::from_utf8([fake(1, 1, "x"), fake(2, 1, "x"), fake(3, 1, "x"), fake(4, 1, "x")].concat()).unwrap();
    let page = |number: usize| written(&record(&format!("http://a.example/{number}"), false, inner.as_bytes()));
    let file = joined(&[JUNK, &numbered(0), &page(1), &numbered(2), &page(3)]);
    assert_eq!(numbers(&file), [0, 1, 2, 3]);
    // Two are not enough, even if the page around them is damaged.
    let two = String::from_utf8([fake(1, 1, "x"), fake(2, 1, "x")].concat()).unwrap();
    let damaged = written(&record("http://a.example/1", false, format!("{two}...").as_bytes())).split_off(5);
    assert_eq!(numbers(&joined(&[&damaged, &file_of(2..5)])), [2, 3, 4]);
}

#[test]
fn what_is_left_of_a_head_is_not_taken_for_one() {
    let whole = file_of(1..4);
    let first = numbered(0);
    // Cut anywhere, the rest of the first record precedes intact ones; its page contains no head.
    for length in 0..first.len() {
        for before in [JUNK, b""] {
            let file = joined(&[before, &first[..length], &whole]);
            assert_eq!(numbers(&file), [1, 2, 3], "{} bytes", length);
        }
    }
    // One URL contains the beginning of a head.
    let strange = written(&record("http://a.example/?version:1.0/7", false, b"x"));
    let at_its_end = written(&record("http://a.example/7/?version:1.0", false, b"x"));
    assert_eq!(numbers(&joined(&[JUNK, &strange, &whole])), [7, 1, 2, 3]);
    assert_eq!(recovered(&joined(&[JUNK, &at_its_end, &whole])).found[0].bytes, at_its_end);
}

#[test]
fn a_record_that_swallowed_another_is_not_taken() {
    // Its DATA is cut by 60 bytes. By chance there is an LF where it would end, in the next record's DATA.
    let data = [&[b'a'; 200][..], b"\n"].concat();
    let plain = |number: usize| written(&record(&format!("http://a.example/{number}"), false, &data));
    let before = [plain(0), plain(1)].concat();
    let cut = plain(2);
    let head = cut.len() - data.len() - 1;
    for gone in 1..=head + 150 {
        let mut next = plain(3);
        let end_in_next = gone - 1;
        if end_in_next >= next.len() || gone > data.len() {
            break;
        }
        if end_in_next >= head {
            next[end_in_next] = b'\n';
        }
        let file = joined(&[&before, &cut[..head + data.len() + 1 - gone], &next, JUNK, &file_of(10..13)]);
        let mut found = numbers(&file);
        found.retain(|number| *number != 3);
        assert_eq!(found, [0, 1, 10, 11, 12], "{gone} bytes");
    }
}

#[test]
fn the_form_is_the_documented_one_strictly() {
    let tail = file_of(0..3);
    let is_found = |first: &[u8]| {
        let recovered = recovered(&joined(&[JUNK, first, &tail]));
        assert!(recovered.found.len() >= 3);
        recovered.found.len() == 4
    };
    for first in [
        &b"version:1.0\nurl:x\ndate:\nlength:0\n\n\n"[..],
        b"version: \t2.10 \nx_y-1.z: \xff\nip:\nurl: x\ndate: y\nunknown:\nlength:  003 \n\nabc\n",
        b"version: 1\ndate: x\nurl: y\nlength: 1\n\n\n\n",
    ] {
        assert!(is_found(first), "{}", first.escape_ascii());
    }
    for first in [
        &b"Version: 1.0\ndate: y\nurl: x\nlength: 1\n\na\n"[..],
        b"version: one\ndate: y\nurl: x\nlength: 1\n\na\n",
        b"version:\ndate: y\nurl: x\nlength: 1\n\na\n",
        b"version: 1.0\r\ndate: y\nurl: x\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\r\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nUrl: x\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nlength: 1\nip: last\n\na\n",
        b"version: 1.0\ndate: y\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: \nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nurl: y\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nlength: 1\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nunzip-length: a\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nlength: -1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nlength: 0x1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nlength: 2\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nlength: 1\n\nab",
        b"version: 1.0\ndate: y\nurl: x\nno colon\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\nhas blank: 1\nlength: 1\n\na\n",
        b"version: 1.0\ndate: y\nurl: x\n: 1\nlength: 1\n\na\n",
        b"version: 1.0\nurl: x\nlength: 1\n\na\n",
    ] {
        assert!(!is_found(first), "{}", first.escape_ascii());
    }
}

#[test]
fn an_error_of_the_callers_ends_it() {
    let mut count = 0;
    let error = recover(&mut Cursor::new(file_of(0..5)), |_| {
        count += 1;
        if count == 2 { Err(io::Error::other("the disk is full")) } else { Ok(()) }
    });
    assert_eq!(error.unwrap_err().to_string(), "the disk is full");
    assert_eq!(count, 2);
}

#[test]
fn of_a_file_left_open_the_whole_records_are_known() {
    let file = file_of(0..4);
    let ends: Vec<_> = (0..=4).map(|count| file_of(0..count).len()).collect();
    for length in 0..=file.len() {
        let whole = ends.iter().rev().find(|end| **end <= length).unwrap();
        assert_eq!(whole_length(&mut Cursor::new(&file[..length])).unwrap(), *whole as u64);
    }
}
