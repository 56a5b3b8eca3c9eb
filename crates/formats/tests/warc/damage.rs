//! Every complete record is found whatever was cut, overwritten or inserted. None is invented, and nothing hangs or
//! panics.

use super::*;
use proptest::prelude::*;

fn events() -> Vec<PageEvent> {
    let noise = |number: u64| -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(number);
        (0..200).map(|_| random.u8(..)).collect()
    };
    (1..8).map(|number| exact(number, &noise(number))).collect()
}

/// Whether each record is one of those written.
fn are_of(found: &[WarcRecord], all: &[WarcRecord]) -> bool {
    found.iter().all(|it| all.iter().any(|other| it.fields == other.fields && it.block == other.block))
}

fn ids(records: &[WarcRecord]) -> Vec<&str> {
    records.iter().filter_map(|it| it.id()).collect()
}

#[test]
fn a_file_cut_anywhere_gives_every_whole_record_and_no_error() {
    for options in [PLAIN, GZIP] {
        let file = file_of(&events()[..2], options);
        let all = records(&file);
        for length in 0..file.len() {
            let mut reader = WarcReader::new(&file[..length]);
            let found: Vec<_> = reader.by_ref().map(|it| it.unwrap()).collect();
            let ends = |it: &&WarcRecord| it.location.offset + it.location.length.unwrap() <= length as u64;
            let whole = all.iter().filter(ends).count();
            // The last one may lack only its line ends or its checksum.
            assert!(found.len() == whole || found.len() == whole + 1, "{length}");
            assert!(are_of(&found, &all), "{length}");
            let end = all[..whole].last().map_or(0, |it| it.location.offset + it.location.length.unwrap());
            assert_eq!(reader.whole_bytes(), end, "{length}");
            assert_eq!(reader.truncated(), end != length as u64, "{length}");
        }
    }
}

#[test]
fn of_a_damaged_member_nothing_else_is_lost() {
    let file = file_of(&events(), GZIP);
    let all = records(&file);
    for (number, record) in all.iter().enumerate() {
        let (start, end) = (record.location.offset, record.location.offset + record.location.length.unwrap());
        for at in (start..end).step_by(3) {
            for value in [0, 0xff, file[at as usize] ^ 0x10] {
                let mut damaged = file.clone();
                if damaged[at as usize] == value {
                    continue;
                }
                damaged[at as usize] = value;
                let (found, errors, truncated) = read(&damaged);
                let odd = found.iter().find(|it| !are_of(std::slice::from_ref(it), &all));
                assert!(odd.is_none(), "{at} of {number}: {odd:?}");
                assert!(found.len() >= all.len() - 1, "{at} of {number}: {} records, {errors:?}", found.len());
                // The time in a gzip header and the padding bits of the last byte have no effect.
                let noticed = !errors.is_empty() || truncated;
                assert!(noticed || found.len() == all.len(), "{at} of {number}");
            }
        }
    }
}

#[test]
fn of_a_damaged_plain_file_nothing_else_is_lost() {
    let file = file_of(&events()[..3], PLAIN);
    let all = records(&file);
    for at in 0..file.len() {
        for value in [0, b'9', b'\n', file[at] ^ 0x10] {
            if file[at] == value {
                continue;
            }
            let mut damaged = file.clone();
            damaged[at] = value;
            let (found, errors, _) = read(&damaged);
            let untouched = all.iter().filter(|it| {
                let (start, end) =
                    (it.location.offset as usize, (it.location.offset + it.location.length.unwrap()) as usize);
                !(start..end).contains(&at)
            });
            for record in untouched {
                let is_there = found.iter().any(|it| it.fields == record.fields && it.block == record.block);
                assert!(is_there, "byte {at} to {value}: {:?} lost, found {:?}, {errors:?}", record.id(), ids(&found));
            }
            assert!(found.len() <= all.len(), "byte {at} to {value}: made up");
        }
    }
}

