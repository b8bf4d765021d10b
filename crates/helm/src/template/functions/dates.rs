//! Times.

mod duration;
mod layout;

use std::borrow::Cow;

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::convert::to_int64;
use super::{Fault, Function, Outcome, any, f, text};
use crate::template::exec::Executor;
use crate::template::native::Native;
use crate::template::value::{IntType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    f("now", "", |e, _| Ok(clock(Clock::utc(e.machine.surroundings.now)))),
    f("date", "sv", |e, a| Ok(Value::text(any_time(e, any(a, 1)).in_zone("Local").format(&layout(a, 0)?)))),
    f("dateInZone", "svs", in_zone),
    f("date_in_zone", "svs", in_zone),
    f("htmlDate", "v", |e, a| Ok(Value::text(any_time(e, any(a, 0)).in_zone("Local").format("2006-01-02")))),
    f("htmlDateInZone", "vs", |e, a| Ok(Value::text(any_time(e, any(a, 0)).in_zone(&text(a, 1)).format("2006-01-02")))),
    f("dateModify", "st", |_, a| Ok(modified(a).unwrap_or_else(|_| any(a, 1).clone()))),
    f("date_modify", "st", |_, a| Ok(modified(a).unwrap_or_else(|_| any(a, 1).clone()))),
    f("mustDateModify", "st", |_, a| modified(a)),
    f("must_date_modify", "st", |_, a| modified(a)),
    f("toDate", "ss", |_, a| Ok(clock(layout::parse(&layout(a, 0)?, &text(a, 1)).unwrap_or_else(|_| Clock::zero())))),
    f("mustToDate", "ss", |_, a| Ok(clock(layout::parse(&layout(a, 0)?, &text(a, 1))?))),
    f("unixEpoch", "t", |_, a| Ok(Value::text(time(any(a, 0)).timestamp.as_second().to_string()))),
    f("ago", "v", |e, a| {
        let since = e.machine.surroundings.now.duration_since(any_time(e, any(a, 0)).timestamp);
        let seconds = (since + SignedDuration::from_millis(500)).as_secs();
        Ok(Value::text(duration::show(i128::from(seconds) * 1_000_000_000)))
    }),
    f("duration", "v", |_, a| {
        let seconds = match any(a, 0) {
            Value::Str(text) => text.parse().unwrap_or(0),
            Value::Int(number, IntType::Int64) => *number,
            _ => 0,
        };
        Ok(Value::text(duration::show(i128::from(seconds) * 1_000_000_000)))
    }),
    f("durationRound", "v", |e, a| {
        let nanoseconds = match any(a, 0) {
            Value::Str(text) => duration::parse(text).unwrap_or(0),
            Value::Int(number, IntType::Int64) => i128::from(*number),
            Value::Native(native) => match native.as_ref() {
                Native::Time(time) => e.machine.surroundings.now.duration_since(time.timestamp).as_nanos(),
                _ => 0,
            },
            _ => 0,
        };
        Ok(Value::text(duration::rounded(nanoseconds)))
    }),
];

/// Longer than any layout: every letter of one is looked at in dozens of ways.
const MAX_LAYOUT: usize = 1024;

/// The layout at `index`.
pub(crate) fn layout(a: &[Value], index: usize) -> Result<Cow<'_, str>, Fault> {
    let layout = text(a, index);
    if layout.len() > MAX_LAYOUT {
        return Err(Fault::Limit("the layout is too large"));
    }
    Ok(layout)
}

fn in_zone(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let layout = layout(a, 0)?;
    Ok(Value::text(any_time(executor, any(a, 1)).in_zone(&text(a, 2)).format(&layout)))
}

/// A moment with the zone it is shown in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clock {
    pub(crate) timestamp: Timestamp,
    offset: Offset,
    zone: String,
}

/// The layout of times in JSON.
pub(crate) fn layout_rfc3339(clock: &Clock) -> String {
    clock.format("2006-01-02T15:04:05.999999999Z07:00")
}

