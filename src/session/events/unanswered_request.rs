use dissectors::kit::Time;

/// A request that was not answered as its document demands, or not before the capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnansweredRequest {
    /// Its packet.
    pub frame: u64,
    /// When it was sent.
    pub time: Time,
    /// Number of digits of a second in the capture's times.
    pub digits: u8,
    /// The response is overdue, or an ICMP error says that the request did not arrive. Otherwise the capture ended too
    /// early to tell.
    pub is_certain: bool,
}
