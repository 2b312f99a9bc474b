//! Requests that wait for their responses.

use std::ops::{Deref, DerefMut};

use crate::kit::room;

/// The requests of one flow that wait for their responses, in the order in which they were sent. One
/// alone, as most flows have it, is kept in place.
#[derive(Debug)]
pub struct PendingRequests<T>(Store<T>);

/// Each form also counts the requests that were given up: in one place for both, the count would take
/// the room of one word more in every flow.
#[derive(Debug)]
enum Store<T> {
    One(Option<T>, u8),
    // A `Vec` in place would take the room of two words more in every flow.
    #[allow(clippy::box_collection, reason = "see above")]
    Several(Box<Vec<T>>, u8),
}

impl<T> Default for PendingRequests<T> {
    fn default() -> PendingRequests<T> {
        PendingRequests(Store::One(None, 0))
    }
}

impl<T> Deref for PendingRequests<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Store::One(request, _) => request.as_slice(),
            Store::Several(requests, _) => requests,
        }
    }
}

impl<T> DerefMut for PendingRequests<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Store::One(request, _) => request.as_mut_slice(),
            Store::Several(requests, _) => requests,
        }
    }
}

impl<T> PendingRequests<T> {
    /// One more request waits. The caller bounds how many there are.
    #[inline]
    pub fn push(&mut self, request: T) {
        match &mut self.0 {
            Store::One(place @ None, _) => *place = Some(request),
            Store::One(first, given_up) => {
                let requests = first.take().into_iter().chain([request]).collect();
                self.0 = Store::Several(Box::new(requests), *given_up);
            }
            Store::Several(requests, _) => requests.push(request),
        }
    }

    /// Takes out the request in this place; 0 is the oldest.
    #[inline]
    pub fn remove(&mut self, at: usize) -> Option<T> {
        match &mut self.0 {
            Store::One(request, _) => request.take_if(|_| at == 0),
            Store::Several(requests, _) => {
                let removed = (at < requests.len()).then(|| requests.remove(at));
                self.give_back();
                removed
            }
        }
    }

    /// Forgets all that are not such requests.
    pub fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        match &mut self.0 {
            Store::One(request, _) => _ = request.take_if(|request| !is_kept(request)),
            Store::Several(requests, _) => {
                requests.retain(is_kept);
                self.give_back();
            }
        }
    }

    /// Takes out all of them, the oldest first.
    pub fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        let (one, several) = match std::mem::take(self).0 {
            Store::One(request, _) => (request, Vec::new()),
            Store::Several(requests, _) => (None, *requests),
        };
        one.into_iter().chain(several)
    }

    /// Gives memory back that fewer than two do not need.
    fn give_back(&mut self) {
        if let Store::Several(requests, given_up) = &mut self.0
            && requests.len() < 2
        {
            self.0 = Store::One(requests.pop(), *given_up);
        }
    }

    /// How many requests were given up before they were overdue, each of which may still be answered. Up to a maximum.
    pub fn given_up(&self) -> u8 {
        match self.0 {
            Store::One(_, given_up) | Store::Several(_, given_up) => given_up,
        }
    }

    /// Sets that.
    pub fn set_given_up(&mut self, count: u8) {
        match &mut self.0 {
            Store::One(_, given_up) | Store::Several(_, given_up) => *given_up = count,
        }
    }

    /// Bytes of heap memory.
    pub fn held(&self) -> usize {
        match &self.0 {
            Store::One(..) => 0,
            Store::Several(requests, _) => size_of::<Vec<T>>() + room(requests),
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
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => any::<u8>().prop_map(Step::Push),
            3 => (0..4_usize).prop_map(Step::Remove),
            1 => any::<u8>().prop_map(Step::Retain),
            1 => (0..4_usize, any::<u8>()).prop_map(|(at, it)| Step::Set(at, it)),
            1 => Just(Step::Take),
        ]
    }

    proptest! {
        #[test]
        fn requests_are_kept_as_in_a_list(steps in prop::collection::vec(step(), 0..60)) {
            let (mut pending, mut list) = (PendingRequests::default(), Vec::new());
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
                    }
                }
                prop_assert_eq!(&*pending, &*list);
                prop_assert_eq!(pending.held() > 0, list.len() > 1);
            }
        }
    }
}
