//! Joins the packets of one response.
//!
//! Each packet begins with a header and the number of a section. If a packet ends inside a section,
//! the next one repeats the section number; inside a column, the column's name and the row of the
//! first value; inside a value, the whole value. The joined response therefore leaves out the
//! headers, the repeated names, and the cut values that were repeated. The cut name of a variable
//! or a column is repeated, too. A packet that begins with none of these continues where the
//! previous one stopped.

use super::decode::Header;
use super::response::{LONGEST_NAME, column_name, run, section_begins};
use super::rules::name_in_place_of_value;
use crate::kit::{Buffer, Piece};

/// Takes the first packet unchanged, and the others by their contents.
pub(super) fn join<'a>(packets: impl Iterator<Item = (&'a [u8], Vec<Piece>)>) -> Buffer {
    let mut joined = Buffer::default();
    let mut walk: Option<JoinWalk> = None;
    for (bytes, pieces) in packets {
        let skip = match &mut walk {
            None => {
                walk = Some(JoinWalk::new(bytes));
                0
            }
            Some(walk) => {
                let content = bytes.get(Header::SECTION..).unwrap_or_default();
                let seam = walk.seam(&joined.bytes, content);
                cut(&mut joined, seam.keep);
                walk.back_to(&seam);
                (Header::SECTION + seam.skip).min(bytes.len())
            }
        };
        joined.append(bytes.get(skip..).unwrap_or_default(), skip, &pieces);
        if let Some(walk) = &mut walk {
            walk.on(&joined.bytes);
        }
    }
    joined
}

/// Removes the bytes after the first `length`.
fn cut(joined: &mut Buffer, length: usize) {
    joined.bytes.truncate(length);
    let length = joined.bytes.len() as u32;
    while let Some(last) = joined.pieces.last_mut() {
        if last.at >= length {
            joined.pieces.pop();
            continue;
        }
        last.length = last.length.min(length - last.at);
        break;
    }
}

/// Where a packet's content continues: the number of joined bytes to keep, and the number of the
/// packet's bytes to skip, from the section byte on.
struct JoinPoint {
    keep: usize,
    skip: usize,
    /// A column continues with this row.
    row: Option<usize>,
}

/// What is expected at `Walk::at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParsePlace {
    Key,
    Value,
    /// The next variable or section.
    Between,
    ColumnName,
    Values,
    /// Unknown.
    Lost,
}

/// The position where the joined bytes end, found by parsing them; parsing continues with each
/// packet.
struct JoinWalk {
    place: ParsePlace,
    /// The first byte that is not parsed yet.
    at: usize,
    /// There is no end of a text between `at` and here.
    searched: usize,
    section: u8,
    /// The name of the last variable or column.
    name: std::ops::Range<usize>,
    /// The row of the value at `at`.
    row: usize,
    /// The last value that is not empty: its row and its first byte.
    value: Option<(usize, usize)>,
}

impl JoinWalk {
    fn new(first: &[u8]) -> JoinWalk {
        let section = first.get(Header::SECTION).copied().unwrap_or_default();
        let content = first.get(Header::SECTION + 1..).unwrap_or_default();
        let columns = matches!(section, 1 | 2) && column_name(content).is_some();
        let place = if columns { ParsePlace::ColumnName } else { ParsePlace::Key };
        let at = Header::SECTION + 1;
        let section = if columns { section } else { 0 };
        JoinWalk { place, at, searched: at, section, name: 0..0, row: 0, value: None }
    }

    /// How `content`, which begins with the section byte, continues the joined bytes.
    fn seam(&self, joined: &[u8], content: &[u8]) -> JoinPoint {
        let goes_on = JoinPoint { keep: joined.len(), skip: 1, row: None };
        match content {
            [section @ (1 | 2), text @ ..] => match column_name(text) {
                Some(length) => self.column_seam(joined, *section, text, length),
                None if self.section_follows(*section, content) => JoinPoint { skip: 0, ..goes_on },
                None => goes_on,
            },
            [0, text @ ..] => self.variable_seam(joined, text).map_or(goes_on, |keep| JoinPoint {
                keep,
                skip: 1,
                row: None,
            }),
            _ => goes_on,
        }
    }

