//! The latest and the first value of a property.

use dissectors::kit::Time;
use serde::{Deserialize, Serialize};

use crate::session::MessageEvent;

/// Time and packet of a message. A packet has no messages of different hosts.
pub(super) type Moment = (Time, u64);

/// The moment of a message.
pub(super) fn moment(event: &MessageEvent<'_>) -> Moment {
    (event.time(), event.frame())
}

/// The latest value with its moment, independent of the order of calls.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Latest<T> {
    latest: Option<(Moment, T)>,
}

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest { latest: None }
    }
}

impl<T> Latest<T> {
    /// The value, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.latest.as_ref().map(|(_, value)| value)
    }

    /// Sets the value of a moment.
    pub(super) fn set(&mut self, at: Moment, value: T) {
        if self.at().is_none_or(|latest| latest <= at) {
            self.latest = Some((at, value));
        }
    }

    /// The stored value was repeated at this moment.
    pub(super) fn again(&mut self, at: Moment) {
        self.latest.iter_mut().for_each(|latest| latest.0 = at.max(latest.0));
    }

    pub(super) fn merge(&mut self, other: Latest<T>) {
        other.latest.into_iter().for_each(|(at, value)| self.set(at, value));
    }

    fn at(&self) -> Option<Moment> {
        self.latest.as_ref().map(|latest| latest.0)
    }
}

/// The first value with its moment.
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

    /// Sets the value of a moment.
    pub(super) fn set(&mut self, at: Moment, value: T) {
        if self.0.as_ref().is_none_or(|(first, _)| at < *first) {
            self.0 = Some((at, value));
        }
    }

    pub(super) fn merge(&mut self, other: First<T>) {
        other.0.into_iter().for_each(|(at, value)| self.set(at, value));
    }
}
