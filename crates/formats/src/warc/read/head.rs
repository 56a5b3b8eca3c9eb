//! Reads the head of a record: its version line and its fields.

use std::io::Read;

use super::WarcReader;
use crate::warc::error::{ReadFailure, WarcError};
use crate::warc::member_reader::More;
use crate::warc::version::{find_version, version};
use seine_parse::page::{Headers, latin1_to_string};

/// Limit for a record's version line and fields together.
const MAX_HEAD: usize = 1 << 20;

impl<R: Read> WarcReader<R> {
    pub(super) fn version(&mut self, offset: u64) -> Result<String, ReadFailure> {
        let line = self.whole_line(MAX_HEAD)?.unwrap_or_default();
        if let Some(version) = version(without_end(&line)) {
            return Ok(version);
        }
        // The line unchanged, with its end, because the position of the next record is counted from here.
        if let Some(at) = find_version(&line) {
            self.source.unread(&line[at..]);
        }
        Err(self.lose("it does not begin with WARC/ and a version", offset))
    }

    /// The next line with its end; none if it is longer than `limit`. A line may span several members, as in a file
    /// that was compressed in pieces.
    fn whole_line(&mut self, limit: usize) -> Result<Option<Vec<u8>>, ReadFailure> {
        let mut searched = 0;
        loop {
            let available = self.source.available();
            if let Some(at) = memchr::memchr(b'\n', &available[searched..]) {
                let line = available[..=searched + at].to_vec();
                self.source.consume(searched + at + 1);
                return Ok(Some(line));
            }
            searched = available.len();
            if searched > limit {
                return Ok(None);
            }
            self.more_of_record()?;
        }
    }

    /// Reads more bytes, also from the next member.
    fn more_of_record(&mut self) -> Result<(), ReadFailure> {
        loop {
            match self.source.more()? {
                More::Bytes => return Ok(()),
                More::MemberEnd if self.source.next_member()? => continue,
                More::MemberEnd => self.truncated = true,
                More::End => {}
            }
            let rest = self.source.available().len();
            self.source.consume(rest);
            return Err(ReadFailure::Cut);
        }
    }

    /// The fields up to the empty line. A line that begins with a blank continues the previous line.
    pub(super) fn fields(&mut self, offset: u64) -> Result<Headers, ReadFailure> {
        let mut fields = Headers::default();
        let mut left = MAX_HEAD;
        loop {
            let Some(line) = self.whole_line(left)?.filter(|line| without_end(line).len() < left) else {
                return Err(self.lose("its fields are too long", offset));
            };
            let line = without_end(&line);
            left -= line.len();
            if line.is_empty() {
                return Ok(fields);
            }
            if version(line).is_some() {
                self.source.unread(&[line, b"\r\n"].concat());
                return Err(ReadFailure::Error(WarcError::Record {
                    offset,
                    problem: "another record begins inside its fields",
                }));
            }
            match (line.first(), fields.0.last_mut()) {
                (Some(b' ' | b'\t'), Some((_, value))) => {
                    value.push(' ');
                    value.push_str(&text(line.trim_ascii()));
                }
                _ => {
                    let colon = memchr::memchr(b':', line);
                    let (name, value) = line.split_at(colon.unwrap_or(line.len()));
                    fields.push(text(name.trim_ascii()), text(value.get(1..).unwrap_or_default().trim_ascii()));
                }
            }
        }
    }
}

/// Decodes UTF-8, as WARC requires, otherwise Latin-1. A CR inside a line does not end it, and becomes a blank.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| latin1_to_string(bytes), str::to_owned).replace('\r', " ")
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
