//! System calls, with seccomp. A capture uses few of them, but which ones depends on the C library
//! and on libpcap: so those are refused that give access to something new, and unknown ones are not.

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Programs, and the memory of other processes.
const PROCESSES: [c_long; 11] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
];

/// Sockets. Those that are open stay usable: that of the device, and that of the metrics, whose
/// clients are accepted.
const SOCKETS: [c_long; 4] =
    [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];

/// User and capabilities.
const IDENTITY: [c_long; 10] = [
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capset,
];

/// Namespaces and file systems.
const NAMESPACES: [c_long; 15] = [
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
];

/// Attributes of files by path, which Landlock does not restrict.
const ATTRIBUTES: [c_long; 10] = [
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];

/// Interfaces of the kernel that have been a way into it, or change the whole system. `io_uring` would
/// open sockets without a system call of their own.
const KERNEL: [c_long; 27] = [
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_personality,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
];

/// Older forms of calls above, and others, that only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLD: [c_long; 11] = [
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: [c_long; 0] = [];

/// Numbers that the C library does not name everywhere; the first three are the same on all
/// architectures.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;

const KEXEC_FILE_LOAD: c_long = if cfg!(target_arch = "x86_64") { 320 } else { 294 };

/// The bits of a socket's type; the others are flags.
const SOCKET_TYPE: u64 = 0xF;

/// Calls of x86-64 with 32-bit pointers have the same architecture, and this bit in their numbers.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Refuses calls for the rest of this thread's life. Returns whether the system enforces it.
pub(super) fn restrict_calls() -> bool {
    let programs = programs().ok();
    programs.is_some_and(|programs| programs.iter().all(|it| apply_filter(it).is_ok()))
}

fn programs() -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let refused = |error| SeccompAction::Errno(error as u32);
    // Its arguments are in memory, which a filter cannot read: the C library then uses `clone`.
    let clone3 = [(libc::SYS_clone3, Vec::new())].into_iter().collect();
    let mut programs = vec![program(clone3, refused(libc::ENOSYS))?];
    let all = [&PROCESSES[..], &SOCKETS, &IDENTITY, &NAMESPACES, &ATTRIBUTES, &KERNEL, &OLD];
    let mut rules: Rules = all.concat().into_iter().map(|call| (call, Vec::new())).collect();
    // Threads may be started, processes may not.
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![when(0, SeccompCmpOp::MaskedEq(thread), 0)?]);
    // Handlers of signals wake other threads through a pair of Unix streams. A pair of any other
    // kind could send to others.
    let mut pairs = vec![when(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?];
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
        pairs.push(when(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind as u64)?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    // Signals to itself are allowed.
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo] {
        rules.insert(call, vec![when(0, SeccompCmpOp::Ne, own)?]);
    }
    // Both would type text into the terminal, for the shell to run.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX];
    #[allow(clippy::unnecessary_cast, reason = "the type differs between C libraries")]
    let typing = typing.map(|request| when(1, SeccompCmpOp::Eq, request as u64));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    programs.push(program(rules, refused(libc::EPERM))?);
    #[cfg(target_arch = "x86_64")]
    programs.push(without_x32());
    Ok(programs)
}

type Rules = std::collections::BTreeMap<c_long, Vec<SeccompRule>>;

fn program(rules: Rules, refused: SeccompAction) -> Result<BpfProgram, seccompiler::BackendError> {
    let target = match cfg!(target_arch = "x86_64") {
        true => TargetArch::x86_64,
        false => TargetArch::aarch64,
    };
    SeccompFilter::new(rules, SeccompAction::Allow, refused, target)?.try_into()
}

/// A rule for the lower half of an argument: the kernel ignores the upper half of these.
fn when(
    argument: u8,
    is: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)?;
    SeccompRule::new(vec![condition])
}

