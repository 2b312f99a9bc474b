//! Requests that wait for their responses.

use std::ops::{Deref, DerefMut};

use crate::kit::room;

/// The requests of one flow that wait for their responses, in the order in which they were sent. One
/// alone, as most flows have it, is kept in place.
#[derive(Debug)]
pub struct PendingRequests<T>(Store<T>);

#[derive(Debug)]
enum Store<T> {
    One(Option<T>),
    // In place, these would take the room of three words more in every flow.
    Several(Box<Several<T>>),
}

/// Several requests, or one after others that were given up.
#[derive(Debug)]
struct Several<T> {
    requests: Vec<T>,
    given_up: u8,
}

impl<T> Default for PendingRequests<T> {
    fn default() -> PendingRequests<T> {
        PendingRequests(Store::One(None))
    }
}

impl<T> Deref for PendingRequests<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Store::One(request) => request.as_slice(),
            Store::Several(several) => &several.requests,
        }
    }
}

impl<T> DerefMut for PendingRequests<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Store::One(request) => request.as_mut_slice(),
            Store::Several(several) => &mut several.requests,
        }
    }
}

impl<T> PendingRequests<T> {
    /// One more request waits. The caller bounds how many there are.
    #[inline]
    pub fn push(&mut self, request: T) {
        match &mut self.0 {
            Store::One(place @ None) => *place = Some(request),
            Store::One(first) => {
                let requests = first.take().into_iter().chain([request]).collect();
                self.0 = Store::Several(Box::new(Several { requests, given_up: 0 }));
            }
            Store::Several(several) => several.requests.push(request),
        }
    }

    /// Takes out the request in this place; 0 is the oldest.
    #[inline]
    pub fn remove(&mut self, at: usize) -> Option<T> {
        match &mut self.0 {
            Store::One(request) => request.take_if(|_| at == 0),
            Store::Several(several) => {
                let requests = &mut several.requests;
                let removed = (at < requests.len()).then(|| requests.remove(at));
                self.give_back();
                removed
            }
        }
    }

    /// Forgets all that are not such requests.
    pub fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        match &mut self.0 {
            Store::One(request) => _ = request.take_if(|request| !is_kept(request)),
            Store::Several(several) => {
                several.requests.retain(is_kept);
                self.give_back();
            }
        }
    }

    /// Takes out all of them, the oldest first.
    pub fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        let (one, several) = match std::mem::take(self).0 {
            Store::One(request) => (request, Vec::new()),
            Store::Several(several) => (None, several.requests),
        };
        one.into_iter().chain(several)
    }

    /// Gives memory back that fewer than two do not need.
    fn give_back(&mut self) {
        if let Store::Several(several) = &mut self.0
            && several.requests.len() < 2
            && several.given_up == 0
        {
            self.0 = Store::One(several.requests.pop());
        }
    }

    /// How many requests were given up before they were overdue, each of which may still be answered. Up to a maximum.
    pub fn given_up(&self) -> u8 {
        match &self.0 {
            Store::One(_) => 0,
            Store::Several(several) => several.given_up,
        }
    }

    /// Sets that.
    pub fn set_given_up(&mut self, count: u8) {
        match &mut self.0 {
            Store::One(_) if count == 0 => {}
            Store::One(request) => {
                let requests = request.take().into_iter().collect();
                self.0 = Store::Several(Box::new(Several { requests, given_up: count }));
            }
            Store::Several(several) => {
                several.given_up = count;
                self.give_back();
            }
        }
    }

    /// Bytes of heap memory.
    pub fn held(&self) -> usize {
        match &self.0 {
            Store::One(_) => 0,
            Store::Several(several) => size_of::<Several<T>>() + room(&several.requests),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u8),
        Remove(usize),
        Retain(u8),
        Set(usize, u8),
        Take,
        GiveUp(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => any::<u8>().prop_map(Step::Push),
            3 => (0..4_usize).prop_map(Step::Remove),
            1 => any::<u8>().prop_map(Step::Retain),
            1 => (0..4_usize, any::<u8>()).prop_map(|(at, it)| Step::Set(at, it)),
            1 => Just(Step::Take),
            1 => (0..2_u8).prop_map(Step::GiveUp),
        ]
    }

    proptest! {
        #[test]
        fn requests_are_kept_as_in_a_list(steps in prop::collection::vec(step(), 0..60)) {
            let (mut pending, mut list, mut given_up) = (PendingRequests::default(), Vec::new(), 0);
            for step in steps {
                match step {
                    Step::Push(it) => {
                        pending.push(it);
                        list.push(it);
                    }
                    Step::Remove(at) => {
                        let removed = (at < list.len()).then(|| list.remove(at));
                        prop_assert_eq!(pending.remove(at), removed);
                    }
                    Step::Retain(most) => {
                        pending.retain(|it| *it <= most);
                        list.retain(|it| *it <= most);
                    }
                    Step::Set(at, it) => {
                        pending.get_mut(at).into_iter().for_each(|place| *place = it);
                        list.get_mut(at).into_iter().for_each(|place| *place = it);
                    }
                    Step::Take => {
                        prop_assert_eq!(pending.take().collect::<Vec<_>>(), std::mem::take(&mut list));
                        given_up = 0;
                    }
                    Step::GiveUp(count) => {
                        pending.set_given_up(count);
                        given_up = count;
                    }
                }
                prop_assert_eq!(&*pending, &*list);
                prop_assert_eq!(pending.given_up(), given_up);
                prop_assert_eq!(pending.held() > 0, list.len() > 1 || given_up > 0);
            }
        }
    }
}
