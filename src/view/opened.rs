//! Opened elements: a conversation as a ladder, and a message with its fields and bytes.

use std::ops::Range;

use dissectors::kit::Time;
use roaring::RoaringBitmap;

use super::list::ListCursor;
use crate::report::ladder::{Ladder, LadderLine};
use crate::report::paint::Paint;
use crate::report::text::{DetailLevel, FieldLine, Text, field_lines};
use crate::report::{Envelope, Report, TimeFormatter, TimeStyle};
use crate::session::{Event, IcmpEvent};

/// A conversation that was decoded again, as a ladder.
#[derive(Default)]
pub struct OpenedConversation {
    ladder: Ladder,
    /// For each arrow, the index of its message in the conversation; `None` for an ICMP error.
    messages: Vec<Option<u32>>,
    count: u32,
    /// How many of them are copies, which count nowhere.
    copies: u32,
}

impl OpenedConversation {
    /// The next event.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Message(message) => {
                if let Some(envelope) = Envelope::of(message) {
                    self.message(&envelope);
                }
            }
            Event::Icmp(icmp) => self.icmp(icmp),
            Event::Unanswered(request) => self.ladder.unanswered(request),
            Event::Checked(_) | Event::CrossFlow(_) | Event::FlowEnded(_) => {}
            Event::Datagram(_) | Event::File(_) => {}
        }
    }

    fn message(&mut self, envelope: &Envelope<'_>) {
        let before = self.ladder.steps();
        self.ladder.message(envelope);
        if self.ladder.steps() > before {
            self.messages.push(Some(self.count));
        }
        self.count = self.count.saturating_add(1);
        self.copies += u32::from(envelope.message.copy_of.is_some());
    }

    /// A capture has ended.
    pub fn end(&mut self) {
        self.ladder.settle();
    }

    /// Whether nothing is drawn.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// An ICMP error about one of them, or about none.
    fn icmp(&mut self, icmp: &IcmpEvent) {
        let before = self.ladder.steps();
        self.ladder.icmp(icmp);
        if self.ladder.steps() > before {
            self.messages.push(None);
        }
    }
}

/// A ladder on the screen.
pub(super) struct LadderScreen {
    /// The conversations that it shows.
    pub(super) conversations: RoaringBitmap,
    drawn: OpenedConversation,
    time: TimeStyle,
    /// Its lines in this width, without the first one, which is `head`.
    lines: Vec<LadderLine>,
    head: String,
    width: usize,
    /// The packet to select when the lines have been made.
    wanted: Option<u64>,
    /// The selected line.
    pub(super) list: ListCursor,
}

impl LadderScreen {
    /// This one, with a packet selected.
    pub(super) fn new(
        conversations: RoaringBitmap,
        drawn: OpenedConversation,
        frame: Option<u64>,
        time: TimeStyle,
    ) -> Self {
        let (lines, head, list) = (Vec::new(), String::new(), ListCursor::default());
        let wanted = Some(frame.unwrap_or(0));
        LadderScreen { conversations, drawn, time, lines, head, width: 0, wanted, list }
    }

    /// Makes the lines for this many columns.
    pub(super) fn fit(&mut self, width: usize) {
        if self.width == width {
            return;
        }
        self.width = width;
        let step = self.step();
        self.lines = self.drawn.ladder.lines(width, &mut TimeFormatter::new(self.time));
        let head = self.lines.remove(0);
        self.head = head.parts.into_iter().map(|(_, text)| text).collect();
        self.list.set_length(self.lines.len());
        let frame = |line: &LadderLine| self.drawn.ladder.frame(line.step?);
        let at = match self.wanted.take() {
            Some(wanted) => self.lines.iter().position(|line| frame(line) >= Some(wanted)),
            None => self.lines.iter().position(|line| step.is_some() && line.step == step),
        };
        self.list.select(at.unwrap_or(0));
    }

    /// Writes times in this style.
    pub(super) fn write_times(&mut self, style: TimeStyle) {
        let width = std::mem::take(&mut self.width);
        self.time = style;
        self.fit(width);
    }

    /// The selected line and, if it is a message, what was found about it.
    pub(super) fn selected_text(&self) -> Option<String> {
        let at = self.list.selected()?;
        let step = self.lines.get(at)?.step?;
        let own = self.lines.iter().skip(at).take_while(|line| line.step == Some(step));
        let parts = own.flat_map(|line| line.parts.iter().map(|(_, text)| text.as_str()));
        Some(parts.collect::<Vec<_>>().join(" "))
    }

    /// It as a file of this name: SVG, JSON, Mermaid, or else text.
    pub(super) fn saved(&self, file: &str) -> Vec<u8> {
        let (ladder, mut out) = (&self.drawn.ladder, Vec::new());
        let mut stamp = TimeFormatter::new(self.time);
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        match &*extension.to_ascii_lowercase() {
            "svg" => ladder.svg(&mut stamp, &mut out),
            "json" => ladder.json(None, &mut out),
            "mmd" | "mermaid" => ladder.mermaid(&mut stamp, &mut out),
            _ => return self.text().into_bytes(),
        }
        out
    }

    /// The names of the parties.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// A line.
    pub(super) fn line(&self, at: usize) -> Option<&LadderLine> {
        self.lines.get(at)
    }

    /// The arrow of the selected line.
    fn step(&self) -> Option<usize> {
        self.lines.get(self.list.selected()?)?.step
    }

