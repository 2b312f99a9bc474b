//! Reads numbers and slices from the start of a fuzzer's bytes. After the end, it returns zeros.

pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn u8(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// This number of bytes, or all that are left.
    pub(crate) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// A step of time in nanoseconds: 0, or a power of two from a microsecond to half an hour.
    pub(crate) fn step(exponent: u8) -> i64 {
        if exponent == 0 { 0 } else { 1000 << (exponent & 31) }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.bytes(N);
        array.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        array
    }
}
