//! Damaged files of the format FILES.

use super::*;

#[test]
fn a_file_cut_anywhere_gives_every_whole_record_and_no_error() {
    let data = lines(0..12);
    let mut flushed = Vec::new();
    let mut stream = ZlibStream::new(6);
    // A flush after every third record: everything before it must be readable, whatever the rest.
    let mut safe = vec![(0, 0)];
    for number in 0..12 {
        stream.write(&lines(number..number + 1), &mut flushed).unwrap();
        if number % 3 == 2 {
            stream.flush(&mut flushed).unwrap();
            safe.push((flushed.len(), number + 1));
        }
    }
    stream.finish(&mut flushed).unwrap();
    let all: Vec<_> = (0..12).map(record).collect();

    for (file, safe) in [(flushed, safe), (gzip(&data), vec![(0, 0)]), (data.clone(), vec![(0, 0)])] {
        for length in 0..file.len() {
            let (records, error, truncated) = read(&file[..length]);
            assert!(error.is_none(), "{length}: {error:?}");
            assert!(all.starts_with(&records), "{length}");
            let least = safe.iter().filter(|(at, _)| *at <= length).map(|(_, count)| *count).max().unwrap();
            assert!(records.len() >= least, "{length}: {} of {least}", records.len());
            let at_an_edge = file == data && (data[length] == b'\n' || length > 0 && data[length - 1] == b'\n');
            assert_eq!(truncated, length > 0 && !at_an_edge, "{length}");
        }
        assert_eq!(read(&file).0, all);
    }
}

#[test]
fn a_flipped_bit_is_noticed_and_nothing_before_it_is_lost() {
    let data = lines(0..12);
    let all: Vec<_> = (0..12).map(record).collect();
    for file in [zlib(&data), gzip(&data)] {
        for at in 0..file.len() {
            for bit in [0, 3, 7] {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                let (records, error, truncated) = read(&damaged);
                assert!(records == all || error.is_some() || truncated, "byte {at}, bit {bit}: unnoticed");
            }
        }
    }
}

#[test]
fn damage_behind_flushed_records_costs_none_of_them() {
    let (mut file, mut stream) = (Vec::new(), ZlibStream::new(6));
    stream.write(&lines(0..9), &mut file).unwrap();
    stream.flush(&mut file).unwrap();
    let at = file.len();
    file.extend_from_slice(&[0xff; 50]);
    let (records, error, truncated) = read(&file);
    assert_eq!(records, (0..9).map(record).collect::<Vec<_>>());
    assert!(!truncated);
    match error.unwrap() {
        LinesError::Stream { records: 9, source } => {
            let message = source.to_string();
            let offset: usize = message.split("byte ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
            assert!((at..=at + 50).contains(&offset), "{message}, damaged at {at}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_error_of_the_disk_is_reported_with_its_place() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let file = zlib(&lines(0..5));
    let half = file.len() / 2;
    let items: Vec<_> = FilesReader::new(file[..half].chain(Failing)).collect();
    let message = items.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(message.contains(&format!("at byte {half} failed: the disk is gone")), "{message}");
    assert!(message.contains(&format!("after {} records", items.len() - 1)), "{message}");
}

// ---- the stream

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_flushed_stream_can_be_ended_with_its_checksum_and_is_never_larger_than_said(
        pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..300), 1..200_usize, any::<bool>()), 1..12),
        level in 0..=10_u32,
    ) {
        let (mut out, mut plain, mut stream) = (Vec::new(), Vec::new(), ZlibStream::new(level));
        for (seed, times, flush) in pieces {
            let piece = seed.repeat(times);
            let most = out.len() as u64 + stream.at_most_after(piece.len());
            stream.write(&piece, &mut out).unwrap();
            plain.extend_from_slice(&piece);
            if flush {
                stream.flush(&mut out).unwrap();
                let mut ended = out.clone();
                ended.extend_from_slice(&zlib_stream::ending(stream.adler32()));
                prop_assert!(ended.len() as u64 <= most, "{} > {most}", ended.len());
                prop_assert!(zlib_stream::looks_finished(&ended[ended.len() - 10..]));
                let mut read = Vec::new();
                flate2::read::ZlibDecoder::new(ended.as_slice()).read_to_end(&mut read).unwrap();
                prop_assert_eq!(&read, &plain);
            }
        }
    }
}

// ---- text and times
