//! Split responses of A2S, plain and compressed with bzip2: reassembled in any order.

use std::io::Write;

use dissectors::Id;

use crate::conversation::{self, kind};
use crate::input::Input;

/// Changes to the response.
mod change {
    pub(super) const COMPRESSED: u8 = 0x04;
    pub(super) const BACKWARDS: u8 = 0x08;
    pub(super) const TWICE: u8 = 0x10;
    pub(super) const DAMAGED: u8 = 0x20;
    pub(super) const REPEATED: u8 = 0x40;
    pub(super) const ANNOUNCED_WRONGLY: u8 = 0x80;
}

/// The GoldSrc layout; 1 is Source's, 2 the Orange Box's.
const GOLDSRC: u8 = 0;

/// Input: flags, bytes per packet, number of the lost packet (255: none), then the response.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (flags, size, lost) = (input.u8(), usize::from(input.u8()), usize::from(input.u8()));
    let layout = flags % 3;
    // Repeated bytes compress well: a small decompression bomb.
    let times = if flags & change::REPEATED != 0 { 64 } else { 1 };
    let mut response = b"\xFF\xFF\xFF\xFF".to_vec();
    response.extend(input.0.repeat(times));
    let is_compressed = flags & change::COMPRESSED != 0 && layout != GOLDSRC;
    let response = if is_compressed { compressed(&response, flags) } else { response };
    let id = 7 | if is_compressed { 0x8000_0000_u32 } else { 0 };
    let most = if layout == GOLDSRC { 15 } else { 255 };
    let size = (16 + size).max(response.len().div_ceil(most));
    let total = response.chunks(size).count() as u8;
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for (number, part) in (0..=u8::MAX).zip(response.chunks(size)) {
        let mut packet = b"\xFE\xFF\xFF\xFF".to_vec();
        packet.extend(id.to_le_bytes());
        match layout {
            GOLDSRC => packet.push(number << 4 | total),
            1 => packet.extend([total, number]),
            _ => {
                packet.extend([total, number]);
                packet.extend((size as u16).to_le_bytes());
            }
        }
        packet.extend(part);
        packets.push(packet);
    }
    if lost < packets.len() {
        packets.remove(lost);
    }
    if flags & change::BACKWARDS != 0 {
        packets.reverse();
    }
    if flags & change::TWICE != 0 {
        packets.extend(packets.clone());
    }
    let mut said = vec![0];
    record(&mut said, 0, b"\xFF\xFF\xFF\xFF\x56\x4B\xA1\xD5\x22");
    packets.iter().for_each(|packet| record(&mut said, kind::SECOND, packet));
    conversation::run(Id::A2s, &said);
}

/// The size and checksum of the plain response, and the compressed response.
fn compressed(response: &[u8], flags: u8) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(response).expect("memory takes all");
    let mut packed = encoder.finish().expect("memory takes all");
    if flags & change::DAMAGED != 0 {
        let middle = packed.len() / 2;
        packed.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 0x10);
    }
    let wrong = u32::from(flags & change::ANNOUNCED_WRONGLY != 0);
    let mut bytes = (response.len() as u32).wrapping_sub(wrong).to_le_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(packed);
    bytes
}

fn record(said: &mut Vec<u8>, kind: u8, packet: &[u8]) {
    said.extend([kind, 1]);
    said.extend((packet.len().min(usize::from(u16::MAX)) as u16).to_le_bytes());
    said.extend(packet.iter().take(usize::from(u16::MAX)));
}
