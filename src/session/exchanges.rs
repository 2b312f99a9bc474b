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
}

impl Exchanges {
    pub(super) fn clear(&mut self) {
        let mut replies = std::mem::take(&mut self.replies);
        replies.clear();
        *self = Exchanges { replies, ..Exchanges::default() };
    }
}
