//! Arbitrary bytes: no panic, no endless loop. PROPTEST_CASES sets the number of cases.

use std::io::Cursor;

use proptest::prelude::*;
use seine_formats::tianwang::whole_length;

use crate::support::{file_of, numbered, read, recovered};

/// Bytes and pieces of heads in any order.
fn nearly_records() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"version:".to_vec()),
        Just(b"version: 1.0\n".to_vec()),
        Just(b"url: x\n".to_vec()),
        Just(b"date: y\n".to_vec()),
        Just(b"unzip-length: 5\n".to_vec()),
        (0..200_u64).prop_map(|length| format!("length: {length}\n\n").into_bytes()),
        any::<u64>().prop_map(|length| format!("length: {length}\n\n").into_bytes()),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..30),
        (0..9_usize).prop_map(numbered),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A valid file with flipped bits, cut at both ends.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let index = any::<prop::sample::Index>;
    (prop::collection::vec((index(), any::<u8>()), 0..12), index(), index()).prop_map(|(flips, from, to)| {
        let mut file = file_of(0..6);
        for (at, bits) in flips {
            let at = at.index(file.len());
            file[at] ^= bits;
        }
        let (from, to) = (from.index(file.len()), to.index(file.len()));
        file[from.min(to)..from.max(to)].to_vec()
    })
}

fn everything(file: &[u8]) {
    let (records, errors, _) = read(file);
    assert!(records.len() + errors.len() <= file.len() + 1);
    for record in records {
        record.into_event();
    }
    for found in recovered(file).found {
        found.record.into_event();
    }
    assert!(whole_length(&mut Cursor::new(file)).unwrap() <= file.len() as u64);
}

proptest! {
    #[test]
    fn any_bytes(file in prop::collection::vec(any::<u8>(), 0..4000)) {
        everything(&file);
    }

    #[test]
    fn nearly_records_of_any_kind(file in nearly_records()) {
        everything(&file);
    }

    #[test]
    fn valid_files_with_bits_turned_over(file in damaged()) {
        everything(&file);
    }
}
