//! The verdicts on the conditions of one server.

use std::borrow::Cow;
use std::net::SocketAddr;

use dissectors::kit::{Item, Values, causes};

use crate::diagnose::CapturePosition;
use crate::diagnose::exchanges::kind_words::requests;
use crate::diagnose::facts::{Fact, FirstFrames, NO_ACCIDENT};
use crate::diagnose::registration::{Registration, is_of_registration};
use crate::diagnose::server::remedies;
use crate::diagnose::server::{CLIENTS, Server};
use crate::diagnose::verdicts::{BUT, ItemVerdict, Met, is_suspicion};
use crate::session::ExchangeCounts;
use crate::text::{brief_span, counted, grouped, long_span};

/// What is known about a server in the end.
pub(in crate::diagnose) struct ServerState<'s> {
    pub(in crate::diagnose) server: &'s Server,
    /// The registration that the conditions of registration are about.
    pub(in crate::diagnose) registration: &'s Registration,
    pub(in crate::diagnose) address: SocketAddr,
    pub(in crate::diagnose) position: CapturePosition,
    /// The capture has packets of the party that should respond.
    pub(in crate::diagnose) is_heard: bool,
    /// Where behind NAT requests were answered, and how many.
    pub(in crate::diagnose) answers_behind: Option<(SocketAddr, u64)>,
    /// Packets of others to the server's host are in the capture.
    pub(in crate::diagnose) hears_others: bool,
    /// The recording lost packets.
    pub(in crate::diagnose) is_lossy: bool,
    /// Something of the capture did not fit into memory.
    pub(in crate::diagnose) is_cut: bool,
}

