//! The format of a reply.

use std::net::{IpAddr, Ipv4Addr};

use crate::kit::{Sink, Span, is_private, unreachable};
use crate::rule;

rule! {
    /// Clients compare all six bytes and drop other messages.
    pub VM010 "reply-header" { severity: Error, who: Master, needs: Message,
        asks: "FF FF FF FF 66 is followed by 0A",
        cite: [("Reply format", "The reply always starts with FF FF FF FF 66 0A.")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6"),
        wrong: replied!("FFFFFFFF 6600 ip:10.0.0.2:27015 00*6") }
}

/// `found`: the actual bytes.
pub(in crate::valve_master) fn reply_header<S: Sink>(
    ok: bool,
    found: Option<u8>,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&VM010, ok, at, || match found {
        Some(found) => format!("FF FF FF FF 66 is followed by {found:02X}, not by 0A"),
        None => "the reply ends after FF FF FF FF 66".to_owned(),
    });
}

/// `bytes`: a list with a wrong header.
pub(in crate::valve_master) fn broken_header<S: Sink>(bytes: &[u8], at: Span, sink: &mut S) {
    sink.checked(&VM010, false, at, || {
        let found: Vec<_> = bytes.iter().take(6).map(|byte| format!("{byte:02X}")).collect();
        format!("the reply begins with {}, not with FF FF FF FF 66 0A", found.join(" "))
    });
}

rule! {
    /// The blocks have no separators: a missing byte shifts all following addresses.
    pub VM011 "reply-blocks" { severity: Error, who: Master, needs: Message,
        asks: "what follows the header is a whole number of 6-byte address blocks",
        cite: [("Reply format", "The format is then a series of these server address blocks:")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6"),
        wrong: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6 0A00") }
}

/// `rest`: the number of bytes after the last complete block.
pub(in crate::valve_master) fn reply_blocks<S: Sink>(rest: usize, at: Span, sink: &mut S) {
    sink.checked(&VM011, rest == 0, at, || {
        let bytes = if rest == 1 { "byte follows" } else { "bytes follow" };
        format!("{rest} {bytes} the last block, less than another one")
    });
}

/// The recording lost the rest of the blocks, so that the end of the list is unknown.
pub(in crate::valve_master) fn blocks_lost<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&VM011, false, at, || LOST.to_owned());
}

const LOST: &str = "the capture does not hold the rest of the list";

/// Over IPv6, Xash3D's masters send blocks of 18 bytes: a known deviation.
pub(in crate::valve_master) fn blocks_ipv6<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&VM011, at, || "the blocks have 18 bytes: IPv6, in Xash3D's dialect".to_owned());
}

