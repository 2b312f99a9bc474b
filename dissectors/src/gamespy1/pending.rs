//! A query that waits for its response.

use crate::kit::Question;

/// What a query asks.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) kind: QueryKind,
    /// The length of its datagram.
    pub(super) length: [u8; 2],
    /// The first packet with it, which a finding names, in as many bytes as a request keeps of a
    /// packet's number.
    pub(super) first: [u8; 5],
}

impl Question for Asked {
    fn repeats(&self, before: &Asked) -> bool {
        (self.kind, self.length) == (before.kind, before.length)
    }

    fn is_alike(&self, other: &Asked) -> bool {
        self.kind == other.kind
    }
}

/// The kind of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryKind {
    Info,
    Status,
    Basic,
    Rules,
    Players,
    // Games answer these, too; the specification does not say that servers must.
    Teams,
    Packets,
    Echo,
    LevelProperty,
    GameProperty,
    PlayerProperty,
    /// With another name.
    Unknown,
}

impl QueryKind {
    const ALL: [QueryKind; 11] = [
        QueryKind::Info,
        QueryKind::Status,
        QueryKind::Basic,
        QueryKind::Rules,
        QueryKind::Players,
        QueryKind::Teams,
        QueryKind::Packets,
        QueryKind::Echo,
        QueryKind::LevelProperty,
        QueryKind::GameProperty,
        QueryKind::PlayerProperty,
    ];

    pub(super) fn of(first: &[u8]) -> Option<QueryKind> {
        QueryKind::ALL.into_iter().find(|kind| kind.name().as_bytes() == first)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            QueryKind::Info => "info",
            QueryKind::Status => "status",
            QueryKind::Basic => "basic",
            QueryKind::Rules => "rules",
            QueryKind::Players => "players",
            QueryKind::Teams => "teams",
            QueryKind::Packets => "packets",
            QueryKind::Echo => "echo",
            QueryKind::LevelProperty => "level_property",
            QueryKind::GameProperty => "game_property",
            QueryKind::PlayerProperty => "player_property",
            QueryKind::Unknown => "unknown",
        }
    }

    /// The bit of a kind that demands a response; 0 for others.
    pub(super) fn bit(self) -> u8 {
        if self.demands_response() { 1 << self as u8 } else { 0 }
    }

    /// Whether the specification demands a response.
    pub(super) fn demands_response(self) -> bool {
        matches!(
            self,
            QueryKind::Info
                | QueryKind::Status
                | QueryKind::Basic
                | QueryKind::Rules
                | QueryKind::Players
        )
    }
}
