//! The ladder for a terminal.

use super::{Arrow, Ladder};
use crate::report::clock::TimeFormatter;
use crate::report::paint::{Paint, Tone};
use crate::text::shortened;

/// Minimum width of the time and the packet's number.
const TIME: usize = 15;
const NUMBER: usize = 6;

/// Minimum width of the text next to an arrow, as long as arrows can be shortened.
const BESIDE: usize = 44;

/// Minimum width of that text where the names of messages would be shortened otherwise.
const BESIDE_NAMES: usize = 24;

/// Columns of an arrow besides its name, if there is room, and at least.
const STROKES: usize = 5;
const TIP: usize = 2;

/// Less room for texts is none: names of messages get it.
const WORDS: usize = 12;

/// In less room than this, no text can be read.
const WORD: usize = 6;

/// In fewer columns, times end with milliseconds, and names of messages are more important than texts.
const NARROW: usize = 60;

/// Where the lines of the hosts are.
struct HostColumns {
    /// Width of the time and the packet's number before them, with a space.
    before: usize,
    count: usize,
    gap: usize,
    /// Columns of the terminal that are drawn, and one more: it makes a line too long.
    drawn: usize,
}

impl HostColumns {
    /// `longest`: the longest name of a message.
    fn of(before: usize, count: usize, longest: usize, width: usize) -> HostColumns {
        let gaps = count.saturating_sub(1).max(1);
        let room = |beside: usize| width.saturating_sub(before + beside) / gaps;
        let gap = room(BESIDE).clamp(14, 36);
        // Between two hosts, names are more important than the last words beside them.
        let gap = match count {
            0..=2 => gap.max(room(BESIDE_NAMES).min(longest + STROKES)),
            _ => gap,
        };
        let gap = match width < NARROW || before + gaps * gap + 1 + WORDS > width {
            true => gap.max(room(1).min(longest + STROKES)),
            false => gap,
        };
        let drawn = width.saturating_sub(before) + 1;
        HostColumns { before, count, gap, drawn }
    }

    fn width(&self) -> usize {
        self.count.saturating_sub(1) * self.gap + 1
    }

    /// The line of every host that is drawn, and nothing between.
    fn empty(&self) -> Vec<char> {
        let mut line = vec![' '; self.width().min(self.drawn)];
        line.iter_mut().step_by(self.gap).for_each(|lane| *lane = '\u{2502}');
        line
    }

    fn arrow(&self, step: &Arrow) -> String {
        let mut line = self.empty();
        let (from, to) = (step.from * self.gap, step.to * self.gap);
        let (left, right) = (from.min(to), from.max(to));
        let stroke = if step.lost || step.icmp { '\u{254C}' } else { '\u{2500}' };
        let end = right.min(line.len());
        if let Some(between) = line.get_mut((left + 1).min(end)..end) {
            between.fill(stroke);
        }
        let head = if to > from { (right.saturating_sub(1), '>') } else { (left + 1, '<') };
        if let Some(place) = line.get_mut(head.0).filter(|_| left != right) {
            *place = head.1;
        }
        let name = shortened(step.message, (right - left).saturating_sub(TIP));
        let length = name.chars().count();
        // The tip is before a name or after it.
        let first = left + if to > from { 1 } else { 2 };
        let start = first.max(left + 1 + (right - left).saturating_sub(1 + length) / 2);
        let start = if to > from { start.min(right.saturating_sub(1 + length)) } else { start };
        for (place, letter) in name.chars().enumerate() {
            if let Some(cell) = line.get_mut(start + place) {
                *cell = letter;
            }
        }
        line.into_iter().collect()
    }
}

/// A line of a ladder.
pub struct LadderLine {
    /// The index of its arrow, or of the arrow that its finding is about; `None`: a heading.
    pub step: Option<usize>,
    /// Its text, and how each part looks.
    pub parts: Vec<(Option<Tone>, String)>,
}

impl Ladder {
    /// Draws it in this many columns. Beyond them, texts are cut on a terminal only.
    pub fn text(
        &self,
        width: usize,
        is_terminal: bool,
        stamp: &mut TimeFormatter,
        paint: Paint,
        out: &mut Vec<u8>,
    ) {
        let most = if is_terminal { width } else { usize::MAX };
        for line in self.lines_cut(width, most, stamp) {
            for (tone, text) in line.parts {
                match tone {
                    Some(tone) => {
                        paint.paint(tone, out, |out| out.extend_from_slice(text.as_bytes()));
                    }
                    None => out.extend_from_slice(text.as_bytes()),
                }
            }
            out.push(b'\n');
        }
    }

    /// Its lines in this many columns: first the one that names the parties.
    pub fn lines(&self, width: usize, stamp: &mut TimeFormatter) -> Vec<LadderLine> {
        self.lines_cut(width, width, stamp)
    }

