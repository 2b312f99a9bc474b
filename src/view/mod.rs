//! `gamewire view`: the contents of the screen, and the effects of keys and mouse.
//!
//! It handles the data ([`Model`]) and the user's view ([`View`]), not the terminal, files or
//! threads: long work is a [`TaskRequest`], and its result a [`TaskReply`].

mod draw;
mod edit;
mod index;
mod list;
mod model;
mod mouse;
mod opened;
mod tabs;

use std::collections::BTreeSet;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use roaring::RoaringBitmap;

use crate::filter::Filter;
use crate::report::TimeStyle;
use crate::rows::Sorting;
use crate::text::grouped;
use edit::{FilterLine, InputLine, KeyEffect};
use list::ListCursor;
use mouse::Areas;
use opened::{LadderScreen, MessageScreen};
use tabs::{FoundRow, PartyRow, Tab};

pub use draw::draw;
pub use index::{BYTES_OF_MESSAGE, Index};
pub use model::{Matches, Model, ReadingProgress};
pub use opened::{OpenedConversation, OpenedMessage};

/// Maximum number of bytes copied: terminals accept no more.
const COPIED: usize = 64 << 10;

/// The status while a display filter is applied.
const FILTERING: &str = "filtering";

/// A request to the surrounding program.
#[derive(Debug)]
pub enum TaskRequest {
    /// Draw conversations as a ladder, with this packet selected.
    Ladder {
        /// Which conversations.
        conversations: RoaringBitmap,
        /// The packet.
        frame: Option<u64>,
    },
    /// Decode a message again: the index in these conversations.
    Message(RoaringBitmap, u32),
    /// Find the conversations that a display filter selects; `None`: all.
    Filter(Option<Filter>),
    /// Write packets to a file.
    Write(String, Chosen),
    /// Copy a text.
    Copy(String),
    /// Cancel the last request.
    Cancel,
    /// Suspend the program, for job control.
    Suspend,
    /// Quit.
    Quit,
}

/// The packets to write.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// Those of these conversations.
    Conversations(RoaringBitmap),
    /// Those of messages that this filter selects, or of all.
    Messages(Option<Filter>),
}

/// The result of a request.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum TaskReply {
    /// A ladder: its conversations, and the packet to select.
    Ladder(RoaringBitmap, OpenedConversation, Option<u64>),
    /// A message; `None`: it no longer exists.
    Message(Option<OpenedMessage>),
    /// The progress of a request, as a share.
    Progress(f64),
    /// The display filter was applied to everything that has been read.
    Filtered,
    /// Something was done.
    Done(String),
    /// Something could not be done.
    Failed(String),
}

/// The text in the line above the last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    text: String,
    is_error: bool,
}

/// A screen above the lists.
enum Screen {
    Ladder(Box<LadderScreen>),
    Message(Box<MessageScreen>),
}

/// The current input line.
enum InputMode {
    Filter(FilterLine),
    File(InputLine),
}

/// The state of the user interface.
pub struct View {
    time: TimeStyle,
    tab: Tab,
    lists: [ListCursor; 3],
    orders: [Sorting; 3],
    /// The conversations that are shown; `None`: all in their original order.
    shown: Option<Vec<u32>>,
    parties: Vec<PartyRow>,
    findings: Vec<FoundRow>,
    marked: BTreeSet<u32>,
    filter: Option<Filter>,
    screens: Vec<Screen>,
    typing: Option<InputMode>,
    /// The first visible line of the help, if it is shown.
    help: Option<usize>,
    note: Option<Note>,
    /// The pending request, and its progress.
    waiting: Option<(&'static str, f64)>,
    areas: Areas,
}

impl View {
    /// Shows the conversations, with this initial filter.
    pub fn new(time: TimeStyle, filter: Option<Filter>) -> View {
        View {
            time,
            tab: Tab::default(),
            lists: Default::default(),
            orders: Default::default(),
            shown: None,
            parties: Vec::new(),
            findings: Vec::new(),
            marked: BTreeSet::new(),
            filter,
            screens: Vec::new(),
            typing: None,
            help: None,
            note: None,
            waiting: None,
            areas: Areas::default(),
        }
    }

    /// Updates the view after more has been read.
    pub fn refresh(&mut self, model: &Model) {
        let order = self.orders[self.tab as usize];
        let length = match self.tab {
            Tab::Conversations => {
                let was = self.conversation(model);
                self.shown = sorted(model, order);
                let length = self.shown.as_ref().map_or(model.index.order().len(), Vec::len);
                // The selection stays on the same conversation.
                let is_elsewhere = was.is_some() && self.conversation(model) != was;
                if let Some(at) = is_elsewhere
                    .then(|| self.numbers(model).iter().position(|it| Some(*it) == was))
                    .flatten()
                {
                    self.lists[0].set_length(length);
                    self.lists[0].select(at);
                }
                length
            }
            Tab::Servers => {
                self.parties = tabs::parties(model, order, self.time);
                self.parties.len()
            }
            Tab::Findings => {
                self.findings = tabs::findings(model, order, self.time);
                self.findings.len()
            }
        };
        self.list().set_length(length);
    }

