//! Go's layouts, which show the reference time Mon Jan 2 15:04:05 MST 2006.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use super::Clock;
use crate::template::print::quote;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Parts of a layout, longer ones before those that begin like them.
const PARTS: [&str; 34] = [
    "January",
    "Jan",
    "Monday",
    "Mon",
    "MST",
    "2006",
    "-07:00:00",
    "-070000",
    "-07:00",
    "-0700",
    "-07",
    "Z07:00:00",
    "Z070000",
    "Z07:00",
    "Z0700",
    "Z07",
    "002",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "15",
    "__2",
    "_2006",
    "_2",
    "PM",
    "pm",
    "1",
    "2",
    "3",
    "4",
    "5",
];

/// The part that a layout begins with.
fn part(layout: &str) -> Option<&str> {
    if let Some(fraction) = fraction(layout) {
        return Some(fraction);
    }
    let found = PARTS.iter().find(|part| layout.starts_with(**part))?;
    let next = layout.get(found.len()..).and_then(|rest| rest.chars().next());
    match *found {
        // Of `_2006`, only the year is meant.
        "_2006" => None,
        // A name that goes on in small letters is another word.
        "Jan" | "Mon" if next.is_some_and(|c| c.is_ascii_lowercase()) => None,
        found => layout.get(..found.len()),
    }
}

/// `.000` or `,999`: a fraction of a second.
fn fraction(layout: &str) -> Option<&str> {
    let digit = layout.strip_prefix(['.', ','])?.chars().next().filter(|c| *c == '0' || *c == '9')?;
    let digits = layout.get(1..)?.chars().take_while(|c| *c == digit).count();
    let ends = !layout.get(1 + digits..)?.starts_with(|c: char| c.is_ascii_digit());
    ends.then(|| layout.get(..1 + digits)).flatten()
}

/// A layout cut into literal texts and parts.
fn pieces(layout: &str) -> Vec<Result<&str, &str>> {
    let mut pieces = Vec::new();
    let (mut rest, mut literal) = (layout, 0);
    while let Some(c) = rest.get(literal..).and_then(|rest| rest.chars().next()) {
        match part(rest.get(literal..).unwrap_or_default()) {
            Some(found) => {
                let (before, after) = rest.split_at(literal);
                if !before.is_empty() {
                    pieces.push(Err(before));
                }
                pieces.push(Ok(found));
                rest = after.get(found.len()..).unwrap_or_default();
                literal = 0;
            }
            None => literal += c.len_utf8(),
        }
    }
    if !rest.is_empty() {
        pieces.push(Err(rest));
    }
    pieces
}

pub(super) fn format(layout: &str, civil: DateTime, offset: Offset, zone: &str) -> String {
    let mut out = String::with_capacity(layout.len() + 8);
    for piece in pieces(layout) {
        match piece {
            Err(literal) => out.push_str(literal),
            Ok(part) => out.push_str(&show(part, civil, offset, zone)),
        }
    }
    out
}

fn show(part: &str, civil: DateTime, offset: Offset, zone: &str) -> String {
    let month = MONTHS.get(usize::try_from(civil.month() - 1).unwrap_or(0)).copied().unwrap_or_default();
    let day = usize::try_from(civil.weekday().to_monday_zero_offset()).unwrap_or(0);
    let day = DAYS.get(day).copied().unwrap_or_default();
    let twelve = match civil.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    match part {
        "January" => month.to_owned(),
        "Jan" => month.chars().take(3).collect(),
        "Monday" => day.to_owned(),
        "Mon" => day.chars().take(3).collect(),
        "MST" => zone.to_owned(),
        "2006" => format!("{:04}", civil.year()),
        "06" => format!("{:02}", civil.year().rem_euclid(100)),
        "01" => format!("{:02}", civil.month()),
        "1" => civil.month().to_string(),
        "02" => format!("{:02}", civil.day()),
        "_2" => format!("{:2}", civil.day()),
        "2" => civil.day().to_string(),
        "002" => format!("{:03}", civil.date().day_of_year()),
        "__2" => format!("{:3}", civil.date().day_of_year()),
        "15" => format!("{:02}", civil.hour()),
        "03" => format!("{twelve:02}"),
        "3" => twelve.to_string(),
        "04" => format!("{:02}", civil.minute()),
        "4" => civil.minute().to_string(),
        "05" => format!("{:02}", civil.second()),
        "5" => civil.second().to_string(),
        "PM" => if civil.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        "pm" => if civil.hour() < 12 { "am" } else { "pm" }.to_owned(),
        _ if part.starts_with(['.', ',']) => show_fraction(part, civil.subsec_nanosecond()),
        _ => show_offset(part, offset),
    }
}

