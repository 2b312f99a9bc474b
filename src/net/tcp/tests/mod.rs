//! Each behaviour of reassembly separately; `model.rs` tests them together.

mod forged;
mod holes;
mod limits;
mod model;
mod streams;

use std::net::IpAddr;

use super::*;
use crate::net::{Headers, Ip, TcpFlags, TransportPayload, Tunnels};

const A: Side = Side::First;
const B: Side = Side::Second;
const SYN: TcpFlags = TcpFlags::SYN;
const SYN_ACK: TcpFlags = TcpFlags(SYN.0 | ACK.0);
const FIN: TcpFlags = TcpFlags::FIN;
const RST: TcpFlags = TcpFlags::RST;
const ACK: TcpFlags = TcpFlags::ACK;
const DATA: TcpFlags = TcpFlags(0);

/// The calls of a reader, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reported {
    /// Consumed bytes, and how many are missing before them.
    Bytes(Side, Vec<u8>, u64),
    /// Bytes that were not consumed before the end came.
    End(Side, Vec<u8>, StreamEnd),
    Event(Side, u64, StreamEventKind),
}

/// How a test's reader consumes.
#[derive(Clone, Copy, Debug)]
enum Appetite {
    All,
    /// Whole groups of this many bytes; what is left at an end is not consumed.
    Groups(usize),
    Nothing,
    /// All, but nothing that answers unseen bytes.
    InOrder,
    Ignore,
}

#[derive(Debug)]
struct Listener {
    appetite: Appetite,
    reported: Vec<Reported>,
    pieces: Vec<(Side, u32, Piece)>,
    calls: usize,
    largest: usize,
    borrowed: Option<*const u8>,
    seen: Vec<usize>,
    other_has_hole: bool,
}

impl Listener {
    fn new(appetite: Appetite) -> Self {
        Self {
            appetite,
            reported: Vec::new(),
            pieces: Vec::new(),
            calls: 0,
            largest: 0,
            borrowed: None,
            seen: Vec::new(),
            other_has_hole: false,
        }
    }
}

impl StreamReader for Listener {
    fn read(&mut self, side: Side, run: &Run<'_>) -> Next {
        self.calls += 1;
        self.largest = self.largest.max(run.bytes().len());
        self.borrowed = Some(run.bytes().as_ptr());
        self.seen.push(run.seen());
        self.other_has_hole = run.other_has_hole();
        let len = run.bytes().len();
        let count = match self.appetite {
            Appetite::All => len,
            Appetite::Groups(size) => len - len % size,
            Appetite::Nothing => 0,
            Appetite::InOrder if run.answers_unshown() => return Next::Later,
            Appetite::InOrder => len,
            Appetite::Ignore => return Next::Ignore,
        };
        if count > 0 {
            let bytes = run.bytes()[..count].to_vec();
            self.reported.push(Reported::Bytes(side, bytes, run.missing_before()));
            let pieces = run.pieces_of(0..count);
            self.pieces.extend(pieces.map(|piece| (side, run.sequence(), piece)));
        }
        if let Some(end) = run.end()
            && (count == 0 || count == len)
        {
            self.reported.push(Reported::End(side, run.bytes()[count..].to_vec(), end));
        }
        Next::Consumed(count)
    }

    fn event(&mut self, event: StreamEvent) {
        self.reported.push(Reported::Event(event.side, event.frame, event.kind));
    }
}

fn segment(flags: TcpFlags, numbers: [u32; 2], bytes: &[u8], announced: usize) -> Segment<'_> {
    let host = IpAddr::from([10, 0, 0, 1]);
    let [sequence, acknowledgment] = numbers;
    let announced = u32::try_from(announced).unwrap_or(u32::MAX);
    Segment {
        ip: Ip {
            source: host,
            destination: host,
            hop_limit: 64,
            direction: Default::default(),
            vlan: None,
            tags: Default::default(),
            tunnels: Tunnels::default(),
        },
        source_port: 1,
        destination_port: 2,
        sequence,
        acknowledgment,
        flags,
        window: 0xFFFF,
        payload: TransportPayload {
            bytes,
            offset: 54,
            announced,
            snapped: announced as usize > bytes.len(),
        },
        note: None,
        headers: Headers { ipv4: &[], transport: &[] },
    }
}