impl ServerState<'_> {
    /// That the party which should respond is not in the capture, or only behind NAT.
    fn not_heard(&self, item: Item) -> Cow<'static, str> {
        match self.answers_behind.filter(|_| item == Item::Answered) {
            Some((inside, count)) => {
                let responses = counted(count, "response");
                let text =
                    format!("; {responses} left {inside}, and nothing left {}", self.address);
                text.into()
            }
            None => "; nothing of this host is in the capture".into(),
        }
    }

    /// The verdict on a condition.
    pub(in crate::diagnose) fn verdict(&self, item: Item) -> ItemVerdict {
        let is_registration = is_of_registration(item);
        let fact = match is_registration {
            true => self.registration.fact(item),
            false => self.server.fact(item),
        };
        let verdict = self.failed(item, fact).or_else(|| self.met(item, fact));
        ItemVerdict {
            master: self.registration.master.filter(|_| is_registration),
            ..verdict.unwrap_or_else(|| self.unknown(item, fact))
        }
    }

    /// The exchanges that a condition is about.
    fn exchanges(&self, item: Item) -> Option<ExchangeCounts> {
        let is_about_all = item == Item::Answered && self.server.exchanges.asked > 0;
        is_about_all.then_some(self.server.exchanges)
    }

    /// The verdict on a condition that is not met.
    fn failed(&self, item: Item, fact: &Fact) -> Option<ItemVerdict> {
        let failure = fact.failure(!is_of_registration(item))?;
        let exchanges = self.exchanges(item);
        let times = fact.run;
        let mut text = match (&*failure.text, times) {
            (text, 1) => text.to_owned(),
            (text, _) => format!("{text} ({} times)", grouped(times)),
        };
        let pattern = self.server.unanswered.as_ref().filter(|_| item == Item::Answered);
        if let Some(counts) = exchanges.filter(|_| pattern.is_some()) {
            let (answered, asked) = (grouped(counts.answered), counted(counts.asked, "request"));
            text = format!("{answered} of {asked} answered; {text}{}", self.excused(0));
        }
        if let Some(before) = fact.shown.first().filter(|_| fact.good > 0) {
            text += &format!("; earlier, it was as it should be: frame {before}");
        }
        let frames = fact.failed();
        debug_assert!(failure.cause.no.contains(&item), "{item:?} by {:?}", failure.cause);
        let (by, span) = pattern.map_or((None, None), |it| (it.by.clone(), it.span));
        Some(ItemVerdict {
            met: Met::No,
            cause: Some(failure.cause),
            has_more: times > frames.len() as u64,
            frames,
            text: text.into(),
            values: failure.values.clone(),
            exchanges,
            by,
            span,
            has_dates: self.server.pattern.has_dates(),
            remedy: pattern.and_then(|found| remedies::of_pattern(self.server, found)),
            ..ItemVerdict::new(item)
        })
    }

    /// At the server, nothing shows whether all packets of a response arrive.
    fn cannot_arrive(&self, item: Item) -> bool {
        item == Item::Whole && self.position == CapturePosition::Server && self.server.packets > 1
    }

    /// The verdict on a condition that is met.
    fn met(&self, item: Item, fact: &Fact) -> Option<ItemVerdict> {
        if fact.good == 0 || self.cannot_arrive(item) {
            return None;
        }
        let beside = fact.open.as_deref().filter(|why| why.cause.yes.contains(&item));
        let mut text = self.text_of(item);
        if let Some(why) = beside.filter(|why| !why.text.is_empty()) {
            text += if text.is_empty() { "" } else { "; " };
            text += &why.text;
        }
        Some(ItemVerdict {
            met: Met::Yes,
            cause: beside.map(|why| why.cause),
            has_more: fact.good > fact.shown.len() as u64,
            frames: fact.shown.in_order(),
            text: text.into(),
            exchanges: self.exchanges(item),
            at_least: item == Item::Asked && self.server.clients.len() >= CLIENTS,
            ..ItemVerdict::new(item)
        })
    }

    /// The verdict on a condition about which nothing is known for certain.
    fn unknown(&self, item: Item, fact: &Fact) -> ItemVerdict {
        let (cause, frames, text) = match &fact.open {
            Some(doubt) if is_suspicion(doubt.cause) => {
                (doubt.cause, fact.shown, doubt.text.clone().into())
            }
            // What does not leave does not arrive.
            _ if self.cannot_arrive(item) && fact.times_not() == 0 => {
                let text = "captured at the server: whether all packets arrive is unknown";
                (&causes::CAPTURE_ONE_SIDED, FirstFrames::default(), text.into())
            }
            Some(open) => {
                let is_about_silence = open.cause == &causes::CAPTURE_TOO_SHORT;
                let is_awaited = is_about_silence && is_awaited(item);
                let cause = match open.cause {
                    _ if self.is_lossy => &causes::CAPTURE_DROPS,
                    _ if is_awaited && self.is_master_silent(item) => {
                        &causes::masters::MASTER_SILENT
                    }
                    _ if is_awaited && !self.is_heard && !self.hears_masters(item) => {
                        &causes::CAPTURE_ONE_SIDED
                    }
                    cause => cause,
                };
                let is_silent = is_about_silence && cause == open.cause && item == Item::Answered;
                let more = match is_silent {
                    _ if cause == &causes::masters::MASTER_SILENT => {
                        "; nothing of this master is in the capture, though packets of others to the \
                         server's host are"
                            .into()
                    }
                    _ if cause == &causes::CAPTURE_ONE_SIDED && self.server.orphans == 0 => {
                        self.not_heard(item)
                    }
                    true => "; that is too little to call it silent".into(),
                    false => Cow::default(),
                };
                let text = open.text.clone() + &more;
                (cause, FirstFrames::from_iter([open.frame]), text.into())
            }
            None => (&causes::NOT_IN_CAPTURE, FirstFrames::default(), self.absent(item)),
        };
        debug_assert!(cause.unknown.contains(&item), "{item:?} by {cause:?}");
        let values = fact.open.as_ref().filter(|open| open.cause == cause);
        ItemVerdict {
            cause: Some(cause),
            frames,
            text,
            values: values.map_or(Values::new(), |open| open.values.clone()),
            exchanges: self.exchanges(item),
            ..ItemVerdict::new(item)
        }
    }

    /// Why nothing in the capture shows a condition.
    fn absent(&self, item: Item) -> Cow<'static, str> {
        let server = self.server;
        let is_of_responses = matches!(item, Item::InTime | Item::Whole | Item::Readable);
        let sends_some = server.fact(Item::Challenges).good > 0 || server.in_part > 0;
        match server.elsewhere.first() {
            Some((from, ..)) if is_of_responses && !sends_some => {
                format!("only responses from {from} are in the capture").into()
            }
            Some(_) if is_of_responses => "no whole response is from the address asked".into(),
            _ if is_of_responses && server.in_part > 0 && !server.responds_whole() => {
                "no response is whole".into()
            }
            _ if self.is_cut => "not in what fits into memory".into(),
            _ => "not in this capture".into(),
        }
    }

    /// Whether nothing comes from the master, however often the server joins, while the capture has what comes to the
    /// server from others.
    fn is_master_silent(&self, item: Item) -> bool {
        let is_often = self.registration.joined() >= NO_ACCIDENT;
        is_of_registration(item) && is_often && !self.is_heard && self.hears_others
    }

    /// Whether packets of some master to the server are in the capture, so that of a registration it has both directions.
    fn hears_masters(&self, item: Item) -> bool {
        let mut known = self.server.registrations.iter();
        let hears = |it: &Registration| {
            [Item::Challenged, Item::Accepted].iter().any(|item| it.fact(*item).good > 0)
        };
        is_of_registration(item) && known.any(hears)
    }

    /// How many of its exchanges got no answer because of their challenge, or need none. `odd`: so many others got
    /// something else.
    fn excused(&self, odd: u64) -> String {
        let missing = self.server.exchanges.missing().saturating_sub(odd);
        let missing = missing.saturating_sub(self.server.pattern.all.missing());
        let astray = match self.server.astray.min(missing) {
            0 => String::new(),
            astray => format!(
                "; in {}, the challenge did not come where the client waits for it",
                grouped(astray)
            ),
        };
        astray + &self.owed_nothing(missing.saturating_sub(self.server.astray)) + &self.optional()
    }

    /// How many requests of which kinds need no answer, because not every server knows them.
    fn optional(&self) -> String {
        let kinds = || self.server.kinds.iter().filter(|kind| kind.optional > 0);
        match kinds().map(|kind| kind.optional).sum() {
            0 => String::new(),
            count => {
                let names = Vec::from_iter(kinds().map(|kind| requests(kind.name)));
                format!("; {} owed none: {}", are(count), names.join(", "))
            }
        }
    }

    /// How many of so many exchanges need no answer, because of the client.
    fn owed_nothing(&self, missing: u64) -> String {
        match self.server.owed_nothing.min(missing) {
            0 => String::new(),
            excused if self.server.is_filtered() => format!("; {} owed none", are(excused)),
            excused if self.server.left >= excused => {
                format!("; {} owed none: their challenges were not returned", are(excused))
            }
            excused => format!("; {} owed none, by a fault of the client", are(excused)),
        }
    }

    /// The details of a condition that is met.
    fn text_of(&self, item: Item) -> String {
        let (server, registration) = (self.server, self.registration);
        let every = || {
            registration.interval().map_or(String::new(), |interval| {
                format!("every {}", long_span(interval.unsigned_abs()))
            })
        };
        match item {
            Item::Join => registration.master.map_or(String::new(), |master| master.to_string()),
            Item::Heartbeats => every(),
            Item::Accepted => registration.reported.clone().unwrap_or_default(),
            Item::Listed | Item::Address => {
                format!("as {}", registration.listed_as.unwrap_or(self.address))
            }
            Item::Asked => {
                let at_least = if server.clients.len() < CLIENTS { "" } else { "at least " };
                let clients = counted(server.clients.len() as u64, "client");
                if server.by_broadcast && server.exchanges.asked == 0 {
                    return format!("{at_least}{clients}, by broadcast");
                }
                format!("{at_least}{clients}, {}", counted(server.exchanges.asked, "request"))
            }
            Item::Answered if server.in_part > 0 && !server.responds_whole() => {
                "only in part".to_owned()
            }
            Item::Answered => {
                let kinds = server.kinds.iter();
                let silent = kinds.filter(|kind| kind.answered.good == 0 && kind.answered.run > 0);
                let silent: Vec<_> = silent.map(|kind| requests(kind.name)).collect();
                let ExchangeCounts { asked, answered } = server.exchanges;
                let missing = server.exchanges.missing();
                let odd = server.odd.iter().map(|odd| odd.times).sum::<u64>().min(missing);
                let in_part = server.in_part.min(missing - odd);
                let is_elsewhere = server.fact(Item::FromAsked).run > 0 && answered > 0;
                let elsewhere = if is_elsewhere { server.answers_elsewhere } else { 0 };
                let elsewhere = elsewhere.min(missing - odd - in_part);
                let other_ways = odd + in_part + elsewhere;
                let excused = self.excused(other_ways);
                match &silent[..] {
                    [] if other_ways > 0 => {
                        let all = grouped(answered + other_ways);
                        let others = others([
                            (odd, "with something else"),
                            (in_part, "in part"),
                            (elsewhere, "from elsewhere"),
                        ]);
                        format!("{all} of {}, {others}{excused}", counted(asked, "request"))
                    }
                    [] if (1..asked).contains(&answered) => {
                        let asked = counted(asked, "request");
                        format!("{} of {asked}{excused}", grouped(answered))
                    }
                    [] => String::new(),
                    silent => format!("{BUT}{}", silent.join(", ")),
                }
            }
            Item::InTime => format!("within {}", brief_span(server.slowest)),
            Item::Whole if server.packets > 1 => {
                format!("up to {} a response", counted(server.packets as u64, "packet"))
            }
            _ if is_of_registration(item) => excepted_at(registration, item),
            _ => excepted(server.fact(item)),
        }
    }
}

/// How many requests are answered in these ways, which are not the right one.
fn others(ways: [(u64, &str); 3]) -> String {
    let some = ways.iter().filter(|(count, _)| *count > 0);
    let some = some.map(|(count, how)| format!("{} of them {how}", grouped(*count)));
    Vec::from_iter(some).join(", ")
}

/// So many are.
fn are(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "is" } else { "are" })
}

/// Whether a condition is that a party responds.
fn is_awaited(item: Item) -> bool {
    matches!(item, Item::Challenged | Item::Accepted | Item::Answered | Item::Verified)
}

/// How often a condition that is met was not.
fn excepted(fact: &Fact) -> String {
    match fact.mended {
        0 => String::new(),
        mended => format!("except {}", counted(mended, "time")),
    }
}

/// The same of a registration: of several ports of a master, at which.
fn excepted_at(registration: &Registration, item: Item) -> String {
    let fact = registration.fact(item);
    let latest = fact.latest_mended().filter(|_| registration.has_several_ports());
    match (latest, fact.mended) {
        (Some(latest), 1) => format!("except that {}", latest.text),
        (Some(latest), _) => format!("{}: {}", excepted(fact), latest.text),
        (None, _) => excepted(fact),
    }
}
