//! What was recorded of a flow, and told of it. Nearly all flows are short: their counts have room in
//! their places. Of the others they are apart.

use std::num::NonZeroU32;

use super::places::Places;

/// What is counted of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Nanoseconds from when it was first recorded to when it was last.
    pub(super) lasted: u64,
    /// Packets recorded.
    pub(super) packets: u64,
    /// Bytes of payload recorded.
    pub(super) bytes: u64,
    /// Messages reported.
    pub(super) messages: u32,
    /// Findings reported.
    pub(super) findings: u32,
}

/// The counts of a flow, and what its state holds beside itself, in units of the flow's.
pub(super) enum Counts {
    Few(Few),
    /// Where they are, among those that are apart.
    Many {
        at: u32,
        held: u16,
    },
}

/// Small numbers, in twelve bytes. In words, each of which is read as it was written: a processor
/// waits where it reads several fresh writes at once.
#[derive(Clone, Copy)]
pub(super) struct Few {
    /// How long it lasted; the upper word has its highest byte, and three of bytes recorded.
    lasted: u32,
    upper: u32,
    /// A byte each: packets and one, messages, findings, units held. That it is never 0 leaves room for
    /// the other kind of counts.
    numbers: NonZeroU32,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts::Few(Few { lasted: 0, upper: 0, numbers: NonZeroU32::MIN })
    }
}

impl Few {
    /// These totals, if they are small.
    #[inline]
    fn of(totals: &Totals, held: u8) -> Option<Few> {
        let Totals { lasted, packets, bytes, messages, findings } = *totals;
        let is_small = lasted < 1 << 40
            && bytes < 1 << 24
            && packets < 0xFF
            && messages <= 0xFF
            && findings <= 0xFF;
        let numbers = (packets as u32 + 1) | messages << 8 | findings << 16 | u32::from(held) << 24;
        let upper = (lasted >> 32) as u32 | (bytes as u32) << 8;
        let numbers = NonZeroU32::new(numbers).filter(|_| is_small)?;
        Some(Few { lasted: lasted as u32, upper, numbers })
    }

    #[inline]
    fn lasted(&self) -> u64 {
        u64::from(self.upper & 0xFF) << 32 | u64::from(self.lasted)
    }

    #[inline]
    fn totals(&self) -> Totals {
        let numbers = self.numbers.get();
        Totals {
            lasted: self.lasted(),
            packets: u64::from(numbers & 0xFF) - 1,
            bytes: u64::from(self.upper >> 8),
            messages: numbers >> 8 & 0xFF,
            findings: numbers >> 16 & 0xFF,
        }
    }

    #[inline]
    fn held(&self) -> u8 {
        (self.numbers.get() >> 24) as u8
    }

    /// The same with so many more packets, bytes, messages and findings, if they are small still.
    #[inline]
    fn more(&self, packets: u32, bytes: u32, messages: u32, findings: u32) -> Option<Few> {
        let numbers = self.numbers.get();
        let fits = |more, shift: u32| (numbers >> shift & 0xFF).saturating_add(more) <= 0xFF;
        let bytes_fit = (self.upper >> 8).saturating_add(bytes) < 1 << 24;
        if !(fits(packets, 0) && fits(messages, 8) && fits(findings, 16) && bytes_fit) {
            return None;
        }
        let numbers = NonZeroU32::new(numbers + (packets | messages << 8 | findings << 16))?;
        Some(Few { upper: self.upper + (bytes << 8), numbers, ..*self })
    }

    /// The same, if it lasted for so long.
    #[inline]
    fn until(&self, lasted: u64) -> Option<Few> {
        let upper = self.upper & !0xFF | (lasted >> 32) as u32;
        (lasted < 1 << 40).then_some(Few { lasted: lasted as u32, upper, ..*self })
    }

