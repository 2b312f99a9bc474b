//! How many hops what a server sends usually has left.

/// The least and the greatest hop limit of messages of a kind, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct UsualHops(Option<(u8, u8, u64)>);

impl UsualHops {
    pub(in crate::diagnose) fn see(&mut self, hops: u8) {
        let (least, most, times) = self.0.unwrap_or((hops, hops, 0));
        self.0 = Some((least.min(hops), most.max(hops), times + 1));
    }

    /// That of all, of at least so many.
    pub(in crate::diagnose) fn of_all(self, at_least: u64) -> Option<u8> {
        self.0.filter(|(least, most, times)| least == most && *times >= at_least).map(|it| it.0)
    }
}
