//! Live capture on Linux without libpcap, which a static program cannot load: a packet socket with a ring of the third
//! version, as libpcap itself opens one (`man 7 packet`).

mod frame;
mod system;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket, sockopt};

use super::device::{Device, Opening, Raw, Refusal, Stats};
use crate::capture::LinkType;
use frame::{Frame, Layout, packets_of};
use system::Ring;

/// The name that stands for all devices.
const ANY: &str = "any";

/// Kinds of hardware that the C library does not name.
const ARPHRD_RAWIP: u16 = 519;

/// Size of the ring in bytes, if none is given: that of libpcap.
const USUAL_RING: usize = 2 << 20;

/// An open device.
pub(super) struct PacketSocket {
    // Declared before the socket, so that it is unmapped before that is closed.
    ring: Ring,
    socket: OwnedFd,
    layout: Layout,
    snaplen: usize,
    /// Packets of the block that are not read yet, and where the next one is.
    left: u32,
    at: usize,
    /// The block is read, and not yet handed back.
    holds_block: bool,
    /// A packet that is not in the block as it was on the wire.
    buffer: Vec<u8>,
    stats: Stats,
    /// The device was taken down, and may be gone.
    is_down: bool,
    is_gone: bool,
}

impl PacketSocket {
    /// Opens a device, or `any`.
    pub(super) fn open(device: &str, opening: Opening) -> Result<PacketSocket, Refusal> {
        // Whether this is permitted is asked before the device is looked for.
        let first = unbound(SockType::Raw)?;
        let (index, layout) = match device {
            ANY => (0, Layout::Cooked),
            name => of_device(&first, name)?,
        };
        let socket = match layout {
            Layout::Cooked => unbound(SockType::Datagram)?,
            Layout::Ethernet | Layout::Raw => first,
        };
        let snaplen = u32::try_from(opening.snaplen).unwrap_or(0).max(1);
        let bytes = opening.buffer.and_then(|bytes| usize::try_from(bytes).ok());
        let timeout = u32::try_from(opening.timeout).unwrap_or(1);
        let ring = || {
            system::attach(&socket, &mut selection(snaplen))?;
            let ring = Ring::new(&socket, bytes.unwrap_or(USUAL_RING), timeout)?;
            system::bind(&socket, index, libc::ETH_P_ALL as u16)?;
            if opening.promiscuous && index != 0 {
                system::add_promiscuous(&socket, index)?;
            }
            Ok(ring)
        };
        let ring = ring().map_err(refusal)?;
        if error_of(&socket) != 0 {
            return Err(Refusal::Other("it is not up".to_owned()));
        }
        Ok(PacketSocket {
            ring,
            socket,
            layout,
            snaplen: snaplen as usize,
            left: 0,
            at: 0,
            holds_block: false,
            buffer: Vec::new(),
            stats: Stats::default(),
            is_down: false,
            is_gone: false,
        })
    }

    /// The link type of its packets.
    pub(super) fn link(&self) -> LinkType {
        match self.layout {
            Layout::Ethernet => LinkType::ETHERNET,
            Layout::Raw => LinkType::RAW,
            Layout::Cooked => LinkType::LINUX_SLL,
        }
    }

    /// Waits until there is something to read, at most for this number of milliseconds.
    pub(super) fn wait(&mut self, milliseconds: u16) {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        // Interrupted, it looks again.
        poll(&mut fds, PollTimeout::from(milliseconds)).ok();
        let has_error = fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLERR));
        // Asking for the error clears it. The capture goes on when the device is up again, but not if it is another one
        // of the same name.
        if has_error && error_of(&self.socket) != 0 {
            self.is_down = true;
        }
        if self.is_down {
            self.is_gone = system::bound_to(&self.socket).is_ok_and(|(index, _)| index < 0);
        }
    }

    /// The next packet, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Raw<'_>>, String> {
        while self.left == 0 {
            if std::mem::take(&mut self.holds_block) {
                self.ring.release();
            }
            let Some(block) = self.ring.block() else {
                return if self.is_gone {
                    Err("the interface went away".to_owned())
                } else {
                    Ok(None)
                };
            };
            self.holds_block = true;
            (self.left, self.at) = packets_of(block).unwrap_or_default();
        }
        let Some(frame) = self.ring.block().and_then(|block| Frame::at(block, self.at)) else {
            // The kernel writes no such block.
            self.left = 0;
            return Ok(None);
        };
        self.left -= 1;
        self.at = self.at.saturating_add(frame.next);
        let (seconds, fraction) = (frame.seconds.into(), frame.nanoseconds.into());
        let (data, length) = frame.restored(self.layout, self.snaplen, &mut self.buffer);
        Ok(Some(Raw { seconds, fraction, length, data }))
    }

    /// The counters so far. Of what a device drops, the kernel tells the socket nothing.
    pub(super) fn stats(&mut self) -> Option<Stats> {
        let (received, dropped) = system::statistics(&self.socket).ok()?;
        self.stats.received = self.stats.received.wrapping_add(received);
        self.stats.dropped = self.stats.dropped.wrapping_add(dropped);
        Some(self.stats)
    }
}

