//! TCP reassembly: segments in any order, with any flags.

use std::net::IpAddr;

use dissectors::kit::Side;
use gamewire::net::tcp::{
    ArrivingSegment, Connection, Next, Run, StreamBudget, StreamEvent, StreamLimits, StreamReader,
};
use gamewire::net::{FrameRef, Headers, Ip, Segment, TcpFlags, TransportPayload, Tunnels};

use crate::input::Input;

/// The flags that the bits of a byte select, from the second one on.
fn chosen(byte: u8) -> TcpFlags {
    let bits = [(2, TcpFlags::SYN), (4, TcpFlags::FIN), (8, TcpFlags::RST), (16, TcpFlags::ACK)];
    let chosen = bits.into_iter().filter(|(bit, _)| byte & bit != 0);
    chosen.fold(TcpFlags::default(), |all, (_, flag)| all | flag)
}

/// Input: records of ten bytes, each followed by up to 255 bytes of payload.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let limits =
        StreamLimits { stream: 8 << 10, ranges: 16, total: 12 << 10, ..StreamLimits::default() };
    let mut budget = StreamBudget::new(limits);
    let mut eater = Eater { appetite: input.u8(), read: 0, frame: 0 };
    let mut connection = Connection::default();
    let host = IpAddr::from([10, 0, 0, 1]);
    let (hop_limit, vlan, tunnels) = (64, None, Tunnels::default());
    let ip = Ip {
        source: host,
        destination: host,
        hop_limit,
        direction: Default::default(),
        vlan,
        tags: Default::default(),
        tunnels,
    };
    // The sequence numbers of both directions wrap around soon.
    let base = [u32::MAX - 300, u32::MAX - 700];
    let (mut given, mut time) = (0, 0_i64);
    while !input.is_empty() {
        let (flags, kind) = (input.u8(), input.u8());
        time = time.saturating_add(Input::step(input.u8()));
        let side = usize::from(flags & 1);
        let near = |shift: u16| u32::from(shift).wrapping_sub(0x100);
        let (sequence, acknowledgment) = if kind & 1 == 0 {
            let (sequence, acknowledgment) = (near(input.u16()), near(input.u16()));
            (base[side].wrapping_add(sequence), base[1 - side].wrapping_add(acknowledgment))
        } else {
            (input.u32(), input.u32())
        };
        let (count, repeat) = (usize::from(input.u8()), usize::from(kind >> 4));
        let payload = input.bytes(count).repeat(1 + repeat);
        eater.frame += 1;
        given += payload.len();
        let missing = if kind & 2 == 0 { 0 } else { 100 };
        let segment = Segment {
            ip,
            source_port: 1,
            destination_port: 2,
            sequence,
            acknowledgment,
            flags: chosen(flags),
            window: u16::from(kind & 0x20),
            payload: TransportPayload {
                bytes: &payload,
                offset: 54,
                announced: payload.len() as u32 + missing,
                snapped: missing > 0,
            },
            note: None,
            headers: Headers { ipv4: &[], transport: &[] },
        };
        let side = if side == 0 { Side::First } else { Side::Second };
        let at = FrameRef { frame: eater.frame, time };
        let arrival = ArrivingSegment { segment: &segment, at, pieces: &[] };
        connection.segment(side, &arrival, &mut budget, &mut eater);
        assert!(budget.used() <= limits.total, "{} bytes are held", budget.used());
        if kind & 12 == 12 {
            connection.give_up_gaps(&mut budget, &mut eater);
        }
    }
    connection.finish(&mut budget, &mut eater);
    assert_eq!(budget.used(), 0);
    assert!(eater.read <= given, "{} of {given} bytes were read", eater.read);
}

/// Consumes a part of each run.
struct Eater {
    appetite: u8,
    read: usize,
    frame: u64,
}

impl StreamReader for Eater {
    fn read(&mut self, _: Side, run: &Run<'_>) -> Next {
        let bytes = run.bytes().len();
        let mut at = 0;
        for piece in run.pieces() {
            assert_eq!(piece.at as usize, at, "a hole or an overlap");
            assert!((1..=self.frame).contains(&piece.frame));
            at += piece.length as usize;
        }
        assert_eq!(at, bytes);
        assert!(run.seen() <= bytes);
        let used = match self.appetite & 3 {
            0 => bytes,
            1 => bytes - bytes % usize::from(1 + (self.appetite >> 2)),
            2 => bytes.min(usize::from(self.appetite >> 2)),
            _ if self.appetite == 0xFF => return Next::Ignore,
            _ => 0,
        };
        self.read += used;
        Next::Consumed(used)
    }

    fn event(&mut self, event: StreamEvent) {
        assert!(event.frame <= self.frame);
    }
}
