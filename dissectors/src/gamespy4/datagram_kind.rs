//! Whether a datagram is a request, and what a response is of: neither is certain from its first bytes alone.

use super::conversation::Conversation;
use super::packet::{self, MAGIC, PacketKind};
use crate::kit::Payload;

/// What a datagram is treated as.
pub(super) enum DatagramKind {
    Request,
    /// A response, or something else.
    Response(PacketKind),
}

impl DatagramKind {
    pub(super) fn of(conversation: &Conversation, payload: &Payload<'_>) -> DatagramKind {
        let bytes = payload.bytes;
        let from_server = conversation.client().is_none_or(|client| client != payload.side);
        let answers = matches!(bytes, [packet::INFO | packet::CHALLENGE, ..]) && from_server;
        match bytes.first() {
            _ if bytes.starts_with(&MAGIC.to_be_bytes()) => DatagramKind::Request,
            _ if !answers && packet::is_damaged_request(bytes) => DatagramKind::Request,
            Some(&kind) if from_server => {
                DatagramKind::Response(of_response(conversation, PacketKind::of(kind), bytes))
            }
            _ => DatagramKind::Response(PacketKind::Unknown),
        }
    }
}

/// A response is of the kind that its type says, unless only its contents answer a request.
fn of_response(conversation: &Conversation, kind: PacketKind, bytes: &[u8]) -> PacketKind {
    let contained = packet::response_after_any_type(bytes).filter(|&(contained, timestamp)| {
        conversation.waits(contained, timestamp) && !conversation.waits(kind, timestamp)
    });
    contained.map_or(kind, |(contained, _)| contained)
}
