//! The numbers of players in the responses of a server.

use dissectors::kit::{COUNTS_COMPARED_WITHIN, Time};

use crate::session::{MessageEvent, Value};
use crate::summary::described;

/// Counts that differ by no more than this are of different moments.
const NEAR: u64 = 4;

/// The largest number that a byte holds.
pub(in crate::diagnose) const BYTE: u64 = 255;

/// What responses say about the number of players.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct Counts {
    /// In the latest description: players, bots among them, and when.
    info: Option<(u64, u64, Time)>,
    /// The number of players, of places, and the packet, where one does not fit into a byte.
    pub(in crate::diagnose) wrapped: Option<(u64, u64, u64)>,
    /// The latest disagreement: both numbers, and the packet.
    pub(in crate::diagnose) differs: Option<(String, u64)>,
    /// The latest list in which most have no name: their number, that of all, and the packet.
    pub(in crate::diagnose) unnamed: Option<(u64, u64, u64)>,
    /// How many lists agree with the description before them, and with their own number, and how many do not.
    pub(in crate::diagnose) agreed: u64,
    pub(in crate::diagnose) differed: u64,
}

impl Counts {
    /// A response to a client's request of this kind. `contradiction`: it has another number of players than it says.
    pub(in crate::diagnose) fn see(
        &mut self,
        event: &MessageEvent<'_>,
        kind: &str,
        contradiction: Option<String>,
    ) {
        let (described, frame) = (event.message().describes, event.frame());
        let players = described.and_then(|it| described::first(event, it.players));
        let players = players.and_then(described::number);
        if let Some(info) = players {
            let bots = event.field("bots").and_then(described::number).unwrap_or(0);
            self.info = Some((info, bots, event.time()));
            let most = described.and_then(|it| described::first(event, it.max_players));
            let most = most.and_then(described::number);
            let is_wrapped =
                |most: &u64| info == BYTE && *most < info || counts_in_tags(event) > BYTE;
            let wrapped = most.filter(is_wrapped).map(|most| (info, most, frame));
            self.wrapped = wrapped.or(self.wrapped);
        }
        let list = event.field("num_players").and_then(described::number);
        // Of a response that was cut, more players may follow.
        let is_whole = !event.payload().lost;
        let listed = || described::listed_players(event, kind).filter(|_| is_whole);
        let list = list.or_else(listed);
        if let Some(list) = list.filter(|list| *list >= NEAR) {
            let unnamed = event.field("unnamed").and_then(described::number).unwrap_or(0);
            self.unnamed = (2 * unnamed > list).then_some((unnamed, list, frame));
        }
        if let Some(numbers) = contradiction {
            return self.differs(numbers, frame);
        }
        // One answer holds both numbers: they are of the same moment.
        let is_one = players.is_some();
        let (Some(list), Some((info, bots, described))) = (list, self.info) else { return };
        if event.time().since(described) > COUNTS_COMPARED_WITHIN {
            return;
        }
        // Bots may be left out of the list, or some of them.
        let expected = list.clamp(info.saturating_sub(bots), info);
        let difference = expected.abs_diff(list);
        let is_far = difference > NEAR && 4 * difference > expected.max(list);
        let is_none = expected.min(list) == 0 && expected.max(list) >= 2;
        if is_far || is_none || is_one && difference > 0 {
            let numbers =
                format!("{info} players in its description, {list} in its list of players");
            self.differs(numbers, frame);
        } else {
            self.agreed += 1;
        }
    }

    fn differs(&mut self, numbers: String, frame: u64) {
        (self.differs, self.differed) = (Some((numbers, frame)), self.differed + 1);
    }
}

/// The largest count of players or places in the tags of a description, such as 300 in `mp500,cp300`.
fn counts_in_tags(event: &MessageEvent<'_>) -> u64 {
    let Some(Value::Text(tags)) = event.field("keywords") else { return 0 };
    let counts = tags.split(|byte| *byte == b',').filter_map(|tag| {
        let tag = tag.trim_ascii();
        let count = tag.strip_prefix(b"cp").or_else(|| tag.strip_prefix(b"mp"))?;
        std::str::from_utf8(count).ok()?.parse().ok()
    });
    counts.max().unwrap_or(0)
}
