//! The ladder for a terminal.

use super::{Ladder, Step, severity};
use crate::report::clock::Stamp;
use crate::report::paint::{Paint, Tone};
use crate::text::shortened;

/// Columns of the time and the packet's number.
const BEFORE: usize = 24;

/// Columns that the text beside an arrow has at least, while arrows can be shorter.
const BESIDE: usize = 44;

/// Where the lines of the hosts are.
struct Lanes {
    count: usize,
    gap: usize,
}

impl Lanes {
    fn of(count: usize, width: usize) -> Lanes {
        let room = width.saturating_sub(BEFORE + BESIDE) / count.saturating_sub(1).max(1);
        Lanes { count, gap: room.clamp(14, 36) }
    }

    fn width(&self) -> usize {
        self.count.saturating_sub(1) * self.gap + 1
    }

    /// The line of every host, and nothing between.
    fn empty(&self) -> Vec<char> {
        let mut line = vec![' '; self.width()];
        (0..self.count).for_each(|lane| line[lane * self.gap] = '\u{2502}');
        line
    }

    fn arrow(&self, step: &Step) -> String {
        let mut line = self.empty();
        let (from, to) = (step.from * self.gap, step.to * self.gap);
        let (left, right) = (from.min(to), from.max(to));
        let stroke = if step.lost || step.icmp { '\u{254C}' } else { '\u{2500}' };
        if let Some(between) = line.get_mut((left + 1).min(right)..right) {
            between.fill(stroke);
        }
        let head = if to > from { (right.saturating_sub(1), '>') } else { (left + 1, '<') };
        if let Some(place) = line.get_mut(head.0).filter(|_| left != right) {
            *place = head.1;
        }
        let name = shortened(step.message, (right - left).saturating_sub(5));
        let length = name.chars().count();
        let start = left + 1 + (right - left).saturating_sub(1 + length) / 2;
        for (place, letter) in name.chars().enumerate() {
            if let Some(cell) = line.get_mut(start + place) {
                *cell = letter;
            }
        }
        line.into_iter().collect()
    }
}

/// A line of a ladder.
pub struct Line {
    /// The place of the arrow that it is, or has a finding about; `None`: it is above arrows.
    pub step: Option<usize>,
    /// Its text, and how each part looks.
    pub parts: Vec<(Option<Tone>, String)>,
}

impl Ladder {
    /// Draws it in so many columns.
    pub fn text(&self, width: usize, stamp: &mut Stamp, paint: Paint, out: &mut Vec<u8>) {
        for line in self.lines(width, stamp) {
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

    /// Its lines in so many columns: first the one that names the parties.
    pub fn lines(&self, width: usize, stamp: &mut Stamp) -> Vec<Line> {
        let lanes = Lanes::of(self.parties.len(), width);
        let mut lines = vec![Line::above(Tone::Endpoints, self.heads(&lanes, width))];
        let mut day = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let mut today = Vec::new();
            stamp.day(step.time, &mut today);
            if today != day {
                let text = format!("-- {} --", String::from_utf8_lossy(&today));
                lines.push(Line::above(Tone::Faint, text));
                day = today;
            }
            self.step(at, step, &lanes, width, stamp, &mut lines);
        }
        lines
    }

    /// The names of the parties, each above its line.
    fn heads(&self, lanes: &Lanes, width: usize) -> String {
        let mut heads = vec![' '; BEFORE];
        for (at, name) in self.names().iter().enumerate() {
            let start = BEFORE + at * lanes.gap;
            let is_last = at + 1 == self.parties.len();
            let room = if is_last { width.saturating_sub(start) } else { lanes.gap - 2 };
            heads.resize(start, ' ');
            // Where both do not fit, the address is worth more than its port.
            let is_long = name.chars().count() > room;
            let address = self.parties.get(at).map(|party| party.address.to_string());
            let name = address.filter(|_| is_long).unwrap_or_else(|| name.clone());
            heads.extend(shortened(&name, room).chars());
        }
        shortened(heads.into_iter().collect::<String>().trim_end(), width).into_owned()
    }

    fn step(
        &self,
        at: usize,
        step: &Step,
        lanes: &Lanes,
        width: usize,
        stamp: &mut Stamp,
        lines: &mut Vec<Line>,
    ) {
        let mut time = Vec::new();
        stamp.brief(step.time, step.digits, &mut time);
        stamp.seen(step.time);
        let before = format!("{:<15} {:>6}", String::from_utf8_lossy(&time), step.frame);
        let before = format!("{:<1$}", shortened(&before, BEFORE - 1), BEFORE);
        let tone = if step.icmp { Tone::Faint } else { Tone::Message };
        let arrow = lanes.arrow(step);
        let arrow = shortened(&arrow, width.saturating_sub(BEFORE)).into_owned();
        let mut parts = vec![(Some(Tone::Faint), before), (Some(tone), arrow)];
        let room = width.saturating_sub(BEFORE + lanes.width() + 2);
        let details = self.details(step);
        let details = shortened(&details, room);
        if !details.is_empty() {
            parts.push((None, format!("  {details}")));
        }
        lines.push(Line { step: Some(at), parts });
        for (weight, verdict, what) in &step.findings {
            let lanes: String = lanes.empty().into_iter().collect();
            let text = format!("! {} {what}", severity(*weight, *verdict));
            let line = format!("{:BEFORE$}{lanes}  {text}", "");
            let tone = Tone::Finding(*weight, *verdict);
            let parts = vec![(Some(tone), shortened(&line, width).into_owned())];
            lines.push(Line { step: Some(at), parts });
        }
    }
}

impl Line {
    fn above(tone: Tone, text: String) -> Line {
        Line { step: None, parts: vec![(Some(tone), text)] }
    }
}
