//! Sets of parts of the work, as Jobs write them: `0-2,5`.

use std::collections::BTreeSet;

/// Reads a set; what cannot be read is left out.
pub(super) fn parse(text: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse().ok()?..=to.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Writes a set; runs of three and more in short, as Kubernetes does.
pub(super) fn format(set: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for index in set {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let text = |(from, to): &(u32, u32)| match to - from {
        0 => from.to_string(),
        1 => format!("{from},{to}"),
        _ => format!("{from}-{to}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_written() {
        for (text, members) in
            [("", vec![]), ("0", vec![0]), ("0,1", vec![0, 1]), ("0-2,5,7,8", vec![0, 1, 2, 5, 7, 8])]
        {
            let set: BTreeSet<u32> = members.into_iter().collect();
            assert_eq!(parse(text), set, "{text}");
            assert_eq!(format(&set), text);
        }
    }
}
