//! Mouse events, mapped to what was drawn at that place.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::tabs::Tab;
use super::{Model, Screen, TaskRequest, View};

/// Rows by which the wheel moves.
const WHEEL: isize = 3;

/// The latest positions of elements on the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct Areas {
    /// The titles of the tabs.
    pub(super) tabs: [Rect; Tab::ALL.len()],
    /// The columns of the list, by their indices in its table.
    pub(super) columns: Vec<usize>,
    /// The line of the display filter.
    pub(super) filter: Rect,
    /// The rows of the list, the ladder or the fields.
    pub(super) rows: Rect,
    /// The bytes in hex: three columns each, and one more in the middle.
    pub(super) bytes: Rect,
}

impl View {
    /// Handles a mouse event; returns the request that follows from it.
    pub fn mouse(&mut self, event: MouseEvent, model: &Model) -> Option<TaskRequest> {
        let at = Position::new(event.column, event.row);
        match event.kind {
            MouseEventKind::ScrollDown => self.wheel(WHEEL),
            MouseEventKind::ScrollUp => self.wheel(-WHEEL),
            MouseEventKind::Down(MouseButton::Left) => return self.click(at, model),
            MouseEventKind::Down(MouseButton::Right) if self.screens.pop().is_some() => {}
            _ => {}
        }
        None
    }

    fn wheel(&mut self, rows: isize) {
        if let Some(at) = &mut self.help {
            *at = at.saturating_add_signed(rows);
            return;
        }
        self.current_list().step(rows);
    }

    fn click(&mut self, at: Position, model: &Model) -> Option<TaskRequest> {
        if self.help.take().is_some() || self.typing.is_some() {
            return None;
        }
        self.note = None;
        if let Some(tab) = self.areas.tabs.iter().position(|area| area.contains(at)) {
            self.turn_to(tab, model);
        } else if self.areas.filter.contains(at) {
            return self.key(ratatui::crossterm::event::KeyCode::Char('/').into(), model);
        } else if self.areas.bytes.contains(at) {
            self.click_byte(at);
        } else if self.areas.rows.contains(at) {
            return self.click_row(usize::from(at.y - self.areas.rows.y), model);
        }
        None
    }

    /// Selects a row; opens it if it was selected before.
    fn click_row(&mut self, row: usize, model: &Model) -> Option<TaskRequest> {
        let list = self.current_list();
        let row = list.visible().start + row;
        if row >= list.length() {
            return None;
        }
        if list.selected() == Some(row) {
            return self.open(model);
        }
        list.select(row);
        None
    }

    fn click_byte(&mut self, at: Position) {
        let area = self.areas.bytes;
        let Some(Screen::Message(screen)) = self.screens.last_mut() else { return };
        let (top, columns, _) = screen.rows;
        let x = usize::from(at.x - area.x);
        let half = columns / 2 * 3;
        let column = if x >= half { x.saturating_sub(1) / 3 } else { x / 3 };
        let row = top + usize::from(at.y - area.y);
        screen.select_byte(row * columns + column.min(columns.saturating_sub(1)));
    }
}