fn show_fraction(part: &str, nanoseconds: i32) -> String {
    let digits: String = format!("{nanoseconds:09}").chars().take(part.len() - 1).collect();
    if part.ends_with('0') {
        return format!("{}{digits}", part.get(..1).unwrap_or("."));
    }
    match digits.trim_end_matches('0') {
        "" => String::new(),
        kept => format!("{}{kept}", part.get(..1).unwrap_or(".")),
    }
}

fn show_offset(part: &str, offset: Offset) -> String {
    let seconds = offset.seconds();
    if part.starts_with('Z') && seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    let colon = if part.contains(':') { ":" } else { "" };
    match part.len() {
        3 => format!("{sign}{hours:02}"),
        5 | 6 => format!("{sign}{hours:02}{colon}{minutes:02}"),
        _ => format!("{sign}{hours:02}{colon}{minutes:02}{colon}{seconds:02}"),
    }
}

/// Reads a time; without a zone it is UTC.
pub(super) fn parse(layout: &str, text: &str) -> Result<Clock, String> {
    let failed = |rest: &str, part: &str| {
        let [text, layout, rest, part] = [text, layout, rest, part].map(|text| quote(text.as_bytes()));
        format!("parsing time {text} as {layout}: cannot parse {rest} as {part}")
    };
    let mut read = Read::default();
    let mut rest = text;
    for piece in pieces(layout) {
        match piece {
            Err(literal) => rest = rest.strip_prefix(literal).ok_or_else(|| failed(rest, literal))?,
            Ok(part) => rest = read.part(part, rest).ok_or_else(|| failed(rest, part))?,
        }
        // Seconds may have a fraction that the layout does not mention.
        if matches!(piece, Ok("05" | "5"))
            && rest.starts_with('.')
            && rest.get(1..2).is_some_and(|c| c.as_bytes().iter().all(u8::is_ascii_digit))
        {
            let digits = rest.get(1..).unwrap_or_default().chars().take_while(char::is_ascii_digit).count();
            rest = read.part(rest.get(..=digits).unwrap_or_default(), rest).unwrap_or(rest);
        }
    }
    if !rest.is_empty() {
        let [text, rest] = [text, rest].map(|text| quote(text.as_bytes()));
        return Err(format!("parsing time {text}: extra text: {rest}"));
    }
    read.clock().ok_or_else(|| format!("parsing time {}: day out of range", quote(text.as_bytes())))
}

#[derive(Default)]
struct Read {
    year: i16,
    month: Option<i8>,
    day: Option<i8>,
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
    afternoon: Option<bool>,
    offset: i32,
    zone: Option<String>,
}