    fn list(&mut self) -> &mut ListCursor {
        &mut self.lists[self.tab as usize]
    }

    /// The conversations that are shown, in their order.
    fn numbers<'v>(&'v self, model: &'v Model) -> &'v [u32] {
        self.shown.as_deref().unwrap_or(model.index.order())
    }

    /// The selected conversation.
    fn conversation(&self, model: &Model) -> Option<u32> {
        self.numbers(model).get(self.lists[0].selected()?).copied()
    }

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
            KeyCode::Char('y') => return self.copy(model),
            _ => return self.screen_key(key, model),
        }
        None
    }

    /// Takes a text that was pasted.
    pub fn paste(&mut self, text: &str) {
        match &mut self.typing {
            Some(InputMode::Filter(line)) => line.insert(text),
            Some(InputMode::File(line)) => line.insert(text),
            None => {}
        }
    }

    /// Handles the result of a request.
    pub fn reply(&mut self, reply: TaskReply) {
        if let (TaskReply::Progress(share), Some((_, done))) = (&reply, &mut self.waiting) {
            *done = *share;
            return;
        }
        match reply {
            TaskReply::Progress(_) => return,
            TaskReply::Ladder(conversations, drawn, frame) => {
                self.screens.clear();
                let screen = LadderScreen::new(conversations, drawn, frame, self.time);
                self.screens.push(Screen::Ladder(Box::new(screen)));
            }
            TaskReply::Message(Some(opened)) => self.show(opened),
            TaskReply::Message(None) => self.say("no such message is there any more", true),
            // Something else may be waited for by now.
            TaskReply::Filtered if self.waiting.is_none_or(|(what, _)| what != FILTERING) => {
                return;
            }
            TaskReply::Filtered => {}
            TaskReply::Done(text) => self.say(&text, false),
            TaskReply::Failed(text) => self.say(&text, true),
        }
        self.waiting = None;
    }

    fn show(&mut self, opened: OpenedMessage) {
        if let Some(Screen::Message(_)) = self.screens.last() {
            self.screens.pop();
        }
        if let Some(Screen::Ladder(ladder)) = self.screens.last_mut() {
            ladder.select(opened.place);
        }
        self.screens.push(Screen::Message(Box::new(MessageScreen::new(opened))));
    }

    fn say(&mut self, text: &str, is_error: bool) {
        self.note = Some(Note { text: text.to_owned(), is_error });
    }

    fn wait(&mut self, what: &'static str, request: TaskRequest) -> Option<TaskRequest> {
        self.waiting = Some((what, 0.0));
        Some(request)
    }

    fn typed(
        &mut self,
        mut typing: InputMode,
        key: KeyEvent,
        model: &Model,
    ) -> Option<TaskRequest> {
        let typed = match &mut typing {
            InputMode::Filter(line) => line.key(key),
            InputMode::File(line) => line.key(key),
        };
        match (typed, typing) {
            (KeyEffect::GivenUp, _) => None,
            (KeyEffect::Edited, typing) => {
                self.typing = Some(typing);
                None
            }
            (KeyEffect::Done, InputMode::File(line)) if line.text().trim().is_empty() => None,
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
        self.lists[0].select(0);
        self.refresh(model);
        match filter {
            Some(_) => self.wait(FILTERING, TaskRequest::Filter(filter)),
            None => Some(TaskRequest::Filter(None)),
        }
    }

    /// The packets to write: of the open screen, else of the marked ones, else of the shown ones.
    fn chosen(&self) -> Chosen {
        match self.screens.first() {
            Some(Screen::Ladder(ladder)) => Chosen::Conversations(ladder.conversations.clone()),
            _ if !self.marked.is_empty() => {
                Chosen::Conversations(self.marked.iter().copied().collect())
            }
            _ => Chosen::Messages(self.filter.clone()),
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
        let list = match self.screens.last_mut() {
            Some(Screen::Ladder(screen)) => &mut screen.list,
            Some(Screen::Message(screen)) => &mut screen.list,
            None => &mut self.lists[self.tab as usize],
        };
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
            KeyCode::Char('n') | KeyCode::Right => return self.neighbour(1),
            KeyCode::Char('p') => return self.neighbour(-1),
            KeyCode::Char('r') => {
                if let Some(Screen::Ladder(ladder)) = self.screens.first() {
                    let conversations = ladder.conversations.clone();
                    return self
                        .wait("reading", TaskRequest::Ladder { conversations, frame: None });
                }
            }
            _ if self.screens.is_empty() => self.list_key(key, model),
            _ => {}
        }
        None
    }

    /// Keys of the lists alone.
    fn list_key(&mut self, key: KeyEvent, model: &Model) {
        match key.code {
            KeyCode::Tab => self.turn_to(self.tab as usize + 1, model),
            KeyCode::BackTab => self.turn_to(self.tab as usize + 2, model),
            KeyCode::Char(digit @ '1'..='3') => self.turn_to(digit as usize - '1' as usize, model),
            KeyCode::Char('s') => self.sort(model),
            KeyCode::Char('S') => {
                let order = &mut self.orders[self.tab as usize];
                order.is_reversed = !order.is_reversed;
                self.refresh(model);
            }
            KeyCode::Char(' ') => self.mark(model),
            KeyCode::Char('u') => self.marked.clear(),
            _ => {}
        }
    }

    fn turn_to(&mut self, tab: usize, model: &Model) {
        self.tab = Tab::ALL[tab % Tab::ALL.len()];
        self.refresh(model);
    }

    /// Sorts by the next column.
    fn sort(&mut self, model: &Model) {
        let (table, order) = (self.tab.table(), self.orders[self.tab as usize]);
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
            return self.say("conversations can be marked, in the first tab", false);
        }
        if let Some(number) = self.conversation(model) {
            if !self.marked.remove(&number) {
                self.marked.insert(number);
            }
            self.lists[0].step(1);
        }
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

    fn open(&mut self, model: &Model) -> Option<TaskRequest> {
        match self.screens.last() {
            Some(Screen::Ladder(ladder)) => {
                let conversations = ladder.conversations.clone();
                match ladder.message() {
                    Some(nth) => self.wait("reading", TaskRequest::Message(conversations, nth)),
                    None => {
                        self.say("this line is not a message", false);
                        None
                    }
                }
            }
            Some(Screen::Message(_)) => None,
            None => self.open_row(model),
        }
    }

    fn open_row(&mut self, model: &Model) -> Option<TaskRequest> {
        let selected = self.list().selected()?;
        let (conversations, frame) = match self.tab {
            Tab::Conversations => ([self.conversation(model)?].into(), None),
            Tab::Findings => {
                let row = self.findings.get(selected)?;
                match row.conversation.filter(|&it| model.index.get(it).is_some()) {
                    Some(conversation) => ([conversation].into(), Some(row.frame)),
                    None => {
                        self.say("this finding is about no conversation that is shown", false);
                        return None;
                    }
                }
            }
            Tab::Servers => {
                let end = self.parties.get(selected)?.end;
                let (first, all) = tabs::of_party(model, end);
                if first.is_empty() {
                    self.say("its conversations are no longer kept (--memory)", true);
                    return None;
                }
                if first.len() < all {
                    let (first, all) = (grouped(first.len()), grouped(all));
                    self.say(&format!("the first {first} of its {all} conversations"), false);
                }
                (first, None)
            }
        };
        self.wait("reading", TaskRequest::Ladder { conversations, frame })
    }

    /// The message before or after the open one.
    fn neighbour(&mut self, by: i32) -> Option<TaskRequest> {
        let Some(Screen::Message(screen)) = self.screens.last() else { return None };
        let nth = screen.opened.place;
        let Some(Screen::Ladder(ladder)) = self.screens.first() else { return None };
        let (all, conversations) = (ladder.counts().0, ladder.conversations.clone());
        match nth.checked_add_signed(by).filter(|&nth| nth < all) {
            Some(nth) => self.wait("reading", TaskRequest::Message(conversations, nth)),
            None => {
                self.say("no more messages this way", false);
                None
            }
        }
    }

    /// The open or selected element as text.
    fn copy(&mut self, model: &Model) -> Option<TaskRequest> {
        let text = match self.screens.last() {
            Some(Screen::Ladder(screen)) => screen.text(),
            Some(Screen::Message(screen)) => screen.opened.text.clone(),
            None => self.row(self.lists[self.tab as usize].selected()?, model)?.whole,
        };
        if text.len() > COPIED {
            self.say("too long to be copied; write it with w, or use `gamewire follow`", true);
            return None;
        }
        Some(TaskRequest::Copy(text))
    }

    /// A row of the tab.
    fn row(&self, at: usize, model: &Model) -> Option<tabs::ShownRow> {
        match self.tab {
            Tab::Conversations => {
                let it = model.index.get(*self.numbers(model).get(at)?)?;
                Some(tabs::conversation(&it, model, self.time))
            }
            Tab::Servers => self.parties.get(at).map(|row| row.shown.clone()),
            Tab::Findings => self.findings.get(at).map(|row| row.shown.clone()),
        }
    }
}

/// The selected conversations in an order; `None`: all in the original order.
fn sorted(model: &Model, order: Sorting) -> Option<Vec<u32>> {
    if model.matches.is_none() && order == Sorting::default() {
        return None;
    }
    let wanted = |number: &u32| {
        model.matches.as_ref().is_none_or(|matches| matches.conversations.contains(*number))
    };
    let mut numbers: Vec<_> = model.index.order().iter().copied().filter(wanted).collect();
    tabs::sort_conversations(&mut numbers, order, model);
    Some(numbers)
}