#[test]
fn what_was_inserted_or_torn_out_costs_only_what_it_hit() {
    let seed: Vec<u8> = (0..300_u32).map(|it| ((it * 7919) >> 3) as u8).collect();
    for options in [PLAIN, GZIP] {
        let file = file_of(&events(), options);
        let all = records(&file);
        for (number, record) in all.iter().enumerate().skip(1) {
            let start = record.location.offset as usize;
            let length = record.location.length.unwrap() as usize;
            // Damage between two records loses nothing.
            let inserted = [&file[..start], b"\0\xffrubbish\n", &seed, &file[start..]].concat();
            let (found, errors, _) = read(&inserted);
            assert_eq!(ids(&found), ids(&all), "{number}: {errors:?}");
            assert_eq!(errors.len(), 1, "{number}: {errors:?}");
            // The middle of one record is missing.
            let torn = [&file[..start + length / 3], &file[start + 2 * length / 3..]].concat();
            let (found, _, _) = read(&torn);
            let others: Vec<_> = all.iter().filter(|it| it.id() != record.id()).filter_map(|it| it.id()).collect();
            let found: Vec<_> = ids(&found).into_iter().filter(|id| Some(*id) != record.id()).collect();
            assert_eq!(found, others, "{number}");
        }
    }
}

/// Its fields have no other checksum, so they may be wrong.
#[test]
fn a_record_whose_checksum_is_wrong_is_told_and_not_given() {
    let file = file_of(&events()[..2], GZIP);
    let all = records(&file);
    let mut damaged = file.clone();
    damaged[(all[1].location.offset + all[1].location.length.unwrap()) as usize - 6] ^= 1;
    let (found, errors, _) = read(&damaged);
    assert_eq!((found.len(), are_of(&found, &all)), (all.len() - 1, true));
    assert!(errors.len() == 1 && errors[0].to_string().contains("damaged at or shortly before byte"), "{errors:?}");
}

#[test]
fn an_error_of_the_disk_ends_the_file_with_its_place() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    for options in [PLAIN, GZIP] {
        let file = file_of(&events(), options);
        let half = file.len() / 2;
        let items: Vec<_> = WarcReader::new(std::io::Read::chain(&file[..half], Failing)).take(100).collect();
        let message = items.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(message.contains(&format!("at byte {half} failed: the disk is gone")), "{message}");
        assert!(items.len() > 2 && items.iter().filter(|it| it.is_err()).count() == 1);
    }
}

/// Uses every function on a file.
fn use_up(file: &[u8]) {
    for record in WarcReader::with_max_block(file, 1 << 20).flatten() {
        let _ = (record.check_block(), record.check_payload());
        seine_formats::warc::cdxj::line(&record, "x.warc.gz");
        let mut out = Vec::new();
        record.write(&mut out);
    }
    let _ = WarcPages::new(WarcReader::with_max_block(file, 1 << 20)).count();
}

proptest! {
    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2_000), text in "[WARC/01.: \r\n\\-a-zLength]{0,300}") {
        use_up(&bytes);
        use_up(text.as_bytes());
        use_up(&[b"WARC/1.1\r\n", bytes.as_slice()].concat());
        use_up(&[b"\x1f\x8b\x08\x00", bytes.as_slice()].concat());
        use_up(&gzip(&bytes));
        use_up(&[b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Type: application/http\r\nContent-Length: ",
            bytes.len().to_string().as_bytes(), b"\r\n\r\n", &bytes, b"\r\n\r\n"].concat());
    }

    #[test]
    fn valid_files_hit_here_and_there_are_read_or_refused(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        compressed in any::<bool>(),
    ) {
        let mut file = file_of(&zoo(), if compressed { GZIP } else { PLAIN });
        for (at, value) in hits {
            let at = at.index(file.len());
            file[at] = value;
        }
        use_up(&file);
        use_up(&file[cut.index(file.len())..]);
        use_up(&gzip(&file));
    }
}

/// A gzip header every few bytes: each may be a start, and none is tried too often.
#[test]
fn a_file_of_nothing_but_false_starts_is_soon_done() {
    let heads = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03".repeat(20_000);
    let began = std::time::Instant::now();
    assert!(read(&heads).0.is_empty());
    // Members in members, each of which starts a record and is cut.
    let mut nested = Vec::new();
    for _ in 0..3_000 {
        nested.extend_from_slice(&gzip(b"WARC/1.1\r\nContent-Length: 9\r\n\r\n")[..24]);
    }
    read(&nested);
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
