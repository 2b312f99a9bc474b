//! All tables: their columns, and the value of a row in each.
//!
//! A column is declared once, in the file of its table: meaning, name, kind, value, and how people see it. Writers
//! get headings and cells, and know no column: text, Markdown, CSV and JSON in `report`, Arrow in `tables`, the screen
//! in `view`. [`Order`] sorts the rows of any table.

mod cell;
mod client;
mod column;
mod conversation;
mod finding;
mod flow;
mod master;
mod message;
mod order;
mod places;
mod port;
mod protocol;
mod server;
mod summary;
mod verdict;

pub use cell::{Cell, Kind};
pub use client::ClientTable;
pub use column::{Column, Heading, Importance, Part, Shown, ShownColumn};
pub use conversation::{ConversationRow, ConversationTable};
pub use finding::{FindingRow, FindingTable};
pub use flow::{FlowTable, PlacedFlow};
pub use master::MasterTable;
pub use message::{MessageRow, MessageTable};
pub use order::{Order, Sorting, keep_first};
pub use places::{CarryingPackets, FlowEndName, PacketName, PacketPlaces};
pub use port::PortTable;
pub use protocol::ProtocolTable;
pub use server::ServerTable;
pub use summary::{BoxedRow, of_summary};
pub use verdict::VerdictTable;

/// The version of all tables: it changes when a column is removed or changes its meaning; not when
/// one is added.
pub const VERSION: u32 = 1;

/// The columns of a table, and what its rows are made of.
pub trait Rows: Sized + 'static {
    /// Its name, also that of its file.
    const NAME: &'static str;
    /// What its rows are, in a few words.
    const TITLE: &'static str;
    /// A sentence about its rows.
    const ABOUT: &'static str;
    /// The name of the column that it is sorted by if no other is named.
    const ORDER: &'static str = "";
    /// A row.
    type Row<'r>: Copy;
    /// Its columns, in order.
    const COLUMNS: &'static [Column<Self>];
}

/// A row of a table.
pub struct Of<'r, T: Rows>(pub T::Row<'r>);

/// A row of any table, with values that live as long as what it borrows.
pub trait AnyRow<'r> {
    /// Its table.
    fn table(&self) -> Table;
    /// Its value in the column at this index.
    fn cell(&self, at: usize) -> Cell<'r>;
    /// What people see there.
    fn people(&self, at: usize) -> Cell<'r>;
}

macro_rules! tables {
    ($($(#[$about:meta])+ $name:ident: $table:ident,)+) => {
        /// A table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table {
            $($(#[$about])+ $name,)+
        }

        $(impl<'r> AnyRow<'r> for Of<'r, $table> {
            fn table(&self) -> Table {
                Table::$name
            }

            fn cell(&self, at: usize) -> Cell<'r> {
                $table::COLUMNS.get(at).map_or(Cell::Absent, |column| (column.cell)(Of(self.0)))
            }

            fn people(&self, at: usize) -> Cell<'r> {
                $table::COLUMNS.get(at).map_or(Cell::Absent, |column| (column.people)(Of(self.0)))
            }
        })+

        impl Table {
            /// All of them.
            pub const EVERY: [Table; [$(Table::$name),+].len()] = [$(Table::$name),+];

            /// Its name, and that of its file.
            pub const fn name(self) -> &'static str {
                match self { $(Table::$name => $table::NAME,)+ }
            }

            /// What its rows are, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Table::$name => $table::TITLE,)+ }
            }

            /// A sentence about its rows.
            pub const fn about(self) -> &'static str {
                match self { $(Table::$name => $table::ABOUT,)+ }
            }

            /// The name of the column that it is sorted by if no other is named; empty: its rows are in order.
            pub const fn usual_order(self) -> &'static str {
                match self { $(Table::$name => $table::ORDER,)+ }
            }

            /// The headings of its columns, in order.
            pub fn headings(self) -> Vec<Heading> {
                match self {
                    $(Table::$name => $table::COLUMNS.iter().map(|column| column.heading).collect(),)+
                }
            }
        }
    };
}

