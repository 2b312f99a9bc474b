//! Messages.

use std::sync::Arc;

use dissectors::kit::Code;

use super::column::columns;
use super::places::{CarryingPackets, FlowEndName, PacketName};
use super::{Cell, Rows};

/// The table of messages.
pub enum MessageTable {}

/// A row, which is reused for each message.
#[derive(Default)]
pub struct MessageRow {
    pub(crate) at: PacketName,
    /// The index among the messages that the packet completed, counted from 1.
    pub(crate) nth: u32,
    /// The packet's number in the capture.
    pub(crate) last: u64,
    pub(crate) carriers: CarryingPackets,
    pub(crate) time: i64,
    pub(crate) flow: u32,
    pub(crate) transport: &'static str,
    pub(crate) ends: [FlowEndName; 2],
    pub(crate) via: Option<String>,
    pub(crate) protocol: &'static str,
    pub(crate) message: &'static str,
    pub(crate) speaker: &'static str,
    pub(crate) bytes: u64,
    pub(crate) request: PacketName,
    pub(crate) response_time: Option<i64>,
    pub(crate) waited: Option<i64>,
    pub(crate) tries: Option<u32>,
    pub(crate) copy_of: PacketName,
    pub(crate) broken: Vec<Code>,
    pub(crate) rules: Vec<Arc<str>>,
    pub(crate) challenge: Option<i64>,
    pub(crate) server_name: Option<String>,
    pub(crate) map: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) players: Option<u64>,
    pub(crate) max_players: Option<u64>,
    pub(crate) bots: Option<u64>,
    pub(crate) servers_listed: Option<u64>,
    pub(crate) fields: String,
    pub(crate) left_out: u32,
    pub(crate) beside: Option<String>,
    pub(crate) frames: Vec<u64>,
}

impl Rows for MessageTable {
    const NAME: &'static str = "messages";
    const TITLE: &'static str = "Messages";
    const ABOUT: &'static str = "A row for each message, in the order of the capture. Packets of a response that never \
        becomes whole come when they are given up, after what was recorded since.";
    type Row<'r> = &'r MessageRow;

    columns! { MessageTable, it =>
        /// The file with the packet that completed the message.
        file: Text or absent = it.at.file.as_deref();
        /// The number of that packet in its file, counted from 1.
        frame: Integer or absent = it.at.frame;
        /// The index among the selected messages that this packet completed; `file`, `frame` and `nth` identify a
        /// message.
        nth: Integer = it.nth;
        /// The numbers of all packets that carried it, each counted in its own file.
        frames: Integers = Cell::Integers(&it.carriers.frames);
        /// The file of each element of `frames`, if they are in different files.
        frames_files: Texts or absent = it.carriers.files();
        /// When the packet that completed it was recorded.
        time: Time = Cell::Time(dissectors::kit::Time(it.time));
        /// Its flow: `flow` of `flows` with the same `capture`.
        flow: Integer = it.flow;
        /// `udp` or `tcp`.
        transport: Text = it.transport;
        /// The sender, as `address:port`.
        src: Text = &*it.ends[0].text;
        /// Its address.
        src_address: Text = &*it.ends[0].address;
        /// Its port.
        src_port: Integer = it.ends[0].port;
        /// The receiver, as `address:port`.
        dst: Text = &*it.ends[1].text;
        /// Its address.
        dst_address: Text = &*it.ends[1].address;
        /// Its port.
        dst_port: Integer = it.ends[1].port;
        /// The tunnels that carried it, outermost first.
        via: Text or absent = it.via.as_deref();
        /// The protocol, such as `a2s`.
        protocol: Text = it.protocol;
        /// The message, such as `info_response`.
        message: Text = it.message;
        /// The role of its sender: `client`, `server`, `master` or `any`.
        speaker: Text = it.speaker;
        /// Bytes as sent: the payloads of all its packets, before decompression.
        bytes: Bytes = it.bytes;
        /// For a response: the file with the request.
        request_file: Text or absent = it.request.file.as_deref();
        /// For a response: the number of the packet in that file that sent the request last.
        request_frame: Integer or absent = it.request.frame;
        /// Seconds from that packet to the response.
        response_time: Seconds or absent = it.response_time.map(Cell::Seconds);
        /// Seconds from the first packet of the exchange, if that is a different packet.
        waited: Seconds or absent = it.waited.map(Cell::Seconds);
        /// The number of times that the request was sent, if more than one.
        tries: Count or absent = it.tries;
        /// For a duplicate datagram: the file of `copy_of_frame`.
        copy_of_file: Text or absent = it.copy_of.file.as_deref();
        /// For a duplicate datagram: the number of the packet that it copies. Leave these rows out when counting
        /// messages.
        copy_of_frame: Integer or absent = it.copy_of.frame;
        /// The codes of the rules that this message breaks, or has a note on; rules that only several flows together
        /// can break are in `findings`.
        rules: Texts = Cell::Texts((&it.rules[..]).into());
        /// The field `challenge`, if it is a number.
        challenge: Integer or absent = it.challenge;
        /// For a message that describes a server: its name.
        server_name: Text or absent = it.server_name.as_deref();
        /// As above: its map.
        map: Text or absent = it.map.as_deref();
        /// As above: its number of players.
        players: Count or absent = it.players;
        /// As above: its maximum number of players.
        max_players: Count or absent = it.max_players;
        /// As above: the number of bots among the players.
        bots: Count or absent = it.bots;
        /// As above: its version.
        version: Text or absent = it.version.as_deref();
        /// For a master's list: the number of servers in this message.
        servers_listed: Count or absent = it.servers_listed;
        /// All its fields, as in `dissect --format json`; docs/fields.md lists them.
        fields: Json = Cell::Json(&it.fields);
        /// The number of fields left out of `fields`, for decompressed messages with very many.
        fields_left_out: Count = it.left_out;
        /// Further members of the message in `dissect --format json`, such as `split`: how a split response was sent.
        beside: Json or absent = it.beside.as_deref().map(Cell::Json);
    }
}
