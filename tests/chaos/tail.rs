//! Damage to the page log between two lives of a crawl, as a crash or a disk causes it. There may be bytes after the last
//! complete record, which were never accepted, and flipped bits in records that every reader has passed. Neither costs a
//! page.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Noise.
    Noise,
    /// The beginning of a record: its header is whole, its payload ends early.
    Torn,
    /// A whole record whose payload is not what its checksum says: written when the machine went down.
    Flipped,
    /// A bit of a record that every reader has passed.
    FlippedPassed,
}

/// As in `record.rs` and `segment.rs` of `crates/page-log/src`, written down again: the format that crashes leave half of.
const FILE_HEADER: usize = 32;
const HEADER: usize = 24;
const MAGIC: [u8; 4] = *b"\xA7Sr\n";

/// The last segment, read record by record.
struct Segment {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Where each record begins in the file, and its event's index.
    records: Vec<(usize, u64)>,
    end: usize,
    /// The offset in the log of the file's first record.
    offset: u64,
    first: u64,
}

/// Does it if there is a log; true when something was changed.
pub fn damage(data: &Path, damage: Damage, rng: &mut Rng) -> bool {
    let Some(segment) = Segment::last(&data.join("log")) else { return false };
    match damage {
        Damage::Noise => {
            let length = rng.usize(1..3000);
            segment.append(&std::iter::repeat_with(|| rng.u8(..)).take(length).collect::<Vec<_>>());
        }
        Damage::Torn => {
            let payload = rng.usize(100..5000);
            let record = segment.next_record(payload, rng);
            let kept = rng.usize(1..record.len());
            segment.append(&record[..kept]);
        }
        Damage::Flipped => {
            let payload = rng.usize(100..5000);
            segment.append(&segment.next_record(payload, rng));
        }
        Damage::FlippedPassed => return segment.flip_before(passed(data), rng),
    }
    true
}

/// The index of the last event that every reader has passed, by their cursor files; their newest slot counts.
fn passed(data: &Path) -> u64 {
    let cursors = fs::read_dir(data.join("log/cursors")).into_iter().flatten().flatten();
    let index = |path: PathBuf| {
        let text = fs::read_to_string(path).ok()?;
        let slots = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.get(9..)?).ok());
        let newest = slots.max_by_key(|slot| slot["sequence"].as_u64())?;
        newest["cursor"]["position"]["index"].as_u64()
    };
    cursors.map(|entry| index(entry.path()).unwrap_or(0)).min().unwrap_or(0)
}

impl Segment {
    fn last(log: &Path) -> Option<Segment> {
        let files = fs::read_dir(log).ok()?.flatten().map(|entry| entry.path());
        let path = files.filter(|path| path.extension().is_some_and(|it| it == "log")).max()?;
        let (first, offset) = path.file_stem()?.to_str()?.split_once('-')?;
        let (first, offset) = (first.parse().ok()?, offset.parse().ok()?);
        let bytes = fs::read(&path).ok()?;
        let mut segment = Segment { path, bytes, records: Vec::new(), end: FILE_HEADER, offset, first };
        while segment.record_at_end().is_some() {}
        Some(segment)
    }

    /// Steps over a record that is whole.
    fn record_at_end(&mut self) -> Option<()> {
        let header = self.bytes.get(self.end..self.end + HEADER)?;
        let length = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
        let index = u64::from_le_bytes(header[8..16].try_into().ok()?);
        self.bytes.get(self.end + HEADER..self.end + HEADER + length).filter(|_| header[..4] == MAGIC)?;
        self.records.push((self.end, index));
        self.end += HEADER + length;
        Some(())
    }

    /// The next record, with a whole header and a payload of noise.
    fn next_record(&self, payload: usize, rng: &mut Rng) -> Vec<u8> {
        let index = self.records.last().map_or(self.first, |(_, index)| index + 1);
        let mut record = MAGIC.to_vec();
        record.extend((payload as u32).to_le_bytes());
        record.extend(index.to_le_bytes());
        record.extend(rng.u32(..).to_le_bytes());
        let offset = self.offset + (self.end - FILE_HEADER) as u64;
        let checksum = crc32fast::hash(&[record.as_slice(), &offset.to_le_bytes()].concat());
        record.extend(checksum.to_le_bytes());
        record.extend(std::iter::repeat_with(|| rng.u8(..)).take(payload));
        record
    }

    fn append(&self, bytes: &[u8]) {
        let mut file = OpenOptions::new().append(true).open(&self.path).expect("the segment is there");
        // A disk may be full just now: then less of it is torn.
        let _ = file.write_all(bytes);
    }

    fn flip_before(mut self, passed: u64, rng: &mut Rng) -> bool {
        let until = self.records.iter().find(|(_, index)| *index > passed).map_or(self.end, |(start, _)| *start);
        if until <= FILE_HEADER {
            return false;
        }
        let at = rng.usize(FILE_HEADER..until);
        self.bytes[at] ^= 1 << rng.u8(..8);
        // In place: a file that is cut first could not be written again on a full disk.
        let file = OpenOptions::new().write(true).open(&self.path).expect("the segment is there");
        std::os::unix::fs::FileExt::write_all_at(&file, &self.bytes[at..=at], at as u64).expect("a byte of the file");
        true
    }
}
