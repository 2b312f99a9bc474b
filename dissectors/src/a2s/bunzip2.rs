//! Decompresses bzip2, as far as it is asked to. What a stream announces costs no memory: a block
//! takes as much as was decoded of it, and the memory serves for the next answer.
//!
//! This file knows bits and bytes. It refuses to know packets, layouts and rules. The "randomised"
//! blocks of bzip2 before 0.9.5, of 1999, are taken for errors.

/// The bytes are no bzip2 stream, or not a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Begins a block: the digits of pi.
const BLOCK: u64 = 0x3141_5926_5359;

/// Ends a stream: the digits of its square root.
const END: u64 = 0x1772_4538_5090;

/// Symbols that one selector chooses the coding table of.
const GROUP: usize = 50;

/// Selectors that a block of the greatest size needs; of more it may have, the rest is not used.
const SELECTORS: usize = 2 + 900_000 / GROUP;

/// The longest code, in bits.
const LONGEST: usize = 20;

/// Symbols of a block: two for runs, 255 for places, and its end.
const SYMBOLS: usize = 258;

/// Bytes of a block that memory is kept for.
const KEPT: usize = 1 << 16;

/// The memory of a decoder, kept from one stream to the next.
#[derive(Default)]
pub(super) struct Decoder {
    /// The block's bytes as they were sorted, each in the low 8 bits; in the others the place of the
    /// one that follows it.
    block: Vec<u32>,
    tables: Vec<Table>,
    selectors: Vec<u8>,
}

impl Decoder {
    /// Decompresses up to `most` bytes; and whether there are more. What stands behind the stream
    /// does not matter.
    pub(super) fn inflate(
        &mut self,
        bytes: &[u8],
        most: usize,
    ) -> Result<(Vec<u8>, bool), Malformed> {
        let mut inflated = Vec::new();
        let more = self.blocks(bytes, &mut inflated, most);
        self.block.clear();
        self.block.shrink_to(KEPT);
        inflated.truncate(most);
        Ok((inflated, more?))
    }

