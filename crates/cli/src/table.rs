//! Tables as kubectl prints them.

use crate::screen::{Colour, Screen, plain};

/// Between two columns.
const GAP: usize = 3;

/// Rows under headings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl Cell {
    /// A text in a colour.
    pub(crate) fn coloured(text: &str, colour: Option<Colour>) -> Self {
        Self { colour, ..text.into() }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text = plain(text.as_ref());
        Self { text: if text.is_empty() { "<none>".to_owned() } else { text }, colour: None }
    }
}

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The whole table.
    pub(crate) fn render(&self, screen: Screen) -> String {
        let headings: Vec<Cell> = self.headings.iter().map(Cell::from).collect();
        let widths = self.widths();
        let lines = std::iter::once(&headings).chain(&self.rows);
        lines.map(|row| line(row, &widths, screen)).collect()
    }

    /// How wide the columns are, for rows that follow later.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let widest = |column: usize, heading: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count());
            cells.chain([heading.chars().count()]).max().unwrap_or(0)
        };
        self.headings.iter().enumerate().map(|(column, heading)| widest(column, heading)).collect()
    }
}

/// Makes room for a row that is wider than those before.
pub(crate) fn widen(widths: &mut [usize], row: &[Cell]) {
    for (width, cell) in widths.iter_mut().zip(row) {
        *width = cell.text.chars().count().max(*width);
    }
}

/// One row under headings of these widths.
pub(crate) fn line(row: &[Cell], widths: &[usize], screen: Screen) -> String {
    let mut text = String::new();
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        text += &match cell.colour {
            Some(colour) => screen.paint(colour, &cell.text),
            None => cell.text.clone(),
        };
        if index + 1 < row.len() {
            text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.text.chars().count()) + GAP));
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Screen = Screen { colour: false, live: false };

    #[test]
    fn columns_are_aligned_and_nothing_trails() {
        let mut table = Table::new(&["NAME", "PHASE"]);
        table.push(vec!["a-long-name".into(), "Ready".into()]);
        table.push(vec!["b".into(), "".into()]);
        assert_eq!(table.render(PLAIN), "NAME          PHASE\na-long-name   Ready\nb             <none>\n");
    }

    #[test]
    fn colours_take_no_room() {
        let mut table = Table::new(&["PHASE", "NAME"]);
        table.push(vec![Cell::coloured("Ready", Some(Colour::Good)), "ä\nb".into()]);
        let coloured = Screen { colour: true, ..PLAIN };
        assert_eq!(table.render(coloured), "PHASE   NAME\n\x1b[32mReady\x1b[0m   ä b\n");
        assert_eq!(line(&["x".into(), "y".into()], &table.widths(), PLAIN), "x       y\n");
    }
}
