//! An index of all messages in time: a few bytes for each. Their contents are decoded again when needed.

use std::collections::VecDeque;
use std::net::SocketAddr;

use dissectors::kit::Time;

use super::index::{Index, long, short};
use crate::session::MessageEvent;

/// Bytes of a message.
const BYTES_OF_MESSAGE: usize = 20;

const _: () = assert!(size_of::<KeptMessage>() == BYTES_OF_MESSAGE);

/// A stored message.
#[derive(Clone, Copy)]
struct KeptMessage {
    conversation: u32,
    /// Nanoseconds since 1970: the upper and the lower half.
    time: [u32; 2],
    frame: [u8; 5],
    /// The index of its kind in the protocol.
    kind: u8,
    /// It was sent by the second end.
    is_back: bool,
    /// The network or the recorder made it of another one: it is shown, and counts nowhere.
    is_copy: bool,
}

/// The latest messages, up to a limit.
pub(super) struct MessageIndex {
    rows: VecDeque<KeptMessage>,
    /// How many of them are copies.
    copies: usize,
    most: usize,
    let_go: u64,
}

impl MessageIndex {
    /// An empty one that takes this many bytes of memory at most.
    pub(super) fn new(bytes: usize) -> MessageIndex {
        let most = (bytes / BYTES_OF_MESSAGE).max(16);
        MessageIndex { rows: VecDeque::new(), copies: 0, most, let_go: 0 }
    }

    /// The next message, of this conversation.
    pub(super) fn push(&mut self, conversation: u32, first_end: bool, m: &MessageEvent<'_>) {
        if self.rows.len() >= self.most {
            let gone = self.rows.pop_front();
            self.copies -= usize::from(gone.is_some_and(|row| row.is_copy));
            self.let_go += 1;
        }
        let is_copy = m.context().copy_of.is_some();
        self.copies += usize::from(is_copy);
        let payload = m.payload();
        let kinds = m.context().protocol.map_or(&[][..], |id| id.info().messages);
        let kind = kinds.iter().position(|it| std::ptr::eq(*it, m.message())).unwrap_or(0);
        let time = payload.time.0 as u64;
        self.rows.push_back(KeptMessage {
            conversation,
            time: [(time >> 32) as u32, time as u32],
            frame: short(payload.frame),
            kind: u8::try_from(kind).unwrap_or(u8::MAX),
            is_back: !first_end,
            is_copy,
        });
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many of them count.
    pub(super) fn counted(&self) -> usize {
        self.rows.len() - self.copies
    }

    /// How many of those whose conversation and packet are wanted count.
    pub(super) fn counted_of(&self, wanted: impl Fn(u32, u64) -> bool) -> usize {
        let counted = self.rows.iter().filter(|row| !row.is_copy);
        counted.filter(|row| wanted(row.conversation, long(row.frame))).count()
    }

    /// The number of dropped ones.
    pub(super) fn let_go(&self) -> u64 {
        self.let_go
    }

    /// The places of those whose conversation and packet are wanted.
    pub(super) fn places(&self, wanted: impl Fn(u32, u64) -> bool) -> Vec<u32> {
        let rows = (0..).zip(&self.rows);
        let wanted = rows.filter(|(_, row)| wanted(row.conversation, long(row.frame)));
        wanted.map(|(at, _)| at).collect()
    }

    /// The conversation of a message, and its place there; `None`: it is gone, or earlier ones are.
    pub(super) fn place(&self, at: usize, index: &Index) -> Option<(u32, u32)> {
        let conversation = self.rows.get(at)?.conversation;
        let all = index.all_messages(conversation)?;
        let own = |row: &&KeptMessage| row.conversation == conversation;
        // Dropped ones are the first ones: what is after it is there.
        let after = self.rows.iter().skip(at + 1).filter(own).count();
        let nth = all.checked_sub(1)?.checked_sub(u32::try_from(after).ok()?)?;
        Some((conversation, nth))
    }

    /// The conversation of a message.
    pub(super) fn conversation(&self, at: usize) -> Option<u32> {
        self.rows.get(at).map(|row| row.conversation)
    }

    /// When a message was sent.
    pub(super) fn time(&self, at: usize) -> Option<Time> {
        self.rows.get(at).map(KeptMessage::time)
    }

    /// A row.
    pub(super) fn row(&self, at: usize, index: &Index) -> Option<MessageRow> {
        let row = self.rows.get(at)?;
        let conversation = index.get(row.conversation)?;
        let [a, b] = conversation.ends;
        let (from, to) = if row.is_back { (b, a) } else { (a, b) };
        let info = conversation.protocol.info();
        let message = info.messages.get(usize::from(row.kind))?.name;
        Some(MessageRow { frame: long(row.frame), from, to, protocol: info.id, message })
    }
}

/// A message in the list of all.
pub(super) struct MessageRow {
    frame: u64,
    from: SocketAddr,
    to: SocketAddr,
    protocol: &'static str,
    message: &'static str,
}

impl MessageRow {
    /// It as a line that begins with its time.
    pub(super) fn line(&self, time: &str) -> String {
        let MessageRow { frame, from, to, protocol, message } = self;
        format!("{time} {frame:>6}  {from} > {to}  {protocol} {message}")
    }

    /// The same in a narrow list: to the millisecond, and what it is before who sent it.
    pub(super) fn narrow(&self, time: &str) -> String {
        let time = time.get(..time.len().saturating_sub(3)).unwrap_or(time);
        let MessageRow { frame, from, to, message, .. } = self;
        format!("{time} {frame:>5} {message}  {from} > {to}")
    }
}

impl KeptMessage {
    fn time(&self) -> Time {
        let [high, low] = self.time.map(u64::from);
        Time((high << 32 | low) as i64)
    }
}