    /// All blocks, until there are more than `most` bytes; and whether there are.
    fn blocks(
        &mut self,
        bytes: &[u8],
        inflated: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool, Malformed> {
        let &[b'B', b'Z', b'h', level @ b'1'..=b'9', ref rest @ ..] = bytes else {
            return Err(Malformed);
        };
        let largest = usize::from(level - b'0') * 100_000;
        let mut bits = Bits { rest, word: 0, count: 0 };
        let mut sum = 0_u32;
        loop {
            let magic = u64::from(bits.take(24)?) << 24 | u64::from(bits.take(24)?);
            let told = bits.take(32)?;
            match magic {
                BLOCK => {}
                END if told == sum => return Ok(false),
                _ => return Err(Malformed),
            }
            let origin = self.read_block(&mut bits, largest)?;
            let start = inflated.len();
            self.write_block(origin, inflated, most)?;
            if inflated.len() > most {
                return Ok(true);
            }
            if crc(inflated.get(start..).unwrap_or_default()) != told {
                return Err(Malformed);
            }
            sum = sum.rotate_left(1) ^ told;
        }
    }

    /// Reads a block up to its end, and says where its first byte was sorted to.
    fn read_block(&mut self, bits: &mut Bits<'_>, largest: usize) -> Result<usize, Malformed> {
        let is_randomised = bits.take(1)? == 1;
        let origin = bits.take(24)? as usize;
        if is_randomised || origin > largest + 10 {
            return Err(Malformed);
        }
        let (mut recent, used) = Recent::read(bits)?;
        self.read_tables(bits, used + 2)?;
        let counts = self.read_symbols(bits, &mut recent, used + 1, largest)?;
        if origin >= self.block.len() {
            return Err(Malformed);
        }
        self.link(&counts);
        Ok(origin)
    }

    /// The selectors, and the coding tables that they choose from.
    fn read_tables(&mut self, bits: &mut Bits<'_>, symbols: usize) -> Result<(), Malformed> {
        let tables = bits.take(3)? as usize;
        let selectors = bits.take(15)?;
        if !(2..=6).contains(&tables) || selectors == 0 {
            return Err(Malformed);
        }
        let mut recent = [0, 1, 2, 3, 4, 5];
        self.selectors.clear();
        for _ in 0..selectors {
            let mut place = 0;
            while bits.take(1)? == 1 {
                place += 1;
                if place >= tables {
                    return Err(Malformed);
                }
            }
            if let Some(moved) = recent.get_mut(..=place) {
                moved.rotate_right(1);
            }
            if self.selectors.len() < SELECTORS {
                self.selectors.push(recent[0]);
            }
        }
        self.tables.resize_with(tables, Table::default);
        self.tables.iter_mut().try_for_each(|table| table.read(bits, symbols))
    }

    /// The block's bytes, in their sorted order; and how often each value is among them.
    fn read_symbols(
        &mut self,
        bits: &mut Bits<'_>,
        recent: &mut Recent,
        end: usize,
        largest: usize,
    ) -> Result<[u32; 256], Malformed> {
        self.block.clear();
        let mut counts = [0; 256];
        // Repeats of the latest byte, told as a number to the base of two whose digits are 1 and 2.
        let (mut repeats, mut digit) = (0, 1);
        for &selector in &self.selectors {
            let table = self.tables.get(usize::from(selector)).ok_or(Malformed)?;
            for _ in 0..GROUP {
                let symbol = table.symbol(bits)?;
                if symbol < 2 {
                    if digit > 1 << 20 {
                        return Err(Malformed);
                    }
                    repeats += digit << symbol;
                    digit <<= 1;
                    continue;
                }
                if repeats > 0 {
                    let byte = recent.latest();
                    if self.block.len() + repeats > largest {
                        return Err(Malformed);
                    }
                    self.block.resize(self.block.len() + repeats, byte.into());
                    count(&mut counts, byte, repeats as u32);
                    (repeats, digit) = (0, 1);
                }
                if symbol == end {
                    return Ok(counts);
                }
                if self.block.len() >= largest {
                    return Err(Malformed);
                }
                let byte = recent.take(symbol - 1);
                self.block.push(byte.into());
                count(&mut counts, byte, 1);
            }
        }
        Err(Malformed)
    }

    /// Writes beside each byte where the one stands that follows it.
    fn link(&mut self, counts: &[u32; 256]) {
        let mut next = 0;
        let mut places = counts.map(|count| {
            next += count;
            next - count
        });
        for at in 0..self.block.len() {
            let byte = self.block.get(at).map_or(0, |&entry| entry as u8);
            let place = &mut places[usize::from(byte)];
            if let Some(entry) = self.block.get_mut(*place as usize) {
                *entry |= (at as u32) << 8;
            }
            *place += 1;
        }
    }

    /// Follows the links, and takes back what was done before the sorting: behind four equal bytes
    /// stands how many more of them follow. Ends early where there are more than `most` bytes.
    fn write_block(
        &self,
        origin: usize,
        inflated: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), Malformed> {
        inflated.reserve(self.block.len());
        let (mut entry, mut last, mut equal) = (*self.block.get(origin).ok_or(Malformed)?, 0, 0);
        for _ in 0..self.block.len() {
            entry = *self.block.get((entry >> 8) as usize).ok_or(Malformed)?;
            let byte = entry as u8;
            if equal == 4 {
                inflated.resize(inflated.len() + usize::from(byte), last);
                if inflated.len() > most {
                    return Ok(());
                }
                equal = 0;
                continue;
            }
            equal = if byte == last { equal + 1 } else { 1 };
            last = byte;
            inflated.push(byte);
        }
        let ends_short = equal == 4 && inflated.len() <= most;
        if ends_short { Err(Malformed) } else { Ok(()) }
    }
}

fn count(counts: &mut [u32; 256], byte: u8, times: u32) {
    counts[usize::from(byte)] += times;
}

/// CRC-32 with the highest bit of each byte first: that of the turned bytes, turned.
fn crc(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for chunk in bytes.chunks(256) {
        let mut turned = [0; 256];
        for (turned, byte) in turned.iter_mut().zip(chunk) {
            *turned = byte.reverse_bits();
        }
        hasher.update(turned.get(..chunk.len()).unwrap_or_default());
    }
    hasher.finalize().reverse_bits()
}

/// Bits, the highest of each byte first.
struct Bits<'a> {
    rest: &'a [u8],
    /// Bits that were taken out of `rest`: the next is the highest.
    word: u64,
    /// How many of them count.
    count: u32,
}

impl Bits<'_> {
    /// Takes out as many bytes as fit, so that at least 56 bits are there unless the bytes end.
    #[inline(always)]
    fn fill(&mut self) {
        if let Some((next, _)) = self.rest.split_first_chunk() {
            // Bits behind those that count are the same the next time.
            self.word |= u64::from_be_bytes(*next) >> self.count;
            let taken = (63 - self.count) / 8;
            self.rest = self.rest.get(taken as usize..).unwrap_or_default();
            self.count += taken * 8;
            return;
        }
        while self.count <= 56
            && let Some((&byte, rest)) = self.rest.split_first()
        {
            self.word |= u64::from(byte) << (56 - self.count);
            (self.rest, self.count) = (rest, self.count + 8);
        }
    }

    /// The next `length` bits, 1 to 32.
    #[inline(always)]
    fn take(&mut self, length: u32) -> Result<u32, Malformed> {
        if self.count < length {
            self.fill();
        }
        let value = self.word >> (64 - length);
        self.skip(length)?;
        Ok(value as u32)
    }

    #[inline(always)]
    fn skip(&mut self, length: u32) -> Result<(), Malformed> {
        self.count = self.count.checked_sub(length).ok_or(Malformed)?;
        self.word <<= length;
        Ok(())
    }
}

