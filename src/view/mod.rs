//! `gamewire view`: the contents of the screen, and the effects of keys and mouse.
//!
//! It handles the data ([`Model`]) and the user's view ([`View`]), not the terminal, files or
//! threads: long work is a [`TaskRequest`], and its result a [`TaskReply`].

mod answer;
mod draw;
mod edit;
mod hosts;
mod index;
mod keys;
mod list;
mod messages;
mod model;
mod mouse;
mod open;
mod opened;
mod pages;
mod tabs;

use std::collections::BTreeSet;

use dissectors::kit::Time;
use roaring::RoaringBitmap;

use crate::filter::Filter;
use crate::report::TimeStyle;
use crate::rows::Sorting;
use answer::AnswerList;
use edit::{FilterLine, InputLine};
use hosts::PairRow;
use list::ListCursor;
use mouse::Areas;
use opened::{LadderScreen, MessageScreen};
use pages::Page;
use tabs::{FoundRow, PartyRow, Tab, TabCounts};

pub use draw::draw;
pub use index::{BYTES_OF_CONVERSATION, Index};
pub use model::{CaptureAnswer, Matches, Model, ReadingProgress};
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
    /// Judge a live capture so far.
    Answer,
    /// Write packets to a file.
    Write(String, Chosen),
    /// Write these bytes to a new file.
    Save(String, Vec<u8>),
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
    /// A live capture was judged.
    Judged,
    /// The progress of a request, as a share.
    Progress(f64),
    /// The display filter was applied to everything that has been read.
    Filtered,
    /// Something was done.
    Done(String),
    /// Something could not be done.
    Failed(String),
}

/// Digits of a second in lists.
const DIGITS: u8 = 6;

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
    /// A text: the explanation of a rule, or the difference of two messages.
    Page(Box<Page>),
}

impl Screen {
    fn list(&mut self) -> &mut ListCursor {
        match self {
            Screen::Ladder(screen) => &mut screen.list,
            Screen::Message(screen) => &mut screen.list,
            Screen::Page(page) => &mut page.list,
        }
    }
}

/// The current input line.
enum InputMode {
    Filter(FilterLine),
    File(InputLine),
    /// The file for the open ladder.
    LadderFile(InputLine),
}

