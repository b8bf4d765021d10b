//! A new size in the midst of a rollout is shared out among the sets in proportion to theirs.

use super::rolling::Limits;

/// One set that has pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of pods it should have so far.
    pub(crate) size: i32,
    /// How many pods all sets together were allowed when it got that size.
    pub(crate) of: i32,
    /// The higher the younger.
    pub(crate) youth: usize,
}

/// The new sizes, in the order of `shares`.
pub(crate) fn sizes(limits: Limits, shares: &[Share]) -> Vec<i32> {
    let total: i32 = shares.iter().map(|share| share.size).sum();
    let allowed = if limits.wanted > 0 { limits.max_total() } else { 0 };
    let to_add = allowed - total;
    let mut order: Vec<usize> = (0..shares.len()).collect();
    // The largest takes what rounding leaves: the youngest of several when growing, the oldest when shrinking.
    order.sort_by_key(|index| {
        let share = shares.get(*index).copied().unwrap_or(Share { size: 0, of: 0, youth: 0 });
        let youth = i64::try_from(share.youth).unwrap_or(i64::MAX);
        (-share.size, if to_add > 0 { -youth } else { youth })
    });
    let mut sizes: Vec<i32> = shares.iter().map(|share| share.size).collect();
    let mut added = 0;
    for index in &order {
        if let (Some(size), Some(share)) = (sizes.get_mut(*index), shares.get(*index)) {
            let part = part(limits, *share, to_add - added);
            *size += part;
            added += part;
        }
    }
    if let Some(size) = order.first().and_then(|first| sizes.get_mut(*first)) {
        *size = (*size + to_add - added).max(0);
    }
    sizes
}

/// What one set gains or loses, at most what is left to be shared out.
fn part(limits: Limits, share: Share, left: i32) -> i32 {
    if share.size == 0 || left == 0 {
        return 0;
    }
    if limits.wanted == 0 {
        return -share.size;
    }
    if share.of <= 0 {
        return 0;
    }
    let scaled = f64::from(share.size) * f64::from(limits.max_total()) / f64::from(share.of);
    // Both are numbers of pods.
    #[allow(clippy::cast_possible_truncation)]
    let gain = scaled.round() as i32 - share.size;
    if left > 0 { gain.clamp(0, left) } else { gain.clamp(left, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_in_proportion() {
        let share = |size, of, youth| Share { size, of, youth };
        for (wanted, surge, shares, expected) in [
            // Kubernetes' own example: 10 + 3 surge become 15 + 3.
            (15, 3, vec![share(8, 13, 0), share(5, 13, 1)], vec![11, 7]),
            (5, 2, vec![share(8, 13, 0), share(5, 13, 1)], vec![4, 3]),
            (0, 3, vec![share(8, 13, 0), share(5, 13, 1)], vec![0, 0]),
            (10, 0, vec![share(5, 5, 0)], vec![10]),
            (4, 0, vec![share(1, 2, 0), share(1, 2, 1)], vec![2, 2]),
            (3, 0, vec![share(1, 2, 0), share(1, 2, 1)], vec![1, 2]),
        ] {
            let limits = Limits { wanted, surge, unavailable: 0 };
            assert_eq!(sizes(limits, &shares), expected, "{wanted}+{surge} {shares:?}");
        }
    }
}
