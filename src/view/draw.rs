//! Draws a [`View`] of a [`Model`], in any terminal size.

mod bars;
mod help;
mod list;
mod message;
mod theme;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::edit::FilterLine;
use super::opened::LadderScreen;
use super::tabs::Tab;
use super::{Areas, Chosen, InputMode, Model, Screen, View};
use crate::report::paint::Tone;
use crate::text::{counted, grouped, hanging};
use theme::Theme;

/// Minimum width of a list beside an open message.
const LIST: u16 = 39;

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
    bars::draw_title(frame, view, model, theme, title);
    let typed = cursor_column(view);
    let shift = typed.map_or(0, |column| (column + 1).saturating_sub(frame.area().width));
    draw_filter(frame, view, theme, filter, shift);
    match view.screens.pop() {
        Some(Screen::Ladder(mut screen)) => {
            draw_ladder(frame, view, &mut screen, theme, body);
            view.screens.push(Screen::Ladder(screen));
        }
        Some(Screen::Message(mut screen)) => {
            let body = draw_beside(frame, view, model, theme, body);
            let head = screen.opened.head(&view.time_of_open(&screen.opened, model));
            message::draw(frame, &mut view.areas, &head, &mut screen, theme, body);
            view.screens.push(Screen::Message(screen));
        }
        Some(Screen::Page(mut page)) => {
            list::draw_page(frame, view, &mut page, theme, body);
            view.screens.push(Screen::Page(page));
        }
        None if view.tab == Tab::Answer => list::draw_answer(frame, view, theme, body),
        None if view.tab == Tab::Messages => {
            list::draw_messages(frame, view, model, theme, false, body);
        }
        None => list::draw(frame, view, model, theme, body),
    }
    let is_below = matches!(view.typing, Some(InputMode::File(_) | InputMode::LadderFile(_)));
    for (line, y) in lines.into_iter().zip(note.y..note.bottom()) {
        let line = Paragraph::new(line).scroll((0, if is_below { shift } else { 0 }));
        frame.render_widget(line, Rect { y, height: 1, ..note });
    }
    bars::draw_status(frame, view, model, theme, status);
    if let Some(InputMode::Filter(line)) = &view.typing {
        draw_names(frame, line, theme, Rect { y: body.y, height: body.height, ..filter });
    }
    if let Some(column) = typed {
        let line = if is_below { note } else { filter };
        frame.set_cursor_position(Position::new(line.x + (column - shift), line.y));
    }
    if let Some(top) = view.help {
        view.help = Some(help::draw(frame, top, theme, body));
    }
}

/// Where there is room, draws the list with the open message left of it. Returns the room for the message.
fn draw_beside(
    frame: &mut Frame<'_>,
    view: &mut View,
    model: &Model,
    theme: Theme,
    area: Rect,
) -> Rect {
    if area.width < message::WIDTH + LIST {
        return area;
    }
    let width = match area.width >= message::FULL_WIDTH + 2 * LIST {
        true => message::FULL_WIDTH,
        false => message::WIDTH,
    };
    let parts = [Constraint::Fill(1), Constraint::Length(width)];
    let [left, right] = Layout::horizontal(parts).spacing(1).areas(area);
    match view.screens.pop() {
        Some(Screen::Ladder(mut screen)) => {
            draw_ladder(frame, view, &mut screen, theme, left);
            view.screens.push(Screen::Ladder(screen));
        }
        Some(other) => view.screens.push(other),
        None if view.tab == Tab::Messages => {
            list::draw_messages(frame, view, model, theme, true, left);
        }
        None => {}
    }
    right
}

/// The column of the cursor in the line that is typed, after its prompt. A line that is too long for the screen is
/// shifted, so that the cursor is on it.
fn cursor_column(view: &View) -> Option<u16> {
    let (prompt, line) = match view.typing.as_ref()? {
        InputMode::Filter(line) => (FILTER_PROMPT.to_owned(), &line.line),
        InputMode::File(line) => (prompt(view), line),
        InputMode::LadderFile(line) => (LADDER_PROMPT.to_owned(), line),
    };
    Some(theme::columns(&prompt) + line.column() as u16)
}

