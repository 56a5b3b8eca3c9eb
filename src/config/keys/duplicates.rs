//! Keys of pages with the same content.

use super::Kind::{Bool, Count};
use super::{Key, ours};

pub(super) const KEYS: &[Key] = &[
    ours(
        "duplicates.enabled",
        "false",
        Bool(|d, v| d.looks_for_duplicates = v),
        "Tell of each page whose duplicate it is: of the first page with the same content, byte for byte, or with nearly the same main text. \
         Destinations with skip_duplicates leave duplicates out. Pages known before are asked for whole at their next look, once.",
    ),
    ours(
        "duplicates.distance",
        "3",
        Count(0, 3, |d, v| d.near_within = v as u8),
        "Texts are near copies where so many bits of their simhashes (of 64) differ at most: 3 are some 10 other words in 1000. Texts of fewer than \
         32 words have none, nor has a main text of less than a fourth of what its page shows. 0: only what is the same byte for byte is a duplicate, and no text is read for it. Another distance \
         counts for each page from its next look on.",
    ),
];