    /// The same, but that so many units are held.
    #[inline]
    fn holding(&self, units: usize) -> Option<Few> {
        let held = u32::from(u8::try_from(units).ok()?);
        let numbers = NonZeroU32::new(self.numbers.get() & 0x00FF_FFFF | held << 24)?;
        Some(Few { numbers, ..*self })
    }
}

impl Counts {
    /// What was counted.
    #[inline]
    pub(super) fn totals(&self, many: &Places<Totals>) -> Totals {
        match self {
            Counts::Few(few) => few.totals(),
            Counts::Many { at, .. } => many.get(*at).copied().unwrap_or_default(),
        }
    }

    /// Counts this instead.
    #[inline]
    pub(super) fn set(&mut self, totals: Totals, many: &mut Places<Totals>) {
        match self {
            Counts::Few(few) => match Few::of(&totals, few.held()) {
                Some(still) => *few = still,
                None => {
                    let held = few.held().into();
                    *self = Counts::Many { at: many.put(totals), held };
                }
            },
            Counts::Many { at, .. } => {
                if let Some(place) = many.get_mut(*at) {
                    *place = totals;
                }
            }
        }
    }

    /// Counts so many more packets and bytes of payload, when it has lasted for so long. Says for how many
    /// nanoseconds it was silent before.
    #[inline]
    pub(super) fn recorded(
        &mut self,
        lasted: u64,
        packets: u64,
        bytes: usize,
        many: &mut Places<Totals>,
    ) -> u64 {
        if let Counts::Few(few) = self
            && let (Ok(packets), Ok(bytes)) = (u32::try_from(packets), u32::try_from(bytes))
            && let Some(more) = few.more(packets, bytes, 0, 0)
            && let Some(more) = more.until(lasted.max(few.lasted()))
        {
            let silence = lasted.saturating_sub(few.lasted());
            *few = more;
            return silence;
        }
        let mut totals = self.totals(many);
        totals.packets += packets;
        totals.bytes = totals.bytes.saturating_add(bytes as u64);
        let silence = lasted.saturating_sub(totals.lasted);
        totals.lasted += silence;
        self.set(totals, many);
        silence
    }

    /// Counts so many more messages and findings.
    #[inline]
    pub(super) fn told(&mut self, messages: u32, findings: u32, many: &mut Places<Totals>) {
        if let Counts::Few(few) = self
            && let Some(more) = few.more(0, 0, messages, findings)
        {
            *few = more;
            return;
        }
        let mut totals = self.totals(many);
        totals.messages = totals.messages.saturating_add(messages);
        totals.findings = totals.findings.saturating_add(findings);
        self.set(totals, many);
    }

    /// It has lasted for so long at least.
    #[inline]
    pub(super) fn lasts(&mut self, lasted: u64, many: &mut Places<Totals>) {
        if let Counts::Few(few) = self {
            if lasted <= few.lasted() {
                return;
            }
            if let Some(longer) = few.until(lasted) {
                *few = longer;
                return;
            }
        }
        let totals = self.totals(many);
        self.set(Totals { lasted: lasted.max(totals.lasted), ..totals }, many);
    }

    /// Units that the state holds.
    #[inline]
    pub(super) fn held(&self) -> usize {
        match self {
            Counts::Few(few) => few.held().into(),
            Counts::Many { held, .. } => (*held).into(),
        }
    }

    /// The state holds so many units.
    #[inline]
    pub(super) fn set_held(&mut self, units: usize, many: &mut Places<Totals>) {
        if let Counts::Few(few) = self {
            if let Some(still) = few.holding(units) {
                *few = still;
                return;
            }
            *self = Counts::Many { at: many.put(few.totals()), held: 0 };
        }
        if let Counts::Many { held, .. } = self {
            *held = u16::try_from(units).unwrap_or(u16::MAX);
        }
    }

    /// Bytes that they take apart.
    #[inline]
    pub(super) fn apart(&self) -> usize {
        match self {
            Counts::Few(_) => 0,
            Counts::Many { .. } => size_of::<Totals>(),
        }
    }

