//! The rows of a summary.

use super::{AnyRow, Clients, Masters, Of, Ports, Protocols, Servers, Table};
use crate::session::Port;
use crate::summary::Summary;

/// A row of any table.
pub type BoxedRow<'r> = Box<dyn AnyRow<'r> + 'r>;

/// The rows of a table of a summary, in order, and whether others were left out because of the limit on memory.
pub fn of_summary<'s>(
    table: Table,
    summary: &'s Summary,
    ports: &[Port],
) -> (Vec<BoxedRow<'s>>, bool) {
    fn boxed<'s, R, A: AnyRow<'s> + 's>(
        rows: impl IntoIterator<Item = R>,
        of: impl Fn(R) -> A,
    ) -> Vec<BoxedRow<'s>> {
        rows.into_iter().map(|row| Box::new(of(row)) as BoxedRow<'s>).collect()
    }
    let Summary { servers, masters, clients, .. } = summary;
    match table {
        Table::Servers => (boxed(servers.rows(), Of::<Servers>), servers.is_cut),
        Table::Masters => (boxed(masters.rows(), Of::<Masters>), masters.is_cut),
        Table::Clients => (boxed(clients.rows(), Of::<Clients>), clients.is_cut),
        Table::Protocols => {
            let seen = summary.protocols.iter().filter(|it| it.messages > 0);
            (boxed(seen, Of::<Protocols>), false)
        }
        Table::Ports => (boxed(ports.iter().copied(), Of::<Ports>), false),
        _ => (Vec::new(), false),
    }
}
