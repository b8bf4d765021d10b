//! CEL rules, written once and used by many fields. Every message names the field and the way out.
//!
//! Two evaluators read them: Kubernetes' own (from 1.31) and the embedded API's. So: no `type()`, no `cel.bind`, no `semver`,
//! no comprehension over two variables; and a guard before anything that fails at run time on bad input.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;
use kernel::version::{NEWEST, OLDEST};
use serde::Serialize;

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    rule: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_expression: Option<String>,
    /// Below which field a rule on an object is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    field_path: Option<String>,
}

impl From<&Rule> for ValidationRule {
    fn from(rule: &Rule) -> Self {
        Self {
            rule: rule.rule.clone(),
            message: Some(rule.message.clone()),
            message_expression: rule.message_expression.clone(),
            field_path: rule.field_path.clone(),
            ..Self::default()
        }
    }
}

/// The rules of one field or object.
pub type Rules = Vec<Rule>;

/// A rule with a fixed message.
pub fn rule(rule: impl Into<String>, message: impl Into<String>) -> Rules {
    vec![Rule { rule: rule.into(), message: message.into(), message_expression: None, field_path: None }]
}

/// Several sets of rules as one.
pub fn all(sets: impl IntoIterator<Item = Rules>) -> Rules {
    sets.into_iter().flatten().collect()
}

/// The value may not change once it is there.
pub fn immutable(field: &str, way_out: &str) -> Rules {
    rule("self == oldSelf", format!("{field} cannot be changed: {way_out}"))
}

/// On an object: these optional fields stay set once they are.
pub fn kept(fields: &[&str], way_out: &str) -> Rules {
    let one = |field: &&str| {
        // A word of CEL's own is written so.
        let name = if *field == "namespace" { "__namespace__" } else { field };
        rule(format!("!has(oldSelf.{name}) || has(self.{name})"), format!("{field} cannot be removed: {way_out}"))
    };
    all(fields.iter().map(one))
}

/// On an object: at most one of the fields is given.
pub fn at_most_one(fields: &[&str], way_out: &str) -> Rules {
    rule(format!("{} <= 1", count(fields)), format!("only one of {} can be given: {way_out}", fields.join(", ")))
}

/// On an object: exactly one of the fields is given.
pub fn exactly_one(fields: &[&str], way_out: &str) -> Rules {
    rule(format!("{} == 1", count(fields)), format!("exactly one of {} must be given: {way_out}", fields.join(", ")))
}

/// On an object: at least one of the fields is given.
pub fn at_least_one(fields: &[&str], way_out: &str) -> Rules {
    let any = fields.iter().map(|f| format!("has(self.{f})")).collect::<Vec<_>>().join(" || ");
    rule(any, format!("one of {} is missing: {way_out}", fields.join(", ")))
}

fn count(fields: &[&str]) -> String {
    fields.iter().map(|f| format!("(has(self.{f}) ? 1 : 0)")).collect::<Vec<_>>().join(" + ")
}

/// The numbers of a version. Three digits each keep `int()` far from overflow.
const NUMBERS: &str = r"(0|[1-9][0-9]{0,2})\\.(0|[1-9][0-9]{0,2})\\.(0|[1-9][0-9]{0,2})$";

/// `vX.Y.Z`.
pub fn version(field: &str) -> Rules {
    rule(format!("self.matches('^v{NUMBERS}')"), format!("{field} must be vX.Y.Z, for example v1.30.0"))
}

/// `vX.Y.Z` that only moves forward, one minor at a time.
pub fn upgradable_version(field: &str) -> Rules {
    all([version(field), only_upgrades(field)])
}

/// `vX.Y.Z` of a Kubernetes that this Butler knows.
pub fn known_version(field: &str) -> Rules {
    all([version(field), is_known(field)])
}

/// The same where Cluster API allows the `v` to be left out.
pub fn known_version_with_optional_v(field: &str) -> Rules {
    let format = rule(format!("self.matches('^v?{NUMBERS}')"), format!("{field} must be vX.Y.Z, for example v1.30.0"));
    all([format, is_known(field)])
}

/// On the version itself and not on its object: so nobody has to correct one that is stored before changing something else.
fn is_known(field: &str) -> Rules {
    let minor = minor_of("self");
    rule(
        format!(
            "!self.matches('^v?{NUMBERS}') || (self.matches('^v?1\\\\.') && {minor} >= {} && {minor} <= {})",
            OLDEST.minor, NEWEST.minor
        ),
        format!("{field} must be of {OLDEST} to {NEWEST}, which this Butler knows: choose one of them"),
    )
}

