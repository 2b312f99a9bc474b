//! The effects of keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::edit::{FilterLine, InputLine, KeyEffect};
use super::tabs::Tab;
use super::{FILTERING, InputMode, Model, ReadingProgress, Screen, TaskRequest, View};
use crate::filter::Filter;
use crate::report::TimeStyle;
use crate::rows::Sorting;

/// All styles of times, by the names that `--time` has for them.
const TIME_STYLES: [(TimeStyle, &str); 5] = [
    (TimeStyle::Utc, "utc"),
    (TimeStyle::Local, "local"),
    (TimeStyle::Relative, "relative"),
    (TimeStyle::Delta, "delta"),
    (TimeStyle::Epoch, "epoch"),
];

impl View {
    /// Whether an input line is active, so that keys are letters.
    pub fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    /// Handles a key. Returns a request, if any.
    pub fn key(&mut self, key: KeyEvent, model: &Model) -> Option<TaskRequest> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Some(TaskRequest::Quit),
            KeyCode::Char('z') if control => return Some(TaskRequest::Suspend),
            _ => {}
        }
        self.note = None;
        if let Some(typing) = self.typing.take() {
            return self.typed(typing, key, model);
        }
        if self.help.is_some() {
            self.help_key(key);
            return None;
        }
        match key.code {
            KeyCode::Char('?') | KeyCode::F(1) => self.help = Some(0),
            KeyCode::Char('q') if self.screens.is_empty() => return Some(TaskRequest::Quit),
            KeyCode::Esc if self.waiting.take().is_some() => return Some(TaskRequest::Cancel),
            KeyCode::Char('/') => {
                let text = self.filter.as_ref().map_or(String::new(), Filter::to_string);
                self.typing = Some(InputMode::Filter(FilterLine::of(&text)));
            }
            KeyCode::Char('w') => {
                self.typing = Some(InputMode::File(InputLine::of("gamewire.pcapng")))
            }
            KeyCode::Char('W') => self.ask_for_ladder_file(),
            KeyCode::Char('t') => self.next_time_style(model),
            KeyCode::Char('e') => self.explain(model),
            KeyCode::Char('m') => self.remember(),
            KeyCode::Char('d') => self.compare(model),
            KeyCode::Char('y') => return self.copy(model),
            _ => return self.screen_key(key, model),
        }
        None
    }

    /// Takes a text that was pasted.
    pub fn paste(&mut self, text: &str) {
        match &mut self.typing {
            Some(InputMode::Filter(line)) => line.insert(text),
            Some(InputMode::File(line) | InputMode::LadderFile(line)) => line.insert(text),
            None => {}
        }
    }

    fn typed(
        &mut self,
        mut typing: InputMode,
        key: KeyEvent,
        model: &Model,
    ) -> Option<TaskRequest> {
        let typed = match &mut typing {
            InputMode::Filter(line) => line.key(key),
            InputMode::File(line) | InputMode::LadderFile(line) => line.key(key),
        };
        match (typed, typing) {
            (KeyEffect::GivenUp, _) => None,
            (KeyEffect::Edited, typing) => {
                self.typing = Some(typing);
                None
            }
            (KeyEffect::Done, InputMode::File(line) | InputMode::LadderFile(line))
                if line.text().trim().is_empty() =>
            {
                None
            }
            (KeyEffect::Done, InputMode::LadderFile(line)) => self.save_ladder(line.text()),
            (KeyEffect::Done, InputMode::File(line)) => {
                let request = TaskRequest::Write(line.text().to_owned(), self.chosen());
                self.wait("writing", request)
            }
            (KeyEffect::Done, InputMode::Filter(line)) => match line.filter() {
                Ok(filter) => self.set_filter(filter, model),
                // The error is shown, and the line can be corrected.
                Err(_) => {
                    self.typing = Some(InputMode::Filter(line));
                    None
                }
            },
        }
    }

    fn set_filter(&mut self, filter: Option<Filter>, model: &Model) -> Option<TaskRequest> {
        self.filter.clone_from(&filter);
        self.screens.clear();
        self.lists[Tab::Conversations as usize].select(0);
        self.refresh(model);
        match filter {
            Some(_) => self.wait(FILTERING, TaskRequest::Filter(filter)),
            None => Some(TaskRequest::Filter(None)),
        }
    }

    fn help_key(&mut self, key: KeyEvent) {
        let at = self.help.unwrap_or(0);
        self.help = match key.code {
            KeyCode::Down | KeyCode::Char('j') => Some(at + 1),
            KeyCode::Up | KeyCode::Char('k') => Some(at.saturating_sub(1)),
            KeyCode::PageDown => Some(at + 10),
            KeyCode::PageUp => Some(at.saturating_sub(10)),
            _ => None,
        };
    }

    fn screen_key(&mut self, key: KeyEvent, model: &Model) -> Option<TaskRequest> {
        let list = self.current_list();
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => list.step(1),
            KeyCode::Up | KeyCode::Char('k') => list.step(-1),
            KeyCode::PageDown => list.page(1),
            KeyCode::PageUp => list.page(-1),
            KeyCode::Home | KeyCode::Char('g') => list.select(0),
            KeyCode::End | KeyCode::Char('G') => list.end(),
            KeyCode::Enter => return self.open(model),
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Backspace | KeyCode::Left => {
                return self.back(key.code, model);
            }
            KeyCode::Char('n') | KeyCode::Right => return self.neighbour(1, model),
            KeyCode::Char('p') => return self.neighbour(-1, model),
            KeyCode::Char('r') => return self.again(model),
            KeyCode::Tab => self.turn_to(self.tab as usize + 1, model),
            KeyCode::BackTab => self.turn_to(self.tab as usize + Tab::ALL.len() - 1, model),
            KeyCode::Char(digit @ '1'..='5') => self.turn_to(digit as usize - '1' as usize, model),
            _ if self.screens.is_empty() => self.list_key(key, model),
            _ => {}
        }
        None
    }

    /// Writes times in the next style.
    fn next_time_style(&mut self, model: &Model) {
        let at = TIME_STYLES.iter().position(|(style, _)| *style == self.time).unwrap_or(0);
        let (style, name) = TIME_STYLES[(at + 1) % TIME_STYLES.len()];
        self.time = style;
        for screen in &mut self.screens {
            match screen {
                Screen::Ladder(ladder) => ladder.write_times(style),
                Screen::Page(page) => page.write_times(style, model),
                Screen::Message(_) => {}
            }
        }
        self.refresh(model);
        self.say(&format!("times: {name}"), false);
    }

    fn ask_for_ladder_file(&mut self) {
        match self.screens.first() {
            Some(Screen::Ladder(_)) => {
                self.typing = Some(InputMode::LadderFile(InputLine::of("ladder.svg")));
            }
            _ => self.say("Enter opens a ladder, which W saves", false),
        }
    }

    /// Saves the open ladder in the format of the file's name.
    fn save_ladder(&mut self, file: &str) -> Option<TaskRequest> {
        let Some(Screen::Ladder(ladder)) = self.screens.first() else { return None };
        let bytes = ladder.saved(file);
        self.wait("writing", TaskRequest::Save(file.to_owned(), bytes))
    }

    /// Draws the open conversations again, or judges what has been read so far.
    fn again(&mut self, model: &Model) -> Option<TaskRequest> {
        if let Some(Screen::Ladder(ladder)) = self.screens.first() {
            let conversations = ladder.conversations.clone();
            return self.wait("reading", TaskRequest::Ladder { conversations, frame: None });
        }
        let is_here = self.screens.is_empty() && self.tab == Tab::Answer;
        if is_here && model.reading != ReadingProgress::Over {
            self.wait("judging", TaskRequest::Answer)
        } else {
            None
        }
    }

    /// Keys of the lists alone.
    fn list_key(&mut self, key: KeyEvent, model: &Model) {
        match key.code {
            KeyCode::Char('s') => self.sort(model),
            KeyCode::Char('S') => {
                let order = &mut self.orders[self.tab as usize];
                order.is_reversed = !order.is_reversed;
                self.refresh(model);
            }
            KeyCode::Char(' ') => self.mark(model),
            KeyCode::Char('h') => self.group(model),
            KeyCode::Char('u') => self.marked.clear(),
            _ => {}
        }
    }

    /// Shows another tab, in place of what is open.
    pub(super) fn turn_to(&mut self, tab: usize, model: &Model) {
        self.screens.clear();
        self.tab = Tab::ALL[tab % Tab::ALL.len()];
        self.refresh(model);
    }

    /// Sorts by the next column.
    fn sort(&mut self, model: &Model) {
        let Some(table) = self.tab.table() else { return };
        let order = self.orders[self.tab as usize];
        let columns = &self.areas.columns;
        let next = order.column.map_or(0, |column| {
            columns.iter().position(|at| *at == column).map_or(columns.len(), |at| at + 1)
        });
        let column = columns.get(next).copied();
        self.orders[self.tab as usize] = Sorting::by(table, column, false);
        let headings = table.headings();
        let by = column.and_then(|at| headings.get(at)?.shown).map(|shown| shown.heading);
        self.say(
            &by.map_or("not sorted".to_owned(), |by| format!("sorted by {by}; S reverses")),
            false,
        );
        self.refresh(model);
    }

    fn mark(&mut self, model: &Model) {
        if self.tab != Tab::Conversations {
            return self.say("conversations can be marked, in their tab", false);
        }
        let list = &mut self.lists[Tab::Conversations as usize];
        let Some(at) = list.selected() else { return };
        list.step(1);
        let is_marked = self.is_marked(at, model);
        for number in self.numbers_of(at, model) {
            match is_marked {
                true => self.marked.remove(&number),
                false => self.marked.insert(number),
            };
        }
    }

    /// Groups conversations by their hosts, or no longer.
    fn group(&mut self, model: &Model) {
        if self.tab != Tab::Conversations {
            return self.say("conversations can be grouped by hosts, in their tab", false);
        }
        let (pairs, says) = match self.pairs {
            None => (Some(Vec::new()), "grouped by pairs of hosts; h ends it"),
            Some(_) => (None, "not grouped"),
        };
        self.pairs = pairs;
        self.lists[Tab::Conversations as usize].select(0);
        self.refresh(model);
        self.say(says, false);
    }

    fn back(&mut self, code: KeyCode, model: &Model) -> Option<TaskRequest> {
        if self.screens.pop().is_some() {
            return None;
        }
        match code {
            KeyCode::Esc if self.filter.is_some() => return self.set_filter(None, model),
            KeyCode::Esc if !self.marked.is_empty() => self.marked.clear(),
            KeyCode::Esc => self.say("q quits", false),
            _ => {}
        }
        None
    }
}
