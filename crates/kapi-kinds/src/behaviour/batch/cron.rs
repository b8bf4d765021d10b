//! Cron schedules: five fields or a descriptor, refused in the words of the parser Kubernetes uses.

use kernel::duration::GoDuration;

struct Bounds {
    low: u64,
    high: u64,
    names: &'static [(&'static str, u64)],
}

const MONTHS: [(&str, u64); 12] = [
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("may", 5),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
];
const DAYS: [(&str, u64); 7] = [("sun", 0), ("mon", 1), ("tue", 2), ("wed", 3), ("thu", 4), ("fri", 5), ("sat", 6)];
const FIELDS: [Bounds; 5] = [
    Bounds { low: 0, high: 59, names: &[] },
    Bounds { low: 0, high: 23, names: &[] },
    Bounds { low: 1, high: 31, names: &[] },
    Bounds { low: 1, high: 12, names: &MONTHS },
    Bounds { low: 0, high: 6, names: &DAYS },
];
const DESCRIPTORS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Whether a schedule can be read.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut schedule = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        schedule = schedule.split_once(' ').map_or("", |(_, rest)| rest).trim();
    }
    if schedule.is_empty() {
        return Err("empty spec string".to_owned());
    }
    if schedule.starts_with('@') {
        if let Some(every) = schedule.strip_prefix("@every ") {
            return GoDuration::parse(every)
                .map(drop)
                .map_err(|error| format!("failed to parse duration {schedule}: {error}"));
        }
        return if DESCRIPTORS.contains(&schedule) {
            Ok(())
        } else {
            Err(format!("unrecognized descriptor: {schedule}"))
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            check_range(part, bounds)?;
        }
    }
    Ok(())
}

fn check_range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<&str> = text.split('/').collect();
    let range: Vec<&str> = steps.first().copied().unwrap_or("").split('-').collect();
    let first = range.first().copied().unwrap_or("");
    let (start, mut end) = match range.get(1) {
        _ if first == "*" || first == "?" => (bounds.low, bounds.high),
        None => {
            let number = number_or_name(first, bounds)?;
            (number, number)
        }
        Some(last) => {
            let start = number_or_name(first, bounds)?;
            if range.len() > 2 {
                return Err(format!("too many hyphens: {text}"));
            }
            (start, number_or_name(last, bounds)?)
        }
    };
    let step = match steps.get(1) {
        None => 1,
        Some(_) if steps.len() > 2 => return Err(format!("too many slashes: {text}")),
        Some(step) => {
            if range.len() == 1 {
                end = bounds.high;
            }
            number(step)?
        }
    };
    if start < bounds.low {
        return Err(format!("beginning of range ({start}) below minimum ({}): {text}", bounds.low));
    }
    if end > bounds.high {
        return Err(format!("end of range ({end}) above maximum ({}): {text}", bounds.high));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().find(|(name, _)| *name == lower) {
        Some((_, number)) => Ok(*number),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let parsed: Result<i64, _> = text.parse();
    match parsed {
        Ok(number) => u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax",
            kapi_schema::field::go_quote(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for good in ["* * * * *", "*/5 0-6 1,15 jan-mar mon", "@daily", "@every 1h", "0 0 ? * 0/2"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, error) in [
            ("", "empty spec string"),
            ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("@often", "unrecognized descriptor: @often"),
        ] {
            assert_eq!(check(bad), Err(error.to_owned()), "{bad}");
        }
    }
}
