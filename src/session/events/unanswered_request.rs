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
}
