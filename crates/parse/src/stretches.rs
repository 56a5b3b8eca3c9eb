//! Finds words that are separated by single blanks, eight bytes at a time.

const SPACE: u8 = 1;
/// Non-ASCII white space begins with this byte, and so do other characters.
const PERHAPS_SPACE: u8 = 2;
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut space = b'\t';
    while space <= b'\r' {
        kinds[space as usize] = SPACE;
        space += 1;
    }
    kinds[b' ' as usize] = SPACE;
    (kinds[0xc2], kinds[0xe1], kinds[0xe2], kinds[0xe3]) = (PERHAPS_SPACE, PERHAPS_SPACE, PERHAPS_SPACE, PERHAPS_SPACE);
    kinds
};

/// The end of the words that are separated by single blanks.
pub(crate) fn stretch_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        if let Some(eight) = bytes.get(at..at + 8)
            && is_plain(eight, at > from && bytes[at - 1] != b' ')
        {
            at += 8;
            continue;
        }
        let is_inside = match KINDS[usize::from(byte)] {
            0 => true,
            SPACE => byte == b' ' && at > from && bytes[at - 1] != b' ',
            _ => space_at(text, at) == 0,
        };
        if !is_inside {
            break;
        }
        at += 1;
    }
    if at > from && bytes[at - 1] == b' ' { at - 1 } else { at }
}

/// Whether eight bytes are printable ASCII without two blanks in a row. `may_begin_blank`: the first may be a blank.
fn is_plain(eight: &[u8], may_begin_blank: bool) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let Ok(bytes) = eight.try_into() else { return false };
    let bytes = u64::from_le_bytes(bytes);
    // The highest bit of each byte is the result. No carry reaches the next byte as long as all are ASCII.
    let below_blank = !(bytes | HIGH).wrapping_sub(0x2020_2020_2020_2020) & HIGH;
    let blanks = !((bytes ^ 0x2020_2020_2020_2020).wrapping_add(0x7f7f_7f7f_7f7f_7f7f)) & HIGH;
    bytes & HIGH == 0 && below_blank == 0 && blanks & blanks << 8 == 0 && (may_begin_blank || blanks & 0x80 == 0)
}

/// Length of the white space at a position; 0 if there is none.
pub(crate) fn space_at(text: &str, at: usize) -> usize {
    let character = text.get(at..).and_then(|rest| rest.chars().next());
    character.filter(|c| c.is_whitespace()).map_or(0, char::len_utf8)
}