/// All devices, and the name that stands for all of them.
pub(super) fn devices() -> Result<Vec<Device>, String> {
    let mut devices = Vec::<Device>::new();
    for address in getifaddrs().map_err(|error| error.desc().to_owned())? {
        if devices.iter().any(|device| device.name == address.interface_name) {
            continue;
        }
        let is = |flag| address.flags.contains(flag);
        devices.push(Device {
            up: is(InterfaceFlags::IFF_UP),
            running: is(InterfaceFlags::IFF_RUNNING),
            loopback: is(InterfaceFlags::IFF_LOOPBACK),
            name: address.interface_name,
            description: None,
        });
    }
    let description = Some("all interfaces".to_owned());
    let name = ANY.to_owned();
    devices.push(Device { name, description, up: true, running: true, loopback: false });
    Ok(devices)
}

/// A socket that takes no packets yet.
fn unbound(kind: SockType) -> Result<OwnedFd, Refusal> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Packet, kind, flags, None).map_err(|error| match error {
        Errno::EPERM | Errno::EACCES => Refusal::NoRight(error.desc().to_owned()),
        Errno::EAFNOSUPPORT => Refusal::Other("this system has no packet sockets".to_owned()),
        error => Refusal::Other(error.desc().to_owned()),
    })
}

/// The number of a device, and how its packets begin. The socket is bound to it, and takes no packets yet.
fn of_device(socket: &OwnedFd, name: &str) -> Result<(i32, Layout), Refusal> {
    let none = |error: Errno| Refusal::NoSuchDevice(error.desc().to_owned());
    let index = if_nametoindex(name).map_err(none)?;
    let index = i32::try_from(index).map_err(|_| none(Errno::ENODEV))?;
    system::bind(socket, index, 0).map_err(refusal)?;
    let (_, hardware) = system::bound_to(socket).map_err(refusal)?;
    Ok((index, layout_of(hardware)))
}

/// How packets of a kind of hardware begin. Of all others, the kernel removes the header and says the protocol, so that
/// they can be captured, too.
fn layout_of(hardware: u16) -> Layout {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Layout::Ethernet,
        libc::ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 => {
            Layout::Raw
        }
        _ => Layout::Cooked,
    }
}

/// A program for the kernel: this many bytes of each packet, and nothing of what leaves through the loopback device,
/// because the same comes in through it.
fn selection(snaplen: u32) -> [libc::sock_filter; 6] {
    let about = |field: i32| (libc::SKF_AD_OFF + field) as u32;
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let end = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    [
        step(load, 0, about(libc::SKF_AD_PKTTYPE)),
        step(equal, 3, libc::PACKET_OUTGOING.into()),
        step(load, 0, about(libc::SKF_AD_HATYPE)),
        step(equal, 1, libc::ARPHRD_LOOPBACK.into()),
        step(end, 0, 0),
        step(end, 0, snaplen),
    ]
}

/// The error that waits at a socket, which is then cleared; 0: none.
fn error_of(socket: &OwnedFd) -> i32 {
    getsockopt(socket, sockopt::SocketError).unwrap_or(0)
}

fn refusal(error: io::Error) -> Refusal {
    let errno = error.raw_os_error().map(Errno::from_raw);
    match errno {
        Some(Errno::EPERM | Errno::EACCES) => Refusal::NoRight(error.to_string()),
        Some(Errno::ENODEV | Errno::ENXIO) => Refusal::NoSuchDevice(error.to_string()),
        _ => Refusal::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
