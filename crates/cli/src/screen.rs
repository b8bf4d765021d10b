//! Where output goes: results to standard output, everything for people on the way there to standard error.

use std::io::{IsTerminal, Write};

use crate::failure::Outcome;

/// What is known of the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Results may be coloured.
    pub(crate) colour: bool,
    /// Progress may be redrawn in place.
    pub(crate) live: bool,
}

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// It is well.
    Good,
    /// It is on its way.
    Busy,
    /// Somebody should look.
    Bad,
    /// Of less interest.
    Faint,
}

impl Screen {
    /// What standard output and error are, and whether colours are wanted.
    pub(crate) fn detect(no_color: bool) -> Self {
        let wanted = !no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            colour: wanted && !dumb && std::io::stdout().is_terminal(),
            live: !dumb && std::io::stderr().is_terminal(),
        }
    }

    /// The text in a colour, where there are colours.
    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let number = match colour {
            Colour::Good => 32,
            Colour::Busy => 33,
            Colour::Bad => 31,
            Colour::Faint => 2,
        };
        format!("\x1b[{number}m{text}\x1b[0m")
    }

    /// How many characters a line of standard error holds.
    pub(crate) fn width(self) -> usize {
        let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map(|size| usize::from(size.ws_col));
        columns.ok().filter(|columns| *columns > 0).unwrap_or(80)
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes a line to standard error; nobody can be told when that fails.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A text from the API on one line, without anything that would steer a terminal.
pub(crate) fn plain(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_steer_the_terminal() {
        assert_eq!(plain("one\n  two\x1b[31m\tthree"), "one two [31m three");
    }

    #[test]
    fn colours_only_where_there_are_any() {
        let paint = |colour| Screen { colour, live: false }.paint(Colour::Good, "Ready");
        assert_eq!((paint(false), paint(true)), ("Ready".to_owned(), "\x1b[32mReady\x1b[0m".to_owned()));
    }
}
