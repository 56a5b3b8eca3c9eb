//! Files of other programs, and damaged ones, in the streaming reader.

use std::io::Read;

use seine_formats::tianwang::{ContentError, HeadError, TianwangError, TianwangReader, TianwangRecord};
use seine_parse::page::PageEvent;

use crate::support::{file_of, numbered, read, record, recovered, written};

fn urls(records: &[TianwangRecord]) -> Vec<&str> {
    records.iter().map(|record| record.url.as_str()).collect()
}

/// Made in Python, with zlib's own compressor, like files of Web InfoMall's tools.
#[test]
fn a_file_of_others_is_read() {
    let file = include_bytes!("../golden/others.tianwang");
    let (records, errors, truncated) = read(file);
    assert!(errors.is_empty() && !truncated, "{errors:?}");
    let found = recovered(file).found;
    assert_eq!(found.iter().map(|it| &it.record).collect::<Vec<_>>(), records.iter().collect::<Vec<_>>());
    let events: Vec<_> = records.into_iter().map(TianwangRecord::into_event).collect();
    let status = |event: &PageEvent| event.response().unwrap().status;
    assert_eq!(events.iter().map(status).collect::<Vec<_>>(), [200, 203, 200]);
    let [pku, net, infomall] = &events[..] else { panic!("three records") };
    assert_eq!(
        (&pku.url[..], pku.ended_ms, pku.relevance.is_relevant),
        ("http://www.pku.edu.cn/", 1_076_777_160_000, true)
    );
    assert_eq!(pku.response().unwrap().body, &b"<title>\xb1\xb1\xbe\xa9\xb4\xf3\xd1\xa7</title>"[..]);
    assert_eq!((&net.url[..], &net.final_url[..]), ("http://net.pku.edu.cn/", "http://net.pku.edu.cn/index.htm"));
    assert_eq!(net.response().unwrap().body.len(), 2400);
    assert!(!infomall.relevance.is_relevant);
}

#[test]
fn heads_are_taken_as_others_write_them() {
    let file = [
        // As in the document, but without blanks and without ip.
        &b"version:1.0\nurl:http://a.example/1\ndate:Tue, 15 Apr 2003 08:13:06 GMT\nlength:2\n\nab\n"[..],
        // CR LF, another case and order, unknown properties, blank lines between records.
        b"\n\r\nVERSION:  1.0\r\nLength: 3\r\nX-Code : one\r\nUrl:\thttp://a.example/2 \r\nDate:\r\nip:\r\nx-code: two\r\n\r\na\r\n\r\n",
        // No blank line after DATA.
        b"version: 1.0\nurl: http://a.example/3\ndate: x\norigin: http://o.example/\nlength: 0\n\n",
        b"version: 2.5\nurl: http://a.example/\xe4\nurl: again\ndate: x\nlength: 1\n\nx",
    ]
    .concat();
    let (records, errors, truncated) = read(&file);
    assert!(errors.is_empty(), "{errors:?}");
    assert!(truncated, "the last record's blank line is not there");
    assert_eq!(
        urls(&records),
        ["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/ä"]
    );
    let data: Vec<_> = records.iter().map(|it| &it.data[..]).collect();
    assert_eq!(data, [&b"ab"[..], b"a\r\n", b"", b"x"]);
    assert_eq!(records[1].others, [("x-code", "one"), ("x-code", "two")].map(|(n, v)| (n.to_owned(), v.to_owned())));
    assert_eq!((records[1].ip.as_deref(), records[0].ip.as_deref()), (Some(""), None));
    assert_eq!((records[2].origin.as_deref(), &records[3].version[..]), (Some("http://o.example/"), "2.5"));
}

#[test]
fn compressed_data_must_inflate_to_the_length_that_is_stated() {
    let good = written(&record("http://a.example/", true, b"hello hello hello"));
    let with = |from: &str, to: &str| {
        let at = memchr::memmem::find(&good, from.as_bytes()).unwrap();
        [&good[..at], to.as_bytes(), &good[at + from.len()..], &numbered(7)].concat()
    };
    for (stated, is_expected) in [
        ("16", (|it| matches!(it, ContentError::Length { stated: 16, more: true, .. })) as fn(&ContentError) -> bool),
        ("18", |it| matches!(it, ContentError::Length { stated: 18, found: 17, more: false })),
        ("99999999999999", |it| matches!(it, ContentError::TooLong { .. })),
    ] {
        let (records, errors, _) = read(&with("unzip-length: 17", &format!("unzip-length: {stated}")));
        let [TianwangError::Content { offset: 0, source }] = &errors[..] else { panic!("{errors:?}") };
        assert!(is_expected(source), "{source}");
        assert!(errors[0].to_string().contains(stated), "{}", errors[0]);
        assert_eq!(urls(&records), ["http://a.example/7"]);
    }
    // One byte of the stream is changed.
    let mut damaged = [good.clone(), numbered(7)].concat();
    damaged[good.len() - 3] ^= 1;
    let (records, errors, _) = read(&damaged);
    let damage = matches!(&errors[..], [TianwangError::Content { source: ContentError::Inflate(_), .. }]);
    assert!(damage && records.len() == 1, "{errors:?}");
}

