//! A sketch of a set of hashes, which counts the few elements that two sets do not have in common, whatever their size.
//!
//! PinSketch (Dodis, Ostrovsky, Reyzin and Smith, "Fuzzy Extractors", 2004): the sketch has sums of odd powers of the
//! elements in a field of 2^16. The sum of two sketches is that of the elements in one set alone, because equal ones
//! cancel out. As in decoding a BCH code, the shortest recurrence of the sums of all powers (Berlekamp and Massey) is as
//! long as there are such elements.

/// Number of sums. Up to `SUMS - 1` differences are counted. More are taken for fewer with a chance of 1 in 65,536.
pub const SUMS: usize = 5;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetSketch(pub [u16; SUMS]);

impl SetSketch {
    /// Adds an element, or removes it if it is there.
    pub fn toggle(&mut self, hash: u64) {
        let element = ((hash >> 48) as u16).max(1);
        let square = product(element, element);
        let mut power = element;
        for sum in &mut self.0 {
            *sum ^= power;
            power = product(power, square);
        }
    }

    /// Number of elements in one of the two sets alone. [`SUMS`]: as many or more.
    pub fn differences(&self, other: &SetSketch) -> usize {
        let mut sums = [0; 2 * SUMS];
        for power in 1..=2 * SUMS {
            sums[power - 1] = match power % 2 {
                1 => self.0[power / 2] ^ other.0[power / 2],
                // The square of a sum is the sum of the squares.
                _ => product(sums[power / 2 - 1], sums[power / 2 - 1]),
            };
        }
        length_of_recurrence(&sums).min(SUMS)
    }
}

/// Berlekamp and Massey's algorithm.
fn length_of_recurrence(sums: &[u16; 2 * SUMS]) -> usize {
    const SIZE: usize = 2 * SUMS + 1;
    let one = || std::array::from_fn::<u16, SIZE, _>(|at| u16::from(at == 0));
    let (mut current, mut last) = (one(), one());
    let (mut length, mut step, mut last_gap) = (0, 1, 1);
    for at in 0..sums.len() {
        let known = (1..=length).map(|back| product(current[back], sums[at - back]));
        let gap = known.fold(sums[at], |gap, part| gap ^ part);
        if gap == 0 {
            step += 1;
            continue;
        }
        let before = current;
        let factor = product(gap, inverse(last_gap));
        (step..SIZE).for_each(|to| current[to] ^= product(factor, last[to - step]));
        if 2 * length <= at {
            (length, last, last_gap, step) = (at + 1 - length, before, gap, 1);
        } else {
            step += 1;
        }
    }
    length
}

/// In the field of the polynomial x^16 + x^5 + x^3 + x + 1.
fn product(one: u16, other: u16) -> u16 {
    (0..16).rev().fold(0_u16, |product, bit| {
        let reduced = if product >> 15 == 1 { product << 1 ^ 0x2b } else { product << 1 };
        if other >> bit & 1 == 1 { reduced ^ one } else { reduced }
    })
}

/// The multiplicative inverse: the number to the power of 2^16 - 2. 0 has none.
fn inverse(number: u16) -> u16 {
    let mut power = number;
    let mut inverse = 1;
    for _ in 1..16 {
        power = product(power, power);
        inverse = product(inverse, power);
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_times_its_number_is_one() {
        for number in [1, 2, 3, 0x8000, 0xffff, 12345] {
            assert_eq!(product(number, inverse(number)), 1, "{number}");
        }
    }
}
