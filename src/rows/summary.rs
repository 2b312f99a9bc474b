//! The rows of a summary.

use super::{AnyRow, ClientTable, MasterTable, Of, PortTable, ProtocolTable, ServerTable, Table};
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
        Table::Servers => (boxed(servers.rows(), Of::<ServerTable>), servers.is_cut),
        Table::Masters => (boxed(masters.rows(), Of::<MasterTable>), masters.is_cut),
        Table::Clients => (boxed(clients.rows(), Of::<ClientTable>), clients.is_cut),
        Table::Protocols => {
            let seen = summary.protocols.iter().filter(|it| it.messages > 0);
            (boxed(seen, Of::<ProtocolTable>), false)
        }
        Table::Ports => (boxed(ports.iter().copied(), Of::<PortTable>), false),
        _ => (Vec::new(), false),
    }
}
