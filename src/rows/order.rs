//! The order of the rows of any table, and the first of them.

use std::cmp::Ordering;

use super::{AnyRow, Cell, Kind, Table};

/// A column to sort by, by its name or its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(pub String);

/// The order of the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorting {
    /// The index of the column; `None`: the rows are in order.
    pub column: Option<usize>,
    /// The other way round.
    pub is_reversed: bool,
    kind: Option<Kind>,
}

impl Sorting {
    /// By the column at this index.
    pub fn by(table: Table, column: Option<usize>, is_reversed: bool) -> Sorting {
        let kind = column.and_then(|at| table.headings().get(at).map(|heading| heading.kind));
        Sorting { column, is_reversed, kind }
    }

    /// By the column that was named, if the table has it, or else the usual one.
    pub fn of(table: Table, order: Option<&Order>) -> Sorting {
        let column = order.and_then(|order| table.column(&order.0));
        Sorting::by(table, column.or_else(|| table.column(table.usual_order())), false)
    }

    /// The row's value in the column.
    pub fn cell<'r>(&self, row: &dyn AnyRow<'r>) -> Cell<'r> {
        self.column.map_or(Cell::Absent, |at| row.cell(at))
    }

    /// The order of two values.
    pub fn compare(&self, a: &Cell<'_>, b: &Cell<'_>) -> Ordering {
        self.kind.map_or(Ordering::Equal, |kind| a.compare(b, kind, self.is_reversed))
    }

    /// The first rows, and the number of others. `cell`: a row's value in the column. Of many rows, only those that
    /// are returned are sorted; rows that are equal stay as they are.
    pub fn first<'r, R>(
        &self,
        rows: Vec<R>,
        most: usize,
        cell: impl Fn(&R) -> Cell<'r>,
    ) -> (Vec<R>, usize) {
        let mut keyed: Vec<_> =
            rows.into_iter().enumerate().map(|(at, row)| (cell(&row), at, row)).collect();
        let compare = |a: &(Cell<'_>, usize, R), b: &(Cell<'_>, usize, R)| {
            self.compare(&a.0, &b.0).then(a.1.cmp(&b.1))
        };
        let left_out = keep_first(&mut keyed, most, compare);
        keyed.sort_unstable_by(compare);
        (keyed.into_iter().map(|(_, _, row)| row).collect(), left_out)
    }
}

/// Keeps the first rows, in any order. Returns the number of others. Called whenever there are twice as many, it
/// takes amortized constant time per row.
pub fn keep_first<R>(
    rows: &mut Vec<R>,
    most: usize,
    compare: impl FnMut(&R, &R) -> Ordering,
) -> usize {
    let left_out = rows.len().saturating_sub(most);
    if left_out > 0 {
        rows.select_nth_unstable_by(most, compare);
        rows.truncate(most);
    }
    left_out
}
