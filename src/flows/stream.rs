//! A flow over TCP: its connection, and its protocol's state.

use dissectors::kit::{self, Side, Time};
use dissectors::{Conversation, Id};

use crate::net::tcp::Connection;

/// One connection.
#[derive(Default)]
pub struct Stream {
    pub(crate) connection: Connection,
    pub(crate) stream: StreamProtocol,
}

/// The protocol of a connection, if identified, and its state.
#[derive(Default)]
pub(crate) struct StreamProtocol {
    pub(crate) conversation: Option<Box<Conversation>>,
    /// The unread beginnings, while the protocol is not identified.
    pub(crate) beginnings: Option<Box<[Vec<u8>; 2]>>,
    /// Unread bytes that wait until the protocol is identified, or until the bytes before them in
    /// the other direction are read.
    pub(crate) waits: Option<Box<[Option<UnreadBytes>; 2]>>,
    /// Bytes of this direction were read, by [`Side::index`].
    pub(crate) heard: [bool; 2],
    /// The last message of this direction was not read completely because of a limit: the next
    /// bytes begin in the middle of it.
    pub(crate) cut: [bool; 2],
}

/// Bytes of a direction that are not read yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnreadBytes {
    /// The packet of the first one.
    pub(crate) since: u64,
    /// How many the reader has seen.
    pub(crate) shown: usize,
    /// When the direction was closed after them.
    pub(crate) closed: Option<Time>,
}

impl StreamProtocol {
    /// The waiting bytes of this direction.
    pub(crate) fn wait(&self, side: Side) -> Option<UnreadBytes> {
        self.waits.as_ref()?[side.index()]
    }

    /// Ends the wait of this direction. Returns it.
    pub(crate) fn stop_waiting(&mut self, side: Side) -> Option<UnreadBytes> {
        let wait = self.waits.as_mut()?[side.index()].take();
        if self.wait(side.other()).is_none() {
            self.waits = None;
        }
        wait
    }

    /// Bytes of heap memory.
    fn held(&self) -> usize {
        let conversation = self
            .conversation
            .as_ref()
            .map_or(0, |conversation| size_of::<Conversation>() + conversation.held());
        let read = self
            .beginnings
            .as_ref()
            .map_or(0, |both| size_of_val(&**both) + both.iter().map(kit::room).sum::<usize>());
        conversation + read + self.waits.as_ref().map_or(0, |both| size_of_val(&**both))
    }
}

impl Stream {
    /// Memory in bytes, without the streams' bytes, which have their own limit.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Stream>() + self.connection.uncharged() + self.stream.held()
    }

    /// The protocol, if it is known.
    pub fn protocol(&self) -> Option<Id> {
        self.stream.conversation.as_ref().map(|conversation| conversation.id())
    }

    /// Whether bytes are known to be missing but may still arrive.
    pub fn has_hole(&self) -> bool {
        Side::BOTH.into_iter().any(|side| self.connection.has_hole(side))
    }

    /// The state of the conversation, if its protocol is identified.
    pub fn conversation(&mut self) -> Option<&mut Conversation> {
        self.stream.conversation.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::tcp::{
        ArrivingSegment, Next, Run, StreamBudget, StreamEvent, StreamLimits, StreamReader,
    };
    use crate::net::test_packets::{ipv4, tcp};
    use crate::net::{FrameRef, Outcome, decode};

    struct Undecided;

    impl StreamReader for Undecided {
        fn read(&mut self, _: Side, _: &Run<'_>) -> Next {
            Next::Consumed(0)
        }

        fn event(&mut self, _: StreamEvent) {}
    }

    #[test]
    fn overhead_of_buffered_bytes_is_memory_of_the_flow() {
        let (mut stream, mut budget) =
            (Stream::default(), StreamBudget::new(StreamLimits::default()));
        let least = stream.memory();
        let packet = ipv4(6, &tcp(1, 2, 0, b"a"));
        let Outcome::Tcp(segment) = decode(LinkType::RAW, &packet, packet.len() as u32) else {
            panic!("it is a segment");
        };
        let at = FrameRef { frame: 1, time: 0 };
        let byte = ArrivingSegment { segment: &segment, at, pieces: &[] };
        for side in Side::BOTH {
            stream.connection.segment(side, &byte, &mut budget, &mut Undecided);
        }
        assert!(stream.memory() > least + 2 * 200);
    }
}
