//! A column: its heading, and its value in a row.

use super::{Cell, Kind, Of, Rows};

/// A column of a table.
pub struct Column<T: Rows> {
    /// Its name, its meaning, and how people see it.
    pub heading: Heading,
    /// Its value in a row.
    pub(super) cell: for<'r> fn(Of<'r, T>) -> Cell<'r>,
    /// What people see in place of the value.
    pub(super) people: for<'r> fn(Of<'r, T>) -> Cell<'r>,
}

impl<T: Rows> Column<T> {
    /// A column that shows people its value.
    pub(super) const fn new(
        heading: Heading,
        cell: for<'r> fn(Of<'r, T>) -> Cell<'r>,
    ) -> Column<T> {
        Column { heading, cell, people: cell }
    }

    /// The same column, which shows people something else.
    pub(super) const fn people(mut self, cell: for<'r> fn(Of<'r, T>) -> Cell<'r>) -> Column<T> {
        self.people = cell;
        self
    }
}

/// A column without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// Whether each row has a value here.
    pub always: bool,
    /// What it means.
    pub about: &'static str,
    /// Which outputs have it.
    pub part: Part,
    /// How people see it, if they do.
    pub shown: Option<Shown>,
}

/// Which outputs have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    Main,
    /// Tables in files, and CSV, where it comes last: JSON has other keys for the same.
    Extra,
    /// Those for people only.
    People,
}

/// A column that people see.
#[derive(Clone, Copy, Debug)]
pub struct ShownColumn {
    /// Its index in the table.
    pub at: usize,
    /// The kind of its values.
    pub kind: Kind,
    /// How people see it.
    pub shown: Shown,
}

/// How people see a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its heading.
    pub heading: &'static str,
    /// What is left out if there is no room for all columns.
    pub importance: Importance,
    /// The minimum width of shortened cells; `None` if cells are not shortened.
    pub shortest: Option<usize>,
    /// Its usual width on a screen whose rows are not known in advance; `None`: that of its kind.
    pub usual: Option<usize>,
    /// It is left out if all its values are 0 or absent.
    pub is_rare: bool,
    /// Its cells are aligned to the left, though its values are numbers.
    pub is_left: bool,
    /// It has the colour of the row.
    pub is_toned: bool,
    /// Its place among those that people see; of equal ones, the order is that of the table.
    pub place: u8,
    /// It is shown as a share of the column with this name.
    pub of: &'static str,
}

/// A column that people always see.
pub(super) const fn shown(heading: &'static str) -> Shown {
    Shown {
        heading,
        importance: Importance::Essential,
        shortest: None,
        usual: None,
        is_rare: false,
        is_left: false,
        is_toned: false,
        place: 50,
        of: "",
    }
}

macro_rules! setters {
    ($($(#[$about:meta])+ $setter:ident($($value:ident: $type:ty)?) $member:ident = $set:expr;)+) => {
        impl Shown {
            $($(#[$about])+
            pub(super) const fn $setter(mut self $(, $value: $type)?) -> Shown {
                self.$member = $set;
                self
            })+
        }
    };
}

setters! {
    /// Left out before any text is shortened: smaller numbers first.
    spare(nth: u8) importance = Importance::Spare(nth);
    /// Left out if shortened texts are not sufficient: smaller numbers first.
    useful(nth: u8) importance = Importance::Useful(nth);
    /// Its cells may be shortened to this width.
    shortened(width: usize) shortest = Some(width);
    /// Usually as wide as this.
    usual(width: usize) usual = Some(width);
    /// Left out if all its values are 0 or absent.
    rare() is_rare = true;
    /// Aligned to the left.
    left() is_left = true;
    /// In the colour of the row.
    toned() is_toned = true;
    /// At this place.
    place(nth: u8) place = nth;
    /// Shown as a share of another column.
    of(name: &'static str) of = name;
}

/// The order in which columns are left out on a narrow terminal: lesser ones first, equal ones together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Importance {
    /// Before any text is shortened; smaller numbers first.
    Spare(u8),
    /// If shortened texts are not sufficient; smaller numbers first.
    Useful(u8),
    /// Never.
    Essential,
}

/// The columns of a table, with a name for its row. Each has its meaning, name, kind, and value; then, if people
/// see it, its heading, and what they see in place of the value. `or absent`: some rows have no value.
macro_rules! columns {
    ($table:ident, $row:pat => $(
        $(#[doc = $about:literal])+
        $([$part:ident])? $name:ident: $kind:ident $(or $absent:ident)? = $cell:expr
            $(, $shown:expr $(, $people:expr)?)?;
    )+) => {
        const COLUMNS: &'static [$crate::rows::Column<Self>] = &[$({
            let heading = $crate::rows::Heading {
                name: stringify!($name),
                kind: $crate::rows::Kind::$kind,
                always: true $(&& columns!(@$absent))?,
                about: concat!($($about),+).trim_ascii(),
                part: $crate::rows::Part::Main,
                shown: None,
            };
            $(let heading = $crate::rows::Heading { part: $crate::rows::Part::$part, ..heading };)?
            $(let heading = $crate::rows::Heading { shown: Some($shown), ..heading };)?
            $crate::rows::Column::new(heading, columns!(@cell $table, $row, $cell))
                $($(.people(columns!(@cell $table, $row, $people)))?)?
        }),+];
    };
    (@absent) => { false };
    (@cell $table:ident, $row:pat, $cell:expr) => {{
        #[allow(unused_variables, reason = "not every column needs all of its row")]
        fn cell<'r>($crate::rows::Of($row): $crate::rows::Of<'r, $table>) -> $crate::rows::Cell<'r> {
            $crate::rows::Cell::from($cell)
        }
        cell
    }};
}
pub(super) use columns;
