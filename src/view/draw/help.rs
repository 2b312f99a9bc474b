//! All keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};

use super::theme::{Theme, columns};
use crate::report::paint::Tone;
use crate::text::hanging;

/// Keys and their effects.
const KEYS: &[(&str, &str)] = &[
    (
        "Enter",
        "open: a conversation, a server, a finding or a line of the answer as a ladder; a message as fields beside bytes",
    ),
    ("Esc, q, Left", "back; q in a list quits, Esc there clears filter and marks"),
    (
        "Up Down, k j",
        "move; also PgUp, PgDn, Home or g, End or G; at the end, a list follows what comes",
    ),
    ("Tab, 1 to 5", "the next tab, or one of these"),
    ("/", "display filter; Tab completes names, mistakes are marked"),
    ("s, S", "sort by the next column; reverse"),
    ("h", "group conversations by pairs of hosts, and end that"),
    ("t", "times: UTC, local, relative, delta, epoch"),
    ("e", "explain the rule of the selected finding"),
    ("Space, u", "mark a conversation; clear all marks"),
    ("n, p", "the next and the previous message, with a message open"),
    ("m, d", "mark the open message; compare another one with it"),
    ("w", "write packets to a pcapng file: what is open, else what is marked, else what is shown"),
    ("W", "save the open ladder: as text, SVG, JSON or Mermaid"),
    ("y", "copy what is open or selected as text"),
    ("r", "while reading: judge what there is so far, or draw an open conversation again"),
    ("Ctrl-C, Ctrl-Z", "quit from anywhere; suspend"),
    ("mouse", "click: select, again: open; a byte: its field; wheel: move; right button: back"),
];

/// The width of the keys, with the space around them.
const KEY: u16 = 17;

/// The title where not all have room.
const MORE: &str = " Keys; Down and Up show more, any other key closes this ";

/// Draws them, beginning with a line. Returns the first line that was actually drawn.
pub(super) fn draw(frame: &mut Frame<'_>, top: usize, theme: Theme, area: Rect) -> usize {
    let width = 78.min(area.width);
    let lines = lines(width.saturating_sub(2));
    let height = (lines.len() as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let is_whole = lines.len() <= usize::from(height.saturating_sub(2));
    let title = if is_whole { " Keys; any key closes this " } else { MORE };
    let block = Block::bordered().title(title);
    let inner = block.inner(place);
    frame.render_widget(block, place);
    let top = top.min(lines.len().saturating_sub(inner.height.into()));
    for ((key, what), y) in lines.into_iter().skip(top).zip(inner.y..inner.bottom()) {
        let space = " ".repeat(usize::from((KEY - 2).saturating_sub(columns(key))));
        let line = Line::from(vec![
            Span::raw(" "),
            Span::styled(key, theme.tone(Tone::Label)),
            Span::raw(space),
            Span::raw(what),
        ]);
        frame.render_widget(line, Rect { y, height: 1, ..inner });
    }
    top
}

/// The lines in this width: where an effect has no room, it goes on below itself.
fn lines(width: u16) -> Vec<(&'static str, String)> {
    let room = usize::from(width.saturating_sub(KEY).max(20));
    let each = KEYS.iter().flat_map(|(key, what)| {
        let what = hanging(what, 0, Some(room));
        let keys = std::iter::once(*key).chain(std::iter::repeat(""));
        keys.zip(what.lines().map(str::to_owned)).collect::<Vec<_>>()
    });
    each.collect()
}
