//! What a listing shows of requests and their responses.

/// What a listing shows of a flow's requests, since `flow_context`.
#[derive(Default)]
pub(super) struct Exchanges {
    pub(super) messages: u32,
    pub(super) requests: u32,
    pub(super) answered: u32,
    /// Exchanges that began.
    pub(super) exchanges: u32,
    /// The packets of the requests that messages answer, and after how many nanoseconds.
    pub(super) replies: Vec<(Option<u64>, u64)>,
    /// The packet of a request that a challenge answers which was asked for by itself.
    pub(super) challenge_alone: Option<u64>,
    /// A request goes on with a challenge.
    pub(super) goes_on: bool,
}

impl Exchanges {
    pub(super) fn clear(&mut self) {
        let mut replies = std::mem::take(&mut self.replies);
        replies.clear();
        *self = Exchanges { replies, ..Exchanges::default() };
    }
}
