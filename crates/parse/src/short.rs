//! Short texts as numbers, for fast comparison and look-up.

/// Number of bytes in one number.
pub(crate) const SHORT: usize = 8;
/// Bit 0x20 of each byte: capital letters lack it; digits and hyphens have it.
pub(crate) const LOWER: u64 = 0x2020_2020_2020_2020;

/// The first [`SHORT`] bytes as a number, with the first byte lowest.
#[inline]
pub(crate) const fn number(piece: &[u8]) -> u64 {
    let length = piece.len();
    // The first and the last eight bytes, which may overlap.
    if let Some(eight) = piece.first_chunk() {
        u64::from_le_bytes(*eight)
    } else if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
        u32::from_le_bytes(*first) as u64 | (u32::from_le_bytes(*last) as u64) << (8 * (length - 4))
    } else if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
        u16::from_le_bytes(*first) as u64 | (u16::from_le_bytes(*last) as u64) << (8 * (length - 2))
    } else if length == 1 {
        piece[0] as u64
    } else {
        0
    }
}

/// Whether a text begins with a prefix, in any case.
#[inline]
pub(crate) fn starts_with(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a name equals a known lower-case name, in any case.
#[inline]
pub(crate) fn is_name(known: &str, name: &[u8]) -> bool {
    let known = known.as_bytes();
    let number_known = number(known);
    let letters = (number_known & LOWER << 1) >> 1;
    known.len() == name.len()
        && number(name) | letters == number_known
        && (known.len() <= SHORT || known[SHORT..].eq_ignore_ascii_case(&name[SHORT..]))
}
