//! What a client asks a master.

use crate::kit::{Asking, Inquiry, Transport};

/// The list of servers.
pub(super) static ASKING: &[Asking] = &[Asking {
    name: "acr_master",
    transport: Transport::Tcp,
    is_usual: false,
    is_of_master: true,
    questions: &[Inquiry {
        label: "list of servers",
        request: |answer| {
            answer.is_empty().then(|| b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n".to_vec())
        },
        most: 1,
    }],
    elsewhere: &[],
}];