rule! {
    /// Clients stop at the end mark and ignore the rest.
    pub VM012 "terminator-last" { severity: Error, who: Master, needs: Message,
        asks: "0.0.0.0:0 is the last block only",
        cite: [("End of IP address list", "The end of the IP list is indicated by a received IP address of 0.0.0.0 Port:0.")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6"),
        wrong: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6 ip:10.0.1.2:27015") }
}
rule! {
    /// Clients cannot query such a server.
    pub VM013 "address-usable" { severity: Warning, who: Master, needs: Message,
        asks: "no block except the end mark has address 0.0.0.0 or port 0",
        cite: [("End of IP address list", "")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6"),
        wrong: replied!("FFFFFFFF 660A ip:10.0.0.2:0 00*6") }
}
rule! {
    /// The port is the protocol's only number in network order: in the byte order of the other
    /// numbers, 27015 reads 34665, and no server is found there.
    pub VM014 "port-network-order" { severity: Warning, who: Master, needs: Message,
        asks: "ports are big-endian",
        cite: [("Reply format", "Unsigned Short Port number - usually 27015 (69 87) - this is network ordered, which is unlike every other Steam protocol.")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27016 00*6"),
        wrong: replied!("FFFFFFFF 660A ip:10.0.0.2:34665 ip:10.0.1.2:34921 00*6") }
}

rule! {
    /// No client can reach such a server, or it reaches something else.
    pub VM016 "address-public" { severity: Note, who: Master, needs: Message,
        asks: "no block is a loopback, link-local, multicast or broadcast address (a private one: only if the master itself is public)",
        cite: [("Reply format", "The format is then a series of these server address blocks:")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 00*6"),
        wrong: replied!("FFFFFFFF 660A ip:127.0.0.1:27015 00*6") }
}

/// Irregularities in the blocks of a reply.
#[derive(Default)]
pub(in crate::valve_master) struct Blocks {
    /// The number of blocks without an end mark in the last place.
    count: u32,
    /// The number of blocks whose port is a usual one only if its bytes are swapped.
    swapped: u32,
    /// The first 0.0.0.0:0 among them.
    end: Option<Span>,
    /// Those that cannot be reached, and their ports.
    unusable: Vec<(u16, Span)>,
    /// Those at which there is no host, or none of the Internet: the address, and why.
    not_public: Vec<(IpAddr, &'static str, Span)>,
}

const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The usual ports of game servers: 27015, counting up if several share an address.
const USUAL: std::ops::RangeInclusive<u16> = 27000..=27099;

impl Blocks {
    /// Adds a block: an address of 4 or 16 bytes, and a port. `of_public`: the master's own address
    /// is one of the Internet.
    pub(in crate::valve_master) fn block(&mut self, block: &[u8], of_public: bool, at: Span) {
        self.count += 1;
        let Some((address, &port)) = block.split_last_chunk() else { return };
        let no_address = address.iter().all(|&byte| byte == 0);
        let port = u16::from_be_bytes(port);
        if no_address && port == 0 {
            self.end.get_or_insert(at);
        } else if no_address || port == 0 {
            self.unusable.push((port, at));
        }
        let host = match address {
            [a, b, c, d] => IpAddr::from([*a, *b, *c, *d]),
            address => address.first_chunk::<16>().map_or(NOBODY, |bytes| IpAddr::from(*bytes)),
        };
        let is_private = || (of_public && is_private(host)).then_some("private");
        if !no_address && let Some(why) = unreachable(host).or_else(is_private) {
            self.not_public.push((host, why, at));
        }
        self.swapped += u32::from(!USUAL.contains(&port) && USUAL.contains(&port.swap_bytes()));
    }

    /// The blocks conform to the specification.
    pub(in crate::valve_master) fn is_valid(&self) -> bool {
        self.end.is_none() && self.unusable.is_empty()
    }
}

/// `ended`: 0.0.0.0:0 is the last block. `lost`: the recording lost the following ones, which count
/// as one, because their number is unknown.
pub(in crate::valve_master) fn blocks<S: Sink>(
    blocks: &Blocks,
    ended: bool,
    lost: bool,
    at: Span,
    sink: &mut S,
) {
    if lost {
        for rule in [&VM012, &VM013, &VM014, &VM016] {
            sink.checked(rule, false, at, || LOST.to_owned());
        }
    } else if ended || blocks.end.is_some() {
        sink.checked(&VM012, blocks.end.is_none(), blocks.end.unwrap_or(at), || {
            "0.0.0.0:0 comes before other blocks".to_owned()
        });
    }
    if blocks.count == 0 {
        return;
    }
    sink.whole_elements(true);
    for &(port, block) in &blocks.unusable {
        sink.checked(&VM013, false, block, || match port {
            0 => "a server is listed with port 0".to_owned(),
            port => format!("a server is listed as 0.0.0.0:{port}"),
        });
    }
    if blocks.unusable.is_empty() {
        sink.checked(&VM013, true, at, String::new);
    }
    sink.whole_elements(false);
    if lost {
        return;
    }
    for &(host, why, block) in &blocks.not_public {
        sink.checked(&VM016, false, block, || format!("{host}, a {why} address, is listed"));
    }
    if blocks.not_public.is_empty() {
        sink.checked(&VM016, true, at, String::new);
    }
    sink.checked(&VM014, blocks.swapped * 2 <= blocks.count, at, || {
        let Blocks { swapped, count, .. } = blocks;
        format!("{swapped} of {count} ports are near 27015 only when their bytes are swapped")
    });
}
