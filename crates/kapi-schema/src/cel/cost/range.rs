//! Numbers of which only the bounds are known.

/// How much a string is cheaper to walk over than other things: by the character.
pub(super) const PER_CHARACTER: f64 = 0.1;
/// What a character of a regular expression counts.
pub(super) const PER_PATTERN_CHARACTER: f64 = 0.25;

/// How long a string or list, or how large a map may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    /// Of values that do not vary in size.
    pub(super) const ONE: Self = Self::exactly(1);

    pub(super) const fn exactly(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) const fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// What is one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The most it costs to walk over it, at so much for each element.
    pub(super) fn walked(self, each: f64) -> u64 {
        scaled(self.max, each)
    }
}

/// A cost times a factor, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "it saturates"
)]
pub(super) fn scaled(cost: u64, factor: f64) -> u64 {
    (cost as f64 * factor).ceil() as u64
}

/// What a list or map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) is_list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

impl Entry {
    /// Of a list with items of this size.
    pub(super) fn of_list(value: Size) -> Self {
        Self { is_list: true, key: Size::ONE, value }
    }

    /// What is one or the other; unknown if one is.
    pub(super) fn either(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (a, b) = (a?, b?);
        Some(Self { is_list: a.is_list, key: a.key.or(b.key), value: a.value.or(b.value) })
    }
}

/// The sizes of literal elements together: none at all are of no size.
pub(super) fn all_sizes(sizes: impl Iterator<Item = Size>) -> Size {
    sizes.reduce(Size::or).unwrap_or(Size::exactly(0))
}
