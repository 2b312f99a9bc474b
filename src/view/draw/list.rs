//! The rows of a tab.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row, Table};

use super::theme::{Theme, columns};
use crate::report::TimeStyle;
use crate::report::paint::Tone;
use crate::rows::Shown;
use crate::text::shortened;
use crate::view::pages::Page;
use crate::view::tabs::{self, ShownRow, Tab};
use crate::view::{Model, ReadingProgress, View};

/// Width of the mark before a conversation.
const MARK: u16 = 1;

/// How an address ends before its port.
const END_OF_HOST: [char; 11] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ']'];

/// A column that fits: its index among those of its tab, its width, and what people see of it.
struct FittingColumn {
    nth: usize,
    width: usize,
    shown: Shown,
    is_number: bool,
    /// Its index in the table.
    at: usize,
}

fn fitting(tab: Tab, width: u16, time: TimeStyle) -> Vec<FittingColumn> {
    let Some(columns) = tab.columns() else { return Vec::new() };
    // A mark and a space precede the first one.
    let room = usize::from(width.saturating_sub(MARK + 1));
    let widths = columns.on_screen(room, tabs::width_of_time(time));
    let all = columns.shown().zip(columns.are_numbers()).zip(columns.indices()).zip(widths);
    let fitting = all.enumerate().filter_map(|(nth, (((shown, is_number), at), width))| {
        Some(FittingColumn { nth, width: width?, shown: *shown, is_number, at })
    });
    fitting.collect()
}

/// A cell of a list.
fn cell<'c>(text: String, style: Style, column: &FittingColumn) -> Cell<'c> {
    let line = Line::styled(text, style);
    Cell::from(if column.is_number { line.right_aligned() } else { line })
}

/// The rows of the tab.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    view: &mut View,
    model: &Model,
    theme: Theme,
    area: Rect,
) {
    let height = area.height.saturating_sub(1);
    view.list().set_height(height.into());
    view.areas.rows = Rect { y: area.y + 1, height, ..area };
    let (visible, selected) = (view.list().visible(), view.list().selected());
    let order = view.orders[view.tab as usize];
    let columns = fitting(view.tab, area.width, view.time);
    view.areas.columns = columns.iter().map(|column| column.at).collect();
    let widths = columns.iter().map(|column| Constraint::Length(column.width as u16));
    let widths: Vec<_> = std::iter::once(Constraint::Length(MARK)).chain(widths).collect();
    let heads = columns.iter().map(|column| {
        let style = theme.tone(Tone::Faint);
        let is_sorted = order.column == Some(column.at);
        let style = if is_sorted { style.add_modifier(Modifier::UNDERLINED) } else { style };
        cell(column.shown.heading.to_owned(), style, column)
    });
    let head = Row::new(std::iter::once(Cell::from("")).chain(heads));
    let rows = visible.clone().filter_map(|at| {
        let shown = view.row(at, model)?;
        let style = if Some(at) == selected { theme.selected() } else { Style::new() };
        let mark = view.tab == Tab::Conversations && view.is_marked(at, model);
        Some(row(&shown, &columns, mark, theme).style(style))
    });
    let table = Table::new(rows.collect::<Vec<_>>(), widths).header(head).column_spacing(1);
    frame.render_widget(table, area);
    if visible.is_empty() {
        let text = match (&model.reading, &view.filter) {
            (_, Some(_)) if view.waiting.is_none() && view.tab != Tab::Servers => {
                "  nothing that the filter wants"
            }
            (ReadingProgress::Over, _) => "  nothing",
            _ => "  nothing yet",
        };
        let place = Rect { y: area.y + 1, height: 1, ..area }.intersection(area);
        frame.render_widget(Line::styled(text, theme.tone(Tone::Faint)), place);
    }
}

/// A row of a list: each cell cut to its column, the most severe part in its tone.
fn row<'r>(shown: &ShownRow, columns: &[FittingColumn], mark: bool, theme: Theme) -> Row<'r> {
    let cells = columns.iter().map(|column| {
        let text = shown.cells.get(column.nth).map_or("", |cell| &**cell);
        let text = shortened_end(text, column.width);
        let tone = shown.tone.filter(|_| column.shown.is_toned);
        cell(text, tone.map_or(Style::new(), |tone| theme.tone(tone)), column)
    });
    let mark = Cell::from(if mark { "*" } else { " " });
    Row::new(std::iter::once(mark).chain(cells))
}

/// A cell's text in this width. Of an address with a port, the address is cut.
fn shortened_end(text: &str, width: usize) -> String {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.rsplit_once(':').filter(|(host, port)| is_port(port) && host.ends_with(END_OF_HOST))
    {
        Some((host, port)) if columns(text) > width as u16 => {
            let room = width.saturating_sub(port.len() + 1);
            format!("{}:{port}", shortened(host, room))
        }
        _ => shortened(text, width).into_owned(),
    }
}

/// The answers about the captures.
pub(super) fn draw_answer(frame: &mut Frame<'_>, view: &mut View, theme: Theme, area: Rect) {
    view.answer.fit(area.width.into());
    let length = view.answer.length();
    view.list().set_length(length);
    view.list().set_height(area.height.into());
    view.areas.rows = area;
    let (visible, selected) = (view.list().visible(), view.list().selected());
    for (at, y) in visible.zip(area.y..area.bottom()) {
        let Some((tone, text)) = view.answer.row(at) else { continue };
        let style = tone.map_or(Style::new(), |tone| theme.tone(tone));
        let place = Rect { y, height: 1, ..area };
        frame.render_widget(Line::styled(text.to_owned(), style), place);
        if Some(at) == selected {
            frame.buffer_mut().set_style(place, theme.selected());
        }
    }
}

/// A text.
pub(super) fn draw_page(
    frame: &mut Frame<'_>,
    view: &mut View,
    page: &mut Page,
    theme: Theme,
    area: Rect,
) {
    page.fit(area.width.into());
    page.list.set_height(area.height.into());
    view.areas.rows = area;
    for (at, y) in page.list.visible().zip(area.y..area.bottom()) {
        let Some((tone, text)) = page.line(at) else { continue };
        let style = tone.map_or(Style::new(), |tone| theme.tone(tone));
        let place = Rect { y, height: 1, ..area };
        let text = shortened(text, area.width.into()).into_owned();
        frame.render_widget(Line::styled(text, style), place);
        if page.list.selected() == Some(at) {
            frame.buffer_mut().set_style(place, theme.selected());
        }
    }
}

/// All messages, or those that the filter selects. `is_beside`: an open one is beside them.
pub(super) fn draw_messages(
    frame: &mut Frame<'_>,
    view: &mut View,
    model: &Model,
    theme: Theme,
    is_beside: bool,
    area: Rect,
) {
    view.list().set_height(area.height.into());
    view.areas.rows = area;
    let (visible, selected) = (view.list().visible(), view.list().selected());
    if visible.is_empty() {
        let text =
            if view.filter.is_some() { "  nothing that the filter wants" } else { "  nothing" };
        let place = Rect { height: 1, ..area }.intersection(area);
        frame.render_widget(Line::styled(text, theme.tone(Tone::Faint)), place);
    }
    for (at, y) in visible.zip(area.y..area.bottom()) {
        let Some(text) = view.message_row(at, model, is_beside) else { continue };
        let place = Rect { y, height: 1, ..area };
        let text = shortened(&text, area.width.into()).into_owned();
        frame.render_widget(Line::raw(text), place);
        if Some(at) == selected {
            frame.buffer_mut().set_style(place, theme.selected());
        }
    }
}
