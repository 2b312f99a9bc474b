//! What is opened, copied and written: of a screen, or of a row of a tab.

use super::tabs::{self, Tab};
use super::{COPIED, Chosen, Model, Screen, TaskRequest, View};
use crate::text::grouped;

impl View {
    pub(super) fn open(&mut self, model: &Model) -> Option<TaskRequest> {
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
            Some(Screen::Message(_) | Screen::Page(_)) => None,
            None => self.open_row(model),
        }
    }

    fn open_row(&mut self, model: &Model) -> Option<TaskRequest> {
        let selected = self.list().selected()?;
        let (conversations, frame) = match self.tab {
            Tab::Messages => return self.open_message(selected, model),
            Tab::Conversations => {
                let numbers = self.numbers_of(selected, model);
                let all = numbers.iter().filter_map(|number| model.index.get(number));
                let (first, all) = tabs::first_of(all);
                self.show_first(first.len(), all);
                (first, None)
            }
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
            Tab::Answer | Tab::Servers => {
                let end = match self.tab {
                    Tab::Servers => self.parties.get(selected)?.end,
                    _ => match self.answer.about(selected) {
                        Some(end) => end,
                        None => {
                            self.say("this line is about no server, client or master", false);
                            return None;
                        }
                    },
                };
                let (first, all) = tabs::of_party(model, end);
                if first.is_empty() && all == 0 {
                    self.say("no conversation of it is shown", false);
                    return None;
                }
                if first.is_empty() {
                    self.say("its conversations are no longer kept (--memory)", true);
                    return None;
                }
                self.show_first(first.len(), all);
                (first, None)
            }
        };
        self.wait("reading", TaskRequest::Ladder { conversations, frame })
    }

    /// Says that not all conversations are drawn.
    fn show_first(&mut self, first: u64, all: u64) {
        if first < all {
            let (first, all) = (grouped(first), grouped(all));
            self.say(&format!("the first {first} of {all} conversations"), false);
        }
    }

    /// Opens a message of the list of all.
    fn open_message(&mut self, at: usize, model: &Model) -> Option<TaskRequest> {
        let place = self.place_of_message(at)?;
        match model.messages.place(place, &model.index) {
            Some((conversation, nth)) => {
                let only = [conversation].into();
                self.wait("reading", TaskRequest::Message(only, nth))
            }
            None => {
                self.say("its conversation is no longer kept (--memory)", true);
                None
            }
        }
    }

    /// The message before or after the open one.
    pub(super) fn neighbour(&mut self, by: i32, model: &Model) -> Option<TaskRequest> {
        let Some(Screen::Message(screen)) = self.screens.last() else { return None };
        if self.tab == Tab::Messages && self.screens.len() == 1 {
            let before = self.list().selected();
            self.list().step(by as isize);
            let at = self.list().selected().filter(|at| Some(*at) != before);
            let request = at.and_then(|at| self.open_message(at, model));
            if at.is_none() {
                self.say("no more messages this way", false);
            }
            return request;
        }
        let nth = screen.opened.place;
        let Some(Screen::Ladder(ladder)) = self.screens.first() else { return None };
        let (all, conversations) = (ladder.all_messages(), ladder.conversations.clone());
        match nth.checked_add_signed(by).filter(|&nth| nth < all) {
            Some(nth) => self.wait("reading", TaskRequest::Message(conversations, nth)),
            None => {
                self.say("no more messages this way", false);
                None
            }
        }
    }

    /// The open or selected element as text.
    pub(super) fn copy(&mut self, model: &Model) -> Option<TaskRequest> {
        let text = match self.screens.last() {
            Some(Screen::Ladder(screen)) => screen.text(),
            Some(Screen::Message(screen)) => {
                let time = self.time_of_open(&screen.opened, model);
                screen.opened.text(&time, self.time)
            }
            Some(Screen::Page(page)) => page.text(),
            None if self.tab == Tab::Answer => self.answer.text(),
            None if self.tab == Tab::Messages => {
                let at = self.lists[self.tab as usize].selected()?;
                self.message_row(at, model, false)?
            }
            None => self.row(self.lists[self.tab as usize].selected()?, model)?.whole,
        };
        if text.len() > COPIED {
            self.say("too long to be copied; write it with w, or use `gamewire follow`", true);
            return None;
        }
        Some(TaskRequest::Copy(text))
    }

    /// The packets to write: of the open screen, else of the marked ones, else of the shown ones.
    pub(super) fn chosen(&self) -> Chosen {
        match self.screens.first() {
            Some(Screen::Ladder(ladder)) => Chosen::Conversations(ladder.conversations.clone()),
            _ if !self.marked.is_empty() => {
                Chosen::Conversations(self.marked.iter().copied().collect())
            }
            _ => Chosen::Messages(self.filter.clone()),
        }
    }
}
