//! Capture on Linux without libpcap, in namespaces where no file of it can be loaded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::sniffer::WITHOUT_LIBPCAP;
use crate::support::skip::skipped;

/// `"${without[@]}" PROGRAM ...` is a program that finds no libpcap: in its view, the library's files are empty.
const WITHOUT: &str = r#"
    hide='ldconfig -p | sed -n "s/.*=> \(.*libpcap[.]so.*\)/\1/p" | while read -r file; do
            mount --bind /dev/null "$file"
        done
        exec "$@"'
    without=(unshare -m sh -c "$hide" sh)
    mount -t sysfs sys /sys && ip link set lo up || { echo "no namespace of the network" >&2; exit 77; }
"#;

/// A pair of devices, of which one has an address beside that of a host that is not there.
const PAIR: &str = r#"
    ip link add va type veth peer name vb || { echo no veth >&2; exit 77; }
    ip link set va up; ip link set vb up
    ip address add 10.0.6.1/24 dev va; ip neigh add 10.0.6.2 lladdr 02:00:00:00:00:02 dev va
    ask() { printf '\xff\xff\xff\xffTSource Engine Query\0' >/dev/udp/$1/27015; }
"#;

/// Requests as frames: with the tag of a VLAN, without one, and with two.
const FRAMES: &str = r#"
import socket
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("va", 0))
ip = bytes.fromhex("450000350001000040110000 0a000601 0a000602 d431 6987 0021 0000")
for tags in "81000005", "", "88a80007 81006005":
    ethernet = bytes.fromhex("020000000002 020000000001" + tags + "0800")
    sender.send(ethernet + ip + b"\xff\xff\xff\xffTSource Engine Query\0")
"#;

/// Makes a device for IP packets without a header, as VPNs do, and keeps it.
const TUNNEL: &str = r#"
import fcntl, struct, time
tunnel = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tunnel, 0x400454CA, struct.pack("16sH", b"tun1", 0x1001))
print("made", flush=True)
time.sleep(600)
"#;

/// Waits until a file has this text.
const SAYS: &str = r#"
    says() { for _ in $(seq 200); do grep -q "$2" "$1" && return; sleep 0.1; done; cat "$1" >&2; exit 1; }
"#;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gamewire-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a script in namespaces of its own, in this folder. `None`: that is not possible here.
fn in_namespaces(folder: &Path, scripts: &[&str]) -> Option<Output> {
    let script = [&[WITHOUT, SAYS], scripts].concat().concat();
    let mut command = Command::new("unshare");
    command.args(["-nm", "bash", "-c", &script]).current_dir(folder);
    command
        .env("GAMEWIRE", env!("CARGO_BIN_EXE_gamewire"))
        .env("FRAMES", FRAMES)
        .env("TUNNEL", TUNNEL);
    let ran = command.env("TESTS", std::env::current_exe().unwrap()).output();
    let ran = match ran {
        Ok(ran) if ran.status.code() != Some(77) => ran,
        Ok(ran) => {
            skipped("veth", String::from_utf8_lossy(&ran.stderr).trim());
            return None;
        }
        Err(error) => {
            skipped("veth", &format!("unshare: {error}"));
            return None;
        }
    };
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if said.contains("unshare: unshare failed") {
        skipped("veth", said.trim());
        return None;
    }
    Some(ran)
}

/// The link type of a pcap file, and its packets with their lengths on the wire.
fn packets(file: &Path) -> (u32, Vec<(u32, Vec<u8>)>) {
    let bytes = std::fs::read(file).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut packets) = (24, Vec::new());
    while at < bytes.len() {
        let end = at + 16 + number(at + 8) as usize;
        packets.push((number(at + 12), bytes[at + 16..end].to_vec()));
        at = end;
    }
    (number(20), packets)
}

/// Those with a request: devices also say who they are.
fn requests(file: &Path) -> (u32, Vec<(u32, Vec<u8>)>) {
    let (link, mut packets) = packets(file);
    packets.retain(|(_, data)| data.windows(13).any(|it| it == b"Source Engine"));
    (link, packets)
}