/// The display filter, or its input line with a marked error. `shift`: the columns of it that are left out.
fn draw_filter(frame: &mut Frame<'_>, view: &View, theme: Theme, area: Rect, shift: u16) {
    let label = Span::styled(FILTER_PROMPT, theme.tone(Tone::Faint));
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
    let is_typed = matches!(view.typing, Some(InputMode::Filter(_)));
    frame.render_widget(Paragraph::new(line).scroll((0, if is_typed { shift } else { 0 })), area);
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

/// The prompt for a display filter, and what is before one that is set.
const FILTER_PROMPT: &str = "filter: ";

/// The prompt for the file name of a ladder.
const LADDER_PROMPT: &str = "save the ladder (.txt, .svg, .json, .mmd) to: ";

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

/// A text in this many lines at most: broken between words, if it fits.
fn wrapped(text: &str, width: u16, most: usize) -> Vec<String> {
    let width = usize::from(width.max(20));
    let broken = hanging(text, 0, Some(width));
    let fits = |line: &str| line.chars().count() <= width;
    if broken.lines().count() <= most && broken.lines().all(fits) {
        return broken.lines().map(str::to_owned).collect();
    }
    let letters: Vec<char> = text.chars().collect();
    let lines = letters.chunks(width).take(most);
    lines.map(|line| line.iter().collect()).collect()
}

/// The selection, the input line, or a note: at least one line.
fn note_lines(view: &View, model: &Model, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let styled = |text: &str, style| {
        let lines = wrapped(text, width, 3).into_iter();
        lines.map(|line| Line::styled(line, style)).collect()
    };
    match (&view.typing, &view.note) {
        (Some(InputMode::File(line)), _) => {
            let asked = Span::styled(prompt(view), theme.tone(Tone::Label));
            vec![Line::from(vec![asked, Span::raw(line.text().to_owned())])]
        }
        (Some(InputMode::LadderFile(line)), _) => {
            let asked = Span::styled(LADDER_PROMPT, theme.tone(Tone::Label));
            vec![Line::from(vec![asked, Span::raw(line.text().to_owned())])]
        }
        (_, Some(note)) if note.is_error => styled(&note.text, theme.error()),
        (_, Some(note)) => styled(&note.text, theme.tone(Tone::Good)),
        _ => {
            // The same number of lines for each row, so that the layout is stable.
            let rows = match view.screens.last() {
                Some(Screen::Message(_)) => 2,
                None if matches!(view.tab, Tab::Servers | Tab::Findings) => 2,
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
            let field = screen.list.selected().and_then(|at| screen.opened.fields.get(at));
            let field = field.map_or(String::new(), |it| format!("{}{}", it.label, it.text));
            match (bytes.is_empty(), screen.opened.is_inflated) {
                (true, _) => field,
                (false, true) => format!("{bytes}, decompressed: {field}"),
                (false, false) => format!("{bytes}: {field}"),
            }
        }
        Some(Screen::Page(_)) => "Esc goes back; y copies this text".to_owned(),
        Some(Screen::Ladder(screen)) => {
            let (messages, left_out) = screen.counts();
            let more = if left_out > 0 {
                format!(", {} of them not drawn", grouped(left_out))
            } else {
                String::new()
            };
            format!("{}{more}", counted(messages.into(), "message"))
        }
        None if view.tab == Tab::Answer => {
            let selected = view.lists[Tab::Answer as usize].selected();
            let about = selected.and_then(|at| view.answer.about(at));
            about.map_or(String::new(), |end| match end.port() {
                0 => format!("Enter shows what {} sent and got", end.ip()),
                _ => format!("Enter shows what {end} sent and got"),
            })
        }
        None if view.tab == Tab::Messages => {
            let selected = view.lists[Tab::Messages as usize].selected();
            let row = selected.and_then(|at| {
                let conversation = model.messages.conversation(view.place_of_message(at)?)?;
                let capture = model.index.get(conversation)?.capture;
                let row = view.message_row(at, model, false)?;
                Some(model.index.prefix_of(capture) + &row)
            });
            row.unwrap_or_default()
        }
        None => {
            let selected = view.lists[view.tab as usize].selected();
            let row = selected.and_then(|at| view.row(at, model));
            row.map_or(String::new(), |row| row.whole)
        }
    }
}
