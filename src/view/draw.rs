//! Draws a [`View`] of a [`Model`], in any terminal size.

mod help;
mod message;
mod theme;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Clear, Row, Table};

use super::edit::FilterLine;
use super::opened::LadderScreen;
use super::tabs::{ShownRow, Tab};
use super::{Areas, Chosen, InputMode, Model, ReadingProgress, Screen, View};
use crate::report::paint::Tone;
use crate::rows::Shown;
use crate::text::{counted, grouped, shortened};
use theme::Theme;

/// Width of the mark before a conversation.
const MARK: u16 = 1;

/// Draws everything. `colours`: whether to use them.
pub fn draw(frame: &mut Frame<'_>, view: &mut View, model: &Model, colours: bool) {
    let theme = Theme { colours };
    let lines = note_lines(view, model, theme, frame.area().width);
    let rows = [1, 1, 0, lines.len() as u16, 1].map(|height| match height {
        0 => Constraint::Fill(1),
        height => Constraint::Length(height),
    });
    let [title, filter, body, note, status] = Layout::vertical(rows).areas(frame.area());
    view.areas = Areas { filter, ..Areas::default() };
    draw_title(frame, view, model, theme, title);
    draw_filter(frame, view, theme, filter);
    match view.screens.pop() {
        Some(Screen::Ladder(mut screen)) => {
            draw_ladder(frame, view, &mut screen, theme, body);
            view.screens.push(Screen::Ladder(screen));
        }
        Some(Screen::Message(mut screen)) => {
            message::draw(frame, &mut view.areas, &mut screen, theme, body);
            view.screens.push(Screen::Message(screen));
        }
        None => draw_list(frame, view, model, theme, body),
    }
    for (line, y) in lines.into_iter().zip(note.y..note.bottom()) {
        frame.render_widget(line, Rect { y, height: 1, ..note });
    }
    draw_status(frame, view, model, theme, status);
    match &view.typing {
        Some(InputMode::Filter(line)) => {
            let below = Rect { y: body.y, height: body.height, ..filter };
            draw_names(frame, line, theme, below);
            let column = theme::columns("filter: ") + line.line.column() as u16;
            cursor(frame, filter, column);
        }
        Some(InputMode::File(line)) => {
            cursor(frame, note, prompt(view).len() as u16 + line.column() as u16)
        }
        None => {}
    }
    if let Some(top) = view.help {
        view.help = Some(help::draw(frame, top, theme, body));
    }
}

fn cursor(frame: &mut Frame<'_>, line: Rect, column: u16) {
    let x = line.x + column.min(line.width.saturating_sub(1));
    frame.set_cursor_position(Position::new(x, line.y));
}

/// The tabs, and the name of what is read.
fn draw_title(frame: &mut Frame<'_>, view: &mut View, model: &Model, theme: Theme, area: Rect) {
    let servers = match view.tab {
        Tab::Servers => view.parties.len(),
        _ => model.summary().servers.len() + model.summary().masters.len(),
    };
    let counts = [
        view.shown.as_ref().map_or(model.index.order().len(), Vec::len),
        servers,
        model.found().count(),
    ];
    let mut x = area.x;
    for (at, (tab, count)) in Tab::ALL.into_iter().zip(counts).enumerate() {
        let text = format!(" {} {} {} ", at + 1, tab.title(), grouped(count as u64));
        let width = (text.len() as u16).min(area.right().saturating_sub(x));
        let place = Rect { x, width, ..area };
        let style = if tab == view.tab {
            theme.tone(Tone::Message).add_modifier(Modifier::REVERSED)
        } else {
            theme.tone(Tone::Endpoints)
        };
        frame.render_widget(Line::styled(text, style), place);
        view.areas.tabs[at] = place;
        x += width + 1;
    }
    let first = model.index.name_of(0);
    let name = match model.index.captures().len() {
        0..=1 => first.to_owned(),
        all => format!("{first} and {} more", all - 1),
    };
    let rest = Rect { x: x.min(area.right()), width: area.right().saturating_sub(x), ..area };
    let name = shortened(&name, rest.width.into()).into_owned();
    frame.render_widget(Line::styled(name, theme.tone(Tone::Faint)).right_aligned(), rest);
}

/// The display filter, or its input line with a marked error.
fn draw_filter(frame: &mut Frame<'_>, view: &View, theme: Theme, area: Rect) {
    let label = Span::styled("filter: ", theme.tone(Tone::Faint));
    let line = match (&view.typing, &view.filter) {
        (Some(InputMode::Filter(typed)), _) => {
            let text = typed.line.text();
            let error = typed.error.as_ref().map(|error| error.at());
            let at = error.unwrap_or(text.len()..text.len());
            let (start, end) = (floor(text, at.start), floor(text, at.end));
            let (before, rest) = text.split_at(start);
            let (wrong, after) = rest.split_at(end.saturating_sub(start));
            let mark = theme.error().add_modifier(Modifier::UNDERLINED);
            Line::from(vec![
                label,
                Span::raw(before.to_owned()),
                Span::styled(wrong.to_owned(), mark),
                Span::raw(after.to_owned()),
            ])
        }
        (_, Some(filter)) => Line::from(vec![label, Span::raw(filter.to_string())]),
        (_, None) => {
            Line::from(vec![label, Span::styled("none; / sets one", theme.tone(Tone::Faint))])
        }
    };
    frame.render_widget(line, area);
}