    /// Nobody needs them any more.
    pub(super) fn forget(&self, many: &mut Places<Totals>) {
        if let Counts::Many { at, .. } = self {
            many.free(*at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers on both sides of where small ones end.
    fn number(bits: u32) -> impl Strategy<Value = u64> {
        prop_oneof![
            0..4u64,
            (1u64 << bits) - 3..(1u64 << bits) + 3,
            any::<u32>().prop_map(u64::from)
        ]
    }

    proptest! {
        /// Whatever was counted is what is read, wherever it is.
        #[test]
        fn nothing_is_lost(
            steps in prop::collection::vec(
                (number(40), number(8), number(24), number(8), number(8), number(8)), 1..6),
        ) {
            let (mut counts, mut many) = (Counts::default(), Places::default());
            for (lasted, packets, bytes, messages, findings, held) in steps {
                let (messages, findings) = (messages as u32, findings as u32);
                let totals = Totals { lasted, packets, bytes, messages, findings };
                counts.set(totals, &mut many);
                prop_assert_eq!(counts.totals(&many), totals);
                counts.set_held(held as usize, &mut many);
                prop_assert_eq!(counts.totals(&many), totals);
                for more in [-1_i64, 1, 1 << 40] {
                    let later = lasted.saturating_add_signed(more);
                    counts.lasts(later, &mut many);
                    let totals = Totals { lasted: lasted.max(later), ..totals };
                    prop_assert_eq!(counts.totals(&many), totals);
                }
                prop_assert_eq!(counts.held(), (held as usize).min(u16::MAX.into()));
            }
        }

        /// What comes to what was counted is added to it, whether or not that stays small.
        #[test]
        fn more_is_added(
            first in (number(40), number(8), number(24), number(8), number(8)),
            held in number(8),
            steps in prop::collection::vec(
                (number(40), number(8), number(24), number(8), number(8)), 1..6),
        ) {
            let (mut counts, mut many) = (Counts::default(), Places::default());
            let (lasted, packets, bytes, messages, findings) = first;
            let (messages, findings) = (messages as u32, findings as u32);
            let mut totals = Totals { lasted, packets, bytes, messages, findings };
            counts.set(totals, &mut many);
            counts.set_held(held as usize, &mut many);
            for (lasted, packets, bytes, messages, findings) in steps {
                let silence = counts.recorded(lasted, packets, bytes as usize, &mut many);
                prop_assert_eq!(silence, lasted.saturating_sub(totals.lasted));
                counts.told(messages as u32, findings as u32, &mut many);
                totals.lasted = totals.lasted.max(lasted);
                totals.packets += packets;
                totals.bytes += bytes;
                totals.messages = totals.messages.saturating_add(messages as u32);
                totals.findings = totals.findings.saturating_add(findings as u32);
                prop_assert_eq!(counts.totals(&many), totals);
                prop_assert_eq!(counts.held(), (held as usize).min(u16::MAX.into()));
            }
        }
    }

    #[test]
    fn little_takes_little_room() {
        assert_eq!(size_of::<Counts>(), 12);
        let (mut counts, mut many) = (Counts::default(), Places::default());
        let hour = Totals {
            lasted: (1 << 40) - 1,
            packets: 254,
            bytes: (1 << 24) - 1,
            messages: 255,
            findings: 255,
        };
        counts.set(hour, &mut many);
        counts.set_held(255, &mut many);
        assert_eq!((counts.totals(&many), counts.held(), counts.apart()), (hour, 255, 0));
        counts.set(Totals { packets: 255, ..hour }, &mut many);
        assert_eq!((counts.held(), counts.apart(), many.count()), (255, 32, 1));
        counts.forget(&mut many);
        counts = Counts::default();
        counts.set_held(256, &mut many);
        assert_eq!((counts.totals(&many), counts.held()), (Totals::default(), 256));
        assert_eq!(many.count(), 1);
    }
}
