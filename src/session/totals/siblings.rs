//! Protocols that are near the supported ones and are not decoded: each is named by its first bytes.
//!
//! None of them claims a flow, and no rule judges it. The sources are public documents and the code of servers.

use dissectors::kit::Transport;

/// A protocol, by how its packets begin.
struct Sibling {
    /// Its name for people.
    name: &'static str,
    transport: Transport,
    /// Offset and bytes.
    begins: (usize, &'static [u8]),
    /// Bytes that are somewhere in the packet, too; empty if none.
    contains: &'static [u8],
    /// The port of one end; 0 for any.
    port: u16,
    /// The number of bytes of a packet; 0 for any.
    length: usize,
    /// Packets of games begin so, too, with numbers that count up: at a server of a supported protocol, it shows nothing.
    is_weak: bool,
}

/// A protocol over UDP that begins with these bytes.
const fn udp(name: &'static str, begins: &'static [u8]) -> Sibling {
    let (transport, begins) = (Transport::Udp, (0, begins));
    Sibling { name, transport, begins, contains: b"", port: 0, length: 0, is_weak: false }
}

/// The same over TCP, at this port.
const fn tcp(name: &'static str, begins: (usize, &'static [u8]), port: u16) -> Sibling {
    Sibling { transport: Transport::Tcp, begins, port, ..udp(name, b"") }
}

/// The bytes that identify RakNet's offline messages.
const RAKNET: &[u8] = b"\x00\xFF\xFF\x00\xFE\xFE\xFE\xFE\xFD\xFD\xFD\xFD\x12\x34\x56\x78";

/// All of them; the first that fits counts.
static SIBLINGS: &[Sibling] = &[
    // GameSpy's SDK: its second query protocol, server reports to its master, and its NAT negotiation.
    udp("GameSpy 2", b"\xFE\xFD\x00CORY"),
    Sibling { contains: b"localip0\0", ..udp("GameSpy QR2 heartbeat", b"\x03") },
    Sibling { port: 27900, ..udp("GameSpy QR2", b"\xFE\xFD") },
    // Requests of GameSpy 4 have a challenge, and are decoded.
    udp("GameSpy 2", b"\xFE\xFD\x00"),
    udp("GameSpy NAT negotiation", b"\xFD\xFC\x1E\x66\x6A\xB2"),
    tcp("GameSpy server browser", (2, b"\x00\x01\x03"), 28910),
    // Quake III Arena and dpmaster.
    udp("Quake 3", b"\xFF\xFF\xFF\xFFgetinfo"),
    udp("Quake 3", b"\xFF\xFF\xFF\xFFgetstatus"),
    udp("Quake 3", b"\xFF\xFF\xFF\xFFinfoResponse"),
    udp("Quake 3", b"\xFF\xFF\xFF\xFFstatusResponse"),
    udp("Quake 3 master (dpmaster)", b"\xFF\xFF\xFF\xFFgetservers"),
    udp("Quake 3 master (dpmaster)", b"\xFF\xFF\xFF\xFFheartbeat"),
    // Quake II.
    udp("Quake 2", b"\xFF\xFF\xFF\xFFstatus\n"),
    udp("Quake 2", b"\xFF\xFF\xFF\xFFprint\n"),
    // Unreal Tournament 2003 and 2004: the number of the query ends its request, and begins its response.
    Sibling { length: 5, is_weak: true, ..udp("Unreal 2", b"\x79\0\0\0\0") },
    Sibling { length: 5, is_weak: true, ..udp("Unreal 2", b"\x79\0\0\0\x01") },
    Sibling { length: 5, is_weak: true, ..udp("Unreal 2", b"\x79\0\0\0\x02") },
    Sibling { is_weak: true, ..udp("Unreal 2", b"\x80\0\0\0\0") },
    Sibling { is_weak: true, ..udp("Unreal 2", b"\x80\0\0\0\x01") },
    Sibling { is_weak: true, ..udp("Unreal 2", b"\x80\0\0\0\x02") },
    // Minecraft: the list ping of old clients, and Bedrock's over RakNet.
    tcp("Minecraft list ping", (0, b"\xFE\x01"), 25565),
    Sibling { contains: RAKNET, ..udp("RakNet ping", b"\x01") },
    Sibling { contains: RAKNET, ..udp("RakNet ping", b"\x1C") },
    // AssaultCube's own master, before the one of AssaultCube Reloaded.
    tcp("AssaultCube master", (0, b"register "), 28760),
    // Steam's list of servers by HTTP: the user's secret key is in its address.
    Sibling {
        contains: b"key=",
        ..tcp("Steam Web API with its key in clear text", (0, b"GET /IGameServersService/"), 80)
    },
    tcp("Steam Web API", (0, b"GET /IGameServersService/"), 80),
    tcp("Steam Web API", (0, b"GET /ISteamApps/"), 80),
    // San Andreas Multiplayer.
    udp("SA-MP", b"SAMP"),
    // The All-Seeing Eye: Multi Theft Auto and others.
    udp("All-Seeing Eye", b"EYE1"),
    // Steam's discovery in a home network.
    udp("Steam in-home streaming", b"\xFF\xFF\xFF\xFF\x21\x4C\x5F\xA0"),
    // Voice servers of the same hosts.
    udp("TeamSpeak 3", b"TS3INIT1"),
    Sibling { port: 64738, ..udp("Mumble ping", b"\0\0\0\0") },
];

