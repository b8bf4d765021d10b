//! Quantities as Kubernetes writes them: `100m`, `1.5Gi`, `2e3`.
//!
//! A quantity is a decimal number of at most nine fractional digits (finer ones round away from zero) that remembers
//! the family of suffix it was written with. Printing gives the canonical form: no fraction, the largest suffix.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Why a text is no quantity; the wording is kube-apiserver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text as a whole has the wrong form.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The family of suffix a quantity is printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `m`, `k`, `M`, ...
    Decimal,
    /// `Ki`, `Mi`, ...
    Binary,
    /// `e3`, `e6`, ...
    Exponent,
}

/// An amount of something.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

const NANO: i128 = 1_000_000_000;
const MILLI: i128 = 1_000_000;
/// Beyond this binary quantities are cut off, as in Kubernetes.
const MAX_BINARY: i128 = i64::MAX as i128 * NANO;

impl Quantity {
    /// Nothing at all.
    pub const ZERO: Self = Self { nanos: 0, format: Format::Decimal };

    /// A whole number of units.
    pub fn whole(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANO, format: Format::Decimal }
    }

    /// The text a quantity reads back as: canonical, but as written where Kubernetes sees no need to change it
    /// (`1E3`, `007`).
    pub fn read_back(text: &str) -> Result<Cow<'_, str>, QuantityError> {
        let quantity: Self = text.parse()?;
        if is_left_alone(text) { Ok(Cow::Borrowed(text)) } else { Ok(Cow::Owned(quantity.to_string())) }
    }

    /// -1, 0 or 1.
    pub fn signum(self) -> i32 {
        match self.nanos.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    /// The amount in whole units, rounded up.
    pub fn value(self) -> i64 {
        clamp(div_ceil(self.nanos, NANO))
    }

    /// The amount in thousandths, rounded up.
    pub fn milli_value(self) -> i64 {
        clamp(div_ceil(self.nanos, MILLI))
    }

    /// Whether it is a whole number of units.
    pub fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// Rounded away from zero to thousandths, the finest that resource lists keep.
    #[must_use]
    pub fn rounded_to_milli(self) -> Self {
        Self { nanos: away_from_zero(self.nanos, MILLI).saturating_mul(MILLI), ..self }
    }

    /// The sum, in the suffix family of `self` (of `other` when `self` is zero).
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// The difference, in the suffix family of `self` (of `other` when `self` is zero).
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(Self { nanos: other.nanos.saturating_neg(), format: other.format })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let whole = digits(unsigned);
        let rest = unsigned.get(whole.len()..).unwrap_or("");
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => {
                let fraction = digits(rest);
                (fraction, rest.get(fraction.len()..).unwrap_or(""))
            }
            None => ("", rest),
        };
        if text.is_empty() || !suffix_form(suffix) {
            return Err(QuantityError::Format);
        }
        let (scale, format) = scale(suffix).ok_or(QuantityError::Suffix)?;
        // No digits at all ("Ki", ".") count as zero, as in Kubernetes.
        let mut nanos = match scale {
            Scale::Ten(exponent) => decimal(whole, fraction, exponent.saturating_add(9)),
            Scale::Two(exponent) => binary(whole, fraction, exponent),
        };
        let mut format = format;
        if format == Format::Binary {
            nanos = nanos.min(MAX_BINARY);
            if nanos > 0 && nanos < NANO {
                format = Format::Decimal;
            }
        }
        Ok(Self { nanos: if text.starts_with('-') { -nanos } else { nanos }, format })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        if self.format == Format::Binary && self.is_whole() && self.nanos.abs() >= 1024 * NANO {
            let (mut number, mut step) = (self.nanos / NANO, 0);
            while number % 1024 == 0 && step + 1 < BINARY.len() {
                number /= 1024;
                step += 1;
            }
            return write!(f, "{number}{}", BINARY.get(step).copied().unwrap_or(""));
        }
        let (mut number, mut step) = (self.nanos, 0);
        while number % 1000 == 0 && (step + 1 < DECIMAL.len() || self.format == Format::Exponent) {
            number /= 1000;
            step += 1;
        }
        let exponent = i32::try_from(step).unwrap_or(i32::MAX).saturating_mul(3) - 9;
        match self.format {
            Format::Exponent if exponent == 0 => write!(f, "{number}"),
            Format::Exponent => write!(f, "{number}e{exponent}"),
            _ => write!(f, "{number}{}", DECIMAL.get(step).copied().unwrap_or("")),
        }
    }
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

enum Scale {
    Ten(i32),
    Two(u32),
}

fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

