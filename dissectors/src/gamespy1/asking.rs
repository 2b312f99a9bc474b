//! What a client asks a server.

use crate::kit::{Asking, Elsewhere, Inquiry, Transport};

/// The information that lists of servers show.
pub(super) static ASKING: &[Asking] = &[Asking {
    name: "gamespy1",
    transport: Transport::Udp,
    is_usual: true,
    questions: &[Inquiry {
        label: "GameSpy \\info\\",
        request: |answer| answer.is_empty().then(|| b"\\info\\".to_vec()),
    }],
    elsewhere: &[Elsewhere::Above(1)],
}];
