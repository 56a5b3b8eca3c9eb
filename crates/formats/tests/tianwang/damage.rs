//! Files cut, overwritten, spliced and extended at random: every intact record is found, and none is invented.
//!
//! A record is intact if all its bytes are there in one piece, and it is one of:
//!
//! * three or more consecutive intact records,
//! * fewer at the beginning or the end of the file,
//! * fewer before a record that is cut off.
//!
//! A record is invented if it neither equals an original, byte for byte, nor starts where one did. (Its uncompressed
//! DATA or a value may be overwritten.)
//!
//! Two cases are excluded, because the format cannot detect them. One is a cut from one head into another. The other is a
//! cut within uncompressed DATA, if an LF is by chance where the DATA would end, and damage follows.

use std::collections::HashSet;

use proptest::prelude::*;

use crate::support::{record, recovered, written};

/// Lengths of records are multiples of this, and lengths of damage never add up to one. So no record ends by chance
/// where another does.
const UNIT: usize = 1024;
/// Offsets added to the lengths of damage.
const OFF: [usize; 3] = [1, 5, 25];

#[derive(Debug, Clone)]
enum Damage {
    Cut {
        at: prop::sample::Index,
        units: usize,
    },
    Overwrite {
        at: prop::sample::Index,
        bytes: Vec<u8>,
    },
    Insert {
        at: prop::sample::Index,
        units: usize,
        seed: u8,
    },
    /// A copy of a part of the file.
    Splice {
        at: prop::sample::Index,
        from: prop::sample::Index,
        units: usize,
    },
}

/// The file's bytes, each with the record and the offset that it came from.
struct Tagged {
    bytes: Vec<u8>,
    tags: Vec<Option<(usize, usize)>>,
}

fn one_record(number: usize, compress: bool, random: &[u8]) -> Vec<u8> {
    let mut data = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", random.len()).into_bytes();
    data.extend_from_slice(random);
    let mut record = record(&format!("http://a.example/{number}"), compress, &data);
    let bare = written(&record).len() + "x-pad: \n".len();
    record.others.push(("x-pad".into(), "p".repeat(bare.next_multiple_of(UNIT) - bare)));
    written(&record)
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 0..4_usize).prop_map(|(at, units)| Damage::Cut { at, units }),
        (index(), prop::collection::vec(any::<u8>(), 1..600)).prop_map(|(at, bytes)| Damage::Overwrite { at, bytes }),
        (index(), 0..3_usize, any::<u8>()).prop_map(|(at, units, seed)| Damage::Insert { at, units, seed }),
        (index(), index(), 0..6_usize).prop_map(|(at, from, units)| Damage::Splice { at, from, units }),
    ]
}

impl Tagged {
    fn new(records: &[Vec<u8>]) -> Tagged {
        let tags = |(number, record): (usize, &Vec<u8>)| (0..record.len()).map(move |offset| Some((number, offset)));
        Tagged { bytes: records.concat(), tags: records.iter().enumerate().flat_map(tags).collect() }
    }

    fn apply(&mut self, damage: &Damage, off: usize) {
        let length = self.bytes.len();
        match damage {
            Damage::Cut { at, units } => {
                let at = at.index(length);
                let end = (at + units * UNIT + off).min(length);
                self.bytes.drain(at..end);
                self.tags.drain(at..end);
            }
            Damage::Overwrite { at, bytes } => {
                for (at, byte) in (at.index(length)..length).zip(bytes) {
                    if self.bytes[at] != *byte {
                        (self.bytes[at], self.tags[at]) = (*byte, None);
                    }
                }
            }
            Damage::Insert { at, units, seed } => {
                let at = at.index(length + 1);
                let mut random = fastrand::Rng::with_seed(u64::from(*seed));
                let bytes = (0..units * UNIT + off).map(|_| random.u8(..));
                self.bytes.splice(at..at, bytes.collect::<Vec<_>>());
                self.tags.splice(at..at, vec![None; units * UNIT + off]);
            }
            Damage::Splice { at, from, units } => {
                let at = at.index(length + 1);
                // Not aligned with the original position, either.
                let from = (from.index(length) / UNIT * UNIT + at % UNIT + 300 + off).min(length);
                let end = (from + units * UNIT + off).min(length);
                let (bytes, tags) = (self.bytes[from..end].to_vec(), self.tags[from..end].to_vec());
                self.bytes.splice(at..at, bytes);
                self.tags.splice(at..at, tags);
            }
        }
    }

    /// Positions of intact records, as defined at the top of this file.
    fn intact(&self, records: &[Vec<u8>]) -> Vec<usize> {
        let whole = |at: usize| {
            let (number, _) = self.tags[at].filter(|(_, offset)| *offset == 0)?;
            let end = at + records[number].len();
            (self.bytes.get(at..end)? == records[number]).then_some(end)
        };
        let (mut intact, mut at) = (Vec::new(), 0);
        while at < self.bytes.len() {
            let (mut row, mut end) = (Vec::new(), at);
            while let Some(next) = (end < self.bytes.len()).then(|| whole(end)).flatten() {
                row.push(end);
                end = next;
            }
            if row.len() >= 3 || at == 0 || self.is_cut_off(end, records) {
                intact.append(&mut row);
            }
            at = end.max(at + 1);
        }
        intact
    }

    /// Whether the file from here to its end is the beginning of a record.
    fn is_cut_off(&self, at: usize, records: &[Vec<u8>]) -> bool {
        let rest = &self.bytes[at..];
        rest.is_empty() || records.iter().any(|record| record.starts_with(rest))
    }
}

proptest! {
    #[test]
    fn every_intact_record_is_found_and_none_invented(
        contents in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..2500)), 1..14),
        damages in prop::collection::vec(damage(), 0..=3),
    ) {
        let records: Vec<_> =
            contents.iter().enumerate().map(|(number, (compress, random))| one_record(number, *compress, random)).collect();
        let originals: HashSet<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let mut file = Tagged::new(&records);
        for (damage, off) in damages.iter().zip(OFF) {
            if !file.bytes.is_empty() {
                file.apply(damage, off);
            }
        }
        let recovered = recovered(&file.bytes);

        let found: HashSet<usize> = recovered.found.iter().map(|it| it.offset as usize).collect();
        for at in file.intact(&records) {
            prop_assert!(found.contains(&at), "the record at {at} of {} is intact", file.bytes.len());
        }
        for it in &recovered.found {
            let (start, end) = (it.offset as usize, it.offset as usize + it.bytes.len());
            let is_in_place = match (file.tags[start], file.tags[end - 1]) {
                (Some((first, 0)), Some((last, offset))) if offset + 1 == records[last].len() => {
                    // All of DATA comes from one record, even if the head does not.
                    let data = memchr::memmem::find(&it.bytes, b"\n\n").unwrap() + 2;
                    let behind = |at: usize, number: usize| {
                        records[number].len() - at == it.bytes.len() - data
                    };
                    first == last || matches!(file.tags[start + data], Some((of, at)) if of == last && behind(at, last))
                }
                _ => false,
            };
            let is_end_shown = file.bytes[end..].starts_with(b"version:") || end == file.bytes.len();
            let is_let_off = it.record.unzip_length.is_none() && !is_end_shown;
            prop_assert!(originals.contains(&it.bytes[..]) || is_in_place || is_let_off, "{start}..{end} is invented");
        }
        if damages.is_empty() {
            prop_assert_eq!(found.len(), records.len());
        }
    }
}