/// The block's byte values, the latest first.
struct Recent([u8; 256]);

impl Recent {
    /// Those that the block uses, in their order; and how many they are.
    fn read(bits: &mut Bits<'_>) -> Result<(Recent, usize), Malformed> {
        let mut values = [0; 256];
        let mut used = 0;
        let sixteens = bits.take(16)?;
        for high in (0..16).filter(|high| sixteens << high & 0x8000 != 0) {
            let these = bits.take(16)?;
            for low in (0..16).filter(|low| these << low & 0x8000 != 0) {
                values[used % 256] = high << 4 | low;
                used += 1;
            }
        }
        if used == 0 { Err(Malformed) } else { Ok((Recent(values), used)) }
    }

    const fn latest(&self) -> u8 {
        self.0[0]
    }

    /// The value at this place, which is the latest from now on.
    #[inline(always)]
    fn take(&mut self, place: usize) -> u8 {
        if place < 8
            && let Some(first) = self.0.first_chunk_mut()
        {
            // In one word, the latest lowest.
            let word = u64::from_le_bytes(*first);
            let byte = (word >> (8 * place)) as u8;
            let before = (1 << (8 * place)) - 1;
            let moved = (word & before) << 8 | u64::from(byte);
            *first = (word & !(before << 8 | 0xFF) | moved).to_le_bytes();
            return byte;
        }
        let Some(moved) = self.0.get_mut(..=place) else { return 0 };
        moved.rotate_right(1);
        self.0[0]
    }
}

/// The bits that [`Table::short`] is looked up by.
const SHORT: usize = 10;

/// A coding table: which symbol a code stands for. Of two codes the shorter is the lower, as if the
/// shorter were followed by zeros; of two as long, that of the lower symbol.
struct Table {
    /// By the next bits, where a code of at most so many is among them: the symbol, and how long
    /// its code is in the low 5 bits. A code has at least one bit, so that 0 is none.
    short: [u16; 1 << SHORT],
    /// By length: one more than the last code of this length.
    ends: [u32; LONGEST + 1],
    /// By length: where its symbols end in `symbols`.
    places: [u32; LONGEST + 1],
    /// By their codes.
    symbols: [u16; SYMBOLS],
    longest: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            short: [0; 1 << SHORT],
            ends: [0; LONGEST + 1],
            places: [0; LONGEST + 1],
            symbols: [0; SYMBOLS],
            longest: 0,
        }
    }
}

impl Table {
    /// Each symbol's length is told by how it differs from the one before.
    fn read(&mut self, bits: &mut Bits<'_>, symbols: usize) -> Result<(), Malformed> {
        let mut lengths = [0; SYMBOLS];
        let mut length = bits.take(5)?;
        for told in lengths.iter_mut().take(symbols) {
            loop {
                if !(1..=LONGEST as u32).contains(&length) {
                    return Err(Malformed);
                }
                if bits.take(1)? == 0 {
                    break;
                }
                length = if bits.take(1)? == 0 { length + 1 } else { length - 1 };
            }
            *told = length as u8;
        }
        self.assign(lengths.get(..symbols).unwrap_or_default());
        Ok(())
    }

    /// Where lengths are told that leave no room for all codes, the last get none.
    fn assign(&mut self, lengths: &[u8]) {
        let mut counts = [0; LONGEST + 1];
        for &length in lengths {
            if let Some(count) = counts.get_mut(usize::from(length)) {
                *count += 1;
            }
        }
        let (mut code, mut place) = (0_u32, 0);
        let mut starts = [0; LONGEST + 1];
        self.longest = 0;
        for (length, &count) in counts.iter().enumerate() {
            code = (code << 1) + count;
            starts[length] = place;
            place += count;
            (self.ends[length], self.places[length]) = (code, place);
            if count > 0 {
                self.longest = length;
            }
        }
        self.short.fill(0);
        for (symbol, &length) in lengths.iter().enumerate() {
            let length = usize::from(length);
            let Some(place) = starts.get_mut(length) else { continue };
            if let Some(slot) = self.symbols.get_mut(*place as usize) {
                *slot = symbol as u16;
            }
            if length <= SHORT {
                let code = (self.ends[length] + *place - self.places[length]) as usize;
                let [from, to] = [code, code + 1].map(|code| code << (SHORT - length));
                if let Some(short) = self.short.get_mut(from..to) {
                    short.fill((symbol << 5 | length) as u16);
                }
            }
            *place += 1;
        }
    }

