//! What was said last.

use dissectors::kit::Time;
use serde::{Deserialize, Serialize};

use crate::session::MessageEvent;

/// When something was said, and in which packet: no two messages of different hosts are of one.
pub(super) type Moment = (Time, u64);

/// When a message was sent.
pub(super) fn moment(event: &MessageEvent<'_>) -> Moment {
    let payload = event.payload();
    (payload.time, payload.frame)
}

/// What was said last of something, and when. It does not matter in which order it is noted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Latest<T> {
    said: Option<(Moment, T)>,
}

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest { said: None }
    }
}

impl<T> Latest<T> {
    /// It, if anything was said.
    pub fn get(&self) -> Option<&T> {
        self.said.as_ref().map(|(_, value)| value)
    }

    /// This was said then.
    pub(super) fn set(&mut self, at: Moment, value: T) {
        if self.at().is_none_or(|latest| latest <= at) {
            self.said = Some((at, value));
        }
    }

    /// What is known was said again.
    pub(super) fn again(&mut self, at: Moment) {
        self.said.iter_mut().for_each(|said| said.0 = at.max(said.0));
    }

    pub(super) fn merge(&mut self, other: Latest<T>) {
        other.said.into_iter().for_each(|(at, value)| self.set(at, value));
    }

    fn at(&self) -> Option<Moment> {
        self.said.as_ref().map(|said| said.0)
    }
}

/// What was said first of something, and when.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct First<T>(Option<(Moment, T)>);

impl<T> Default for First<T> {
    fn default() -> First<T> {
        First(None)
    }
}

impl<T> First<T> {
    pub(super) fn get(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, value)| value)
    }

    /// This was said then.
    pub(super) fn set(&mut self, at: Moment, value: T) {
        if self.0.as_ref().is_none_or(|(first, _)| at < *first) {
            self.0 = Some((at, value));
        }
    }

    pub(super) fn merge(&mut self, other: First<T>) {
        other.0.into_iter().for_each(|(at, value)| self.set(at, value));
    }
}
