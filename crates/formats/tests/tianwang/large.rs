//! Recovery of large and hostile files: the work is proportional to the file's length, and memory is bounded.

use std::io::{self, Read, Seek, SeekFrom};

use seine_formats::tianwang::{ScannedRange, recover};

use crate::support::{Synthetic, file_of, numbered, record, written};

/// The result of a recovery and its work: all bytes read, including repeated reads.
#[derive(Default)]
struct Report {
    length: u64,
    losses: u64,
    bytes_read: u64,
}

/// Counts the bytes read.
struct Counted<'a, R>(&'a mut R, u64);

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1 += count as u64;
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// The records found, by number, and the report.
fn run(input: &mut (impl Read + Seek)) -> (Vec<String>, Report) {
    let (mut urls, mut report) = (Vec::new(), Report::default());
    let mut input = Counted(input, 0);
    let scanned = recover(&mut input, |piece| {
        report.length += match &piece {
            ScannedRange::Record(found) => found.bytes.len() as u64,
            ScannedRange::Lost(loss) => loss.range.end - loss.range.start,
        };
        match piece {
            ScannedRange::Record(found) => urls.push(found.record.url),
            ScannedRange::Lost(_) => report.losses += 1,
        }
        Ok(())
    });
    scanned.unwrap();
    report.bytes_read = input.1;
    (urls, report)
}

/// Heads with false lengths: one byte off, some megabytes, gigabytes, more than any file.
fn false_heads() -> Vec<u8> {
    let lengths = [3, 5_000_000, 200_000_000, 2_000_000_000, 4_000_000_000, u64::MAX];
    lengths
        .iter()
        .flat_map(|length| format!("version: 1.0\nurl: f\ndate: y\nlength: {length}\n\nab").into_bytes())
        .collect()
}

#[test]
fn a_file_of_gigabytes_is_read_once_and_a_piece_at_a_time() {
    let gib = 1_u64 << 30;
    let big = written(&record("http://a.example/big", false, &vec![b'x'; 3 << 20]));
    let places = vec![
        (0, file_of(0..3)),
        (gib / 2, false_heads()),
        // Across the border between two pieces of the search.
        (gib - 100, file_of(3..6)),
        (gib + 5000, false_heads()),
        (gib * 3 / 2 + 1, [file_of(6..8), big, file_of(8..9)].concat()),
        (gib * 3 - 10_000, false_heads()),
        (gib * 3 - file_of(9..11).len() as u64, file_of(9..11)),
    ];
    let mut input = Synthetic::new(3 * gib, b"\0", places);
    let (urls, report) = run(&mut input);
    let mut expected: Vec<_> = (0..11).map(|number| format!("http://a.example/{number}")).collect();
    expected.insert(8, "http://a.example/big".into());
    assert_eq!(urls, expected);
    assert_eq!(report.length, 3 * gib);
    assert!(report.bytes_read < 3 * gib + (16 << 20), "{} bytes were read", report.bytes_read);
    // The largest record is in memory, and nothing else larger than a piece.
    assert!(input.largest_read < 4 << 20, "{} bytes at once", input.largest_read);
}

/// The work that the next test measures, in its own process.
#[test]
#[ignore = "run by memory_does_not_grow_with_the_file"]
fn recovering_in_a_process_of_its_own() {
    let (length, each) = (2_u64 << 30, 1_u64 << 20);
    let places = (0..length / each).map(|number| (number * each, [false_heads(), file_of(0..3)].concat())).collect();
    let (urls, report) = run(&mut Synthetic::new(length, b"\0", places));
    assert_eq!((urls.len() as u64, report.losses), (length / each * 3, length / each + 1));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak of {} kB", peak.trim().strip_suffix(" kB").unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_file() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["large::recovering_in_a_process_of_its_own", "--exact", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8(child.stdout).unwrap();
    let peak = said.lines().find_map(|line| line.strip_prefix("peak of ")?.strip_suffix(" kB"));
    let peak: u64 = peak.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    // Most of it is the process itself and the test's list of positions.
    assert!(peak < 48 << 10, "{peak} kB");
}

/// Bytes read per byte of a file of about `length` bytes.
fn work(length: usize, make: &dyn Fn(usize) -> Vec<u8>) -> f64 {
    let file = make(length);
    let (_, report) = run(&mut std::io::Cursor::new(&file));
    report.bytes_read as f64 / file.len() as f64
}