    #[inline(always)]
    fn symbol(&self, bits: &mut Bits<'_>) -> Result<usize, Malformed> {
        if bits.count < LONGEST as u32 {
            bits.fill();
        }
        let entry = self.short[(bits.word >> (64 - SHORT)) as usize];
        if entry == 0 {
            return self.long_symbol(bits);
        }
        bits.skip(u32::from(entry) & 0x1F)?;
        Ok(usize::from(entry >> 5))
    }

    fn long_symbol(&self, bits: &mut Bits<'_>) -> Result<usize, Malformed> {
        let lengths = self.ends.iter().zip(&self.places).enumerate();
        for (length, (&end, &place)) in lengths.take(self.longest + 1).skip(SHORT + 1) {
            let code = (bits.word >> (64 - length)) as u32;
            if code < end {
                bits.skip(length as u32)?;
                let symbol = self.symbols.get(place.wrapping_sub(end - code) as usize);
                return symbol.map(|&symbol| symbol.into()).ok_or(Malformed);
            }
        }
        Err(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use bzip2::Compression;
    use bzip2::read::BzDecoder;
    use bzip2::write::BzEncoder;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn packed(bytes: &[u8], level: u32) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What another decoder makes of it.
    fn reference(bytes: &[u8], most: usize) -> Result<(Vec<u8>, bool), Malformed> {
        let mut inflated = Vec::new();
        let mut decoder = BzDecoder::new(bytes).take(most as u64 + 1);
        decoder.read_to_end(&mut inflated).map_err(|_| Malformed)?;
        let more = inflated.len() > most;
        inflated.truncate(most);
        Ok((inflated, more))
    }

    /// Texts as rules lists hold them, runs of one byte, and anything.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            "[a-z_]{2,12}\0[0-9.]{0,4}\0".prop_map(String::into_bytes),
            (any::<u8>(), 0..700_usize).prop_map(|(byte, times)| vec![byte; times]),
            vec(any::<u8>(), 0..300),
        ];
        vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn blocks_of_every_size_decompress_as_far_as_they_may() {
        let mut seed = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
            (seed >> 24) as u8
        })
        .take(300_000)
        .collect();
        let zeros = [0; 1 << 20];
        let mut decoder = Decoder::default();
        for bytes in [&noise[..20_000], &noise, &zeros, b"a"] {
            for level in [1, 9] {
                let packed = packed(bytes, level);
                let whole = Ok((bytes.to_vec(), false));
                assert_eq!(decoder.inflate(&packed, 1 << 20), whole);
                assert_eq!(decoder.inflate(&packed, bytes.len()), whole);
                let most = bytes.len() / 2;
                assert_eq!(decoder.inflate(&packed, most), Ok((bytes[..most].to_vec(), true)));
                assert_eq!(decoder.inflate(&packed[..packed.len() / 2], 1 << 20), Err(Malformed));
                assert_eq!(decoder.inflate(&packed[4..], 1 << 20), Err(Malformed));
            }
        }
        assert_eq!(decoder.inflate(&packed(b"", 1), 0), Ok((Vec::new(), false)));
        for head in [&b"BZh"[..], b"BZh0", b"BZh9"] {
            assert_eq!(decoder.inflate(head, 1), Err(Malformed));
        }
    }

    #[test]
    fn randomised_blocks_are_errors() {
        let mut packed = packed(b"some text", 9);
        packed[14] |= 0x80;
        assert_eq!(Decoder::default().inflate(&packed, 100), Err(Malformed));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn what_was_packed_comes_out(bytes in content(), level in 1..=9_u32, behind in 0..3_usize) {
            let mut packed = packed(&bytes, level);
            packed.extend(vec![0x42; behind]);
            let inflated = Decoder::default().inflate(&packed, bytes.len());
            prop_assert_eq!(inflated, Ok((bytes, false)));
        }

        #[test]
        fn a_limit_leaves_out_the_rest(bytes in content(), most in 0..3000_usize) {
            let packed = packed(&bytes, 1);
            prop_assert_eq!(Decoder::default().inflate(&packed, most), reference(&packed, most));
        }

        /// One decoder for all: what a broken stream leaves behind changes nothing.
        #[test]
        fn broken_streams_are_errors_where_they_are_for_others(
            bytes in content(),
            changes in vec((any::<prop::sample::Index>(), 0..8_u32), 1..4),
            end in any::<prop::sample::Index>(),
        ) {
            let whole = packed(&bytes, 1);
            let mut broken = whole.clone();
            for (at, bit) in changes {
                let at = at.index(broken.len());
                // But for the bit that says "randomised".
                if (at, bit) != (14, 7) {
                    broken[at] ^= 1 << bit;
                }
            }
            let mut decoder = Decoder::default();
            for bytes in [&broken[..], &whole[..end.index(whole.len())], &whole] {
                prop_assert_eq!(decoder.inflate(bytes, 1 << 20), reference(bytes, 1 << 20));
            }
        }
    }
}