/// The start of the character at or before this offset.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The error in a filter that is being typed, and completions.
fn draw_names(frame: &mut Frame<'_>, line: &FilterLine, theme: Theme, below: Rect) {
    let mut lines = Vec::new();
    if let Some(error) = &line.error {
        let text = error.explained();
        for part in wrapped(&text, below.width.saturating_sub(2), 3) {
            lines.push(Line::styled(format!("  {part}"), theme.error()));
        }
    }
    for (at, name) in line.names.iter().enumerate() {
        let style = if at == line.chosen { theme.selected() } else { theme.tone(Tone::Label) };
        lines.push(Line::styled(format!("  {name}"), style));
    }
    let help = "  Enter applies  Tab takes the name  Up and Down choose  Esc gives up";
    lines.push(Line::styled(help, theme.tone(Tone::Faint)));
    for (line, y) in lines.into_iter().zip(below.y..below.bottom()) {
        let area = Rect { y, height: 1, ..below };
        frame.render_widget(Clear, area);
        frame.render_widget(line, area);
    }
}

/// A column that fits: its index among those of its tab, its width, and what people see of it.
struct FittingColumn {
    nth: usize,
    width: usize,
    shown: Shown,
    is_number: bool,
    /// Its index in the table.
    at: usize,
}

fn fitting(tab: Tab, width: u16) -> Vec<FittingColumn> {
    let columns = tab.columns();
    // A mark and a space precede the first one.
    let widths = columns.on_screen(usize::from(width.saturating_sub(MARK + 1)));
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

fn draw_list(frame: &mut Frame<'_>, view: &mut View, model: &Model, theme: Theme, area: Rect) {
    let height = area.height.saturating_sub(1);
    view.list().set_height(height.into());
    view.areas.rows = Rect { y: area.y + 1, height, ..area };
    let (visible, selected) = (view.list().visible(), view.list().selected());
    let order = view.orders[view.tab as usize];
    let columns = fitting(view.tab, area.width);
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
        let mark = view.tab == Tab::Conversations
            && view.numbers(model).get(at).is_some_and(|it| view.marked.contains(it));
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
        let text = shortened(text, column.width).into_owned();
        let tone = shown.tone.filter(|_| column.shown.is_toned);
        cell(text, tone.map_or(Style::new(), |tone| theme.tone(tone)), column)
    });
    let mark = Cell::from(if mark { "*" } else { " " });
    Row::new(std::iter::once(mark).chain(cells))
}

fn draw_ladder(
    frame: &mut Frame<'_>,
    view: &mut View,
    screen: &mut LadderScreen,
    theme: Theme,
    area: Rect,
) {
    let height = area.height.saturating_sub(1);
    screen.list.set_height(height.into());
    screen.fit(area.width.into());
    view.areas.rows = Rect { y: area.y + 1, height, ..area };
    let head = Line::styled(screen.head().to_owned(), theme.tone(Tone::Endpoints));
    frame.render_widget(head, Rect { height: 1, ..area }.intersection(area));
    for (at, y) in screen.list.visible().zip(area.y + 1..area.bottom()) {
        let Some(line) = screen.line(at) else { continue };
        let parts = line.parts.iter().map(|(tone, text)| {
            Span::styled(text.clone(), tone.map_or(Style::new(), |tone| theme.tone(tone)))
        });
        let is_selected = screen.list.selected() == Some(at);
        let style = if is_selected { theme.selected() } else { Style::new() };
        let place = Rect { y, height: 1, ..area };
        frame.render_widget(Line::from_iter(parts), place);
        frame.buffer_mut().set_style(place, style);
    }
}

/// The prompt for a file name.
fn prompt(view: &View) -> String {
    let what = match view.chosen() {
        Chosen::Conversations(numbers) if view.screens.is_empty() => {
            counted(numbers.len(), "marked conversation")
        }
        Chosen::Conversations(numbers) if numbers.len() > 1 => {
            format!("these {} conversations", grouped(numbers.len()))
        }
        Chosen::Conversations(_) => "this conversation".to_owned(),
        Chosen::Messages(Some(_)) => "the messages that the filter wants".to_owned(),
        Chosen::Messages(None) => "all messages".to_owned(),
    };
    format!("write {what} to: ")
}

/// A text in this many lines at most.
fn wrapped(text: &str, width: u16, most: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let lines = letters.chunks(usize::from(width.max(20))).take(most);
    lines.map(|line| line.iter().collect()).collect()
}

