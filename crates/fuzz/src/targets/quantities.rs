//! Small texts with a meaning: quantities, durations, versions, address ranges, formats of schemas.

use std::net::IpAddr;

use kapi_schema::formats;
use kernel::cidr::{IpRange, nets_overlap, parse_cidr};
use kernel::duration::GoDuration;
use kernel::quantity::Quantity;
use kernel::version::Version;

use super::{Target, owned, with_text};
use crate::laws::{reads_back, same};
use crate::mutate::Form;

pub(super) const TARGET: Target = Target {
    name: "quantities",
    run: |input| with_text(input, run),
    form: Form::Text,
    words: &[
        "Ki",
        "Mi",
        "Gi",
        "Ei",
        "m",
        "u",
        "n",
        "k",
        "M",
        "E",
        "e9",
        "E-9",
        "e99",
        "1",
        "9223372036854775807",
        "0.5",
        "-",
        "+",
        ".",
        "h",
        "ms",
        "µs",
        "ns",
        "v1.34.4",
        "10.0.0.0/8",
        "fd00::/64",
        "10.0.0.1-10.0.0.9",
        "::",
        "2026-01-01T00:00:00Z",
        ".123456789",
        "+01:00",
    ],
    seeds: || {
        Ok(owned([
            "1",
            "-1",
            "0",
            "100m",
            "1.5Gi",
            "1e3",
            "1E",
            "12e-3",
            "9223372036854775807",
            "0.000000001",
            "1n",
            "1Ei",
            "+5k",
            ".5",
            "5.",
            "1h30m",
            "250ms",
            "-1.5h",
            "1µs",
            "2562047h47m16.854775807s",
            "v1.34.4",
            "1.2.3",
            "10.0.0.0/8",
            "fd00::/64",
            "10.0.0.1-10.0.0.9",
            "fd00::1-fd00::ff",
            "10.0.0.1",
            "2026-01-01T00:00:00Z",
            "2026-01-01",
            "a@b.example",
            "https://a.example/b?c#d",
            "550e8400-e29b-41d4-a716-446655440000",
            "aGVsbG8=",
            "a.example.com",
            "#fff",
            "rgb(1,2,3)",
            "00:00:5e:00:53:01",
        ]))
    },
};

fn run(text: &str) -> Result<(), String> {
    if let Ok(quantity) = text.parse::<Quantity>() {
        reads_back("quantity", &quantity)?;
        let stored = Quantity::read_back(text).map_err(|error| format!("{text:?} is a quantity, but: {error}"))?;
        same("a quantity is stored as what it is", &stored.parse(), &Ok(quantity))?;
        same("a stored quantity stays as it is", &Quantity::read_back(&stored), &Ok(stored.clone()))?;
        let zero = quantity.minus(quantity);
        same("a quantity less itself is nothing", &zero.signum(), &0)?;
        same("nothing added is nothing changed", &quantity.plus(zero).value(), &quantity.value())?;
        let _rounded = (quantity.milli_value(), quantity.is_whole(), quantity.rounded_to_milli());
    }
    if let Ok(duration) = GoDuration::parse(text) {
        same("a duration reads as it was printed", &Ok(duration), &GoDuration::parse(&duration.to_string()))?;
    }
    if let Ok(version) = text.parse::<Version>() {
        reads_back("version", &version)?;
        let _judged = version.upgrade_to(version);
    }
    if let Ok(range) = text.parse::<IpRange>() {
        reads_back("range", &range)?;
        same("a range overlaps itself", &range.overlaps(&range), &true)?;
        let first: Option<IpAddr> = range.addresses().next();
        same("a range contains its first address", &first.map(|first| range.contains(first)), &Some(true))?;
    }
    if let Ok(net) = parse_cidr(text) {
        same("a network reads as it was printed", &Ok(net), &parse_cidr(&net.to_string()))?;
        same("a network overlaps itself", &nets_overlap(&net, &net), &true)?;
    }
    for format in [
        "date-time",
        "date",
        "duration",
        "ipv4",
        "ipv6",
        "cidr",
        "uri",
        "uuid",
        "email",
        "hostname",
        "byte",
        "mac",
        "isbn",
        "password",
    ] {
        formats::check(format, text);
    }
    Ok(())
}