/// The number of the protocol of a packet between these ports, if it is known.
pub(in crate::session) fn number(
    transport: Transport,
    ports: [u16; 2],
    bytes: &[u8],
) -> Option<u8> {
    let fits = |it: &Sibling| {
        let (offset, begins) = it.begins;
        it.transport == transport
            && bytes.get(offset..).is_some_and(|rest| rest.starts_with(begins))
            && (it.port == 0 || ports.contains(&it.port))
            && (it.length == 0 || bytes.len() == it.length)
            && (it.contains.is_empty() || memchr::memmem::find(bytes, it.contains).is_some())
    };
    SIBLINGS.iter().position(fits).and_then(|at| u8::try_from(at).ok())
}

/// The ports of those over TCP.
pub(in crate::session) fn tcp_ports() -> impl Iterator<Item = u16> {
    SIBLINGS.iter().filter(|it| it.transport == Transport::Tcp).map(|it| it.port)
}

/// Whether games send packets that begin like those of the protocol with this number.
pub(in crate::session) fn is_weak(number: u8) -> bool {
    SIBLINGS.get(usize::from(number)).is_some_and(|it| it.is_weak)
}

/// The name of the protocol with this number.
pub(in crate::session) fn name(number: u8) -> Option<&'static str> {
    SIBLINGS.get(usize::from(number)).map(|it| it.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_named_by_their_first_bytes() {
        let udp =
            |port: u16, bytes: &[u8]| number(Transport::Udp, [50_000, port], bytes).and_then(name);
        assert_eq!(udp(28960, b"\xFF\xFF\xFF\xFFgetstatus xyz"), Some("Quake 3"));
        assert_eq!(udp(27950, b"\xFF\xFF\xFF\xFFgetservers 68"), Some("Quake 3 master (dpmaster)"));
        assert_eq!(
            udp(27900, b"\x03\0\0\0\0localip0\x0010.0.0.2\0"),
            Some("GameSpy QR2 heartbeat")
        );
        assert_eq!(udp(27900, b"\xFE\xFD\x02\0\0\0\0"), Some("GameSpy QR2"));
        assert_eq!(udp(10480, b"\xFE\xFD\0\x01\x02\x03\x04\xFF\0\0"), Some("GameSpy 2"));
        assert_eq!(udp(6500, b"\xFE\xFD\x02\0\0\0\0"), None, "another port");
        assert_eq!(udp(19132, &[b"\x01\0\0\0\0\0\0\0\0", RAKNET].concat()), Some("RakNet ping"));
        assert_eq!(udp(64738, &[0; 12]), Some("Mumble ping"));
        assert_eq!(udp(5000, &[0; 12]), None);
        assert_eq!(udp(7778, b"\x79\0\0\0\0"), Some("Unreal 2"));
        assert_eq!(udp(27015, b"\x79\0\0\0\x12\0\0\0snapshot"), None, "a packet's number");
        let tcp = |bytes: &[u8]| number(Transport::Tcp, [25565, 50_000], bytes).and_then(name);
        assert_eq!((tcp(b"\xFE\x01\xFA"), tcp(b"EYE1")), (Some("Minecraft list ping"), None));
        let http = |bytes: &[u8]| number(Transport::Tcp, [80, 50_000], bytes).and_then(name);
        let keyed = b"GET /IGameServersService/GetServerList/v1/?key=0123 HTTP/1.1\r\n";
        assert_eq!(http(keyed), Some("Steam Web API with its key in clear text"));
        assert_eq!(http(b"GET /ISteamApps/GetServersAtAddress/v1"), Some("Steam Web API"));
        assert_eq!(http(b"GET /index.html HTTP/1.1\r\n"), None);
    }
}
