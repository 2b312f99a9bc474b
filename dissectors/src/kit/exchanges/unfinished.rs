//! Responses in several datagrams, of which some have not arrived yet.

use crate::kit::{Budget, Buffer, FlowFacts, Limit, PartSpan, Payload, Piece, Side, Time, room};

/// The datagrams of a response that have arrived so far; or of several, if nothing shows which of them
/// a datagram belongs to.
pub struct Unfinished<T> {
    /// What all its datagrams have in common.
    pub id: u32,
    /// Its sender.
    pub side: Side,
    /// When it times out.
    pub due: Time,
    /// Its request is in the capture, so that no datagram can have come before it.
    pub asked: bool,
    /// The datagrams, in the order of arrival.
    pub buffer: Buffer,
    /// What the protocol knows about them.
    pub more: T,
}

impl<T> Unfinished<T> {
    /// One without datagrams.
    pub fn new(id: u32, side: Side, asked: bool, more: T) -> Unfinished<T> {
        Unfinished { id, side, due: Time::default(), asked, buffer: Buffer::default(), more }
    }

    /// The datagrams, in the order of arrival.
    pub fn parts(&self) -> &[PartSpan] {
        self.buffer.parts()
    }

    /// A datagram's bytes.
    pub fn bytes_of(&self, part: &PartSpan) -> &[u8] {
        self.buffer.bytes_of(part)
    }

    /// The bytes of each datagram.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator + Clone {
        self.parts().iter().map(|part| self.bytes_of(part))
    }

    /// Whether the recording lost bytes of one.
    pub fn is_lost(&self) -> bool {
        self.parts().iter().any(|part| part.lost)
    }

    /// A datagram as it was received. `pieces`: where it was recorded, if that matters.
    pub fn payload<'a>(
        &'a self,
        flow: &FlowFacts,
        part: &PartSpan,
        pieces: &'a [Piece],
    ) -> Payload<'a> {
        let &PartSpan { frame, time, lost, unlisted, .. } = part;
        let recorded = flow.payload(self.side, self.bytes_of(part), pieces);
        Payload { frame, time, lost, unlisted, ..recorded }
    }

    /// Frees the datagrams.
    pub fn release(mut self, budget: &mut Budget) {
        self.buffer.release(budget);
    }
}

/// The unfinished responses of a flow, the oldest first.
pub struct UnfinishedResponses<T>(
    #[allow(clippy::vec_box, reason = "one takes 250 bytes, and a list has room for four")]
    Vec<Box<Unfinished<T>>>,
);

impl<T> Default for UnfinishedResponses<T> {
    fn default() -> UnfinishedResponses<T> {
        UnfinishedResponses(Vec::new())
    }
}

impl<T> UnfinishedResponses<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Unfinished<T>> {
        self.0.iter().map(|unfinished| &**unfinished)
    }

    /// The one of this side with this ID.
    pub fn find(&self, side: Side, id: u32) -> Option<&Unfinished<T>> {
        self.iter().find(|it| it.side == side && it.id == id)
    }

    /// The same, to add to it.
    pub fn find_mut(&mut self, side: Side, id: u32) -> Option<&mut Unfinished<T>> {
        let found = self.0.iter_mut().find(|it| it.side == side && it.id == id);
        found.map(|unfinished| &mut **unfinished)
    }

    /// Takes out the one of this side with this ID.
    pub fn take(&mut self, side: Side, id: u32) -> Option<Box<Unfinished<T>>> {
        self.take_such(|it| it.side == side && it.id == id)
    }

    /// Takes out the oldest one, if there are as many as there may be, and one at least.
    pub fn take_beyond(&mut self, most: usize, budget: &mut Budget) -> Option<Box<Unfinished<T>>> {
        if self.0.len() < most.max(1) {
            return None;
        }
        budget.meet(Limit::Unfinished);
        Some(self.0.remove(0))
    }

    /// Takes out one that is overdue, or at the `end` any.
    pub fn take_overdue(&mut self, now: Time, end: bool) -> Option<Box<Unfinished<T>>> {
        self.take_such(|it| end || it.due <= now)
    }

    fn take_such(&mut self, is: impl Fn(&Unfinished<T>) -> bool) -> Option<Box<Unfinished<T>>> {
        let at = self.iter().position(is)?;
        Some(self.0.remove(at))
    }

    /// Adds one.
    pub fn push(&mut self, unfinished: Box<Unfinished<T>>) {
        self.0.push(unfinished);
    }

    /// Whether a response from this side has begun.
    pub fn is_coming(&self, from: Side) -> bool {
        self.iter().any(|it| it.side == from)
    }

    /// When the first of them times out.
    pub fn due(&self) -> Option<Time> {
        self.iter().map(|it| it.due).min()
    }

    /// Heap memory in bytes that the budget does not count. `more`: what the protocol keeps of one.
    pub fn held(&self, more: impl Fn(&T) -> usize) -> usize {
        let each = self.iter().map(|it| size_of::<Unfinished<T>>() + more(&it.more));
        room(&self.0) + each.sum::<usize>()
    }
}