impl Clock {
    pub(crate) fn utc(timestamp: Timestamp) -> Self {
        Self { timestamp, offset: Offset::UTC, zone: "UTC".to_owned() }
    }

    /// Go's zero time: the first moment of the year one.
    fn zero() -> Self {
        Self::utc(Timestamp::from_second(-62_135_596_800).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// The same moment elsewhere. The local zone is UTC, wherever the machine is.
    pub(crate) fn in_zone(&self, name: &str) -> Self {
        if matches!(name, "" | "UTC" | "Local") {
            return Self::utc(self.timestamp);
        }
        let Ok(zone) = TimeZone::get(name) else { return Self::utc(self.timestamp) };
        let info = zone.to_offset_info(self.timestamp);
        Self { timestamp: self.timestamp, offset: info.offset(), zone: info.abbreviation().to_owned() }
    }

    /// The time in a layout of Go's reference time.
    pub(crate) fn format(&self, pattern: &str) -> String {
        layout::format(pattern, self.offset.to_datetime(self.timestamp), self.offset, &self.zone)
    }

    /// As Go prints it.
    pub(crate) fn display(&self) -> String {
        self.format("2006-01-02 15:04:05.999999999 -0700 MST")
    }

    /// A number that a method of Go's time gives.
    pub(crate) fn number(&self, method: &str) -> Option<Value> {
        let civil = self.offset.to_datetime(self.timestamp);
        let small = |number: i64| Some(Value::int(number));
        match method {
            "Unix" => Some(Value::int64(self.timestamp.as_second())),
            "UnixMilli" => Some(Value::int64(self.timestamp.as_millisecond())),
            "UnixNano" => Some(Value::int64(i64::try_from(self.timestamp.as_nanosecond()).unwrap_or(i64::MAX))),
            "Year" => small(civil.year().into()),
            "Day" => small(civil.day().into()),
            "Hour" => small(civil.hour().into()),
            "Minute" => small(civil.minute().into()),
            "Second" => small(civil.second().into()),
            "YearDay" => small(civil.date().day_of_year().into()),
            "Month" => Some(Value::text(self.format("January"))),
            "Weekday" => Some(Value::text(self.format("Monday"))),
            _ => None,
        }
    }

    /// The moment `days` later.
    pub(crate) fn add_date(&self, years: i64, months: i64, days: i64) -> Result<Self, String> {
        let span = jiff::Span::new().try_years(years).and_then(|span| span.try_months(months));
        let span = span.and_then(|span| span.try_days(days)).map_err(|error| error.to_string())?;
        let civil = self.offset.to_datetime(self.timestamp).checked_add(span).map_err(|error| error.to_string())?;
        let timestamp = self.offset.to_timestamp(civil).map_err(|error| error.to_string())?;
        Ok(Self { timestamp, ..self.clone() })
    }

    fn add(&self, nanoseconds: i128) -> Result<Self, String> {
        let shifted = self.timestamp.as_nanosecond().saturating_add(nanoseconds);
        let timestamp = Timestamp::from_nanosecond(shifted).map_err(|error| error.to_string())?;
        Ok(Self { timestamp, ..self.clone() })
    }
}

fn clock(clock: Clock) -> Value {
    Value::native(Native::Time(clock))
}

fn time(value: &Value) -> Clock {
    match value {
        Value::Native(native) => match native.as_ref() {
            Native::Time(time) => time.clone(),
            _ => Clock::zero(),
        },
        _ => Clock::zero(),
    }
}

/// A time, or seconds since 1970; now for anything else.
fn any_time(executor: &Executor<'_>, value: &Value) -> Clock {
    match value {
        Value::Native(native) if matches!(native.as_ref(), Native::Time(_)) => time(value),
        Value::Int(..) => Timestamp::from_second(to_int64(value)).map_or_else(|_| Clock::zero(), Clock::utc),
        _ => Clock::utc(executor.machine.surroundings.now),
    }
}

fn modified(a: &[Value]) -> Outcome {
    let by = duration::parse(&text(a, 0)).map_err(Fault::Message)?;
    Ok(clock(time(any(a, 1)).add(by)?))
}
