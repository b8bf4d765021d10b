//! The order of keys: letters after everything else, numbers within keys by their value.

use std::cmp::Ordering;

use super::Dialect;

/// Which of two keys comes first.
pub(super) fn compare(a: &str, b: &str, dialect: Dialect) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    // Nearly all keys differ first in an ASCII letter, or one begins with the other.
    match a.bytes().zip(b.bytes()).find(|(one, two)| one != two) {
        None => return a.len().cmp(&b.len()),
        Some((one, two)) if one.is_ascii_alphabetic() && two.is_ascii_alphabetic() => return one.cmp(&two),
        Some(_) => {}
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let (Some(&one), Some(&two)) = (a.get(at), b.get(at)) else { return Ordering::Equal };
    match (one.is_alphabetic(), two.is_alphabetic()) {
        (true, true) => return one.cmp(&two),
        (false, false) => {}
        (one_is_letter, _) => {
            // The newer library knows whether a number was just being read.
            let in_number = dialect == Dialect::Pretty
                && at.checked_sub(1).and_then(|before| a.get(before)).is_some_and(char::is_ascii_digit);
            return if one_is_letter == in_number { Ordering::Less } else { Ordering::Greater };
        }
    }
    // A zero is only leading when nothing but zeros stands before it.
    let before = a.get(..at).unwrap_or_default();
    let digits_before = before.iter().rev().take_while(|c| c.is_numeric());
    let seed = i64::from((one == '0' || two == '0') && digits_before.into_iter().any(|c| *c != '0'));
    let number = |text: &[char]| {
        let digits = text.get(at..).unwrap_or_default().iter().map_while(|c| c.to_digit(10));
        let (count, value) = digits.fold((0_usize, seed), |(count, value), digit| {
            (count + 1, value.wrapping_mul(10).wrapping_add(digit.into()))
        });
        (value, count)
    };
    number(&a).cmp(&number(&b)).then(one.cmp(&two))
}
