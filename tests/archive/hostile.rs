//! Hostile and random bytes: no panic, no endless loop, bounded memory.

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use seine::archive::inputs::{ArchiveInputs, InputOptions};
use seine::archive::recover::recover;
use seine::archive::verify::verify;
use seine_formats::Format;

use crate::{events, write};

/// Reads a file in every possible way.
fn read_all_ways(path: &Path) {
    let formats = Format::ALL.into_iter().map(Some).chain([None]);
    for format in formats {
        let options = InputOptions { format, ..InputOptions::default() };
        let names = [path.to_str().unwrap().to_owned()];
        for found in ArchiveInputs::open(&names, options).unwrap() {
            if let Ok(seine::archive::inputs::FoundInput::Input(input)) = found {
                verify(&input, &Default::default(), &mut |_| ()).unwrap();
            }
        }
        let out = path.with_extension("out");
        let _ = recover(path, &out, format, &mut |_, _| ());
        let _ = std::fs::remove_file(out);
    }
}

/// A file of each format.
fn valid() -> Vec<Vec<u8>> {
    let file = |format: Format| {
        let folder = tempfile::tempdir().unwrap();
        write(format, &events::nasty(), folder.path());
        let first = walkdir::WalkDir::new(folder.path()).into_iter().flatten().find(|it| it.file_type().is_file());
        std::fs::read(first.unwrap().path()).unwrap()
    };
    Format::ALL.into_iter().map(file).collect()
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: ProptestConfig::default().cases.min(64), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, bytes).unwrap();
        read_all_ways(&path);
    }

    #[test]
    fn beginnings_of_formats_before_any_bytes(
        start in prop::sample::select(vec![
            &b"{\"url\":"[..], b"\x78\x9c", b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\0\0\xff\xff", b"WARC/1.1\r\n", b"version: 1.0\n",
            b"{\"_id\":\"x\",\"raw_content\":\"", b"\xa1\x63url", b"\"{\"\"original_url\"\"",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, [start, &bytes].concat()).unwrap();
        read_all_ways(&path);
    }
}

#[test]
fn valid_files_cut_and_flipped() {
    let mut rng = fastrand::Rng::with_seed(17);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes");
    for whole in valid() {
        for _ in 0..12 {
            let mut bytes = whole[..rng.usize(1..=whole.len())].to_vec();
            for _ in 0..rng.usize(..4) {
                let at = rng.usize(..bytes.len());
                bytes[at] ^= 1 << rng.u8(..8);
            }
            std::fs::write(&path, bytes).unwrap();
            read_all_ways(&path);
        }
    }
}

#[test]
fn a_file_of_false_starts_is_given_up_in_time() {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    for pattern in [&b"{\""[..], b"\x78\x9c", b"\x1f\x8b\x08", b"\0\0\xff\xff", b"\x78\x01\0\xff\xff\0\0{"] {
        let path = folder.path().join("false");
        std::fs::write(&path, pattern.repeat(1_000_000 / pattern.len())).unwrap();
        let out = folder.path().join("out");
        let recovery = recover(&path, &out, Some(crate::FILES), &mut |_, _| ()).unwrap();
        assert_eq!(recovery.records, 0);
        assert_eq!(recovery.lost_bytes, recovery.length);
        std::fs::remove_file(out).unwrap();
    }
    assert!(started.elapsed() < Duration::from_secs(100), "{:?}", started.elapsed());
}