impl Read {
    /// Reads one part off a text; what is left, or none if it does not fit.
    fn part<'a>(&mut self, part: &str, text: &'a str) -> Option<&'a str> {
        let number = |least: usize, most: usize| -> Option<(i32, &'a str)> {
            let digits = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
            let (digits, rest) = text.split_at((digits >= least).then_some(digits)?);
            Some((digits.parse().ok()?, rest))
        };
        let small =
            |least, most| number(least, most).and_then(|(number, rest)| Some((i8::try_from(number).ok()?, rest)));
        let named = |names: &[&str], letters: usize| {
            names.iter().enumerate().find_map(|(index, name)| {
                let name = name.get(..letters.min(name.len()))?;
                let found = text.get(..name.len()).filter(|found| found.eq_ignore_ascii_case(name))?;
                Some((i8::try_from(index).ok()?, text.get(found.len()..)?))
            })
        };
        let rest;
        match part {
            "2006" => {
                (self.year, rest) = number(4, 4).and_then(|(year, rest)| Some((i16::try_from(year).ok()?, rest)))?
            }
            "06" => {
                let (year, after) = number(2, 2)?;
                self.year = i16::try_from(if year >= 69 { year + 1900 } else { year + 2000 }).ok()?;
                rest = after;
            }
            "January" | "Jan" => {
                let (month, after) = named(&MONTHS, if part == "Jan" { 3 } else { usize::MAX })?;
                (self.month, rest) = (Some(month + 1), after);
            }
            "Monday" | "Mon" => (_, rest) = named(&DAYS, if part == "Mon" { 3 } else { usize::MAX })?,
            "01" | "1" => {
                let (month, after) = small(part.len(), 2)?;
                (self.month, rest) = (Some(month), after);
            }
            "02" | "2" | "_2" => {
                if part == "_2" && text.starts_with(' ') {
                    return self.part("2", text.get(1..)?);
                }
                let (day, after) = small(if part == "02" { 2 } else { 1 }, 2)?;
                (self.day, rest) = (Some(day), after);
            }
            "15" | "03" | "3" => (self.hour, rest) = small(if part == "3" { 1 } else { 2 }, 2)?,
            "04" | "4" => (self.minute, rest) = small(part.len(), 2)?,
            "05" | "5" => (self.second, rest) = small(part.len(), 2)?,
            "PM" | "pm" => {
                let word = text.get(..2)?;
                let afternoon = word.eq_ignore_ascii_case("pm");
                if !afternoon && !word.eq_ignore_ascii_case("am") {
                    return None;
                }
                self.afternoon = Some(afternoon);
                rest = text.get(2..)?;
            }
            "MST" => {
                let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
                let (zone, after) = text.split_at((3..=5).contains(&letters).then_some(letters)?);
                self.zone = Some(zone.to_owned());
                rest = after;
            }
            _ if part.starts_with(['.', ',']) => {
                if !text.starts_with(['.', ',']) {
                    return part.ends_with('9').then_some(text);
                }
                let digits = text.get(1..)?.bytes().take_while(u8::is_ascii_digit).count();
                let fraction = format!("{:0<9}", text.get(1..=digits)?);
                self.nanosecond = fraction.get(..9)?.parse().ok()?;
                rest = text.get(1 + digits..)?;
            }
            _ if part.starts_with('Z') && text.starts_with('Z') => rest = text.get(1..)?,
            _ => rest = self.read_offset(part, text)?,
        }
        Some(rest)
    }

    fn read_offset<'a>(&mut self, part: &str, text: &'a str) -> Option<&'a str> {
        let length = part.len();
        let given = text.get(..length)?;
        let sign = match given.get(..1)? {
            "+" => 1,
            "-" => -1,
            _ => return None,
        };
        let digits = given.get(1..)?.replace(':', "");
        let two = |at: usize| digits.get(at..at + 2).map_or(Some(0), |two| two.parse::<i32>().ok());
        self.offset = sign * (two(0)? * 3600 + two(2)? * 60 + two(4)?);
        text.get(length..)
    }

    fn clock(self) -> Option<Clock> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let date = Date::new(self.year, self.month.unwrap_or(1), self.day.unwrap_or(1)).ok()?;
        let time = Time::new(hour, self.minute, self.second, self.nanosecond).ok()?;
        let offset = Offset::from_seconds(self.offset).ok()?;
        let timestamp = offset.to_timestamp(DateTime::from_parts(date, time)).ok()?;
        let zone = match (self.zone, self.offset) {
            (Some(zone), _) => zone,
            (None, 0) => "UTC".to_owned(),
            (None, _) => show_offset("-0700", offset),
        };
        Some(Clock { timestamp, offset, zone })
    }
}
