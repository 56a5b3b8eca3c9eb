//! How much of a file is whole records.

use std::io::{self, Read, Seek};

use super::ahead::{Ahead, LookAhead};
use super::window::SeekableInput;

/// How many bytes at the file's beginning are whole records, as far as their heads and lengths tell: where a writer that
/// was killed left off. Reads the heads alone.
pub fn whole_length<R: Read + Seek>(input: &mut R) -> io::Result<u64> {
    let mut source = SeekableInput::new(input)?;
    let mut look = LookAhead::new();
    let mut at = 0;
    while let Ahead::Record(framing) = look.at(&mut source, at)? {
        look.forget_before(at);
        at = framing.end();
    }
    Ok(at)
}
