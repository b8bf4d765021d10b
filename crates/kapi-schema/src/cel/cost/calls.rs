//! What functions and operators cost, and how large their results are.

use super::place::{Down, Place};
use super::range::{Entry, PER_CHARACTER, PER_PATTERN_CHARACTER, Size, scaled};
use super::{Estimate, is_fixed};
use crate::cel::ast::{Expr, Kind, Literal};
use crate::cel::types::Ty;

/// The longest pattern behind a named format.
const FORMAT_PATTERN: f64 = 128.0;
/// The longest text of a named format itself.
const FORMAT_TEXT: u64 = 64;
/// Addresses as bytes.
const ADDRESS: Size = Size { min: 4, max: 16 };

/// A call whose parts have been estimated.
pub(super) struct Call<'c, 'a> {
    pub(super) name: &'c str,
    pub(super) receiver: Option<&'c Estimate<'a>>,
    pub(super) args: &'c [Estimate<'a>],
    /// The arguments as they are written.
    pub(super) sources: &'c [Expr],
    pub(super) root: Place<'a>,
}

/// What a call costs without its parts, and what it gives.
pub(super) struct Outcome {
    pub(super) cost: u64,
    pub(super) size: Option<Size>,
    pub(super) entry: Option<Entry>,
}

impl From<u64> for Outcome {
    fn from(cost: u64) -> Self {
        Self { cost, size: None, entry: None }
    }
}

fn giving(cost: u64, size: Size) -> Outcome {
    Outcome { cost, size: Some(size), entry: None }
}

impl Call<'_, '_> {
    pub(super) fn estimate(&self) -> Outcome {
        let first = self.args.first().map_or(Size::UNKNOWN, Estimate::size);
        let walked = first.walked(PER_CHARACTER);
        if let Some(receiver) = self.receiver
            && let Some(outcome) = self.method(receiver.size(), first)
        {
            return outcome;
        }
        match (self.name, self.args) {
            ("url", [_]) => giving(walked, first),
            ("cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver", [_, ..]) => {
                walked.into()
            }
            ("ip.isCanonical", [_]) => first.walked(2.0 * PER_CHARACTER).into(),
            ("sets.contains" | "sets.intersects", [a, b]) => sets(a, b, 1),
            ("sets.equivalent", [a, b]) => sets(a, b, 2),
            ("strings.quote", [_]) => {
                let size = Size { min: first.min.wrapping_add(2), max: first.max.wrapping_mul(2).wrapping_add(2) };
                giving(walked, size)
            }
            ("bytes", [text]) if may_be(&text.ty, &Ty::String) => {
                giving(walked.max(1), Size { min: first.min, max: first.max.wrapping_mul(4) })
            }
            ("string", [bytes]) if may_be(&bytes.ty, &Ty::Bytes) => {
                giving(walked.max(1), Size { min: first.min / 4, max: first.max })
            }
            ("@in", [_, within]) if !matches!(within.ty, Ty::Map(..)) => within.size().max.max(1).into(),
            ("_+_", [a, b]) => added(a, b),
            ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
                let text = |of: &Estimate<'_>| may_be(&of.ty, &Ty::String) || may_be(&of.ty, &Ty::Bytes);
                let open = |of: &Estimate<'_>| is_open(&of.ty);
                match text(a) && text(b) {
                    true if open(a) && open(b) => compared(a, b).max(1).into(),
                    true => compared(a, b).into(),
                    false => 1.into(),
                }
            }
            ("_==_", [a, b]) if a.ty == b.ty && matches!(a.ty, Ty::Opaque(_)) => same_foreign(a, b).into(),
            ("_==_" | "_!=_", [a, b]) => compared(a, b).into(),
            _ => 1.into(),
        }
    }

    /// Methods that are charged by the size of what they are called on, or of their first argument.
    fn method(&self, of: Size, first: Size) -> Option<Outcome> {
        let walked = of.walked(PER_CHARACTER);
        let one_or_more = !self.args.is_empty();
        Some(match self.name {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => self.each_item(of).into(),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => giving(walked, of),
            "replace" if self.args.len() >= 2 => {
                let with = self.args.get(1).map_or(Size::UNKNOWN, Estimate::size);
                giving(of.walked(2.0 * PER_CHARACTER), replaced(of, first, with))
            }
            "split" => {
                let limit = match self.sources.get(1).map(|limit| &limit.kind) {
                    Some(Kind::Literal(Literal::Int(limit))) => limit.cast_unsigned(),
                    _ => of.max,
                };
                giving(of.walked(2.0 * PER_CHARACTER), Size::up_to(limit))
            }
            "join" => {
                let size = self.joined(of);
                giving(size.walked(PER_CHARACTER), size)
            }
            "find" | "findAll" if one_or_more => giving(searched(of, first), Size::up_to(of.max)),
            "matches" if self.args.len() == 1 => searched(of, first).into(),
            "contains" if self.args.len() == 1 => walked.saturating_mul(first.walked(PER_CHARACTER)).into(),
            "startsWith" | "endsWith" if self.args.len() == 1 => first.walked(PER_CHARACTER).into(),
            "format" => walked.into(),
            "containsIP" if one_or_more => {
                let compared = ADDRESS.plus(ADDRESS).walked(PER_CHARACTER);
                compared.saturating_add(self.parsed(first)).into()
            }
            "containsCIDR" if one_or_more => {
                let compared = ADDRESS.plus(ADDRESS).walked(PER_CHARACTER) + ADDRESS.walked(PER_CHARACTER) + 1;
                compared.saturating_add(self.parsed(first)).into()
            }
            "validate" if one_or_more => {
                scaled(first.walked(PER_CHARACTER), FORMAT_PATTERN * PER_PATTERN_CHARACTER).into()
            }
            _ => return None,
        })
    }

    /// Addresses given as text are parsed.
    fn parsed(&self, text: Size) -> u64 {
        let is_text = self.args.first().is_some_and(|arg| may_be(&arg.ty, &Ty::String));
        if is_text { text.walked(PER_CHARACTER) } else { 0 }
    }

    /// What a list is made of, as its schema has it.
    fn item(&self) -> Option<(Size, bool)> {
        let list = self.receiver?;
        let (Ty::List(item) | Ty::Map(item, _) | Ty::Optional(item)) = &list.ty else { return None };
        let text = matches!(**item, Ty::String | Ty::Bytes);
        let size = match list.origin {
            super::Origin::Made => None,
            known => known.down(self.root, Down::Elements).size(),
        };
        Some((size.unwrap_or(Size::UNKNOWN), text))
    }

    fn each_item(&self, of: Size) -> u64 {
        match self.item() {
            Some((item, true)) => of.max.saturating_mul(item.walked(PER_CHARACTER).saturating_add(1)),
            Some(_) => of.max,
            None => of.walked(PER_CHARACTER),
        }
    }

    fn joined(&self, of: Size) -> Size {
        let items = self.item().map_or(Size::exactly(0), |(item, _)| of.times(item));
        match self.args.first() {
            Some(separator) => {
                let between = Size { min: of.min.saturating_sub(1), max: of.max.saturating_sub(1) };
                items.plus(separator.size().times(between))
            }
            None => items,
        }
    }
}

