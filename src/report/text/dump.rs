//! The bytes of a message: 16 a row, with the fields that begin in each row. Rows of padding that are like the one
//! above them are folded into a line with `*`.
//!
//! Without colours a bar precedes the first byte of every field; with colours neighbouring fields
//! differ, and a field's name has the colour of its bytes.

use dissectors::kit::{Node, Span};

use crate::report::paint::{Paint, Tone};
use crate::report::put;
use crate::report::view::MessageView;

/// Bytes in a row.
const ROW: usize = 16;

/// A few compressed bytes may decompress to very many.
/// Limit: bytes that `dissect -x` shows of a decompressed message, without `--full` | {} | in text
const INFLATED: usize = 4096;

/// The leaves of a message by their first byte. Reused from message to message.
#[derive(Default)]
pub(super) struct Dump {
    leaves: Vec<DumpLeaf>,
}

#[derive(Clone, Copy)]
struct DumpLeaf {
    span: Span,
    name: &'static str,
}

/// A run of bytes in a row that belong to one leaf, or to none.
struct ByteRun<'a> {
    bytes: &'a [u8],
    /// The column of its first byte.
    column: usize,
    leaf: Option<(usize, DumpLeaf)>,
    begins: bool,
}

impl Dump {
    /// Writes the rows.
    pub(super) fn write(
        &mut self,
        view: MessageView<'_>,
        inflated: bool,
        full: bool,
        paint: Paint,
        out: &mut Vec<u8>,
    ) {
        let is_leaf = |node: &&Node| node.descendants == 0 && !node.span.is_empty();
        let leaves = view.tree.nodes.iter().filter(is_leaf);
        self.leaves.clear();
        self.leaves.extend(leaves.map(|node| DumpLeaf { span: node.span, name: node.field.name }));
        self.leaves.sort_by_key(|leaf| leaf.span.start);
        if inflated {
            out.extend_from_slice(b"    decompressed:\n");
        }
        let mut runs = Vec::with_capacity(ROW);
        let mut next = 0;
        let most = if inflated && !full { INFLATED } else { usize::MAX };
        let (shown, left_out) = view.payload.split_at(view.payload.len().min(most));
        let (mut above, mut is_folded) = (None, false);
        for (row, bytes) in shown.chunks(ROW).enumerate() {
            runs.clear();
            next = self.runs(row * ROW, bytes, next, &mut runs);
            let padding = padding(&runs);
            // The last row shows where the message ends.
            let is_last = (row + 1) * ROW >= shown.len();
            let folds = padding.is_some() && padding == above && !is_last;
            if !folds {
                write_row(row * ROW, &runs, paint, out);
            } else if !is_folded {
                paint.paint(Tone::Faint, out, |out| out.extend_from_slice(b"    *"));
                out.push(b'\n');
            }
            (above, is_folded) = (padding, folds);
        }
        if !left_out.is_empty() {
            put(out, format_args!("    {} more bytes; --full shows them\n", left_out.len()));
        }
    }

    /// Divides a row into runs. `next`: the first leaf that may extend into it; the one for the
    /// next row is returned.
    fn runs<'a>(
        &self,
        start: usize,
        row: &'a [u8],
        mut next: usize,
        runs: &mut Vec<ByteRun<'a>>,
    ) -> usize {
        let mut column = 0;
        while let Some(rest) = row.get(column..).filter(|rest| !rest.is_empty()) {
            let at = start + column;
            while self.leaves.get(next).is_some_and(|leaf| leaf.span.end as usize <= at) {
                next += 1;
            }
            let leaf = self.leaves.get(next).copied();
            let (leaf, until) = match leaf {
                Some(leaf) if leaf.span.start as usize <= at => (Some((next, leaf)), leaf.span.end),
                Some(leaf) => (None, leaf.span.start),
                None => (None, u32::MAX),
            };
            let length = (until as usize - at).min(rest.len());
            let begins = leaf.is_some_and(|(_, leaf)| leaf.span.start as usize == at);
            runs.push(ByteRun { bytes: rest.get(..length).unwrap_or(rest), column, leaf, begins });
            column += length;
        }
        next
    }
}

/// The byte that fills a whole row, in which no field begins or ends, and the number of its field.
fn padding(runs: &[ByteRun<'_>]) -> Option<(u8, Option<usize>)> {
    let [run] = runs else { return None };
    let (&first, rest) = run.bytes.split_first()?;
    let is_whole = run.bytes.len() == ROW && !run.begins && rest.iter().all(|&byte| byte == first);
    is_whole.then(|| (first, run.leaf.map(|(number, _)| number)))
}

fn write_row(start: usize, runs: &[ByteRun<'_>], paint: Paint, out: &mut Vec<u8>) {
    paint.paint(Tone::Faint, out, |out| put(out, format_args!("    {start:#06x} ")));
    for run in runs {
        run.paint(paint, out, |out| run.hex(!paint.is_enabled(), out));
    }
    let columns = runs.last().map_or(0, |run| run.column + run.bytes.len());
    let half = usize::from(columns <= ROW / 2);
    out.resize(out.len() + (ROW - columns) * 3 + half + 2, b' ');
    for run in runs {
        run.paint(paint, out, |out| out.extend(run.bytes.iter().map(|&byte| shown(byte))));
    }
    out.resize(out.len() + ROW - columns + 1, b' ');
    for run in runs {
        if let Some((_, leaf)) = run.leaf {
            out.push(b' ');
            let more = if run.begins { "" } else { ".." };
            run.paint(paint, out, |out| put(out, format_args!("{more}{}", leaf.name)));
        }
    }
    out.push(b'\n');
}

fn shown(byte: u8) -> u8 {
    if matches!(byte, 0x20..=0x7E) { byte } else { b'.' }
}

impl ByteRun<'_> {
    fn paint(&self, paint: Paint, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        match self.leaf {
            Some((number, _)) => paint.paint(Tone::Leaf(number), out, body),
            None => body(out),
        }
    }

    fn hex(&self, bars: bool, out: &mut Vec<u8>) {
        for (index, byte) in self.bytes.iter().enumerate() {
            if self.column + index == ROW / 2 {
                out.push(b' ');
            }
            let bar = bars && index == 0 && (self.begins || self.leaf.is_none() && self.column > 0);
            put(out, format_args!("{}{byte:02x}", if bar { '|' } else { ' ' }));
        }
    }
}
