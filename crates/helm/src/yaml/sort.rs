//! The order of keys: letters after everything else, numbers within keys by their value.

use std::cmp::Ordering;

use super::Dialect;

/// As many as are put in order one by one: hardly any map has more.
const FEW: usize = 20;

/// Sorts; what is equal stays in the order it had.
///
/// The order of keys contradicts itself (`/9/` < `/29` < `/2Z` < `/9/`), and the standard sort may panic over that.
pub(super) fn sort<T>(items: &mut Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) {
    if items.len() <= FEW {
        return insert_one_by_one(items, compare);
    }
    let mut later = items.split_off(items.len() / 2);
    sort(items, compare);
    sort(&mut later, compare);
    let mut earlier = std::mem::replace(items, Vec::with_capacity(items.len() + later.len())).into_iter().peekable();
    let mut later = later.into_iter().peekable();
    while let (Some(one), Some(two)) = (earlier.peek(), later.peek()) {
        items.extend(if compare(one, two).is_le() { earlier.next() } else { later.next() });
    }
    items.extend(earlier);
    items.extend(later);
}

fn insert_one_by_one<T>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        let (sorted, rest) = items.split_at(end);
        let Some(item) = rest.first() else { return };
        let place = sorted.iter().rposition(|other| compare(other, item).is_le()).map_or(0, |before| before + 1);
        if let Some(moved) = items.get_mut(place..=end) {
            moved.rotate_right(1);
        }
    }
}

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(mut keys: Vec<String>, dialect: Dialect) -> Vec<String> {
        sort(&mut keys, &|a, b| compare(a, b, dialect));
        keys
    }

    #[test]
    fn the_order_of_keys_contradicts_itself() {
        for (a, b) in [("/9/", "/29"), ("/29", "/2Z"), ("/2Z", "/9/")] {
            assert_eq!(compare(a, b, Dialect::Plain), Ordering::Less, "{a} {b}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_key_is_kept_whatever_the_order_says(
            keys in prop::collection::btree_set("[0-9a-f]{8}|[0-9a-f]{4}-[0-9a-f]{4}|/[0-9A-Z/]{1,3}", 0..300),
        ) {
            for dialect in [Dialect::Plain, Dialect::Pretty] {
                let mut found = sorted(keys.iter().cloned().collect(), dialect);
                found.sort_unstable();
                prop_assert!(found.iter().eq(&keys));
            }
        }

        #[test]
        fn an_order_without_contradictions_is_that_of_the_standard_sort(
            mut items in prop::collection::vec((0..40_u8, any::<u16>()), 0..300),
        ) {
            let order = |a: &(u8, u16), b: &(u8, u16)| a.0.cmp(&b.0);
            let mut expected = items.clone();
            expected.sort_by(order);
            sort(&mut items, &order);
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn names_are_in_the_order_of_their_letters(keys in prop::collection::vec("[a-zA-Z]{1,12}", 0..300)) {
            let mut expected = keys.clone();
            expected.sort();
            prop_assert_eq!(sorted(keys, Dialect::Plain), expected);
        }
    }
}