    /// The message of the selected line.
    pub(super) fn message(&self) -> Option<u32> {
        self.drawn.messages.get(self.step()?).copied().flatten()
    }

    /// Selects the arrow of a message.
    pub(super) fn select(&mut self, message: u32) {
        let step = self.drawn.messages.iter().position(|it| *it == Some(message));
        let line = |line: &LadderLine| step.is_some() && line.step == step;
        if let Some(at) = self.lines.iter().position(line) {
            self.list.select(at);
        }
    }

    /// The time of an open message, as it is at its arrow.
    pub(super) fn time_of(&self, opened: &OpenedMessage) -> String {
        let ladder = &self.drawn.ladder;
        let step = self.drawn.messages.iter().position(|it| *it == Some(opened.place));
        let before = step.and_then(|step| ladder.time(step.checked_sub(1)?));
        let since = match self.time {
            TimeStyle::Delta => before.or(Some(opened.time)),
            _ => ladder.time(0),
        };
        TimeFormatter::new(self.time).since(since).of_row(opened.time, opened.digits)
    }

    /// The number of messages with copies.
    pub(super) fn all_messages(&self) -> u32 {
        self.drawn.count
    }

    /// The number of messages, and of those without an arrow.
    pub(super) fn counts(&self) -> (u32, u64) {
        (self.drawn.count - self.drawn.copies, self.drawn.ladder.left_out())
    }

    /// All of it as text.
    pub(super) fn text(&self) -> String {
        let mut out = Vec::new();
        let width = self.width.max(120);
        self.drawn.ladder.text(
            width,
            false,
            &mut TimeFormatter::new(self.time),
            Paint::new(false),
            &mut out,
        );
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// A message that was decoded again.
#[derive(Clone, Debug)]
pub struct OpenedMessage {
    /// Its index among the drawn messages.
    pub place: u32,
    /// When it was sent.
    pub time: Time,
    /// Number of digits of a second in its time.
    pub digits: u8,
    /// Its packet, its name, its summary.
    pub head: String,
    /// Its fields.
    pub fields: Vec<FieldLine>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// They were decompressed.
    pub is_inflated: bool,
    /// All of it as text, but for its time.
    text: String,
}

impl OpenedMessage {
    /// The message in this place.
    pub fn of(place: u32, envelope: &Envelope<'_>) -> OpenedMessage {
        let payload = &envelope.message.payload;
        let detail = DetailLevel { fields: true, bytes: true, full: false };
        let timeless = |detail| {
            let mut text = Vec::new();
            Text::new(detail, Paint::new(false)).message(envelope, &mut text);
            let text = String::from_utf8_lossy(&text);
            text.split_once(' ').map_or(String::new(), |(_, rest)| rest.to_owned())
        };
        OpenedMessage {
            place,
            time: payload.time,
            digits: envelope.digits,
            head: words(&timeless(DetailLevel::default())),
            fields: field_lines(&envelope.message),
            bytes: payload.bytes.to_vec(),
            is_inflated: payload.inflated,
            text: timeless(detail),
        }
    }

    /// Its first line, with this time.
    pub(super) fn head(&self, time: &str) -> String {
        format!("{time} {}", self.head)
    }

    /// All of it, with this time, below the day if the style has one.
    pub(super) fn text(&self, time: &str, style: TimeStyle) -> String {
        let mut day = Vec::new();
        let report = Text::new(DetailLevel::default(), Paint::new(false));
        report.times(TimeFormatter::new(style)).heading(self.time, &mut day);
        format!("{}{time} {}", String::from_utf8_lossy(&day), self.text)
    }
}

/// A text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A message on the screen.
pub(super) struct MessageScreen {
    /// What is shown.
    pub(super) opened: OpenedMessage,
    /// The selected field.
    pub(super) list: ListCursor,
    /// The first visible row of bytes, bytes per row, and the number of visible rows.
    pub(super) rows: (usize, usize, usize),
}

impl MessageScreen {
    /// This one, with its first field selected.
    pub(super) fn new(opened: OpenedMessage) -> MessageScreen {
        let mut list = ListCursor::default();
        list.set_length(opened.fields.len());
        MessageScreen { opened, list, rows: (0, 16, 0) }
    }

    /// The bytes of the selected field.
    pub(super) fn marked(&self) -> Range<usize> {
        let field = self.list.selected().and_then(|at| self.opened.fields.get(at));
        field.map_or(0..0, |field| field.bytes.clone())
    }

    /// Selects the innermost field of a byte.
    pub(super) fn select_byte(&mut self, byte: usize) {
        let fields = self.opened.fields.iter().enumerate();
        let has_it = fields.filter(|(_, it)| it.finding.is_none() && it.bytes.contains(&byte));
        if let Some((at, _)) = has_it.min_by_key(|(at, it)| (it.bytes.len(), usize::MAX - at)) {
            self.list.select(at);
        }
    }

    /// Sets the visible rows and their length, with the marked bytes visible.
    pub(super) fn fit(&mut self, columns: usize, height: usize) {
        let all = self.opened.bytes.len().div_ceil(columns.max(1));
        let marked = self.marked();
        let (first, last) =
            (marked.start / columns.max(1), marked.end.saturating_sub(1) / columns.max(1));
        let mut top = self.rows.0;
        if !marked.is_empty() || self.rows.1 != columns {
            if last >= top + height {
                top = (last + 1).saturating_sub(height);
            }
            top = top.min(first);
        }
        self.rows = (top.min(all.saturating_sub(height)), columns, height);
    }
}
