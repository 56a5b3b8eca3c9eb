//! Events, records and files shared by the tests.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use bytes::Bytes;
use seine_formats::tianwang::{FoundRecord, Gap, ScannedRange, TianwangError, TianwangReader, TianwangRecord, recover};
use seine_parse::page::{Headers, Outcome, PageEvent, Relevance, Response};

pub fn event(url: &str, status: u16, headers: &[(&str, &str)], body: &[u8]) -> PageEvent {
    let mut event = PageEvent::empty(url);
    event.id = "0190163d8694739b9f0c1a2b3c4d5e6f".into();
    event.ip = Some([162, 105, 129, 12].into());
    event.started_ms = 1_050_394_385_000;
    event.ended_ms = 1_050_394_386_985;
    event.relevance = Relevance::by_type(true);
    let response = response(&mut event);
    response.status = status;
    response.reason = if status == 200 { "OK".into() } else { "Other".into() };
    response.headers = Headers(headers.iter().map(|&(name, value)| (name.into(), value.into())).collect());
    response.body = Bytes::copy_from_slice(body);
    event
}

pub fn response(event: &mut PageEvent) -> &mut Response {
    match &mut event.outcome {
        Outcome::Response(response) => response,
        Outcome::Failure(_) => panic!("the test's event has a response"),
    }
}

/// A record before it is written: `length` is not set.
pub fn record(url: &str, compress: bool, data: &[u8]) -> TianwangRecord {
    TianwangRecord {
        version: "1.0".into(),
        url: url.into(),
        date: Some("Tue, 15 Apr 2003 08:13:06 GMT".into()),
        ip: Some("162.105.129.12".into()),
        unzip_length: compress.then_some(data.len() as u64),
        data: Bytes::copy_from_slice(data),
        ..TianwangRecord::default()
    }
}

/// The record as other programs write it: all its properties, and DATA compressed if `unzip_length` is set. The lengths
/// are computed from DATA.
pub fn written(record: &TianwangRecord) -> Vec<u8> {
    let line = |name: &str, value: &str| format!("{name}: {}\n", value.replace('\n', "%0A").replace('\r', "%0D"));
    let mut head = line("version", &record.version) + &line("url", &record.url);
    for (name, value) in [("origin", &record.origin), ("date", &record.date), ("ip", &record.ip)] {
        head += &value.as_ref().map_or(String::new(), |value| line(name, value));
    }
    head.extend(record.others.iter().map(|(name, value)| line(name, value)));
    let mut stored = record.data.to_vec();
    if record.unzip_length.is_some() {
        head += &line("unzip-length", &record.data.len().to_string());
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        deflate.write_all(&record.data).unwrap();
        stored = deflate.finish().unwrap();
    }
    head += &line("length", &stored.len().to_string());
    [head.as_bytes(), b"\n", &stored, b"\n"].concat()
}

/// `http://a.example/<number>`; every other one is compressed.
pub fn numbered(number: usize) -> Vec<u8> {
    let data = format!("HTTP/1.1 200 OK\r\nX: {number}\r\n\r\n<p>page {number}</p>");
    written(&record(&format!("http://a.example/{number}"), number % 2 == 1, data.as_bytes()))
}

pub fn file_of(numbers: std::ops::Range<usize>) -> Vec<u8> {
    numbers.flat_map(numbered).collect()
}

/// Everything readable, the errors, and whether the file was incomplete.
pub fn read(file: &[u8]) -> (Vec<TianwangRecord>, Vec<TianwangError>, bool) {
    let mut reader = TianwangReader::new(file);
    let (mut records, mut errors) = (Vec::new(), Vec::new());
    for item in &mut reader {
        match item {
            Ok(record) => records.push(record),
            Err(error) => errors.push(error),
        }
    }
    (records, errors, reader.truncated())
}

pub struct Recovered {
    pub found: Vec<FoundRecord>,
    pub lost: Vec<Gap>,
}

/// Recovers records, and checks that the ranges cover the whole file.
pub fn recovered(file: &[u8]) -> Recovered {
    let (mut found, mut lost, mut at) = (Vec::new(), Vec::new(), 0);
    recover(&mut Cursor::new(file), |piece| {
        let range = match &piece {
            ScannedRange::Record(found) => found.offset..found.offset + found.bytes.len() as u64,
            ScannedRange::Lost(loss) => loss.range.clone(),
        };
        assert_eq!(range.start, at, "a gap or an overlap");
        assert!(!range.is_empty());
        at = range.end;
        match piece {
            ScannedRange::Record(it) => found.push(it),
            ScannedRange::Lost(it) => lost.push(it),
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(at, file.len() as u64);
    for it in &found {
        assert_eq!(it.bytes, file[it.offset as usize..][..it.bytes.len()]);
    }
    Recovered { found, lost }
}

/// The numbers of the [`numbered`] records that were found.
pub fn numbers(file: &[u8]) -> Vec<usize> {
    let number = |it: &FoundRecord| it.record.url.rsplit('/').next().unwrap().parse().unwrap();
    recovered(file).found.iter().map(number).collect()
}

/// A virtual file that is too large to store: a repeated pattern, with other bytes at some positions.
pub struct Synthetic {
    pub length: u64,
    pub pattern: Vec<u8>,
    /// In order, not overlapping.
    pub places: Vec<(u64, Vec<u8>)>,
    pub largest_read: usize,
    at: u64,
}

impl Synthetic {
    pub fn new(length: u64, pattern: &[u8], places: Vec<(u64, Vec<u8>)>) -> Synthetic {
        Synthetic { length, pattern: pattern.into(), places, largest_read: 0, at: 0 }
    }
}

impl Read for Synthetic {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest_read = self.largest_read.max(buffer.len());
        let count = buffer.len().min((self.length - self.at.min(self.length)) as usize);
        let buffer = &mut buffer[..count];
        match self.pattern[..] {
            [byte] => buffer.fill(byte),
            _ => {
                let offset = (self.at % self.pattern.len() as u64) as usize;
                let from = |index: usize| self.pattern[(offset + index) % self.pattern.len()];
                buffer.iter_mut().enumerate().for_each(|(index, byte)| *byte = from(index));
            }
        }
        let first = self.places.partition_point(|(start, bytes)| start + bytes.len() as u64 <= self.at);
        for (start, bytes) in self.places[first..].iter().take_while(|(start, _)| *start < self.at + count as u64) {
            let from = self.at.max(*start);
            let to = (self.at + count as u64).min(start + bytes.len() as u64);
            if from < to {
                let source = &bytes[(from - start) as usize..(to - start) as usize];
                buffer[(from - self.at) as usize..(to - self.at) as usize].copy_from_slice(source);
            }
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Synthetic {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(offset) => offset,
            SeekFrom::End(offset) => self.length.checked_add_signed(offset).unwrap(),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset).unwrap(),
        };
        Ok(self.at)
    }
}