tables! {
    /// A row for each message.
    Messages: MessageTable,
    /// A row for each flow of a supported protocol.
    Flows: FlowTable,
    /// A row for each finding of `check`.
    Findings: FindingTable,
    /// A row for each game server.
    Servers: ServerTable,
    /// A row for each master server.
    Masters: MasterTable,
    /// A row for each host that sends requests.
    Clients: ClientTable,
    /// A row for each rule: its result for a capture.
    Verdicts: VerdictTable,
    /// A row for each protocol.
    Protocols: ProtocolTable,
    /// A row for each port of other traffic.
    Ports: PortTable,
    /// A row for each conversation.
    Conversations: ConversationTable,
}

/// The column that is the same in all rows of a capture.
pub const CAPTURE: Heading = Heading {
    name: "capture",
    kind: Kind::Text,
    always: true,
    about: "The name of the capture: its file, or the first of several merged files and the number of the others.",
    part: Part::Main,
    shown: None,
};

/// The heading of a column, and its index.
pub type PlacedHeading = (usize, Heading);

impl Table {
    /// Those that are written to files.
    pub const ALL: [Table; 7] = [
        Table::Messages,
        Table::Flows,
        Table::Findings,
        Table::Servers,
        Table::Masters,
        Table::Clients,
        Table::Verdicts,
    ];

    /// Those of a summary.
    pub const OF_SUMMARY: [Table; 5] =
        [Table::Protocols, Table::Servers, Table::Masters, Table::Clients, Table::Ports];

    /// That of this name.
    pub fn named(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// The columns of its file, in order.
    pub fn columns(self) -> Vec<Heading> {
        let own = self.of_file().into_iter().map(|(_, heading)| heading);
        std::iter::once(CAPTURE).chain(own).collect()
    }

    /// The same without the capture.
    pub fn of_file(self) -> Vec<PlacedHeading> {
        self.of_parts(&[Part::Main, Part::Extra])
    }

    /// The columns of an object of JSON.
    pub fn of_json(self) -> Vec<PlacedHeading> {
        self.of_parts(&[Part::Main])
    }

    /// The columns of comma-separated values, without the capture.
    pub fn of_csv(self) -> Vec<PlacedHeading> {
        [self.of_json(), self.of_parts(&[Part::Extra])].concat()
    }

    fn of_parts(self, parts: &[Part]) -> Vec<PlacedHeading> {
        let all = self.headings().into_iter().enumerate();
        all.filter(|(_, heading)| parts.contains(&heading.part)).collect()
    }

    /// The columns that people see, in their order.
    pub fn for_people(self) -> Vec<ShownColumn> {
        let all = self.headings().into_iter().enumerate();
        let shown =
            |(at, Heading { kind, shown, .. })| Some(ShownColumn { at, kind, shown: shown? });
        let mut columns: Vec<_> = all.filter_map(shown).collect();
        columns.sort_by_key(|column| column.shown.place);
        columns
    }

    /// The index of the column with this name or heading.
    pub fn column(self, name: &str) -> Option<usize> {
        let is_named = |(_, heading): &PlacedHeading| {
            let shown = heading.shown.map_or("", |shown| shown.heading);
            [heading.name, shown].iter().any(|own| own.eq_ignore_ascii_case(name))
        };
        let columns = self.of_file().into_iter().filter(|_| !name.is_empty());
        columns.filter(is_named).map(|(at, _)| at).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_names_of_their_own_and_end_their_sentences() {
        for table in Table::EVERY {
            let columns = table.headings();
            let order = table.usual_order();
            assert!(
                table.about().ends_with('.') && table.column(order).is_none() == order.is_empty()
            );
            for (at, column) in columns.iter().enumerate() {
                let others = columns.get(at + 1..).unwrap_or_default();
                assert!(others.iter().all(|other| other.name != column.name), "{}", column.name);
                assert!(column.about.ends_with('.'), "{}", column.name);
                let of = column.shown.map_or("", |shown| shown.of);
                assert!(of.is_empty() || columns.iter().any(|other| other.name == of), "{of}");
            }
        }
    }
}