/// The tests of live capture that need no filter, one after another: they are alone in their namespace.
#[test]
fn a_capture_works_without_libpcap_as_it_does_with_it() {
    let folder = folder("all-without");
    let tests = "--test-threads 1 live:: rights:: around:: 2>&1";
    let script = format!("{WITHOUT_LIBPCAP}=1 \"${{without[@]}}\" $TESTS {tests}");
    if let Some(ran) = in_namespaces(&folder, &[&script]) {
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.contains("no_message_is_lost_at_20_000_packets_a_second ... ok"), "{said}");
        assert!(!said.contains("not installed"), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Both capture the same packets at the same time, from a device and from all.
#[test]
fn packets_are_those_of_libpcap() {
    let folder = folder("same");
    let script = r#"
        $GAMEWIRE dissect -f udp </dev/null 2>&1 | grep -q "libpcap is not installed" && echo no libpcap >&2
        for device in vb any; do
            $GAMEWIRE check -q -i $device -w with-$device.pcap --no-config -Z root --duration 60s 2>with-$device.txt &
            "${without[@]}" $GAMEWIRE check -q -i $device -w without-$device.pcap --no-config -Z root --duration 60s \
                2>without-$device.txt &
        done
        for device in vb any; do says with-$device.txt listening; says without-$device.txt listening; done
        python3 -c "$FRAMES" || { echo no python3 >&2; exit 77; }
        sleep 1; kill -INT $(jobs -p); wait
    "#;
    if let Some(ran) = in_namespaces(&folder, &[PAIR, script]) {
        let said = String::from_utf8_lossy(&ran.stderr);
        let of = |name: &str| requests(&folder.join(name));
        let (link, device) = of("without-vb.pcap");
        assert_eq!((link, device.len()), (1, 3), "{said}");
        // The kernel strips the first tag.
        let types = device.iter().map(|(_, data)| data[12..22].to_vec());
        let tagged = [0x81, 0, 0, 5, 8, 0, 0x45, 0, 0, 0x35].to_vec();
        let plain = [8, 0, 0x45, 0, 0, 0x35, 0, 1, 0, 0].to_vec();
        let twice = [0x88, 0xA8, 0, 7, 0x81, 0, 0x60, 5, 8, 0].to_vec();
        assert_eq!(types.collect::<Vec<_>>(), [tagged, plain, twice], "{device:?}");
        assert!(device.iter().all(|(length, data)| *length as usize == data.len()));
        let (link, all) = of("without-any.pcap");
        // Each leaves one device and enters the other.
        assert_eq!((link, all.len()), (113, 6), "{all:?} {said}");
        if said.contains("no libpcap") {
            skipped("libpcap", "libpcap is not installed");
        } else {
            assert_eq!(of("with-vb.pcap"), (1, device));
            let mut both = [all, of("with-any.pcap").1];
            both.iter_mut().for_each(|packets| packets.sort());
            assert_eq!(both[0], both[1]);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_tunnel_of_ip_has_packets_without_a_header() {
    let folder = folder("tunnel");
    let script = r#"
        [ -e /dev/net/tun ] && command -v python3 >/dev/null || { echo no tunnel >&2; exit 77; }
        python3 -c "$TUNNEL" >tunnel.txt &
        tunnel=$!; says tunnel.txt made
        ip link set tun1 up; ip address add 10.0.7.1/24 dev tun1
        "${without[@]}" $GAMEWIRE check -q -i tun1 -w kept.pcap --no-config -Z root -s 40 --duration 60s 2>said.txt &
        says said.txt listening; ask 10.0.7.2; sleep 1; kill -INT $!; wait $!; kill $tunnel
    "#;
    if let Some(ran) = in_namespaces(&folder, &[PAIR, script]) {
        let (link, packets) = packets(&folder.join("kept.pcap"));
        let found = packets.iter().find(|(_, data)| data.starts_with(&[0x45]));
        let (length, data) = found.unwrap_or_else(|| panic!("{ran:?} {packets:?}"));
        assert_eq!((link, *length, data.len()), (101, 53, 40));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_interface_that_is_removed_ends_the_capture() {
    let folder = folder("removed");
    let script = r#"
        "${without[@]}" $GAMEWIRE check -q -i vb --no-config --duration 60s 2>said.txt &
        says said.txt listening; ip link del va; wait $!; echo code $?; cat said.txt
    "#;
    if let Some(ran) = in_namespaces(&folder, &[PAIR, script]) {
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("code 2"), "{said}");
        assert!(said.contains("cannot capture on vb: the interface went away"), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_only_libpcap_can_do_is_said_with_its_remedy() {
    let folder = folder("remedy");
    let script = r#"
        ip link set va down
        "${without[@]}" $GAMEWIRE dissect -D
        "${without[@]}" $GAMEWIRE dissect -i lo -f udp --no-config
        "${without[@]}" $GAMEWIRE dissect -i nowhere0 --no-config
        "${without[@]}" $GAMEWIRE dissect -i va --no-config
    "#;
    if let Some(ran) = in_namespaces(&folder, &[PAIR, script]) {
        let (listed, said) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        let device = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(device("lo ").contains("up, running, loopback"), "{listed}");
        assert!(device("va ").contains("down") && device("any ").contains("all"), "{listed}");
        let lines: Vec<&str> = said.lines().collect();
        let [filter, nowhere, down] = lines[..] else { panic!("{said}") };
        assert!(filter.contains("libpcap is not installed; capture filters (-f)"), "{filter}");
        assert!(filter.contains("apt install libpcap0.8"), "{filter}");
        assert!(nowhere.contains("cannot capture on nowhere0: no such interface"), "{nowhere}");
        assert!(down.contains("cannot capture on va: it is not up"), "{down}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