/// On the root object: its version, at this place in the spec, moves by what has answered (`status.answeredVersion`) and not by
/// what was wished for last. It never goes below that, forward by one minor at a time, and is free until something has answered.
pub fn version_moves(place: &str) -> Rules {
    let field = place.trim_start_matches("spec.");
    let (old, new, answered) = (format!("oldSelf.{place}"), format!("self.{place}"), "self.status.answeredVersion");
    let readable = |version: &str| format!("{version}.matches('^v?1\\\\.[0-9]{{1,3}}\\\\.[0-9]{{1,3}}$')");
    // What is not there or not read is judged by others, and what is as before by nobody.
    let free = format!(
        "!has({new}) || (has({old}) && {new} == {old}) || !{} || !has(self.status) || !has({answered}) || !{}",
        readable(&new),
        readable(answered),
    );
    let number = |version: &str| format!("{} * 1000 + int({version}.split('.')[2])", minor_of(version));
    let at_most_next = |from: &str| format!("{} <= {} + 1", minor_of(&new), minor_of(from));
    let back = "'%s cannot go from %s, which runs, back to %s: choose %s or newer'";
    let skip = "'%s cannot go from %s to %s at once: upgrade to v1.%d first'";
    // Whatever is further is where to go on from.
    let is_further = format!("has({old}) && {} && {} > {}", readable(&old), minor_of(&old), minor_of(answered));
    let from = format!("({is_further} ? {old} : {answered})");
    let on_field = |rule: String, message: String, expression: String| Rule {
        rule,
        message,
        message_expression: Some(expression),
        field_path: Some(format!(".{place}")),
    };
    vec![
        on_field(
            format!("{free} || {} >= {}", number(&new), number(answered)),
            format!("{field} cannot go back: choose the version that runs or a newer one"),
            format!("{back}.format(['{field}', {answered}, {new}, {answered}])"),
        ),
        on_field(
            // Of what nobody knows that is told already.
            format!(
                "{free} || {} > {} || {} || (has({old}) && {} && {})",
                minor_of(&new),
                NEWEST.minor,
                at_most_next(answered),
                readable(&old),
                at_most_next(&old)
            ),
            format!("{field} cannot skip a minor version: upgrade one minor at a time"),
            format!("{skip}.format(['{field}', {from}, {new}, {} + 1])", minor_of(&from)),
        ),
    ]
}

/// On the root object: what is named at this place in the spec may be put right until it is decided (`status.resolved`), and from
/// then on be nothing but that. What is left out stays as decided. `is_same` compares the new with the old and the decided one.
pub fn decided(place: &str, decided: &str, is_same: [&str; 2], name: &str, way_out: &str) -> Rules {
    let field = place.trim_start_matches("spec.");
    let [is_old, is_decided] = is_same;
    let is_open = format!("!has(self.status) || !has(self.status.resolved) || !has(self.{decided})");
    vec![Rule {
        rule: format!("!has(self.{place}) || (has(oldSelf.{place}) && {is_old}) || {is_open} || ({is_decided})"),
        message: format!("{field} cannot be changed: {way_out}"),
        message_expression: Some(format!(
            "'%s cannot be changed from %s: %s'.format(['{field}', self.{name}, '{way_out}'])"
        )),
        field_path: Some(format!(".{place}")),
    }]
}

/// The minor of a version that can be read.
fn minor_of(version: &str) -> String {
    format!("int({version}.split('.')[1])")
}

fn only_upgrades(field: &str) -> Rules {
    let part = |version: &str, n: usize| format!("int({version}.split('.')[{n}])");
    let (old_minor, new_minor) = (part("oldSelf", 1), part("self", 1));
    let readable = format!("self.matches('^v?{NUMBERS}') && oldSelf.matches('^v?{NUMBERS}')");
    let same_major = "self.find('[0-9]+') == oldSelf.find('[0-9]+')";
    let same_minor = format!("{new_minor} == {old_minor} && {} >= {}", part("self", 2), part("oldSelf", 2));
    let major = "'%s cannot go from %s to %s: the major version does not change in place, make a new one'";
    let back = "'%s cannot go from %s back to %s: choose %s or newer'";
    let skip = "'%s cannot go from %s to %s at once: upgrade to %s.%d first'";
    vec![
        Rule {
            rule: format!("!({readable}) || {same_major}"),
            message: format!("{field} cannot change its major version in place: make a new one"),
            message_expression: Some(format!("{major}.format(['{field}', oldSelf, self])")),
            field_path: None,
        },
        Rule {
            rule: format!("!({readable} && {same_major}) || {new_minor} > {old_minor} || ({same_minor})"),
            message: format!("{field} cannot go back: choose the present version or a newer one"),
            message_expression: Some(format!("{back}.format(['{field}', oldSelf, self, oldSelf])")),
            field_path: None,
        },
        Rule {
            rule: format!("!({readable} && {same_major}) || {new_minor} <= {old_minor} + 1"),
            message: format!("{field} cannot skip a minor version: upgrade one minor at a time"),
            message_expression: Some(format!(
                "{skip}.format(['{field}', oldSelf, self, oldSelf.find('^v?[0-9]+'), {old_minor} + 1])"
            )),
            field_path: None,
        },
    ]
}

