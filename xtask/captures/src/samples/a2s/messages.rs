//! Responses of "Server queries" that are too long for a script, and the ways in which servers split them.

use std::io::Read;

use bzip2::Compression;
use bzip2::read::BzEncoder;

use crate::bytes::Bytes;
use crate::wire::Prng;

/// The default size of a packet of a split response.
pub(super) const SPLIT_SIZE: u16 = 1248;

/// The payload of a packet of a GoldSrc server: 1400 bytes minus the 9 of the header.
pub(super) const GOLDSRC_SPLIT_SIZE: usize = 1391;

/// A2S_RULES, "Response format": this number of rules, with values that hardly compress.
pub(super) fn rules_response(count: u16, seed: u64) -> Vec<u8> {
    let mut prng = Prng::new(seed);
    let mut message = Bytes::new().le32(0xFFFF_FFFF).u8(0x45).le16(count);
    for number in 0..count {
        let value = format!("{:x}", prng.next());
        message = message.text(&format!("sv_setting_{number:03}")).text(&value);
    }
    message.done()
}

/// A2S_PLAYER, "Response format": this number of players.
pub(super) fn player_response(count: u8, seed: u64) -> Vec<u8> {
    let mut prng = Prng::new(seed);
    let mut message = Bytes::new().le32(0xFFFF_FFFF).u8(0x44).u8(count);
    for index in 0..count {
        let (score, minutes) = (prng.below(60) as u32, prng.below(240) as f32);
        let name = format!("Player {:04}", prng.below(10_000));
        message = message.u8(index).text(&name).le32(score).f32(minutes * 60.0 + 0.5);
    }
    message.done()
}

/// "Multi-packet Response", first table: number and total share one byte.
pub(super) fn split_goldsrc(id: u32, response: &[u8]) -> Vec<Vec<u8>> {
    let parts = response.chunks(GOLDSRC_SPLIT_SIZE);
    let total = parts.len() as u8;
    assert!((2..=15).contains(&total), "{total} parts");
    let packet = |(number, part): (usize, &[u8])| {
        let head = Bytes::new().le32(0xFFFF_FFFE).le32(id);
        head.u8((number as u8) << 4 | total).raw(part).done()
    };
    parts.enumerate().map(packet).collect()
}

/// "Multi-packet Response", second table, with the Size field of the Orange Box engine.
pub(crate) fn split_orange_box(id: u32, response: &[u8]) -> Vec<Vec<u8>> {
    split_source(id, Some(SPLIT_SIZE), response)
}

/// "Multi-packet Response", second table, as engines before the Orange Box send it: without Size.
pub(super) fn split_old_source(id: u32, response: &[u8]) -> Vec<Vec<u8>> {
    split_source(id, None, response)
}

fn split_source(id: u32, size: Option<u16>, body: &[u8]) -> Vec<Vec<u8>> {
    let parts = body.chunks(usize::from(SPLIT_SIZE));
    let total = parts.len() as u8;
    let packet = |(number, part): (usize, &[u8])| {
        let head = Bytes::new().le32(0xFFFF_FFFE).le32(id).u8(total).u8(number as u8);
        let head = if let Some(size) = size { head.le16(size) } else { head };
        head.raw(part).done()
    };
    parts.enumerate().map(packet).collect()
}

/// The same, compressed: the ID's highest bit is set, and the first packet has the size and CRC32 of the
/// uncompressed response before the compressed data.
pub(crate) fn split_compressed(
    id: u32,
    size: Option<u16>,
    blocks: Compression,
    response: &[u8],
) -> Vec<Vec<u8>> {
    let head = Bytes::new().le32(response.len() as u32).le32(crc32fast::hash(response));
    split_source(id | 0x8000_0000, size, &head.raw(&bzip2(response, blocks)).done())
}

fn bzip2(bytes: &[u8], blocks: Compression) -> Vec<u8> {
    let mut compressed = Vec::new();
    BzEncoder::new(bytes, blocks).read_to_end(&mut compressed).expect("memory can be read");
    compressed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tile_the_answer() {
        let response = rules_response(120, 1);
        for (parts, head) in [
            (split_goldsrc(1, &response), 9),
            (split_orange_box(1, &response), 12),
            (split_old_source(1, &response), 10),
        ] {
            assert!(parts.len() > 2);
            let joined: Vec<u8> = parts.iter().flat_map(|part| part[head..].to_vec()).collect();
            assert_eq!(joined, response);
        }
    }

    #[test]
    fn heads_by_hand() {
        let response = vec![0xEE; 3000];
        assert_eq!(split_goldsrc(0x0102, &response)[1][..9], *b"\xFE\xFF\xFF\xFF\x02\x01\0\0\x13");
        assert_eq!(
            split_orange_box(3, &response)[2][..12],
            *b"\xFE\xFF\xFF\xFF\x03\0\0\0\x03\x02\xE0\x04"
        );
        assert_eq!(split_old_source(3, &response)[0][..10], *b"\xFE\xFF\xFF\xFF\x03\0\0\0\x03\x00");
    }

    #[test]
    fn compressed_responses_decompress() {
        let response = rules_response(150, 2);
        let parts = split_compressed(5, Some(SPLIT_SIZE), Compression::best(), &response);
        assert!(parts.len() > 1);
        assert_eq!(parts[0][4..8], [5, 0, 0, 0x80]);
        let joined: Vec<u8> = parts.iter().flat_map(|part| part[12..].to_vec()).collect();
        assert_eq!(joined[..4], (response.len() as u32).to_le_bytes());
        assert_eq!(joined[8..11], *b"BZh");
        let mut plain = Vec::new();
        bzip2::read::BzDecoder::new(&joined[8..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, response);
        assert_eq!(joined[4..8], crc32fast::hash(&plain).to_le_bytes());
    }
}