/// The selection, the input line, or a note: at least one line.
fn note_lines(view: &View, model: &Model, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let said = |text: &str, style| {
        let lines = wrapped(text, width, 3).into_iter();
        lines.map(|line| Line::styled(line, style)).collect()
    };
    match (&view.typing, &view.note) {
        (Some(InputMode::File(line)), _) => {
            let asked = Span::styled(prompt(view), theme.tone(Tone::Label));
            vec![Line::from(vec![asked, Span::raw(line.text().to_owned())])]
        }
        (_, Some(note)) if note.is_error => said(&note.text, theme.error()),
        (_, Some(note)) => said(&note.text, theme.tone(Tone::Good)),
        _ => {
            // The same number of lines for each row, so that the layout is stable.
            let rows = match view.screens.last() {
                Some(Screen::Message(_)) => 2,
                None if view.tab != Tab::Conversations => 2,
                _ => 1,
            };
            let mut lines = wrapped(&about(view, model), width, rows);
            lines.resize(rows, String::new());
            lines.into_iter().map(Line::raw).collect()
        }
    }
}

/// The selected row, field or ladder, uncut.
fn about(view: &View, model: &Model) -> String {
    match view.screens.last() {
        Some(Screen::Message(screen)) => {
            let range = screen.marked();
            let bytes = match range.len() {
                0 => String::new(),
                1 => format!("byte {:#04x} of {}", range.start, screen.opened.bytes.len()),
                _ => format!(
                    "bytes {:#04x}-{:#04x} of {}",
                    range.start,
                    range.end - 1,
                    screen.opened.bytes.len()
                ),
            };
            let unpacked = if screen.opened.is_inflated { ", decompressed" } else { "" };
            let field = screen.list.selected().and_then(|at| screen.opened.fields.get(at));
            let field = field.map_or(String::new(), |it| format!("{}{}", it.label, it.text));
            let comma = if bytes.is_empty() { "" } else { ": " };
            format!("{bytes}{unpacked}{comma}{field}")
        }
        Some(Screen::Ladder(screen)) => {
            let (messages, left_out) = screen.counts();
            let more = if left_out > 0 {
                format!(", {} of them not drawn", grouped(left_out))
            } else {
                String::new()
            };
            format!("{}{more}", counted(messages.into(), "message"))
        }
        None => {
            let selected = view.lists[view.tab as usize].selected();
            let row = selected.and_then(|at| view.row(at, model));
            row.map_or(String::new(), |row| row.whole)
        }
    }
}

/// Progress of reading, counts, and a hint about keys.
fn draw_status(frame: &mut Frame<'_>, view: &View, model: &Model, theme: Theme, area: Rect) {
    let mut parts = Vec::new();
    match model.reading {
        ReadingProgress::Files(Some(share)) => {
            parts.push(format!("reading {:.0} %", share * 100.0))
        }
        ReadingProgress::Files(None) => parts.push("reading".to_owned()),
        ReadingProgress::Live => parts.push("live".to_owned()),
        ReadingProgress::Over => {}
    }
    if let Some((what, share)) = view.waiting {
        parts.push(format!("{what} {:.0} % (Esc gives up)", share * 100.0));
    }
    parts.push(counted(model.index.messages(), "message"));
    if model.index.let_go() > 0 {
        parts.push(format!(
            "{} dropped (--memory)",
            counted(model.index.let_go(), "old conversation")
        ));
    }
    if let Some((kept, let_go)) = model.kept.filter(|(_, let_go)| *let_go > 0) {
        parts.push(format!(
            "{} kept, {} older dropped (--memory)",
            counted(kept, "packet"),
            grouped(let_go)
        ));
    }
    if model.summary().servers.is_cut || model.summary().masters.is_cut {
        parts.push("more servers than fit (--memory)".to_owned());
    }
    if view.waiting.is_none() && model.matches.as_ref().is_some_and(|it| !it.is_complete) {
        parts.push("not all of it was looked at with the filter".to_owned());
    }
    if !view.marked.is_empty() {
        parts.push(format!("{} marked", grouped(view.marked.len() as u64)));
    }
    if model.left_out() > 0 {
        parts.push(format!("{} only counted", counted(model.left_out(), "finding")));
    }
    if let Some(note) = model.notes.last().filter(|_| model.reading != ReadingProgress::Live) {
        parts.push(note.trim_start_matches("gamewire: ").to_owned());
    }
    let hint = "? keys  q quit";
    let room = usize::from(area.width).saturating_sub(hint.len() + 1);
    let text = shortened(&parts.join(", "), room).into_owned();
    let style = theme.bar();
    frame.buffer_mut().set_style(area, style);
    frame.render_widget(Line::styled(text, style), area);
    let [_, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(hint.len() as u16)])
            .areas(area);
    frame.render_widget(Line::styled(hint, style), right);
}