/// A length of time as Go and Kubernetes write it, such as `10m` or `1h30m`.
pub fn duration(field: &str) -> Rules {
    rule(
        r"self.matches('^([0-9]{1,6}(\\.[0-9]{1,3})?(ms|s|m|h))+$')",
        format!("{field} must be a duration, for example 30s, 10m or 1h30m"),
    )
}

/// A network such as `10.244.0.0/16`.
pub fn cidr(field: &str) -> Rules {
    rule("isCIDR(self)", format!("{field} must be a CIDR, for example 10.244.0.0/16"))
}

/// Networks that mean something else on every machine: this host, loopback, link-local and multicast.
const SPECIAL: [&str; 8] =
    ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "::/128", "::1/128", "fe80::/10", "ff00::/8"];

/// A network of which every node gets a part: a /24, or a /64 of IPv6.
pub fn pod_network(field: &str) -> Rules {
    let message = "must have room for one node at least: choose a prefix of /24 or shorter, or /64 of IPv6";
    all([network(field), usable(field), longest_prefix(field, 24, 64, message)])
}

/// A network of which DNS gets the tenth address.
pub fn service_network(field: &str) -> Rules {
    let message = "must have 16 addresses at least: choose a prefix of /28 or shorter, or /124 of IPv6";
    all([network(field), usable(field), longest_prefix(field, 28, 124, message)])
}

fn longest_prefix(field: &str, ipv4: u8, ipv6: u8, message: &str) -> Rules {
    let longest = format!("(cidr(self).ip().family() == 4 ? {ipv4} : {ipv6})");
    rule(format!("!isCIDR(self) || cidr(self).prefixLength() <= {longest}"), format!("{field} {message}"))
}

/// A network of which no address is special.
fn usable(field: &str) -> Rules {
    let special = SPECIAL.map(|network| format!("'{network}'")).join(", ");
    let is_special = format!("[{special}].exists(special, {})", cidrs_overlap("special", "self"));
    rule(
        format!("!isCIDR(self) || !{is_special}"),
        format!(
            "{field} must not overlap 0.0.0.0/8, loopback, link-local or multicast addresses: choose a private network, for \
             example 10.244.0.0/16"
        ),
    )
}

/// On an object: two CIDR fields are of one address family. Both must exist.
pub fn same_family(a: &str, b: &str) -> Rules {
    let family = |field: &str| format!("cidr(self.{field}).ip().family()");
    rule(
        format!("!isCIDR(self.{a}) || !isCIDR(self.{b}) || {} == {}", family(a), family(b)),
        format!("{a} and {b} are of different address families: choose two IPv4 or two IPv6 networks"),
    )
}

/// A network without an address in it: `10.244.1.0/16` is a slip for `10.244.0.0/16`, or for `10.244.1.0/24`.
pub fn network(field: &str) -> Rules {
    let whole = "cidr(self).masked()";
    let has_address = Rule {
        rule: format!("!isCIDR(self) || cidr(self) == {whole}"),
        message: format!("{field} must be a network, without bits after its prefix"),
        // Put together by format, as the length of what + makes of a network cannot be foreseen.
        message_expression: Some(format!(
            "'%s must be a network, without bits after its prefix: write %s'.format(['{field}', string({whole})])"
        )),
        field_path: None,
    };
    all([cidr(field), vec![has_address]])
}

/// An IPv4 network.
pub fn ipv4_cidr(field: &str) -> Rules {
    rule(
        "isCIDR(self) && cidr(self).ip().family() == 4",
        format!("{field} must be an IPv4 CIDR, for example 10.40.0.0/16"),
    )
}

/// An address of either family.
pub fn ip(field: &str) -> Rules {
    rule("isIP(self)", format!("{field} must be an IP address, for example 10.40.0.200"))
}

/// An IPv4 address.
pub fn ipv4(field: &str) -> Rules {
    rule("isIP(self) && ip(self).family() == 4", format!("{field} must be an IPv4 address, for example 10.40.0.200"))
}

/// On a list: every item is an address.
pub fn each_ip(field: &str) -> Rules {
    rule("self.all(item, isIP(item))", format!("{field} must be IP addresses, for example 10.96.0.10"))
}

/// On a list: every item is a host name, also of a whole domain, or an address.
pub fn each_host(field: &str) -> Rules {
    let label = "[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?";
    rule(
        format!(r"self.all(item, isIP(item) || item.matches('^(\\*\\.)?{label}(\\.{label})*$'))"),
        format!(
            "{field} must be host names or IP addresses, for example api.example.org, *.example.org or 10.40.0.200"
        ),
    )
}