    /// Whether a packet begins with the next section, which has no columns.
    fn section_follows(&self, section: u8, content: &[u8]) -> bool {
        let open = matches!(self.place, ParsePlace::Between | ParsePlace::Values);
        open && section > self.section && section_begins(content)
    }

    /// A packet begins with a column: the cut one, or another.
    fn column_seam(&self, joined: &[u8], section: u8, text: &[u8], length: usize) -> JoinPoint {
        let (name, first) = (text.get(..length), text.get(length + 1).map(|&row| usize::from(row)));
        let same = self.place == ParsePlace::Values
            && self.section == section
            && name == joined.get(self.name.clone());
        if let Some(first) = first.filter(|_| same)
            && let Some(keep) = self.row_start(joined, first)
        {
            return JoinPoint { keep, skip: 1 + length + 2, row: Some(first) };
        }
        if let Some(seam) = name.and_then(|name| self.cut_name(joined, section, name)) {
            return seam;
        }
        let open = joined.get(self.at..).unwrap_or_default();
        let goes_on = JoinPoint { keep: joined.len(), skip: 1, row: None };
        let whole = JoinPoint { skip: 0, ..goes_on };
        match self.place {
            ParsePlace::ColumnName if self.section != section => {
                JoinPoint { keep: self.at, ..whole }
            }
            // A cut name is repeated or continued.
            ParsePlace::ColumnName => {
                let cut = open.strip_suffix(b"\0").unwrap_or(open);
                let repeated = name.is_some_and(|name| name.starts_with(cut));
                if repeated { JoinPoint { keep: self.at, ..goes_on } } else { goes_on }
            }
            ParsePlace::Values if open.first() == Some(&0) && self.section == section => goes_on,
            // Otherwise a cut value that is not repeated would absorb the section byte.
            ParsePlace::Values if open.first().is_some_and(|&byte| byte != 0) => {
                JoinPoint { keep: self.at, ..whole }
            }
            _ => whole,
        }
    }

    /// The joined bytes end after a column, with the beginning of the name in the next packet, or
    /// with a section's byte and that beginning. This is known only when that packet arrives: until
    /// then it looks like another value.
    fn cut_name(&self, joined: &[u8], section: u8, name: &[u8]) -> Option<JoinPoint> {
        let open = joined.strip_suffix(b"\0").unwrap_or(joined);
        let length = open.iter().rev().take(LONGEST_NAME).position(|&byte| byte == 0)?;
        let keep = open.len() - length;
        let first_value = self.name.end + 2;
        let after_column = keep > first_value && open.get(..keep)?.ends_with(b"\0\0");
        if self.place != ParsePlace::Values || !after_column {
            return None;
        }
        match open.get(keep..)? {
            [] => None,
            [byte, cut @ ..] if *byte == section && name.starts_with(cut) => {
                Some(JoinPoint { keep, skip: 0, row: None })
            }
            cut if section == self.section && name.starts_with(cut) => {
                Some(JoinPoint { keep, skip: 1, row: None })
            }
            _ => None,
        }
    }

    /// The start of a row's value in the current column, if it is at the column's end.
    fn row_start(&self, joined: &[u8], row: usize) -> Option<usize> {
        if let Some((last, at)) = self.value
            && row == last
        {
            return Some(at);
        }
        let at = self.at + row.checked_sub(self.row)?;
        let zeros = joined.get(self.at..at)?;
        zeros.iter().all(|&byte| byte == 0).then_some(at)
    }

    /// A packet continues with variables: how many joined bytes to keep, if something is repeated.
    fn variable_seam(&self, joined: &[u8], text: &[u8]) -> Option<usize> {
        let first = text.split(|&byte| byte == 0).next().filter(|first| !first.is_empty())?;
        let open = joined.get(self.at..)?;
        let name = joined.get(self.name.clone())?;
        match self.place {
            ParsePlace::Key if !open.is_empty() => first.starts_with(open).then_some(self.at),
            // A cut name may look like one that is followed by its value. But a text before a name
            // is that value.
            ParsePlace::Value if open.is_empty() => {
                let after = text.get(first.len() + 1..).unwrap_or_default();
                let repeated = first.starts_with(name) && !name_in_place_of_value(after);
                repeated.then_some(self.name.start)
            }
            ParsePlace::Key | ParsePlace::Value => (first == name).then_some(self.name.start),
            // The next name was cut to nothing, which looks like the end.
            ParsePlace::Between
                if self.section == 0 && open.is_empty() && !section_begins(text) =>
            {
                joined.len().checked_sub(1)
            }
            _ => None,
        }
    }

