//! Sorts files by their names.

use std::cmp::Ordering;

/// Compares names with the numbers in them by value: `data-9` before `data-10`.
pub(super) fn by_name(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let ((number_a, rest_a), (number_b, rest_b)) = (split_number(left), split_number(right));
            let order = number_a.len().cmp(&number_b.len()).then(number_a.cmp(number_b));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (rest_a, rest_b);
        } else if x != y {
            return x.cmp(&y);
        } else {
            (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
        }
    }
    left.len().cmp(&right.len()).then(a.cmp(b))
}

/// Splits off leading digits, without leading zeros.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}
