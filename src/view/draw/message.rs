//! A message: its fields, and next to them its bytes, with those of the selected field marked.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::report::paint::Tone;
use crate::report::text::FieldLine;
use crate::text::shortened;
use crate::view::mouse::Areas;
use crate::view::opened::MessageScreen;

/// Width of the offset of a row, with a space.
const NUMBER: u16 = 7;

/// Minimum width of the fields if rows of 16 bytes are shown.
const FIELDS: u16 = 44;

/// The width of a message beside a list, with rows of 8 bytes, and of 16.
pub(super) const WIDTH: u16 = 80;
pub(super) const FULL_WIDTH: u16 = width(16) + FIELDS;

/// Columns that this many bytes take in hex, and again as letters, with what is between.
const fn width(columns: u16) -> u16 {
    NUMBER + columns * 3 + 1 + 1 + columns
}

/// `about`: the first line.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    areas: &mut Areas,
    about: &str,
    screen: &mut MessageScreen,
    theme: Theme,
    area: Rect,
) {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let text = shortened(about, head.width.into()).into_owned();
    frame.render_widget(Line::styled(text, theme.tone(Tone::Message)), head);
    let columns = if area.width >= width(16) + FIELDS { 16 } else { 8 };
    let beside = Constraint::Length(width(columns));
    let [left, right] = Layout::horizontal([Constraint::Fill(1), beside]).spacing(1).areas(body);
    screen.list.set_height(left.height.into());
    screen.fit(columns.into(), right.height.into());
    draw_fields(frame, screen, theme, left);
    draw_bytes(frame, screen, theme, right);
    areas.rows = left;
    areas.bytes = Rect {
        x: right.x + NUMBER,
        width: (columns * 3 + 1).min(right.width.saturating_sub(NUMBER)),
        ..right
    };
}

fn draw_fields(frame: &mut Frame<'_>, screen: &MessageScreen, theme: Theme, area: Rect) {
    for (at, y) in screen.list.visible().zip(area.y..area.bottom()) {
        let Some(field) = screen.opened.fields.get(at) else { continue };
        let place = Rect { y, height: 1, ..area };
        frame.render_widget(field_line(field, theme, place.width.into()), place);
        if screen.list.selected() == Some(at) {
            frame.buffer_mut().set_style(place, theme.selected());
        }
    }
}

fn field_line(field: &FieldLine, theme: Theme, width: usize) -> Line<'_> {
    let before = " ".repeat((2 * field.depth).min(width / 2));
    let room = width.saturating_sub(before.len() + field.label.len());
    let style = field.finding.map_or(Style::new(), |tone| theme.tone(tone));
    Line::from(vec![
        Span::raw(before),
        Span::styled(field.label, theme.tone(Tone::Label)),
        Span::styled(shortened(&field.text, room), style),
    ])
}

fn draw_bytes(frame: &mut Frame<'_>, screen: &MessageScreen, theme: Theme, area: Rect) {
    let (top, columns, _) = screen.rows;
    let marked = screen.marked();
    let rows = screen.opened.bytes.chunks(columns.max(1)).enumerate().skip(top);
    for ((row, bytes), y) in rows.zip(area.y..area.bottom()) {
        let start = row * columns;
        let style = |at: usize| {
            if marked.contains(&(start + at)) { theme.marked() } else { Style::new() }
        };
        let number = format!("{start:#06x} ");
        let mut spans = vec![Span::styled(number, theme.tone(Tone::Faint))];
        for (at, byte) in bytes.iter().enumerate() {
            if at == columns / 2 {
                spans.push(Span::raw(" "));
            }
            spans.push(Span::styled(format!("{byte:02x}"), style(at)));
            // The space between two marked bytes is marked, too.
            let joins = at + 1 != columns / 2 && at + 1 < bytes.len();
            spans.push(Span::styled(
                " ",
                if joins && style(at) == style(at + 1) { style(at) } else { Style::new() },
            ));
        }
        let half = usize::from(bytes.len() <= columns / 2);
        spans.push(Span::raw(" ".repeat((columns - bytes.len()) * 3 + half + 1)));
        for (at, &byte) in bytes.iter().enumerate() {
            let letter = if matches!(byte, 0x20..=0x7E) { char::from(byte) } else { '.' };
            spans.push(Span::styled(String::from(letter), style(at)));
        }
        frame.render_widget(Line::from(spans), Rect { y, height: 1, ..area });
    }
}
