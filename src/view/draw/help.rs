//! All keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};

use super::theme::{Theme, columns};
use crate::report::paint::Tone;

/// Keys and their effects; an entry without a key continues the previous line.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "open: a conversation, a server, a finding or a line of the"),
    ("", "answer as a ladder; a message as fields beside bytes"),
    ("Esc, q, Left", "back; q in a list quits, Esc there clears filter and marks"),
    ("Up Down, k j", "move; also PgUp, PgDn, Home or g, End or G"),
    ("", "at the end, a list follows what comes"),
    ("Tab, 1 to 5", "the next tab, or one of these"),
    ("/", "display filter; Tab completes names, mistakes are marked"),
    ("s, S", "sort by the next column; reverse"),
    ("h", "group conversations by pairs of hosts, and end that"),
    ("t", "times: UTC, local, relative, delta, epoch"),
    ("e", "explain the rule of the selected finding"),
    ("Space, u", "mark a conversation; clear all marks"),
    ("n, p", "the next and the previous message, with a message open"),
    ("m, d", "mark the open message; compare another one with it"),
    ("w", "write packets to a pcapng file: what is open, else what is"),
    ("", "marked, else what is shown"),
    ("W", "save the open ladder: as text, SVG, JSON or Mermaid"),
    ("y", "copy what is open or selected as text"),
    ("r", "while reading: judge what there is so far, or draw an open"),
    ("", "conversation again"),
    ("Ctrl-C, Ctrl-Z", "quit from anywhere; suspend"),
    ("mouse", "click: select, again: open; a byte: its field; wheel: move;"),
    ("", "right button: back"),
];

/// The title where not all have room.
const MORE: &str = " Keys; Down and Up show more, any other key closes this ";

/// Draws them, beginning with a line. Returns the first line that was actually drawn.
pub(super) fn draw(frame: &mut Frame<'_>, top: usize, theme: Theme, area: Rect) -> usize {
    let (width, height) = (78.min(area.width), (KEYS.len() as u16 + 2).min(area.height));
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let is_whole = KEYS.len() <= usize::from(height.saturating_sub(2));
    let title = if is_whole { " Keys; any key closes this " } else { MORE };
    let block = Block::bordered().title(title);
    let inner = block.inner(place);
    frame.render_widget(block, place);
    let top = top.min(KEYS.len().saturating_sub(inner.height.into()));
    for ((key, what), y) in KEYS.iter().skip(top).zip(inner.y..inner.bottom()) {
        let space = " ".repeat(15_usize.saturating_sub(columns(key).into()));
        let line = Line::from(vec![
            Span::raw(" "),
            Span::styled(*key, theme.tone(Tone::Label)),
            Span::raw(space),
            Span::raw(*what),
        ]);
        frame.render_widget(line, Rect { y, height: 1, ..inner });
    }
    top
}
