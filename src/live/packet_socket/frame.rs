//! Packets as the kernel writes them into a ring, and as they were on the wire: without libpcap, what it would put
//! back must be put back here.

use std::mem::{offset_of, size_of};

use libc::{sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1, tpacket3_hdr};

/// Length of the header of a cooked capture (`LINKTYPE_LINUX_SLL`).
const COOKED: usize = 16;

/// Where the tag of a VLAN is in an Ethernet frame, and in a cooked packet: before the protocol.
const TAG_IN_ETHERNET: usize = 12;
const TAG_IN_COOKED: usize = COOKED - 2;

/// The protocol of a tag, if the kernel does not say it.
const USUAL_TAG: u16 = 0x8100;

/// Bytes of the kernel's header before the address.
const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// What comes before the packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The frame as it was on the wire.
    Ethernet,
    /// An IP packet alone.
    Raw,
    /// The header of a cooked capture, which the kernel does not write.
    Cooked,
}

/// A packet in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    /// Its length on the wire, without what was stripped.
    pub(super) length: u32,
    pub(super) data: &'a [u8],
    /// Bytes to the next packet.
    pub(super) next: usize,
    tag: Option<[u8; 4]>,
    address: &'a [u8],
}

/// How many packets a block has, and where the first one is.
pub(super) fn packets_of(block: &[u8]) -> Option<(u32, usize)> {
    let header = block.get(offset_of!(tpacket_block_desc, hdr)..)?;
    let count = u32_at(header, offset_of!(tpacket_hdr_v1, num_pkts))?;
    let first = u32_at(header, offset_of!(tpacket_hdr_v1, offset_to_first_pkt))?;
    Some((count, first as usize))
}

impl<'a> Frame<'a> {
    /// The packet that begins at this place of a block.
    pub(super) fn at(block: &'a [u8], at: usize) -> Option<Frame<'a>> {
        let header = block.get(at..)?;
        let start = usize::from(u16_at(header, offset_of!(tpacket3_hdr, tp_mac))?);
        let captured = u32_at(header, offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
        Some(Frame {
            seconds: u32_at(header, offset_of!(tpacket3_hdr, tp_sec))?,
            nanoseconds: u32_at(header, offset_of!(tpacket3_hdr, tp_nsec))?,
            length: u32_at(header, offset_of!(tpacket3_hdr, tp_len))?,
            data: header.get(start..start.checked_add(captured)?)?,
            next: u32_at(header, offset_of!(tpacket3_hdr, tp_next_offset))? as usize,
            tag: tag(header),
            address: header.get(ADDRESS..ADDRESS + size_of::<sockaddr_ll>())?,
        })
    }

    /// The packet as it was on the wire, and its length there: with the tag of its VLAN, which the kernel strips, and
    /// with the header of a cooked capture. `buffer` has it if it is not in the block as it is.
    pub(super) fn restored(
        &self,
        layout: Layout,
        snaplen: usize,
        buffer: &'a mut Vec<u8>,
    ) -> (&'a [u8], u32) {
        let tag = self.tag.filter(|_| layout != Layout::Raw);
        if layout != Layout::Cooked && tag.is_none() {
            return (self.data, self.length);
        }
        buffer.clear();
        let mut length = self.length;
        let mut place = TAG_IN_ETHERNET;
        if layout == Layout::Cooked {
            buffer.extend(self.cooked_header());
            length = length.saturating_add(COOKED as u32);
            place = TAG_IN_COOKED;
        }
        buffer.extend_from_slice(self.data);
        if let Some(tag) = tag {
            length = length.saturating_add(tag.len() as u32);
            if buffer.len() >= place {
                buffer.splice(place..place, tag);
            }
        }
        buffer.truncate(snaplen);
        (buffer, length)
    }

    /// Direction, kind of hardware, sender and protocol.
    fn cooked_header(&self) -> [u8; COOKED] {
        let byte = |at: usize| self.address.get(at).copied().unwrap_or(0);
        let kind = [
            byte(offset_of!(sockaddr_ll, sll_hatype)),
            byte(offset_of!(sockaddr_ll, sll_hatype) + 1),
        ];
        let mut header = [0; COOKED];
        header[1] = byte(offset_of!(sockaddr_ll, sll_pkttype));
        header[2..4].copy_from_slice(&u16::from_ne_bytes(kind).to_be_bytes());
        header[5] = byte(offset_of!(sockaddr_ll, sll_halen));
        for (n, to) in header[6..14].iter_mut().enumerate() {
            *to = byte(offset_of!(sockaddr_ll, sll_addr) + n);
        }
        // In the order of the network already.
        header[14] = byte(offset_of!(sockaddr_ll, sll_protocol));
        header[15] = byte(offset_of!(sockaddr_ll, sll_protocol) + 1);
        header
    }
}

/// The tag that the kernel or the device has stripped from a packet.
fn tag(header: &[u8]) -> Option<[u8; 4]> {
    let status = u32_at(header, offset_of!(tpacket3_hdr, tp_status))?;
    let about = header.get(offset_of!(tpacket3_hdr, hv1)..)?;
    let control = u32_at(about, offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci))?;
    if status & libc::TP_STATUS_VLAN_VALID == 0 && control == 0 {
        return None;
    }
    let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => USUAL_TAG,
        _ => u16_at(about, offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid))?,
    };
    // The control information has 16 bits, in a field of 32.
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), (control as u16).to_be_bytes());
    Some([a, b, c, d])
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