#[test]
fn one_bad_record_does_not_end_the_file() {
    let file = |middle: &[u8]| [&file_of(0..1), middle, &file_of(2..4)].concat();
    let expected = ["http://a.example/0", "http://a.example/2", "http://a.example/3"];
    let at = numbered(0).len() as u64;
    for (middle, message) in [
        (&b"url: x\nlength: 3\n\nabc\n"[..], "does not begin with the property version"),
        (b"version: 1.0\nlength: 3\n\nabc\n", "no property url"),
        (b"version: 1.0\nurl: x\n\nabc\n", "no property length"),
        (b"version: 1.0\nurl: x\nlength: -3\n\nabc\n", "length is \"-3\""),
        (b"version: 1.0\nurl: x\nlength: \n\nabc\n", "length is \"\""),
        (b"version: 1.0\nurl: x\nno property\nlength: 3\n\nabc\n", "the line \"no property\""),
        (b"version: 1.0\nurl: x\nlength: 2\n\nabc\n", "does not end where its length, 2, says"),
        (b"version: 1.0\nurl: x\nlength: 3\n\nabc\n", "lacks the property date"),
        (b"version: 1.0\nurl: x\nlength: 18\n\nversion: 1.0\nabcde\n", "lacks the property date"),
        // A head that is cut: the next one begins in its middle.
        (b"version: 1.0\nurl: x\n", "no property length"),
        (b"\0\xff \n\n\n", "does not begin with the property version"),
    ] {
        let (records, errors, truncated) = read(&file(middle));
        assert_eq!(urls(&records), expected, "{message}: {errors:?}");
        assert!(matches!(&errors[..], [error] if error.to_string().contains(message)), "{message}: {errors:?}");
        assert!(errors[0].to_string().contains(&format!("byte {at}")), "{}", errors[0]);
        assert!(!truncated);
    }
    let endless = [b"version: 1.0\nx: ", &[b'y'; 70_000][..], b"\n\n"].concat();
    let (records, errors, _) = read(&file(&endless));
    assert_eq!(urls(&records), expected);
    assert!(matches!(&errors[..], [TianwangError::Head { source: HeadError::TooLong, .. }]), "{errors:?}");
}

#[test]
fn a_file_that_breaks_off_is_read_to_its_last_whole_record() {
    let file = file_of(0..3);
    let ends: Vec<_> = (0..=3).map(|count| file_of(0..count).len()).collect();
    for length in 0..=file.len() {
        let (records, errors, truncated) = read(&file[..length]);
        // The last blank line is not required.
        let whole = ends[1..].iter().filter(|end| length + 1 >= **end).count();
        assert_eq!(records.len(), whole, "{length}");
        // If the file ends in a head, the head is incomplete; if it ends in DATA, the length goes beyond the end.
        let data = ends[whole..]
            .first()
            .map(|start| *start + memchr::memmem::find(&file[*start..], b"\n\n").unwrap_or(length) + 2);
        let is_in_data = whole < 3 && data.is_some_and(|data| length >= data);
        let is_beyond = |error: &TianwangError| matches!(error, TianwangError::BeyondEnd { .. });
        assert_eq!(
            (errors.len(), errors.iter().all(is_beyond)),
            (usize::from(is_in_data), true),
            "{length}: {errors:?}"
        );
        assert_eq!(truncated, !ends.contains(&length) && !is_in_data, "{length}");
    }
}

#[test]
fn a_length_beyond_the_end_swallows_nothing() {
    let wrong = |length: &str| {
        let first = numbered(0);
        let at = memchr::memmem::find(&first, b"length: ").unwrap() + 8;
        let end = at + memchr::memchr(b'\n', &first[at..]).unwrap();
        [&first[..at], length.as_bytes(), &first[end..], &file_of(1..4)].concat()
    };
    for length in ["9999", "200000000", "99999999999", "18446744073709551615"] {
        let file = wrong(length);
        let mut reader = TianwangReader::of_file(&file[..], file.len() as u64).unwrap();
        let error = reader.next().unwrap().unwrap_err();
        assert!(matches!(error, TianwangError::BeyondEnd { offset: 0, .. }), "{length}: {error}");
        assert!(error.to_string().contains(length), "{error}");
        assert_eq!(reader.map(|it| it.unwrap().url).collect::<Vec<_>>().len(), 3, "{length}");
    }
    // A wrong length within the file: the records inside are found again.
    let file = wrong(&(numbered(0).len() + 100).to_string());
    let (records, errors, _) = read(&file);
    assert_eq!(urls(&records), ["http://a.example/1", "http://a.example/2", "http://a.example/3"], "{errors:?}");
}

#[test]
fn a_file_of_wrong_lengths_is_read_in_time() {
    let file = b"version: 1.0\nurl: x\ndate: y\nlength: 99999999\n\n".repeat(200_000);
    let started = std::time::Instant::now();
    let (records, errors, _) = read(&file);
    assert_eq!((records.len(), errors.len()), (0, 200_000));
    let near = b"version: 1.0\nurl: x\ndate: y\nlength: 999999\n\n".repeat(200_000);
    assert!(read(&near).0.is_empty());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn what_is_too_long_is_passed_over_in_constant_memory() {
    let head = b"version: 1.0\nurl: x\nlength: 3000000000\n\n";
    let file = (&head[..]).chain(std::io::repeat(b'x').take(3_000_000_000)).chain(&b"\n"[..]);
    let next = numbered(1);
    let mut reader = TianwangReader::new(file.chain(&next[..]));
    let error = reader.next().unwrap().unwrap_err();
    assert!(matches!(error, TianwangError::TooLong { offset: 0, length: 3_000_000_000, .. }), "{error}");
    assert_eq!(reader.next().unwrap().unwrap().url, "http://a.example/1");
    assert!(reader.next().is_none() && !reader.truncated());

    let mut small = TianwangReader::with_max_data(&next[..], 3);
    assert!(matches!(small.next(), Some(Err(TianwangError::TooLong { limit: 3, .. }))));
}

#[test]
fn a_failing_input_is_an_error_once() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let good = numbered(1);
    let mut reader = TianwangReader::new(good.chain(Failing));
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert!(error.to_string().contains(&format!("byte {} failed: the disk is gone", good.len())), "{error}");
    assert!(reader.next().is_none());
}
