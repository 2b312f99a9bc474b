//! The system calls of a packet socket, and the memory that it shares with the kernel.
//!
//! The only module of packet sockets with `unsafe`. Why it is sound: options and addresses are plain structs of
//! the kernel's interface, passed with their sizes; the ring is mapped once and unmapped once; a block is read only
//! while the kernel has handed it over, which its status says, and is borrowed until it is handed back.
#![allow(unsafe_code)]

use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_uint, c_void, sockaddr_ll, socklen_t, tpacket_block_desc, tpacket_hdr_v1};

/// Size of a block in bytes. A packet is in one block: on the loopback interface it may have 64 KiB.
pub(super) const BLOCK: usize = 128 << 10;

/// Size of a frame in bytes. Packets of the third version have their own sizes; the kernel asks for one all the same.
const FRAME: usize = 2048;

/// Where the status of a block is.
const STATUS: usize =
    offset_of!(tpacket_block_desc, hdr) + offset_of!(tpacket_hdr_v1, block_status);

fn checked(status: c_int) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets an option whose value is a plain struct of the kernel.
fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the socket is open, and the value has the size that is given.
    checked(unsafe {
        let value = ptr::from_ref(value).cast::<c_void>();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, size_of::<T>() as socklen_t)
    })
}

/// Lets only those packets through that a program selects, and of each only as much as it says.
pub(super) fn attach(socket: &OwnedFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    // The kernel copies the program.
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Also takes packets that are addressed to other hosts, until the socket is closed.
pub(super) fn add_promiscuous(socket: &OwnedFd, interface: c_int) -> io::Result<()> {
    // SAFETY: the struct is plain numbers.
    let mut request: libc::packet_mreq = unsafe { zeroed() };
    request.mr_ifindex = interface;
    request.mr_type = libc::PACKET_MR_PROMISC as u16;
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Binds a socket to an interface, or with 0 to all, and takes packets of this protocol (`ETH_P_`); 0: none.
pub(super) fn bind(socket: &OwnedFd, interface: c_int, protocol: u16) -> io::Result<()> {
    // SAFETY: the struct is plain numbers.
    let mut address: sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface;
    // SAFETY: the socket is open, and the address has the size that is given.
    checked(unsafe {
        let address = (&raw const address).cast();
        libc::bind(socket.as_raw_fd(), address, size_of::<sockaddr_ll>() as socklen_t)
    })
}

/// The interface that a socket is bound to, and the kind of its hardware (`ARPHRD_`). The interface is negative once
/// it is gone.
pub(super) fn bound_to(socket: &OwnedFd) -> io::Result<(c_int, u16)> {
    // SAFETY: the struct is plain numbers.
    let mut address: sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<sockaddr_ll>() as socklen_t;
    // SAFETY: the socket is open, and the address has the size that is given.
    checked(unsafe {
        let address = (&raw mut address).cast();
        libc::getsockname(socket.as_raw_fd(), address, &raw mut length)
    })?;
    Ok((address.sll_ifindex, address.sll_hatype))
}

/// Packets received, with those that were dropped, and packets dropped, both since the last call.
pub(super) fn statistics(socket: &OwnedFd) -> io::Result<(u32, u32)> {
    // SAFETY: the struct is plain numbers.
    let mut counts: libc::tpacket_stats_v3 = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats_v3>() as socklen_t;
    // SAFETY: the socket is open, and the struct has the size that is given.
    checked(unsafe {
        let value = (&raw mut counts).cast();
        let option = libc::PACKET_STATISTICS;
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, &raw mut length)
    })?;
    Ok((counts.tp_packets, counts.tp_drops))
}

/// Memory that the kernel writes packets to, in blocks that it hands over one after another.
pub(super) struct Ring {
    memory: NonNull<u8>,
    blocks: usize,
    /// The next block.
    at: usize,
}

// SAFETY: the memory belongs to the process, not to a thread; a ring is not shared, only moved.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this size, and is not used after this.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.blocks * BLOCK) };
    }
}

impl Ring {
    /// Makes a ring of about this many bytes, or of less if the system has no memory for more. Blocks are handed
    /// over after `timeout` milliseconds at the latest.
    pub(super) fn new(socket: &OwnedFd, bytes: usize, timeout: c_uint) -> io::Result<Ring> {
        let version = libc::tpacket_versions::TPACKET_V3 as c_int;
        set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // With one block, there would be none to write to while it is read.
        let mut blocks = bytes.div_ceil(BLOCK).max(2);
        loop {
            let number = |number: usize| c_uint::try_from(number).unwrap_or(c_uint::MAX);
            let request = libc::tpacket_req3 {
                tp_block_size: number(BLOCK),
                tp_block_nr: number(blocks),
                tp_frame_size: number(FRAME),
                tp_frame_nr: number(blocks * (BLOCK / FRAME)),
                tp_retire_blk_tov: timeout,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            };
            match set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request) {
                Ok(()) => return Ring::map(socket, blocks),
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && blocks > 2 => {
                    blocks = (blocks / 2).max(2);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn map(socket: &OwnedFd, blocks: usize) -> io::Result<Ring> {
        // SAFETY: the socket is open, and has a ring of this size.
        let memory = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let size = blocks * BLOCK;
            libc::mmap(ptr::null_mut(), size, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        match NonNull::new(memory.cast::<u8>()) {
            Some(start) if memory != libc::MAP_FAILED => Ok(Ring { memory: start, blocks, at: 0 }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the block is within the ring.
        unsafe { self.memory.as_ptr().add(self.at * BLOCK) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is within the block and aligned, as blocks are; the kernel writes it as a whole, too.
        unsafe { AtomicU32::from_ptr(self.start().add(STATUS).cast()) }
    }

    /// The next block, if the kernel has handed it over.
    pub(super) fn block(&self) -> Option<&[u8]> {
        // What the kernel wrote before the status is visible after it was read.
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block is within the ring, and the kernel writes nothing to it until it is handed back, for
        // which the ring must not be borrowed.
        Some(unsafe { std::slice::from_raw_parts(self.start(), BLOCK) })
    }

    /// Hands the block back.
    pub(super) fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.at = (self.at + 1) % self.blocks;
    }
}
