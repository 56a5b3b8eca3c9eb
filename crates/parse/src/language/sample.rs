//! The parts of a text that are judged. They lie apart, so that neither a banner at the top nor a footer decides.

/// Most pieces, and the size of each.
const PIECES: usize = 6;
const PIECE_BYTES: usize = 64;
/// Shorter lines are used only if the others are too few: they are menus, names and buttons.
const LINE_BYTES: usize = 60;
/// A piece begins and ends with a word, if the word is not longer than this.
const WORD_BYTES: usize = 40;

/// Up to six pieces, at equal distances in the long lines, or in all lines. Short texts are taken whole.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let long = |line: &&str| line.len() >= LINE_BYTES;
    match text.lines().filter(long).map(str::len).sum() {
        0 => spread(text.lines(), text.lines().map(str::len).sum()),
        size => spread(text.lines().filter(long), size),
    }
}

fn spread<'a>(lines: impl Iterator<Item = &'a str>, size: usize) -> Vec<String> {
    let count = size.div_ceil(PIECE_BYTES).min(PIECES);
    let mut pieces: Vec<String> = Vec::with_capacity(count);
    let mut before = 0;
    for line in lines {
        let mut at = 0;
        loop {
            // A piece goes on in the next line.
            if let Some(piece) = pieces.last_mut().filter(|piece| piece.len() < PIECE_BYTES) {
                let rest = &line[at..];
                let taken = end_of_word(rest, PIECE_BYTES - piece.len());
                piece.push(' ');
                piece.push_str(&rest[..taken]);
                at += taken;
            }
            let start = size * pieces.len() / count.max(1);
            if pieces.len() == count || start >= before + line.len() {
                break;
            }
            let start = line.ceil_char_boundary(start.saturating_sub(before).max(at));
            at = if start == 0 { 0 } else { start + begin_of_word(&line[start..]) };
            pieces.push(String::with_capacity(PIECE_BYTES + WORD_BYTES));
            if at == line.len() {
                break;
            }
        }
        before += line.len();
    }
    pieces
}

/// Where the next word begins; 0 if that is far.
fn begin_of_word(text: &str) -> usize {
    space(text).unwrap_or_default()
}

/// Where the word at a position ends; the position if that is far.
fn end_of_word(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if text.len() - at <= WORD_BYTES {
        // The rest of a line would be too short for another piece.
        return space(&text[at..]).map_or(text.len(), |space| at + space);
    }
    at + space(&text[at..]).unwrap_or_default()
}

/// The next space, if it is near. A byte that is a space is one in UTF-8, too.
fn space(text: &str) -> Option<usize> {
    text.bytes().take(WORD_BYTES).position(|byte| byte == b' ')
}