    /// The same, with lines of at most `most` columns.
    fn lines_cut(&self, width: usize, most: usize, stamp: &mut TimeFormatter) -> Vec<LadderLine> {
        let mut times = self.times(stamp);
        let is_narrow = width < NARROW;
        if is_narrow {
            times.iter_mut().for_each(to_milliseconds);
        }
        let (time, digits, space) = if is_narrow { (0, 0, 1) } else { (TIME, NUMBER, 2) };
        let widest = times.iter().map(String::len).max().unwrap_or(0).max(time);
        let largest = self.steps.iter().map(|step| step.frame).max().unwrap_or(0);
        let number = largest.to_string().len().max(digits);
        let names = self.steps.iter().map(|step| step.message.chars().count());
        let (longest, before) = (names.max().unwrap_or(0), widest + 1 + number + space);
        let lanes = HostColumns::of(before, self.parties.len(), longest, width);
        let mut lines = vec![LadderLine::above(Tone::Endpoints, self.heads(&lanes, width))];
        let mut day = Vec::new();
        for (at, (step, time)) in self.steps.iter().zip(times).enumerate() {
            let before = format!("{time:<widest$} {:>number$}{:space$}", step.frame, "");
            let mut today = Vec::new();
            stamp.day(step.time, &mut today);
            if today != day {
                let text = format!("-- {} --", String::from_utf8_lossy(&today));
                lines.push(LadderLine::above(Tone::Faint, text));
                day = today;
            }
            self.step(at, before, &lanes, [width, most], &mut lines);
        }
        lines
    }

    /// The time of every arrow.
    fn times(&self, stamp: &mut TimeFormatter) -> Vec<String> {
        let time = |step: &Arrow| {
            let mut time = Vec::new();
            stamp.brief(step.time, step.digits, &mut time);
            stamp.seen(step.time);
            String::from_utf8_lossy(&time).into_owned()
        };
        self.steps.iter().map(time).collect()
    }

    /// The names of the parties, each above its line.
    fn heads(&self, lanes: &HostColumns, width: usize) -> String {
        if let Some(heads) = self.moved_heads(lanes, width) {
            return heads;
        }
        let mut heads = vec![' '; lanes.before];
        for (at, name) in self.names().iter().enumerate() {
            let start = lanes.before + at * lanes.gap;
            let is_last = at + 1 == self.parties.len();
            let room = if is_last { width.saturating_sub(start) } else { lanes.gap - 2 };
            heads.resize(start, ' ');
            // If both do not fit, the address is more important than its port.
            let is_long = name.chars().count() > room;
            let address = self.parties.get(at).map(|party| party.address.to_string());
            let name = address.filter(|_| is_long).unwrap_or_else(|| name.clone());
            heads.extend(shortened(&name, room).chars());
        }
        shortened(heads.into_iter().collect::<String>().trim_end(), width).into_owned()
    }

    /// The names of the parties if all are there as a whole: above their lines, and where there is no room, as
    /// little left of that as possible. `None`: one would not be above its line.
    fn moved_heads(&self, lanes: &HostColumns, width: usize) -> Option<String> {
        let (mut starts, mut end) = (Vec::new(), width);
        let names = self.names();
        for (at, name) in names.iter().enumerate().rev() {
            let (lane, length) = (lanes.before + at * lanes.gap, name.chars().count());
            let start = lane.min(end.checked_sub(length)?);
            if start + length <= lane {
                return None;
            }
            starts.push(start);
            end = start.saturating_sub(2);
        }
        let mut heads = String::new();
        for (name, start) in names.iter().zip(starts.into_iter().rev()) {
            let room = start.saturating_sub(heads.chars().count());
            heads.extend(std::iter::repeat_n(' ', room));
            heads += name;
        }
        Some(heads)
    }

    fn step(
        &self,
        at: usize,
        before: String,
        lanes: &HostColumns,
        [width, most]: [usize; 2],
        lines: &mut Vec<LadderLine>,
    ) {
        let Some(step) = self.steps.get(at) else { return };
        let is_narrow = lanes.before + lanes.width() + 2 > width;
        let most = if is_narrow { width } else { most };
        let tone = if step.icmp { Tone::Faint } else { Tone::Message };
        let arrow = lanes.arrow(step);
        let arrow = shortened(&arrow, width.saturating_sub(lanes.before)).into_owned();
        let mut parts = vec![(Some(Tone::Faint), before), (Some(tone), arrow)];
        let room = most.saturating_sub(lanes.before + lanes.width() + 2);
        let details = self.details(step);
        let details = shortened(&details, room);
        if !details.is_empty() && room >= WORD {
            parts.push((None, format!("  {details}")));
        }
        lines.push(LadderLine { step: Some(at), parts });
        for found in &step.findings {
            let empty: String = lanes.empty().into_iter().collect();
            let text = format!("! {} {}", found.word(), found.text);
            let line = format!("{:1$}{empty}  {text}", "", lanes.before);
            let tone = Tone::Finding(found.severity, found.verdict);
            let parts = vec![(Some(tone), shortened(&line, most).into_owned())];
            lines.push(LadderLine { step: Some(at), parts });
        }
    }
}

/// Ends a time with milliseconds.
fn to_milliseconds(time: &mut String) {
    if let Some(point) = time.find('.') {
        time.truncate(time.len().min(point + 4));
    }
}

impl LadderLine {
    fn above(tone: Tone, text: String) -> LadderLine {
        LadderLine { step: None, parts: vec![(Some(tone), text)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies beyond the edge is not drawn, however many hosts there are.
    #[test]
    fn lines_are_as_long_as_the_terminal_is_wide() {
        let lanes = HostColumns::of(25, 20_000, 20, 120);
        let line = lanes.empty();
        assert_eq!((lanes.width(), line.len()), (19_999 * 14 + 1, 120 - 25 + 1));
        assert_eq!(line.iter().filter(|cell| **cell == '\u{2502}').count(), 7);
        assert_eq!(
            HostColumns::of(25, 3, 20, 120).empty().len(),
            2 * 25 + 1,
            "there is nothing beyond"
        );
        assert_eq!(HostColumns::of(25, 3, 20, 10).empty().len(), 1, "nor is there room");
    }
}
