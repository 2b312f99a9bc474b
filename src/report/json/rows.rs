//! Lists of objects that have the same members: tables, written row by row.
//!
//! A list knows nothing of it: its first object says what the others are held against, and one that
//! differs, or has more to say than is short, is written field by field.

use std::ptr;

use dissectors::kit::{Field, Kind, Node, Place};

use super::names::{Name, Names};
use super::short::{WINDOW, member};
use crate::report::view::View;

/// Members that an object of a table has at most.
const MOST: usize = 8;

/// How many bytes are made room for at once; a row has fewer.
const PAGE: usize = 2048;

/// What the objects of a list have in common.
pub(super) struct Row {
    /// The object's own field.
    field: &'static Field,
    columns: [Column; MOST],
    count: usize,
}

/// A member of each of the objects.
#[derive(Clone, Copy)]
struct Column {
    field: &'static Field,
    /// Its name; none if it does not show.
    name: Option<Name>,
}

impl Row {
    /// What the first object of a list has, if that makes a table.
    pub(super) fn first(list: &[Node], names: &mut Names) -> Option<Row> {
        let (object, behind) = list.split_first()?;
        let members = behind.get(..object.kids as usize)?;
        // One object is no table.
        let is_table = object.field.kind == Kind::Group && object.field.place != Place::Framing;
        if !is_table || members.len() > MOST || behind.len() == members.len() {
            return None;
        }
        let mut columns = [Column { field: Field::UNPARSED, name: None }; MOST];
        let mut seen = 0;
        for (column, node) in columns.iter_mut().zip(members) {
            let field = node.field;
            if node.kids > 0 {
                return None;
            }
            column.field = field;
            if field.place != Place::Framing {
                let name = names.of(field);
                if seen & name.mask != 0 {
                    return None;
                }
                seen |= name.mask;
                column.name = Some(*name);
            }
        }
        (seen != 0).then_some(Row { field: object.field, columns, count: members.len() })
    }

    /// Writes objects, each with a comma behind it, up to one that is not short or has other members.
    /// Says how many nodes were written.
    pub(super) fn write_all(&self, nodes: &[Node], view: View<'_>, out: &mut Vec<u8>) -> usize {
        let mut objects = nodes.chunks_exact(1 + self.count);
        let mut written = 0;
        loop {
            let start = out.len();
            out.resize(start + PAGE, 0);
            let mut page = out.get_mut(start..).unwrap_or_default();
            let mut end = start;
            let is_full = loop {
                if page.len() < 2 + MOST * WINDOW {
                    break true;
                }
                let Some(length) = objects.next().and_then(|object| self.write(object, view, page))
                else {
                    break false;
                };
                page = page.get_mut(length..).unwrap_or_default();
                end += length;
                written += 1 + self.count;
            };
            out.truncate(end);
            if !is_full {
                return written;
            }
        }
    }

    #[inline(always)]
    fn write(&self, object: &[Node], view: View<'_>, page: &mut [u8]) -> Option<usize> {
        let (group, members) = object.split_first()?;
        if !ptr::eq(group.field, self.field) || group.kids as usize != self.count {
            return None;
        }
        *page.first_mut()? = b'{';
        let mut end = 1;
        for (column, node) in self.columns.iter().zip(members) {
            if !ptr::eq(node.field, column.field) {
                return None;
            }
            if let Some(name) = &column.name {
                let window = page.get_mut(end..)?.first_chunk_mut()?;
                end += member(name, view, node, window)?;
            }
        }
        *page.get_mut(end - 1..)?.first_chunk_mut()? = *b"},";
        Some(end + 1)
    }
}