fn assert_linear(what: &str, make: impl Fn(usize) -> Vec<u8>) {
    let (once, twice) = (work(1 << 17, &make), work(1 << 18, &make));
    assert!(once < 60.0 && twice < 60.0, "{what}: each byte is read {once} and {twice} times");
    assert!(twice < once * 1.3 + 1.0, "{what}: each byte is read {once} times, in a file of twice the length {twice}");
}

fn repeated(pattern: &str) -> impl Fn(usize) -> Vec<u8> {
    move |length| pattern.bytes().cycle().take(length).collect()
}

#[test]
fn nothing_makes_it_read_more_than_a_file_of_its_length_allows() {
    for pattern in [
        "version:",
        "version:1\n",
        "xversion:1\n",
        "version:1\nurl:x\n",
        "url:xversion:1\n",
        "version:1\nurl:x\ndate:y\nlength:5\n\n",
        "version:1\nurl:x\ndate:y\nlength:200000000\n\n",
        "version:1\nurl:x\ndate:y\nlength:70000\n\n\n",
        "version:1\nurl:x\ndate:y\nunzip-length:9\nlength:3000\n\n",
        "version:1\nurl:x\ndate:y\nlength:0\n\n\n",
        "version:1\nurl:x\ndate:y\nlength:0\n\n\nversion:1\nurl:x\ndate:y\nlength:0\n\n\nx",
        "x:y\n",
        "\n",
    ] {
        assert_linear(pattern, repeated(pattern));
    }
}

/// A head of `length` bytes without a record after it.
fn long_head(length: usize) -> Vec<u8> {
    let mut head = b"version:1\nurl:x\ndate:y\n".to_vec();
    while head.len() < length {
        head.extend_from_slice(b"a:b\n");
    }
    head.extend_from_slice(b"length:5\n\nzzzzzzzzz\n");
    head
}

#[test]
fn long_heads_that_many_point_at_are_read_once() {
    for head_length in [500, 1200, 10_000] {
        assert_linear(&format!("heads of {head_length} bytes"), |length| {
            let heads: Vec<u8> = (0..length / 2 / head_length).flat_map(|_| long_head(head_length)).collect();
            let (each, count) = (long_head(head_length).len(), length / 2 / head_length);
            let mut file = Vec::new();
            let small = "version:1\nurl:x\ndate:y\nlength:0000000\n\n".len();
            let total = length / 2 / small;
            for number in 0..total {
                // Points to the long heads in turn: never twice to the same, and not in order.
                let target = total * small + (1 + number * 7919 % (count - 1)) * each;
                let length = target - (file.len() + small) - 1;
                file.extend_from_slice(format!("version:1\nurl:x\ndate:y\nlength:{length:07}\n\n").as_bytes());
            }
            file.pop();
            file.push(b'\n');
            [file, heads].concat()
        });
    }
}

#[test]
fn records_whose_end_nothing_shows_are_read_in_vain_only_so_often() {
    // Three consecutive records, of which the last claims to reach far, ends with an LF there, and contains three more;
    // and so on.
    assert_linear("nested", |length| {
        let tiny = b"version:1\nurl:x\ndate:y\nlength:0\n\n\n";
        let each = tiny.len() * 2 + "version:1\nurl:x\ndate:y\nlength:0000000\n\n".len() + 1;
        let count = length / 2 / each;
        let mut file = vec![b'x'];
        for number in 0..count {
            file.extend_from_slice(tiny);
            file.extend_from_slice(tiny);
            // Each ends one byte before the record around it, at one of many LFs.
            let end = count * each + length / 2 - number;
            let reach = end - file.len() - (each - 2 * tiny.len());
            file.extend_from_slice(format!("version:1\nurl:x\ndate:y\nlength:{reach:07}\n\ny").as_bytes());
        }
        file.resize(count * each + length / 2 + 10, b'\n');
        file.extend_from_slice(b"the end");
        file
    });
}

#[test]
fn an_archive_is_read_about_once() {
    let file: Vec<u8> =
        (0..2000).flat_map(|number| [numbered(number), vec![b'.'; usize::from(number % 50 == 7)]].concat()).collect();
    let (urls, report) = run(&mut std::io::Cursor::new(&file));
    assert_eq!(urls.len(), 2000);
    let times = report.bytes_read as f64 / file.len() as f64;
    assert!(times < 6.0, "each byte of small records is read {times} times");
}