    /// Moves back to where the joined bytes were cut.
    fn back_to(&mut self, seam: &JoinPoint) {
        if let Some(row) = seam.row {
            (self.at, self.row, self.value) = (seam.keep, row, None);
        } else if self.section == 0 && (seam.keep <= self.name.start || self.at > seam.keep) {
            (self.place, self.at) = (ParsePlace::Key, seam.keep);
        } else if self.place == ParsePlace::Values && seam.keep < self.at {
            // What looked like a value was a name: the zero before it ends the column.
            self.at = seam.keep.saturating_sub(1);
        }
        self.at = self.at.min(seam.keep);
        self.searched = self.searched.min(seam.keep);
    }

    /// Parses the joined bytes to their end.
    fn on(&mut self, joined: &[u8]) {
        while self.step(joined).is_some() {}
    }

    fn step(&mut self, joined: &[u8]) -> Option<()> {
        let left = joined.get(self.at..)?;
        let byte = *left.first()?;
        match self.place {
            ParsePlace::Key if byte == 0 => self.go(ParsePlace::Between, self.at + 1),
            ParsePlace::Key | ParsePlace::Values | ParsePlace::ColumnName
                if section_begins(left) =>
            {
                self.go(ParsePlace::Between, self.at);
            }
            ParsePlace::Key => {
                let end = self.text_end(joined)?;
                self.name = self.at..end;
                self.go(ParsePlace::Value, end + 1);
            }
            ParsePlace::Value => {
                let end = self.text_end(joined)?;
                self.go(ParsePlace::Key, end + 1);
            }
            ParsePlace::Between => match byte {
                0 => self.go(ParsePlace::Between, self.at + 1),
                1 | 2 => {
                    self.section = byte;
                    self.go(ParsePlace::ColumnName, self.at + 1);
                }
                _ => self.go(ParsePlace::Lost, joined.len()),
            },
            ParsePlace::ColumnName if byte == 0 => self.go(ParsePlace::Between, self.at + 1),
            ParsePlace::ColumnName => {
                let end = self.text_end(joined)?;
                self.row = usize::from(*joined.get(end + 1)?);
                self.name = self.at..end;
                self.value = None;
                self.go(ParsePlace::Values, end + 2);
            }
            ParsePlace::Values if byte == 0 => return self.zeros(joined, left),
            ParsePlace::Values => {
                let end = self.text_end(joined)?;
                self.value = Some((self.row, self.at));
                self.row += 1;
                self.go(ParsePlace::Values, end + 1);
            }
            ParsePlace::Lost => return None,
        }
        Some(())
    }

    /// Zeros at the place of a value: their meaning depends on the complete text after them.
    fn zeros(&mut self, joined: &[u8], left: &[u8]) -> Option<()> {
        let known = self.searched.saturating_sub(self.at).min(left.len());
        let more = left.get(known..)?.iter().position(|&byte| byte != 0);
        let Some(more) = more else {
            self.searched = joined.len();
            return None;
        };
        let zeros = known + more;
        self.searched = self.at + zeros;
        let after = left.get(zeros..)?;
        if !after.iter().take(64).any(|&byte| byte == 0) && after.len() < 64 {
            return None;
        }
        let run = run(left.get(zeros.saturating_sub(2)..)?);
        if !run.ends {
            self.row += zeros;
            self.go(ParsePlace::Values, self.at + zeros);
        } else if section_begins(after) {
            self.go(ParsePlace::Between, self.at + zeros);
        } else {
            self.go(ParsePlace::ColumnName, self.at + zeros);
        }
        Some(())
    }

    fn go(&mut self, place: ParsePlace, at: usize) {
        (self.place, self.at) = (place, at);
        self.searched = self.searched.max(at);
    }

    /// The position of the zero that ends the text at `at`.
    fn text_end(&mut self, joined: &[u8]) -> Option<usize> {
        let from = self.searched.max(self.at);
        match joined.get(from..)?.iter().position(|&byte| byte == 0) {
            Some(more) => {
                self.searched = from + more;
                Some(from + more)
            }
            None => {
                self.searched = joined.len();
                None
            }
        }
    }
}