fn is_open(ty: &Ty<'_>) -> bool {
    matches!(ty, Ty::Dyn | Ty::Unknown(_))
}

fn may_be(ty: &Ty<'_>, wanted: &Ty<'_>) -> bool {
    ty == wanted || is_open(ty)
}

fn sets(a: &Estimate<'_>, b: &Estimate<'_>, factor: u64) -> Outcome {
    scaled(a.size().max.saturating_mul(b.size().max), factor as f64).saturating_add(1).into()
}

/// What comparing costs: the smaller side decides.
fn compared(a: &Estimate<'_>, b: &Estimate<'_>) -> u64 {
    scaled(a.size().max.min(b.size().max), PER_CHARACTER)
}

fn same_foreign(a: &Estimate<'_>, b: &Estimate<'_>) -> u64 {
    match &b.ty {
        Ty::Opaque("kubernetes.URL") => scaled(b.size.map_or(1, |size| size.max), PER_CHARACTER),
        Ty::Opaque("kubernetes.NamedFormat") => scaled(FORMAT_TEXT, PER_CHARACTER),
        Ty::Opaque("net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver") => 1,
        _ => compared(a, b),
    }
}

fn added(a: &Estimate<'_>, b: &Estimate<'_>) -> Outcome {
    let sum = a.size().plus(b.size());
    let entry = Entry::either(a.entry, b.entry);
    let text = |of: &Estimate<'_>| may_be(&of.ty, &Ty::String) || may_be(&of.ty, &Ty::Bytes);
    let list = |of: &Estimate<'_>| matches!(of.ty, Ty::List(_)) || is_open(&of.ty);
    match (text(a) && text(b), list(a) && list(b)) {
        (true, true) => Outcome { cost: sum.walked(PER_CHARACTER).max(1), size: Some(sum), entry },
        (true, false) => Outcome { cost: sum.walked(PER_CHARACTER), size: Some(sum), entry },
        (false, true) => Outcome { cost: 1, size: Some(sum), entry },
        (false, false) => Outcome { cost: 1, size: is_fixed(&a.ty).then_some(Size::ONE), entry: None },
    }
}

/// Searching a text for a pattern. An empty text costs something too, for the pattern may be long.
fn searched(text: Size, pattern: Size) -> u64 {
    text.plus(Size::ONE).walked(PER_CHARACTER).saturating_mul(pattern.walked(PER_PATTERN_CHARACTER))
}

/// How long a text can be after replacing `what` by `with` in it.
fn replaced(of: Size, what: Size, with: Size) -> Size {
    let count = |length: u64, each: u64| length.div_ceil(each);
    // Replacing nothing puts the replacement around every character.
    let (most, kept_most) = match (what.min, with.max <= what.min) {
        (0, _) => (of.max.saturating_add(1), of.max),
        (_, true) => (0, of.max),
        (each, false) => (count(of.max, each), 0),
    };
    let (least, kept_least) = match (what.max, what.max <= with.min) {
        (0, _) => (of.min.saturating_add(1), of.min),
        (_, true) => (0, of.min),
        (each, false) => (count(of.min, each), 0),
    };
    Size { min: least, max: most }.times(with).plus(Size { min: kept_least, max: kept_most })
}
