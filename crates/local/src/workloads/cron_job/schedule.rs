//! Cron schedules: when the next time is.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use kernel::duration::GoDuration;

/// A schedule that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    Fields(Box<Fields>),
    Every(SignedDuration),
}

/// The allowed values of each field, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both kinds of days are restricted: then either suffices.
    either_day: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A date such as 29 February on a Monday comes again within this many years, or never.
const HORIZON_YEARS: i64 = 28;

impl Schedule {
    /// Reads a schedule the way the API accepts it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(every) = text.strip_prefix("@every ") {
            let every = GoDuration::parse(every.trim()).ok()?;
            return Some(Self::Every(SignedDuration::from_nanos(every.0).max(SignedDuration::from_secs(1))));
        }
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let [minutes, hours, days, months, weekdays] = fields.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
        let is_open = |field: &str| field.starts_with('*') || field.starts_with('?');
        Some(Self::Fields(Box::new(Fields {
            minutes: bits(minutes, 0, 59, &[])?,
            hours: bits(hours, 0, 23, &[])?,
            days: bits(days, 1, 31, &[])?,
            months: bits(months, 1, 12, &MONTHS)?,
            weekdays: bits(weekdays, 0, 6, &WEEKDAYS)?,
            either_day: !is_open(days) && !is_open(weekdays),
        })))
    }

    /// The first time after a moment.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(every) => after.checked_add(*every).ok(),
            Self::Fields(fields) => {
                let found = fields.next(TimeZone::UTC.to_datetime(after))?;
                TimeZone::UTC.to_timestamp(found).ok()
            }
        }
    }
}

impl Fields {
    fn next(&self, after: DateTime) -> Option<DateTime> {
        let mut at = after.with().second(0).subsec_nanosecond(0).build().ok()?.checked_add(1.minute()).ok()?;
        let horizon = at.checked_add(HORIZON_YEARS.years()).ok()?;
        // The largest part that does not fit is moved on, and all smaller ones begin anew.
        while at < horizon {
            if !has(self.months, at.month()) {
                at = at.first_of_month().with().hour(0).minute(0).build().ok()?.checked_add(1.month()).ok()?;
            } else if !self.has_day(at) {
                at = at.with().hour(0).minute(0).build().ok()?.checked_add(1.day()).ok()?;
            } else if !has(self.hours, at.hour()) {
                at = at.with().minute(0).build().ok()?.checked_add(1.hour()).ok()?;
            } else if !has(self.minutes, at.minute()) {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return Some(at);
            }
        }
        None
    }

    fn has_day(&self, at: DateTime) -> bool {
        let day = has(self.days, at.day());
        let weekday = has(self.weekdays, at.weekday().to_sunday_zero_offset());
        if self.either_day { day || weekday } else { day && weekday }
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

/// The values of one field: lists of ranges with steps, by number or name.
fn bits(field: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    let value = |text: &str| {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        // Names stand for numbers from the lowest one on.
        named.and_then(|at| u32::try_from(at).ok()).map(|at| at + low).or_else(|| text.parse().ok())
    };
    let mut bits = 0;
    for part in field.split(',').filter(|part| !part.is_empty()) {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok()?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (low, high),
            Some((from, to)) => (value(from)?, value(to)?),
            None if step.is_some() => (value(range)?, high),
            None => (value(range)?, value(range)?),
        };
        if from < low || to > high || from > to {
            return None;
        }
        let step = usize::try_from(step.unwrap_or(1)).ok().filter(|step| *step > 0)?;
        bits |= (from..=to).step_by(step).fold(0, |bits, value| bits | (1 << value));
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_is_found() {
        for (schedule, after, expected) in [
            ("* * * * *", "2026-03-01T10:00:00Z", Some("2026-03-01T10:01:00Z")),
            ("* * * * *", "2026-03-01T10:00:30Z", Some("2026-03-01T10:01:00Z")),
            ("*/15 * * * *", "2026-03-01T10:50:00Z", Some("2026-03-01T11:00:00Z")),
            ("0 3 * * *", "2026-03-01T03:00:00Z", Some("2026-03-02T03:00:00Z")),
            ("30 8-10 * * mon-fri", "2026-03-06T10:30:00Z", Some("2026-03-09T08:30:00Z")),
            ("0 0 31 * *", "2026-01-31T00:00:00Z", Some("2026-03-31T00:00:00Z")),
            ("0 0 29 feb *", "2026-01-01T00:00:00Z", Some("2028-02-29T00:00:00Z")),
            ("0 0 30 2 *", "2026-01-01T00:00:00Z", None),
            // Either kind of day when both are given.
            ("0 0 13 * fri", "2026-03-01T00:00:00Z", Some("2026-03-06T00:00:00Z")),
            ("0 0 */10 * 1", "2026-03-01T00:00:00Z", Some("2026-05-11T00:00:00Z")),
            ("@hourly", "2026-03-01T10:20:00Z", Some("2026-03-01T11:00:00Z")),
            ("@yearly", "2026-03-01T10:20:00Z", Some("2027-01-01T00:00:00Z")),
            ("@every 90s", "2026-03-01T10:00:00Z", Some("2026-03-01T10:01:30Z")),
            ("5/20 * * * *", "2026-03-01T10:06:00Z", Some("2026-03-01T10:25:00Z")),
        ] {
            let next = Schedule::parse(schedule).unwrap().next(after.parse().unwrap());
            assert_eq!(next, expected.map(|at| at.parse().unwrap()), "{schedule} after {after}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_not_read() {
        for bad in ["", "* * *", "60 * * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "x * * * *", "@often"] {
            assert_eq!(Schedule::parse(bad), None, "{bad}");
        }
    }
}