/// On a list: every item is a network.
pub fn each_cidr(field: &str) -> Rules {
    rule("self.all(item, isCIDR(item))", format!("{field} must be CIDRs, for example 10.40.0.0/16"))
}

/// `first-last` or a CIDR, not inverted (the order of IPv6 addresses is left to the controller: CEL cannot compare them).
pub fn address_pool(field: &str) -> Rules {
    let (first, last) = ends_of("self");
    let is_range = format!("self.matches('^[^-]+-[^-]+$') && isIP({first}) && isIP({last})");
    all([
        rule(
            format!("isCIDR(self) || ({is_range})"),
            format!("{field} must be first-last, for example 10.40.1.0-10.40.1.50, or a CIDR"),
        ),
        rule(
            format!("!({is_range}) || ({})", in_order(&first, &last)),
            format!("{field} is inverted: write the lower address first, both of the same family"),
        ),
    ])
}

/// The two halves of `first-last`. By `find`, because the API server knows a bound for the length of what it returns, and
/// refuses rules whose cost it cannot bound.
fn ends_of(pool: &str) -> (String, String) {
    (format!("{pool}.find('^[^-]+')"), format!("{pool}.find('[^-]+$')"))
}

/// On an object with two address fields: the first is not above the second.
pub fn ordered_addresses(first: &str, last: &str, field: &str) -> Rules {
    let (a, b) = (format!("self.{first}"), format!("self.{last}"));
    rule(
        format!("!isIP({a}) || !isIP({b}) || ({})", in_order(&a, &b)),
        format!("{field} is inverted: {first} must not be above {last}, and both of the same family"),
    )
}

/// On an object: two CIDR fields share no address. Both must exist.
pub fn cidrs_apart(a: &str, b: &str, way_out: &str) -> Rules {
    rule(
        format!(
            "!isCIDR(self.{a}) || !isCIDR(self.{b}) || !({})",
            cidrs_overlap(&format!("self.{a}"), &format!("self.{b}"))
        ),
        format!("{a} and {b} overlap: {way_out}"),
    )
}

/// Whether two CIDR expressions share an address; both must be CIDRs.
fn cidrs_overlap(a: &str, b: &str) -> String {
    format!("cidr({a}).containsCIDR({b}) || cidr({b}).containsCIDR({a})")
}

/// Whether the pool expression (`first-last` or CIDR) shares an address with the CIDR expression; false when either is malformed.
pub fn pool_overlaps_cidr(pool: &str, cidr: &str) -> String {
    let (first, last) = ends_of(pool);
    let as_range = range_overlaps_cidr(&first, &last, cidr);
    format!("isCIDR({cidr}) && (isCIDR({pool}) ? ({}) : ({as_range}))", cidrs_overlap(pool, cidr))
}

/// Whether the addresses from `first` to `last` meet the CIDR; false when one of them is malformed.
///
/// If neither end lies in the network, the network lies wholly inside or wholly outside, so that any one of its addresses decides.
pub fn range_overlaps_cidr(first: &str, last: &str, cidr: &str) -> String {
    let member = format!("{cidr}.find('^[^/]+')");
    let around = format!(
        "ip({first}).family() == 4 && ip({last}).family() == 4 && ip({member}).family() == 4 && {} <= {} && {} <= {}",
        ipv4_number(first),
        ipv4_number(&member),
        ipv4_number(&member),
        ipv4_number(last),
    );
    format!(
        "isCIDR({cidr}) && isIP({first}) && isIP({last}) && (cidr({cidr}).containsIP({first}) || cidr({cidr}).containsIP({last}) || \
         ({around}))"
    )
}

fn in_order(first: &str, last: &str) -> String {
    format!(
        "ip({first}).family() == ip({last}).family() && (ip({first}).family() == 6 || {} <= {})",
        ipv4_number(first),
        ipv4_number(last)
    )
}

/// An IPv4 address as a number: CEL has no order on addresses.
pub fn ipv4_number(address: &str) -> String {
    let octet = |n: usize| format!("int({address}.split('.')[{n}])");
    format!("(({} * 256 + {}) * 256 + {}) * 256 + {}", octet(0), octet(1), octet(2), octet(3))
}

/// On the root object: the name becomes part of Services, namespaces and host names, so it is one short DNS label.
pub fn dns_label_name(kind: &str, max: usize) -> Rules {
    rule(
        format!("self.metadata.name.size() <= {max} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"),
        format!(
            "metadata.name of a {kind} must be at most {max} characters, lower-case letters, digits and dashes, beginning with a \
             letter: choose a shorter or plainer name"
        ),
    )
}
