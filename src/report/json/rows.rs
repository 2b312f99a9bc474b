//! Fast path for lists with short values: scalars, or objects with the same members.
//!
//! The first object of a list determines the members; one that differs, or has a long value, is
//! written field by field.

use std::ptr;

use dissectors::kit::{Field, Kind, Node, Place};

use super::names::{JsonName, JsonNames};
use super::short::{ITEM, WINDOW, item, member};
use crate::report::view::MessageView;

/// Maximum number of members of an object.
const MOST: usize = 8;

/// The buffer in which rows are built, overwriting earlier ones. It has room for one row.
pub(super) struct RowPage(Box<[u8; RowPage::SIZE]>);

impl RowPage {
    const SIZE: usize = 2048;
}

impl Default for RowPage {
    fn default() -> RowPage {
        RowPage(Box::new([0; RowPage::SIZE]))
    }
}

impl RowPage {
    /// Builds elements and appends them, up to the first that `next` does not write. Each takes at
    /// most `most` bytes.
    #[inline(always)]
    fn fill(
        &mut self,
        most: usize,
        out: &mut Vec<u8>,
        mut next: impl FnMut(&mut [u8]) -> Option<usize>,
    ) {
        let mut end = 0;
        while let Some(length) = next(self.0.get_mut(end..).unwrap_or_default()) {
            end += length;
            if end > RowPage::SIZE - most {
                out.extend_from_slice(self.0.get(..end).unwrap_or_default());
                end = 0;
            }
        }
        out.extend_from_slice(self.0.get(..end).unwrap_or_default());
    }
}

/// Writes values of a list, each with a comma after it, up to the first that is long or not shown.
/// Returns their number.
#[inline(never)]
pub(super) fn write_values(
    nodes: &[Node],
    view: MessageView<'_>,
    page: &mut RowPage,
    out: &mut Vec<u8>,
) -> usize {
    let mut written = 0;
    let is_shown = |node: &&Node| node.descendants == 0 && node.field.place != Place::Framing;
    page.fill(ITEM, out, |place| {
        let node = nodes.get(written).filter(is_shown)?;
        let length = item(view, node, place.first_chunk_mut()?)?;
        written += 1;
        Some(length)
    });
    written
}

/// The common structure of a list's objects.
pub(super) struct RowShape {
    /// The object's own field.
    field: &'static Field,
    columns: [RowMember; MOST],
    count: usize,
}

/// A member of each of the objects.
#[derive(Clone, Copy)]
struct RowMember {
    field: &'static Field,
    /// Its name; `None` if it is not shown.
    name: Option<JsonName>,
}

impl RowShape {
    /// The structure of a list's first object, if it fits.
    pub(super) fn first(list: &[Node], names: &mut JsonNames) -> Option<RowShape> {
        let (object, after) = list.split_first()?;
        let members = after.get(..object.descendants as usize)?;
        // One object is not a table.
        let is_table = object.field.kind == Kind::Group && object.field.place != Place::Framing;
        if !is_table || members.len() > MOST || after.len() == members.len() {
            return None;
        }
        let mut columns = [RowMember { field: Field::UNPARSED, name: None }; MOST];
        let mut seen = 0;
        for (column, node) in columns.iter_mut().zip(members) {
            let field = node.field;
            if node.descendants > 0 {
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
        (seen != 0).then_some(RowShape { field: object.field, columns, count: members.len() })
    }

    /// Writes objects, each with a comma after it, up to the first that is long or has other
    /// members. Returns the number of nodes written.
    pub(super) fn write_all(
        &self,
        nodes: &[Node],
        view: MessageView<'_>,
        page: &mut RowPage,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut written = 0;
        let mut objects = nodes.chunks_exact(1 + self.count);
        page.fill(2 + MOST * WINDOW, out, |place| {
            let object = objects.next()?;
            let length = self.write(object, view, place)?;
            written += object.len();
            Some(length)
        });
        written
    }

    #[inline(always)]
    fn write(&self, object: &[Node], view: MessageView<'_>, place: &mut [u8]) -> Option<usize> {
        let (group, members) = object.split_first()?;
        if !ptr::eq(group.field, self.field) || group.descendants as usize != self.count {
            return None;
        }
        *place.first_mut()? = b'{';
        let mut end = 1;
        for (column, node) in self.columns.iter().zip(members) {
            if !ptr::eq(node.field, column.field) {
                return None;
            }
            if let Some(name) = &column.name {
                let window = place.get_mut(end..)?.first_chunk_mut()?;
                end += member(name, view, node, window)?;
            }
        }
        *place.get_mut(end - 1..)?.first_chunk_mut()? = *b"},";
        Some(end + 1)
    }
}