/// The state of the user interface.
pub struct View {
    time: TimeStyle,
    tab: Tab,
    lists: [ListCursor; Tab::ALL.len()],
    orders: [Sorting; Tab::ALL.len()],
    answer: AnswerList,
    /// The conversations that are shown; `None`: all in their original order.
    shown: Option<Vec<u32>>,
    /// The pairs of hosts of these conversations, if they are grouped.
    pairs: Option<Vec<PairRow>>,
    parties: Vec<PartyRow>,
    findings: Vec<FoundRow>,
    /// The messages that the filter selects; `None`: all.
    messages: Option<Vec<u32>>,
    /// How much there is of what the filter selects.
    counts: TabCounts,
    marked: BTreeSet<u32>,
    /// The message with which another one is compared.
    compared: Option<OpenedMessage>,
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
    /// Shows the answer, with this initial filter.
    pub fn new(time: TimeStyle, filter: Option<Filter>) -> View {
        View {
            time,
            tab: Tab::default(),
            lists: Default::default(),
            orders: Default::default(),
            answer: AnswerList::default(),
            shown: None,
            pairs: None,
            parties: Vec::new(),
            findings: Vec::new(),
            messages: None,
            counts: TabCounts::default(),
            marked: BTreeSet::new(),
            compared: None,
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
            Tab::Answer => {
                self.answer.refresh(model, self.time);
                self.answer.length()
            }
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
                    self.lists[Tab::Conversations as usize].set_length(length);
                    self.lists[Tab::Conversations as usize].select(at);
                }
                if self.pairs.is_some() {
                    self.pairs = Some(hosts::pairs(self.numbers(model), model, self.time));
                }
                self.pairs.as_ref().map_or(length, Vec::len)
            }
            Tab::Servers => {
                self.parties = tabs::parties(model, order, self.time);
                self.parties.len()
            }
            Tab::Findings => {
                self.findings = tabs::findings(model, order, self.time);
                self.findings.len()
            }
            Tab::Messages => {
                let wanted = model.matches.as_ref();
                self.messages =
                    wanted.map(|wanted| model.messages.places(|of, frame| wanted.has(of, frame)));
                self.messages.as_ref().map_or(model.messages.len(), Vec::len)
            }
        };
        self.list().set_length(length);
        self.counts = TabCounts::of(model);
    }

    fn list(&mut self) -> &mut ListCursor {
        &mut self.lists[self.tab as usize]
    }

    /// The list that keys move in: of the open screen, or of the tab.
    fn current_list(&mut self) -> &mut ListCursor {
        match self.screens.last_mut() {
            Some(screen) => screen.list(),
            None => &mut self.lists[self.tab as usize],
        }
    }

    /// The conversations that are shown, in their order.
    fn numbers<'v>(&'v self, model: &'v Model) -> &'v [u32] {
        self.shown.as_deref().unwrap_or(model.index.order())
    }

    /// The conversations of a row of their list.
    fn numbers_of(&self, at: usize, model: &Model) -> RoaringBitmap {
        match &self.pairs {
            Some(pairs) => pairs.get(at).map(|pair| pair.numbers.clone()).unwrap_or_default(),
            None => self.numbers(model).get(at).copied().into_iter().collect(),
        }
    }

    /// Whether a row of the list of conversations is marked.
    fn is_marked(&self, at: usize, model: &Model) -> bool {
        if self.marked.is_empty() {
            return false;
        }
        let own = self.numbers_of(at, model);
        !own.is_empty() && own.iter().all(|number| self.marked.contains(&number))
    }

    /// The selected conversation, if they are not grouped.
    fn conversation(&self, model: &Model) -> Option<u32> {
        if self.pairs.is_some() {
            return None;
        }
        self.numbers(model).get(self.lists[Tab::Conversations as usize].selected()?).copied()
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
            TaskReply::Filtered | TaskReply::Judged => {}
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

    /// The place of a row among all messages.
    fn place_of_message(&self, at: usize) -> Option<usize> {
        match &self.messages {
            Some(places) => places.get(at).map(|place| *place as usize),
            None => Some(at),
        }
    }

    /// A row of the list of messages, as a line. `is_narrow`: it is beside an open message.
    fn message_row(&self, at: usize, model: &Model, is_narrow: bool) -> Option<String> {
        let place = self.place_of_message(at)?;
        let (time, before) = (model.messages.time(place)?, self.time_before(at, model));
        let time = model.time_of_message(self.time, time, DIGITS, before);
        let row = model.messages.row(place, &model.index)?;
        Some(if is_narrow { row.narrow(&time) } else { row.line(&time) })
    }

    /// The time of the message above a row of the list of messages.
    fn time_before(&self, at: usize, model: &Model) -> Option<Time> {
        model.messages.time(self.place_of_message(at.checked_sub(1)?)?)
    }

    /// The time of an open message, as the ladder or the list has it that it is from.
    fn time_of_open(&self, opened: &OpenedMessage, model: &Model) -> String {
        if let Some(Screen::Ladder(ladder)) = self.screens.first() {
            return ladder.time_of(opened);
        }
        let selected = self.lists[Tab::Messages as usize].selected();
        let before = selected.and_then(|at| self.time_before(at, model));
        model.time_of_message(self.time, opened.time, opened.digits, before)
    }

    /// A row of the tab.
    fn row(&self, at: usize, model: &Model) -> Option<tabs::ShownRow> {
        match self.tab {
            Tab::Conversations if self.pairs.is_some() => {
                self.pairs.as_ref()?.get(at).map(|pair| pair.shown.clone())
            }
            Tab::Conversations => {
                let it = model.index.get(*self.numbers(model).get(at)?)?;
                let before = at.checked_sub(1).and_then(|at| self.numbers(model).get(at));
                let before = before.and_then(|before| model.index.get(*before));
                Some(tabs::conversation(&it, before.as_ref(), model, self.time))
            }
            Tab::Answer | Tab::Messages => None,
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
