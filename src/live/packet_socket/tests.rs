use std::mem::{offset_of, size_of};

use libc::{sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1, tpacket_hdr_variant1, tpacket3_hdr};

use super::*;

const DATA: &[u8] = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0payload";

/// Where the packet's bytes are, from the start of its header.
const START: usize = 96;

/// A block with one packet, as the kernel writes it: the tag is its control information and its protocol.
fn block(tag: Option<(u32, Option<u16>)>) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let header = offset_of!(tpacket_block_desc, hdr);
    let first = 64;
    put(header + offset_of!(tpacket_hdr_v1, num_pkts), &1_u32.to_ne_bytes());
    put(header + offset_of!(tpacket_hdr_v1, offset_to_first_pkt), &64_u32.to_ne_bytes());
    put(first + offset_of!(tpacket3_hdr, tp_sec), &1_700_000_000_u32.to_ne_bytes());
    put(first + offset_of!(tpacket3_hdr, tp_nsec), &987_654_321_u32.to_ne_bytes());
    put(first + offset_of!(tpacket3_hdr, tp_snaplen), &(DATA.len() as u32).to_ne_bytes());
    put(first + offset_of!(tpacket3_hdr, tp_len), &1000_u32.to_ne_bytes());
    put(first + offset_of!(tpacket3_hdr, tp_mac), &(START as u16).to_ne_bytes());
    if let Some((control, protocol)) = tag {
        let about = first + offset_of!(tpacket3_hdr, hv1);
        let mut status = libc::TP_STATUS_USER | libc::TP_STATUS_VLAN_VALID;
        put(about + offset_of!(tpacket_hdr_variant1, tp_vlan_tci), &control.to_ne_bytes());
        if let Some(protocol) = protocol {
            status |= libc::TP_STATUS_VLAN_TPID_VALID;
            put(about + offset_of!(tpacket_hdr_variant1, tp_vlan_tpid), &protocol.to_ne_bytes());
        }
        put(first + offset_of!(tpacket3_hdr, tp_status), &status.to_ne_bytes());
    }
    let address = first + size_of::<tpacket3_hdr>();
    put(address + offset_of!(sockaddr_ll, sll_protocol), &0x0800_u16.to_be_bytes());
    put(address + offset_of!(sockaddr_ll, sll_hatype), &libc::ARPHRD_PPP.to_ne_bytes());
    put(address + offset_of!(sockaddr_ll, sll_pkttype), &[libc::PACKET_OUTGOING]);
    put(address + offset_of!(sockaddr_ll, sll_halen), &[6]);
    put(address + offset_of!(sockaddr_ll, sll_addr), &[2, 0, 0, 0, 0, 1]);
    put(first + START, DATA);
    bytes
}

/// The only packet of a block, as it was on the wire.
fn restored(block: &[u8], layout: Layout, snaplen: usize) -> (Vec<u8>, u32) {
    let (count, first) = packets_of(block).unwrap();
    assert_eq!(count, 1);
    let frame = Frame::at(block, first).unwrap();
    assert_eq!((frame.seconds, frame.nanoseconds), (1_700_000_000, 987_654_321));
    let mut buffer = Vec::new();
    let (data, length) = frame.restored(layout, snaplen, &mut buffer);
    (data.to_vec(), length)
}

#[test]
fn a_packet_is_as_the_kernel_wrote_it() {
    for layout in [Layout::Ethernet, Layout::Raw] {
        assert_eq!(restored(&block(None), layout, 2000), (DATA.to_vec(), 1000));
    }
}

#[test]
fn the_tag_of_a_vlan_is_put_back() {
    let tagged = |tag: [u8; 4]| [&DATA[..12], &tag, &DATA[12..]].concat();
    let usual = restored(&block(Some((5, None))), Layout::Ethernet, 2000);
    assert_eq!(usual, (tagged([0x81, 0, 0, 5]), 1004));
    let provider = restored(&block(Some((0x6FFE, Some(0x88A8)))), Layout::Ethernet, 2000);
    assert_eq!(provider, (tagged([0x88, 0xA8, 0x6F, 0xFE]), 1004));
    // Priority alone, in VLAN 0.
    let priority = restored(&block(Some((0, Some(0x8100)))), Layout::Ethernet, 2000);
    assert_eq!(priority, (tagged([0x81, 0, 0, 0]), 1004));
    // The snap length counts the tag, too.
    let short = restored(&block(Some((5, None))), Layout::Ethernet, 16);
    assert_eq!(short, (tagged([0x81, 0, 0, 5])[..16].to_vec(), 1004));
    // An IP packet has no place for it.
    assert_eq!(restored(&block(Some((5, None))), Layout::Raw, 2000), (DATA.to_vec(), 1000));
}

#[test]
fn a_cooked_packet_says_its_direction_hardware_sender_and_protocol() {
    let begins = b"\0\x04\x02\0\0\x06\x02\0\0\0\0\x01\0\0\x08\0";
    let (data, length) = restored(&block(None), Layout::Cooked, 2000);
    assert_eq!((data, length), ([begins, DATA].concat(), 1016));
    let (data, length) = restored(&block(Some((5, None))), Layout::Cooked, 2000);
    let expected = [&begins[..14], &[0x81, 0, 0, 5], &begins[14..], DATA].concat();
    assert_eq!((data, length), (expected, 1020));
}

/// The kernel does not write such blocks; reading them must not panic nevertheless.
#[test]
fn blocks_that_contradict_themselves_have_no_packets() {
    let whole = block(Some((5, None)));
    for length in 0..whole.len() {
        let cut = &whole[..length];
        if let Some((_, first)) = packets_of(cut) {
            assert!(Frame::at(cut, first).is_none() || length >= 64 + START + DATA.len());
        }
    }
    for at in [usize::MAX, whole.len(), whole.len() - 1] {
        assert!(Frame::at(&whole, at).is_none());
    }
    let mut long = whole.clone();
    long[64 + offset_of!(tpacket3_hdr, tp_snaplen)..][..4].copy_from_slice(&[0xFF; 4]);
    assert!(Frame::at(&long, 64).is_none());
}

#[test]
fn kinds_of_hardware_without_a_header_of_their_own_are_ip_or_cooked() {
    assert_eq!(layout_of(libc::ARPHRD_ETHER), Layout::Ethernet);
    assert_eq!(layout_of(libc::ARPHRD_LOOPBACK), Layout::Ethernet);
    assert_eq!(layout_of(libc::ARPHRD_NONE), Layout::Raw);
    assert_eq!(layout_of(libc::ARPHRD_PPP), Layout::Cooked);
    assert_eq!(layout_of(libc::ARPHRD_IEEE80211_RADIOTAP), Layout::Cooked);
}

#[test]
fn a_missing_device_is_an_error() {
    let opening = Opening { snaplen: 100, promiscuous: false, buffer: None, timeout: 10 };
    for name in ["nowhere0", "no\0where", "", "a-name-that-is-longer-than-any"] {
        let refusal = PacketSocket::open(name, opening).err().unwrap();
        assert!(matches!(refusal, Refusal::NoSuchDevice(_) | Refusal::NoRight(_)), "{refusal:?}");
    }
}

#[test]
fn the_devices_are_listed_once_each_with_the_name_of_all() {
    let devices = devices().unwrap();
    let mut names: Vec<_> = devices.iter().map(|device| &device.name).collect();
    assert_eq!(names.last().unwrap().as_str(), ANY);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), devices.len());
}