/// Refuses all calls with the bit of 32-bit pointers.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> BpfProgram {
    use seccompiler::sock_filter;

    let instruction = |code: u32, jf, k| sock_filter { code: code as u16, jt: 0, jf, k };
    vec![
        // The number of the call, which is the first word.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of one of the programs for a call with these arguments: the few instructions of the
    /// kernel's machine that such programs use.
    fn run(program: &BpfProgram, call: c_long, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        let architecture = if cfg!(target_arch = "x86_64") { 0xC000_003E } else { 0xC000_00B7_u32 };
        data.extend((call as u32).to_le_bytes());
        data.extend(architecture.to_le_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut value, mut at) = (0_u32, 0);
        loop {
            let it = &program[at];
            at += 1;
            let mut jump = |is: bool| at += usize::from(if is { it.jt } else { it.jf });
            match u32::from(it.code) {
                0x20 => {
                    let from = it.k as usize;
                    value = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                0x54 => value &= it.k,
                0x05 => at += it.k as usize,
                0x15 => jump(value == it.k),
                0x25 => jump(value > it.k),
                0x35 => jump(value >= it.k),
                0x06 => return it.k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    /// The error of a call; 0: it is allowed.
    fn error(call: c_long, arguments: &[u64]) -> i32 {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        let results = programs().unwrap().into_iter().map(|program| run(&program, call, all));
        let refused = results.filter(|&result| result != libc::SECCOMP_RET_ALLOW);
        refused.map(|result| (result & 0xFFFF) as i32).next().unwrap_or(0)
    }

    #[test]
    fn calls_that_give_access_to_something_new_are_refused() {
        for call in [
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_ptrace,
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_io_uring_setup,
            libc::SYS_bpf,
            libc::SYS_setns,
            libc::SYS_fchmodat,
        ] {
            assert_eq!(error(call, &[]), libc::EPERM, "{call}");
        }
        for call in [
            libc::SYS_read,
            libc::SYS_openat,
            libc::SYS_renameat2,
            libc::SYS_unlinkat,
            libc::SYS_accept4,
            libc::SYS_sendto,
            libc::SYS_ppoll,
            libc::SYS_futex,
            libc::SYS_mmap,
            libc::SYS_fchmod,
            libc::SYS_exit_group,
        ] {
            assert_eq!(error(call, &[]), 0, "{call}");
        }
    }

    #[test]
    fn threads_may_be_started_and_processes_may_not() {
        let thread = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD;
        assert_eq!(error(libc::SYS_clone, &[thread as u64]), 0);
        let process = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        for flags in [libc::SIGCHLD, process, libc::CLONE_NEWUSER] {
            assert_eq!(error(libc::SYS_clone, &[flags as u64]), libc::EPERM);
        }
        assert_eq!(error(libc::SYS_clone3, &[]), libc::ENOSYS);
    }

    #[test]
    fn only_streams_of_this_process_are_made_in_pairs() {
        let (pair, flags) = (libc::SYS_socketpair, libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
        let of = |family: i32, kind: i32| error(pair, &[family as u64, (kind | flags) as u64]);
        assert_eq!(of(libc::AF_UNIX, libc::SOCK_STREAM), 0);
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
            assert_eq!(of(libc::AF_UNIX, kind), libc::EPERM);
        }
        assert_eq!(of(libc::AF_TIPC, libc::SOCK_STREAM), libc::EPERM);
    }

    #[test]
    fn signals_reach_no_other_process() {
        let own = u64::from(std::process::id());
        for call in [libc::SYS_kill, libc::SYS_tgkill] {
            assert_eq!(error(call, &[own]), 0);
            // All processes of the group; all processes.
            for other in [1, own + 1, 0, u64::MAX] {
                assert_eq!(error(call, &[other]), libc::EPERM);
            }
        }
    }

    #[test]
    #[allow(clippy::unnecessary_cast, reason = "the type differs between C libraries")]
    fn nothing_is_typed_into_the_terminal() {
        // The kernel ignores the upper half.
        for request in [0x5412, 0x541C, 0xFFFF_FFFF_0000_5412] {
            assert_eq!(error(libc::SYS_ioctl, &[1, request]), libc::EPERM, "{request:#x}");
        }
        for request in [libc::TIOCGWINSZ, libc::TCGETS, libc::TCSETS] {
            assert_eq!(error(libc::SYS_ioctl, &[1, request as u64]), 0);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn calls_with_32_bit_pointers_are_refused() {
        for call in [libc::SYS_read, libc::SYS_execve, 520, 521] {
            assert_eq!(error(call | c_long::from(X32), &[]), libc::EPERM);
        }
    }
}