/// A connection with its surroundings; frames are numbered from 1, a millisecond apart.
#[derive(Debug)]
struct Bench {
    connection: Connection,
    budget: StreamBudget,
    listener: Listener,
    frame: u64,
    time: i64,
    /// The window and the header of the next segments.
    window: u16,
    headers: &'static [u8],
}

impl Bench {
    fn new(appetite: Appetite) -> Self {
        Self::with(appetite, StreamLimits::default())
    }

    fn with(appetite: Appetite, limits: StreamLimits) -> Self {
        Self {
            connection: Connection::default(),
            budget: StreamBudget::new(limits),
            listener: Listener::new(appetite),
            frame: 0,
            time: 0,
            window: 0xFFFF,
            headers: &[],
        }
    }

    /// One whose direction A to B begins with a SYN, so that the first byte's number is `first`.
    fn begun(appetite: Appetite, first: u32) -> Self {
        let mut bench = Self::new(appetite);
        bench.frame = 0;
        bench.send(A, SYN, first.wrapping_sub(1), 0, b"");
        bench
    }

    fn send(
        &mut self,
        side: Side,
        flags: TcpFlags,
        sequence: u32,
        acknowledgment: u32,
        bytes: &[u8],
    ) {
        self.send_cut(side, flags, sequence, acknowledgment, bytes, bytes.len());
    }

    fn send_cut(
        &mut self,
        side: Side,
        flags: TcpFlags,
        sequence: u32,
        acknowledgment: u32,
        payload: &[u8],
        announced: usize,
    ) {
        self.frame += 1;
        self.time += 1_000_000;
        let segment = segment(flags, [sequence, acknowledgment], payload, announced);
        let headers = Headers { ipv4: &[], transport: self.headers };
        let segment = Segment { window: self.window, headers, ..segment };
        let at = FrameRef { frame: self.frame, time: self.time };
        let arrival = ArrivingSegment { segment: &segment, at, pieces: &[] };
        let before = self.settles(side, &segment).then(|| {
            self.connection.note_window(side, &segment, self.time);
            format!("{self:?}")
        });
        self.connection.segment(side, &arrival, &mut self.budget, &mut self.listener);
        assert!(self.budget.used() <= self.budget.limits().total);
        assert!(before.is_none_or(|before| before == format!("{self:?}")), "{segment:?}");
    }

    /// Whether a segment is said to have no effect.
    fn settles(&self, side: Side, segment: &Segment<'_>) -> bool {
        segment.payload.announced == 0
            && segment.flags == ACK
            && self.connection.is_settled(side, segment.sequence, segment.acknowledgment)
    }

    fn data(&mut self, sequence: u32, bytes: &[u8]) {
        self.send(A, DATA, sequence, 0, bytes);
    }

    /// A bare acknowledgment from B.
    fn ack(&mut self, acknowledgment: u32) {
        self.send(B, ACK, 9000, acknowledgment, b"");
    }

    /// What was reported since the last call.
    fn reported(&mut self) -> Vec<Reported> {
        std::mem::take(&mut self.listener.reported)
    }

    fn finish(mut self) -> Vec<Reported> {
        self.connection.finish(&mut self.budget, &mut self.listener);
        assert_eq!(self.budget.used(), 0, "all memory is given back");
        self.listener.reported
    }
}

fn bytes(text: &str) -> Reported {
    Reported::Bytes(A, text.as_bytes().to_vec(), 0)
}

fn after(missing: u64, text: &str) -> Reported {
    Reported::Bytes(A, text.as_bytes().to_vec(), missing)
}

fn end(left: &str, end: StreamEnd) -> Reported {
    Reported::End(A, left.as_bytes().to_vec(), end)
}

fn gap(frame: u64, sequence: u32, missing: u64, cause: GapCause) -> Reported {
    Reported::Event(A, frame, StreamEventKind::Gap { sequence, missing, cause })
}

fn differs(frame: u64, sequence: u32, original: u64) -> Reported {
    Reported::Event(A, frame, StreamEventKind::OverlapDiffers { sequence, original })
}
