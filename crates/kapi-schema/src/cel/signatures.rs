//! The functions rules may call, by signature: the standard library of CEL and what Kubernetes 1.34 adds to it.
//!
//! `A` and `B` stand for any type. A dot before the name makes a method.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::types::Ty;

/// One way to call a function.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) method: bool,
    /// Types of the arguments, the target of a method first.
    pub(super) args: Vec<Ty<'static>>,
    pub(super) result: Ty<'static>,
}

/// All ways to call a function of this name.
pub(super) fn named(name: &str) -> Option<&'static [Signature]> {
    TABLE.get(name).map(Vec::as_slice)
}

static TABLE: LazyLock<HashMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Signature>> = HashMap::new();
    for line in SIGNATURES.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some((name, signature)) = read(line) {
            table.entry(name).or_default().push(signature);
        }
    }
    table
});

/// Reads `name(args) result`, or `.name(target, args) result`.
fn read(line: &'static str) -> Option<(&'static str, Signature)> {
    let (name, rest) = line.split_once('(')?;
    let (args, result) = rest.rsplit_once(')')?;
    let (method, name) = match name.strip_prefix('.') {
        Some(name) => (true, name),
        None => (false, name),
    };
    let args = split_args(args).into_iter().map(ty).collect::<Option<Vec<_>>>()?;
    Some((name, Signature { method, args, result: ty(result.trim())? }))
}

fn split_args(text: &'static str) -> Vec<&'static str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(text.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..).map(str::trim).filter(|part| !part.is_empty()));
    parts
}