/// Whether a text is short and regular enough for Kubernetes to keep it instead of printing the number anew.
fn is_left_alone(text: &str) -> bool {
    if text == "0" {
        return true;
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
    let whole = digits(unsigned);
    let rest = unsigned.get(whole.len()..).unwrap_or("");
    let fraction = rest.strip_prefix('.').map_or("", digits);
    let suffix = rest.strip_prefix('.').map_or(rest, |rest| rest.get(fraction.len()..).unwrap_or(""));
    let length = i32::try_from(whole.len() + fraction.len()).unwrap_or(i32::MAX);
    match scale(suffix) {
        Some((Scale::Ten(exponent), _)) => {
            let exponent = exponent.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
            let all = format!("{whole}{fraction}");
            length <= 18 && exponent >= -9 && exponent % 3 == 0 && !whole.is_empty() && !all.ends_with("000")
        }
        Some((Scale::Two(exponent), _)) => {
            let room = 14 - length - i32::try_from(exponent * 3 / 10).unwrap_or(i32::MAX);
            fraction.is_empty() && room >= 0 && whole.parse::<u64>().is_ok_and(|number| number & 7 != 0)
        }
        None => false,
    }
}

/// Whether the rest of the text has the form of a suffix: letters, then perhaps a signed number.
fn suffix_form(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    rest.bytes().all(|b| b.is_ascii_digit())
}

fn scale(suffix: &str) -> Option<(Scale, Format)> {
    if let Some(step) = BINARY.iter().skip(1).position(|known| *known == suffix) {
        return Some((Scale::Two(10 * (u32::try_from(step).ok()? + 1)), Format::Binary));
    }
    if let Some(step) = DECIMAL.iter().position(|known| *known == suffix) {
        return Some((Scale::Ten(3 * i32::try_from(step).ok()? - 9), Format::Decimal));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i64 = exponent.parse().ok()?;
    Some((Scale::Ten(i32::try_from(exponent).ok()?), Format::Exponent))
}

/// `whole.fraction` times ten to the `exponent`, rounded up, held at the bounds of the type.
fn decimal(whole: &str, fraction: &str, exponent: i32) -> i128 {
    let mut number: i128 = 0;
    let mut left = exponent;
    let mut rest = false;
    for digit in whole.bytes() {
        number = number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
    }
    for digit in fraction.bytes() {
        if left > 0 {
            number = number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
            left -= 1;
        } else {
            rest |= digit != b'0';
        }
    }
    if number == 0 {
        return i128::from(rest);
    }
    while left > 0 && number < i128::MAX {
        number = number.saturating_mul(10);
        left -= 1;
    }
    while left < 0 && number > 0 {
        rest |= number % 10 != 0;
        number /= 10;
        left += 1;
    }
    number.saturating_add(i128::from(rest))
}

fn binary(whole: &str, fraction: &str, exponent: u32) -> i128 {
    let factor = 1_i128 << exponent;
    let whole = decimal(whole, "", 9).saturating_mul(factor);
    // Eighteen digits are exact for every binary suffix within the nanos that are kept.
    let fraction = fraction.get(..18.min(fraction.len())).unwrap_or("");
    let exact = decimal("", fraction, 18);
    let (high, low) = (exact / NANO, exact % NANO);
    let part = high.saturating_mul(factor).saturating_add(div_ceil(low.saturating_mul(factor), NANO));
    whole.saturating_add(part)
}

fn div_ceil(number: i128, by: i128) -> i128 {
    number.div_euclid(by) + i128::from(number.rem_euclid(by) != 0)
}

fn away_from_zero(number: i128, by: i128) -> i128 {
    if number < 0 { -div_ceil(-number, by) } else { div_ceil(number, by) }
}

fn clamp(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        text.parse::<Quantity>().map_or_else(|error| error.to_string(), |quantity| quantity.to_string())
    }

    #[test]
    fn the_canonical_form_is_kubernetes_own() {
        // As a Deployment's limits read back from kube-apiserver 1.34.
        for (given, read_back) in [
            ("1000m", "1"),
            ("0.5Gi", "512Mi"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1e3", "1e3"),
            ("12e1", "120"),
            ("100e-3", "100e-3"),
            ("0", "0"),
            ("0Gi", "0"),
            ("1.5k", "1500"),
            ("10Ki", "10Ki"),
            ("0.0001Ki", "103m"),
            ("1E", "1E"),
            ("1Ei", "1Ei"),
            ("16Ei", "9223372036854775807"),
            ("1536Ki", "1536Ki"),
            ("-1", "-1"),
            (".5", "500m"),
            ("5.", "5"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1P", "1P"),
            ("123456789123456789123", "123456789123456789123"),
        ] {
            assert_eq!(text_milli(given), read_back, "{given}");
        }
    }

    fn text_milli(text: &str) -> String {
        text.parse::<Quantity>().map_or_else(|e| e.to_string(), |q| q.rounded_to_milli().to_string())
    }

    #[test]
    fn some_texts_are_left_alone() {
        for (given, read_back) in [
            ("1E3", "1E3"),
            ("007", "007"),
            ("5.", "5."),
            ("+1", "+1"),
            ("1000", "1k"),
            ("8Ki", "8Ki"),
            ("1.10", "1100m"),
        ] {
            assert_eq!(Quantity::read_back(given).unwrap(), read_back, "{given}");
        }
    }

    #[test]
    fn bad_quantities_are_named_as_kubernetes_names_them() {
        let form = QuantityError::Format.to_string();
        for (given, error) in [
            ("", form.as_str()),
            ("abc", &form),
            ("1 Gi", &form),
            ("1Gib", &form),
            ("--1", "unable to parse quantity's suffix"),
            ("1KK", "unable to parse quantity's suffix"),
            ("1g", &form),
            (".", "0"),
        ] {
            assert_eq!(canonical(given), error, "{given}");
        }
    }

    #[test]
    fn amounts_compare_and_add_across_suffixes() {
        let quantity = |text: &str| text.parse::<Quantity>().unwrap();
        assert_eq!(quantity("1Gi"), quantity("1024Mi"));
        assert!(quantity("999m") < quantity("1"));
        assert_eq!(quantity("1Gi").plus(quantity("512Mi")).to_string(), "1536Mi");
        assert_eq!(quantity("1").minus(quantity("250m")).to_string(), "750m");
        assert_eq!(quantity("1500m").value(), 2);
        assert_eq!(quantity("1500u").milli_value(), 2);
    }

    #[test]
    fn long_input_is_answered_quickly() {
        let long = "9".repeat(100_000);
        assert!(long.parse::<Quantity>().is_ok());
        assert!(format!("1e{}", i32::MAX).parse::<Quantity>().is_ok());
        assert!(format!("1e-{}", i32::MAX).parse::<Quantity>().is_ok());
    }
}