fn ty(text: &'static str) -> Option<Ty<'static>> {
    if let Some((outer, inner)) = text.split_once('<') {
        let inner = inner.strip_suffix('>')?;
        let mut parts = split_args(inner).into_iter();
        let first = Arc::new(ty(parts.next()?)?);
        return Some(match outer {
            "list" => Ty::List(first),
            "map" => Ty::Map(first, Arc::new(ty(parts.next()?)?)),
            "optional" => Ty::Optional(first),
            _ => return None,
        });
    }
    Some(match text {
        "dyn" => Ty::Dyn,
        "bool" => Ty::Bool,
        "int" => Ty::Int,
        "uint" => Ty::Uint,
        "double" => Ty::Double,
        "string" => Ty::String,
        "bytes" => Ty::Bytes,
        "timestamp" => Ty::Timestamp,
        "duration" => Ty::Duration,
        "type" => Ty::Type,
        "A" => Ty::Param(0),
        "B" => Ty::Param(1),
        opaque => Ty::Opaque(opaque),
    })
}

const SIGNATURES: &str = "
    !_(bool) bool
    -_(int) int
    -_(double) double
    _==_(A, A) bool
    _!=_(A, A) bool
    _+_(int, int) int
    _+_(uint, uint) uint
    _+_(double, double) double
    _+_(string, string) string
    _+_(bytes, bytes) bytes
    _+_(list<A>, list<A>) list<A>
    _+_(duration, duration) duration
    _+_(timestamp, duration) timestamp
    _+_(duration, timestamp) timestamp
    _-_(int, int) int
    _-_(uint, uint) uint
    _-_(double, double) double
    _-_(duration, duration) duration
    _-_(timestamp, duration) timestamp
    _-_(timestamp, timestamp) duration
    _*_(int, int) int
    _*_(uint, uint) uint
    _*_(double, double) double
    _/_(int, int) int
    _/_(uint, uint) uint
    _/_(double, double) double
    _%_(int, int) int
    _%_(uint, uint) uint
    @in(A, list<A>) bool
    @in(A, map<A, B>) bool
    size(string) int
    size(bytes) int
    size(list<A>) int
    size(map<A, B>) int
    .size(string) int
    .size(bytes) int
    .size(list<A>) int
    .size(map<A, B>) int
    .contains(string, string) bool
    .startsWith(string, string) bool
    .endsWith(string, string) bool
    matches(string, string) bool
    .matches(string, string) bool
    int(int) int
    int(uint) int
    int(double) int
    int(string) int
    int(timestamp) int
    int(duration) int
    uint(uint) uint
    uint(int) uint
    uint(double) uint
    uint(string) uint
    double(double) double
    double(int) double
    double(uint) double
    double(string) double
    bool(bool) bool
    bool(string) bool
    string(string) string
    string(bool) string
    string(int) string
    string(uint) string
    string(double) string
    string(bytes) string
    string(timestamp) string
    string(duration) string
    string(net.IP) string
    string(net.CIDR) string
    bytes(bytes) bytes
    bytes(string) bytes
    timestamp(timestamp) timestamp
    timestamp(string) timestamp
    timestamp(int) timestamp
    duration(duration) duration
    duration(string) duration
    duration(int) duration
    dyn(A) dyn
    type(A) type
    .getFullYear(timestamp) int
    .getFullYear(timestamp, string) int
    .getMonth(timestamp) int
    .getMonth(timestamp, string) int
    .getDayOfYear(timestamp) int
    .getDayOfYear(timestamp, string) int
    .getDayOfMonth(timestamp) int
    .getDayOfMonth(timestamp, string) int
    .getDate(timestamp) int
    .getDate(timestamp, string) int
    .getDayOfWeek(timestamp) int
    .getDayOfWeek(timestamp, string) int
    .getHours(timestamp) int
    .getHours(timestamp, string) int
    .getHours(duration) int
    .getMinutes(timestamp) int
    .getMinutes(timestamp, string) int
    .getMinutes(duration) int
    .getSeconds(timestamp) int
    .getSeconds(timestamp, string) int
    .getSeconds(duration) int
    .getMilliseconds(timestamp) int
    .getMilliseconds(timestamp, string) int
    .getMilliseconds(duration) int
    .charAt(string, int) string
    .format(string, list<dyn>) string
    .indexOf(string, string) int
    .indexOf(string, string, int) int
    .indexOf(list<A>, A) int
    .lastIndexOf(string, string) int
    .lastIndexOf(string, string, int) int
    .lastIndexOf(list<A>, A) int
    .join(list<string>) string
    .join(list<string>, string) string
    .lowerAscii(string) string
    .upperAscii(string) string
    .replace(string, string, string) string
    .replace(string, string, string, int) string
    .split(string, string) list<string>
    .split(string, string, int) list<string>
    .substring(string, int) string
    .substring(string, int, int) string
    .trim(string) string
    strings.quote(string) string
    .find(string, string) string
    .findAll(string, string) list<string>
    .findAll(string, string, int) list<string>
    .isSorted(list<int>) bool
    .isSorted(list<uint>) bool
    .isSorted(list<double>) bool
    .isSorted(list<bool>) bool
    .isSorted(list<duration>) bool
    .isSorted(list<timestamp>) bool
    .isSorted(list<string>) bool
    .isSorted(list<bytes>) bool
    .sum(list<int>) int
    .sum(list<uint>) uint
    .sum(list<double>) double
    .sum(list<duration>) duration
    .min(list<int>) int
    .min(list<uint>) uint
    .min(list<double>) double
    .min(list<bool>) bool
    .min(list<duration>) duration
    .min(list<timestamp>) timestamp
    .min(list<string>) string
    .min(list<bytes>) bytes
    .max(list<int>) int
    .max(list<uint>) uint
    .max(list<double>) double
    .max(list<bool>) bool
    .max(list<duration>) duration
    .max(list<timestamp>) timestamp
    .max(list<string>) string
    .max(list<bytes>) bytes
    sets.contains(list<A>, list<A>) bool
    sets.equivalent(list<A>, list<A>) bool
    sets.intersects(list<A>, list<A>) bool
    optional.of(A) optional<A>
    optional.ofNonZeroValue(A) optional<A>
    optional.none() optional<A>
    .value(optional<A>) A
    .hasValue(optional<A>) bool
    .or(optional<A>, optional<A>) optional<A>
    .orValue(optional<A>, A) A
    url(string) kubernetes.URL
    isURL(string) bool
    .getScheme(kubernetes.URL) string
    .getHost(kubernetes.URL) string
    .getHostname(kubernetes.URL) string
    .getPort(kubernetes.URL) string
    .getEscapedPath(kubernetes.URL) string
    .getQuery(kubernetes.URL) map<string, list<string>>
    ip(string) net.IP
    isIP(string) bool
    ip.isCanonical(string) bool
    .family(net.IP) int
    .isUnspecified(net.IP) bool
    .isLoopback(net.IP) bool
    .isLinkLocalMulticast(net.IP) bool
    .isLinkLocalUnicast(net.IP) bool
    .isGlobalUnicast(net.IP) bool
    cidr(string) net.CIDR
    isCIDR(string) bool
    .containsIP(net.CIDR, string) bool
    .containsIP(net.CIDR, net.IP) bool
    .containsCIDR(net.CIDR, string) bool
    .containsCIDR(net.CIDR, net.CIDR) bool
    .ip(net.CIDR) net.IP
    .prefixLength(net.CIDR) int
    .masked(net.CIDR) net.CIDR
    quantity(string) kubernetes.Quantity
    isQuantity(string) bool
    sign(kubernetes.Quantity) int
    .isGreaterThan(kubernetes.Quantity, kubernetes.Quantity) bool
    .isGreaterThan(kubernetes.Semver, kubernetes.Semver) bool
    .isLessThan(kubernetes.Quantity, kubernetes.Quantity) bool
    .isLessThan(kubernetes.Semver, kubernetes.Semver) bool
    .compareTo(kubernetes.Quantity, kubernetes.Quantity) int
    .compareTo(kubernetes.Semver, kubernetes.Semver) int
    .asApproximateFloat(kubernetes.Quantity) double
    .asInteger(kubernetes.Quantity) int
    .isInteger(kubernetes.Quantity) bool
    .add(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity
    .add(kubernetes.Quantity, int) kubernetes.Quantity
    .sub(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity
    .sub(kubernetes.Quantity, int) kubernetes.Quantity
    semver(string) kubernetes.Semver
    semver(string, bool) kubernetes.Semver
    isSemver(string) bool
    isSemver(string, bool) bool
    .major(kubernetes.Semver) int
    .minor(kubernetes.Semver) int
    .patch(kubernetes.Semver) int
    format.named(string) optional<kubernetes.NamedFormat>
    format.dns1123Label() kubernetes.NamedFormat
    format.dns1123Subdomain() kubernetes.NamedFormat
    format.dns1035Label() kubernetes.NamedFormat
    format.qualifiedName() kubernetes.NamedFormat
    format.dns1123LabelPrefix() kubernetes.NamedFormat
    format.dns1123SubdomainPrefix() kubernetes.NamedFormat
    format.dns1035LabelPrefix() kubernetes.NamedFormat
    format.labelValue() kubernetes.NamedFormat
    format.uri() kubernetes.NamedFormat
    format.uuid() kubernetes.NamedFormat
    format.byte() kubernetes.NamedFormat
    format.date() kubernetes.NamedFormat
    format.datetime() kubernetes.NamedFormat
    .validate(kubernetes.NamedFormat, string) optional<list<string>>
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_signature() {
        for line in SIGNATURES.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert!(read(line).is_some(), "{line}");
        }
        assert_eq!(named("size").map(<[_]>::len), Some(8));
    }
}
