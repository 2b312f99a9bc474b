//! Masters: whether they give clients their lists.

mod list_messages;
mod list_progress;
mod outcomes;
pub(in crate::diagnose) mod own_words;
mod refusal;
mod unheard;

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Item, Purpose, Time, Transport, causes};

use super::is_clients_fault;
use crate::diagnose::exchanges::pattern::{CommonOfLists, ListRequests, first_names};
use crate::diagnose::facts::find_or_add::keep_latest;
use crate::diagnose::facts::{ENOUGH, Failure, NO_ACCIDENT, NOT_WHOLE, is_too_much};
use crate::diagnose::verdicts::checklist::Checklist;
use crate::diagnose::verdicts::{ItemVerdict, Met};
use crate::session::MessageEvent;
use crate::summary::described;
use crate::text::{counted, grouped};
use list_progress::{List, Pace, is_no_accident};
use outcomes::Outcomes;
use own_words::words;
use refusal::{is_unchanged, refusal, unreadable};

/// Maximum number of lists in progress that are kept of a master.
const LISTS: usize = 64;

/// Nanoseconds after which programs that wait for a list have given up.
const PATIENCE: i64 = 10_000_000_000;

/// What to do about a master that answers nothing for a while.
const OF_SPAN: &str = "It is heard otherwise. In that time, the master did not run, or was too busy: ask whoever runs it, or look \
                       into its log.";

/// A master that clients ask for lists.
#[derive(Debug)]
pub(super) struct Master {
    pub(super) items: Checklist,
    pub(super) protocol: Id,
    /// Where clients ask.
    pub(super) address: SocketAddr,
    lists: Vec<List>,
    /// Requests for lists, and the packet of the first one of any kind.
    requests: ListRequests,
    first: u64,
    /// Requests for the next pages of lists.
    next_pages: u64,
    /// What all unanswered ones have in common.
    common: Option<CommonOfLists>,
    /// Another address sends its lists.
    is_elsewhere: bool,
    /// Connections in which it owes a client something.
    clients: Vec<SocketAddr>,
    /// A probe asks it.
    is_probed: bool,
    /// The packet of its latest message; 0: there is none.
    spoke: u64,
    /// Connections since then in which it sent nothing.
    silent: Connections,
    /// Attempts to connect since then that no packet of it answers.
    unreached: Connections,
    outcomes: Outcomes,
    /// A client answered its challenge rightly; the packet of the latest wrong answer.
    has_right_answer: bool,
    wrong_answer: Option<u64>,
    /// The latest connections in which a client asked or answered wrongly.
    owed_nothing: Vec<SocketAddr>,
    /// Servers and packets of the latest list that can be read.
    latest: Option<[u64; 2]>,
}

/// How a master says nothing to a client that connects to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Silence {
    /// It accepts the connection.
    Accepted,
    /// No packet comes from it.
    Unreached,
}

/// Connections of a kind.
#[derive(Clone, Copy, Debug, Default)]
struct Connections {
    count: u64,
    /// A packet of the latest one.
    frame: u64,
}

/// What is known about a master beside its messages to clients.
pub(super) struct Surroundings {
    /// When the capture ends, and after how many nanoseconds an answer is missing.
    pub(super) end: Time,
    pub(super) timeout: i64,
    /// The user states that the capture is complete.
    pub(super) complete: bool,
    /// It passes midnight.
    pub(super) has_dates: bool,
    /// Some packet of it is in the capture.
    pub(super) is_heard: bool,
    /// Other hosts are heard, where its clients are.
    pub(super) others_are_heard: bool,
    /// The recording lost packets.
    pub(super) is_lossy: bool,
}

impl Master {
    pub(super) fn new(protocol: Id, address: SocketAddr) -> Master {
        Master {
            items: Checklist::default(),
            protocol,
            address,
            lists: Vec::new(),
            requests: ListRequests::default(),
            first: 0,
            next_pages: 0,
            common: None,
            is_elsewhere: false,
            clients: Vec::new(),
            is_probed: false,
            spoke: 0,
            silent: Connections::default(),
            unreached: Connections::default(),
            outcomes: Outcomes::default(),
            has_right_answer: false,
            wrong_answer: None,
            owed_nothing: Vec::new(),
            latest: None,
        }
    }

    /// One that a probe asks, with its first packet.
    pub(super) fn probed(protocol: Id, address: SocketAddr) -> Master {
        Master { first: 1, is_probed: true, ..Master::new(protocol, address) }
    }

    /// Whether clients ask it in datagrams: it says nothing else then.
    pub(super) fn is_asked_by_udp(&self) -> bool {
        let mut asking = self.protocol.info().asking.iter().filter(|it| it.is_of_master);
        asking.any(|it| it.transport == Transport::Udp)
    }

    /// Whether it speaks first, in a connection.
    fn greets(&self) -> bool {
        self.protocol.info().masters.is_some_and(|it| it.greets_at.is_some())
    }

    /// Whether clients ask for each part of a list.
    fn is_paged(&self) -> bool {
        self.protocol.info().masters.is_some_and(|it| it.goes_on_after.is_some())
    }

    /// The verdicts on its conditions.
    pub(super) fn verdicts(&mut self) -> Vec<ItemVerdict> {
        let items = self.items();
        let mut verdicts = self.items.verdicts(&items);
        let is_unanswered =
            |it: &&mut ItemVerdict| it.cause == Some(&causes::masters::LIST_UNANSWERED);
        if let Some(unanswered) = verdicts.iter_mut().find(is_unanswered)
            && let Some(common) = self.common.take()
        {
            (unanswered.by, unanswered.span) = (common.by, common.span);
            unanswered.remedy = common.span.map(|_| OF_SPAN);
        }
        if let Some([servers, packets]) = self.latest {
            let is_list = |it: &&mut ItemVerdict| it.item == Item::GivesList && it.met == Met::Yes;
            for list in verdicts.iter_mut().filter(is_list) {
                let (servers, packets) = (counted(servers, "server"), counted(packets, "packet"));
                list.text = format!("{servers} in {packets}").into();
            }
        }
        self.names_clients(&mut verdicts);
        verdicts
    }

    /// The conditions that its protocol has.
    pub(super) fn items(&self) -> Vec<Item> {
        let (masters, greets) = (self.protocol.info().masters, self.greets());
        let accepts = greets || masters.is_some_and(|it| it.status.is_some());
        let all = [
            (Item::Reached, true),
            (Item::Greets, greets),
            (Item::AcceptsClient, accepts),
            (Item::GivesList, true),
            (Item::GivesWholeList, true),
            (Item::GivesListInTime, true),
        ];
        all.into_iter().filter(|(_, has)| *has).map(|(item, _)| item).collect()
    }

    /// A client sends it a message.
    pub(super) fn hears(&mut self, event: &MessageEvent<'_>) {
        let payload = event.payload();
        let is_answer = event.message().purpose == Purpose::CheckResponse;
        let is_wrong = event.checked().findings.iter().any(|it| is_clients_fault(&it));
        if is_answer {
            match is_wrong {
                true => self.wrong_answer = Some(payload.frame),
                false => self.has_right_answer = true,
            }
        }
        if is_wrong && payload.transport == Transport::Tcp {
            keep_latest(&mut self.owed_nothing, LISTS, payload.from);
        }
        // To a wrong request, it owes nothing.
        if is_wrong && !is_answer {
            return;
        }
        // Nor to what comes in a datagram where it speaks first, in a connection.
        if self.greets() && payload.transport != Transport::Tcp {
            return;
        }
        self.is_asked_by(payload.from, payload.frame);
        if event.message().purpose != Purpose::ListRequest {
            return;
        }
        let begins = described::begins_list(event);
        self.next_pages += u64::from(!begins);
        // Nor to what follows a wrong answer in the same connection: it may close that. What was cut off may be wrong.
        if let Some(masters) = self.protocol.info().masters
            && begins
            && !payload.lost
            && !self.owed_nothing.contains(&payload.from)
        {
            self.requests.asked(event, masters);
        }
        let at = self.lists.iter().position(|list| list.client == payload.from);
        match at.and_then(|at| self.lists.get_mut(at)) {
            // A client asks again from the beginning, or goes on.
            Some(list) if !begins || list.waits.is_some() && list.pages == 0 => {
                let (frame, sent, times) = list.waits.unwrap_or((payload.frame, payload.time, 0));
                list.waits = Some((frame, sent, times + 1));
            }
            _ => {
                let waits = Some((payload.frame, payload.time, 1));
                let (client, begun) = (payload.from, payload.time);
                let pace = Pace::default();
                let list = List { client, begun, pages: 0, servers: 0, waits, pace };
                keep_latest(&mut self.lists, LISTS, list);
            }
        }
    }

    /// It owes a client something, as this packet shows.
    fn is_asked_by(&mut self, client: SocketAddr, frame: u64) {
        if self.clients.len() < LISTS && !self.clients.contains(&client) {
            self.clients.push(client);
        }
        if self.first == 0 {
            self.first = frame;
        }
    }

    /// A client connects to it, and hears nothing for as long as an answer may take, or until it closes the connection.
    pub(super) fn is_silent(&mut self, client: SocketAddr, silence: Silence, frame: u64) {
        self.is_asked_by(client, frame);
        if frame < self.spoke {
            return;
        }
        let connections = match silence {
            Silence::Accepted => &mut self.silent,
            Silence::Unreached => &mut self.unreached,
        };
        *connections = Connections { count: connections.count + 1, frame };
    }

    /// It sends a client a message.
    pub(super) fn says(&mut self, event: &MessageEvent<'_>) {
        let payload = event.payload();
        let frame = payload.frame;
        (self.spoke, self.silent) = (frame, Connections::default());
        self.items.good_again(Item::Reached, frame);
        self.outcomes.of(Item::Reached).succeeds(payload.to.ip());
        match event.message().purpose {
            Purpose::Challenge | Purpose::Check if payload.transport == Transport::Tcp => {
                self.items.good(Item::Greets, frame);
            }
            Purpose::List => {
                self.requests.answered(payload.to);
                self.lists(event);
            }
            Purpose::Other => self.refuses(event),
            _ => {}
        }
    }

    /// It sends a list, or a part of one.
    fn lists(&mut self, event: &MessageEvent<'_>) {
        let payload = event.payload();
        let (frame, time, client) = (payload.frame, payload.time, payload.to.ip());
        if is_unchanged(event, self.protocol.info().masters) {
            self.succeeds_for(client, Item::AcceptsClient, frame);
            self.succeeds_for(client, Item::GivesList, frame);
            self.lists.retain(|list| list.client != payload.to);
            return;
        }
        if !self.accepts(event) {
            self.lists.retain(|list| list.client != payload.to);
            return;
        }
        let is_waiting = |list: &List| list.client == payload.to && list.waits.is_some();
        let is_elsewhere = payload.from != self.address && event.reply().is_none();
        if is_elsewhere && self.lists.iter().any(is_waiting) {
            self.lists.retain(|list| list.client != payload.to);
            let from = format!("a list comes from port {}", payload.from.port());
            let why = Failure::new(&causes::OTHER_PORT, frame, from);
            return self.fails_for(client, Item::GivesList, why);
        }
        if let Some((cause, words)) = unreadable(event) {
            self.fails_for(client, Item::GivesList, Failure::new(cause, frame, words));
            self.lists.retain(|list| list.client != payload.to);
            return;
        }
        self.succeeds_for(client, Item::GivesList, frame);
        let listed = described::server_count(event);
        let is_paged = self.is_paged();
        let list = self.lists.iter_mut().rev().find(|list| list.client == payload.to);
        let mut begun = None;
        if let Some(list) = list {
            let waited = list.goes_on(time, listed);
            let late = waited.filter(|waited| is_paged && *waited > PATIENCE);
            begun = Some((list.begun, list.pace));
            if !described::is_enciphered(event) {
                self.latest = Some([list.servers, list.pages]);
            }
            if let Some(waited) = late {
                self.is_slow_for(client, waited, frame);
            }
        }
        if described::cuts_list(event) {
            self.lists.retain(|list| list.client != payload.to);
            self.cut(client, frame, "the response ends before its last line");
        } else if described::ends_list(event) || described::is_enciphered(event) {
            self.lists.retain(|list| list.client != payload.to);
            // One of another protocol mends nothing.
            match event.context().protocol == Some(self.protocol) {
                true => self.gives_whole_list(client, time, frame),
                false => self.items.good(Item::GivesWholeList, frame),
            }
            if let Some((begun, pace)) = begun {
                // While its window is closed, the client makes the master wait.
                let closed = event.context().window_closed[payload.side.other().index()];
                let taken = time.since(begun) - i64::from(closed) * 1_000_000;
                self.ends_after(taken, pace, client, frame);
            }
        }
    }

    /// A list is complete after so many nanoseconds. If clients ask for each part, they take their time, too.
    fn ends_after(&mut self, taken: i64, pace: Pace, client: IpAddr, frame: u64) {
        let is_paged = self.is_paged();
        let is_slow_by_pages = pace.beyond > PATIENCE;
        if taken <= PATIENCE || is_paged && !pace.is_unknown && !is_slow_by_pages {
            self.succeeds_for(client, Item::GivesListInTime, frame);
        } else if !is_paged || is_slow_by_pages {
            self.is_slow_for(client, if is_paged { pace.taken } else { taken }, frame);
        }
    }

    /// A list, or a page of one, comes after so many nanoseconds.
    fn is_slow_for(&mut self, client: IpAddr, taken: i64, frame: u64) {
        let seconds = format!("{:.1}", taken as f64 / 1e9);
        let why = Failure::with(&causes::masters::LIST_SLOW, frame, &[("seconds", &seconds)]);
        self.fails_for(client, Item::GivesListInTime, why);
    }

    /// A client gets a whole list: those that it has waited for in vain are over.
    fn gives_whole_list(&mut self, client: IpAddr, now: Time, frame: u64) {
        let is_over = |(_, sent, _): (u64, Time, u64)| now.since(sent) > PATIENCE;
        self.lists.retain(|it| it.client.ip() != client || !it.waits.is_some_and(is_over));
        self.succeeds_for(client, Item::GivesWholeList, frame);
    }

    /// Whether it accepts the client to which it sends a list.
    fn accepts(&mut self, event: &MessageEvent<'_>) -> bool {
        let client = event.ends()[1].ip();
        let times = self.items.fact(Item::AcceptsClient).run + 1;
        let banned = &mut self.outcomes.of(Item::AcceptsClient).failing;
        let clients = || {
            let others = banned.iter().filter(|other| **other != client);
            first_names(Vec::from_iter(others.chain([&client])).into_iter())
        };
        match refusal(event, self.protocol.info().masters, times, clients) {
            // It says what is wrong with the request.
            Some(why)
                if why.cause == &causes::answers::REFUSED_IN_WORDS
                    && self.owed_nothing.contains(&event.ends()[1]) =>
            {
                false
            }
            Some(why) => {
                let is_banned = why.cause == &causes::masters::BANNED;
                self.fails_for(client, Item::AcceptsClient, why);
                // The list of a banned client is one.
                is_banned
            }
            // What it says may follow.
            None if event.payload().lost && described::server_count(event) == 0 => {
                let accepts = self.items.fact(Item::AcceptsClient);
                accepts.open(&causes::CAPTURE_DROPS, event.frame(), NOT_WHOLE);
                true
            }
            None => {
                self.succeeds_for(client, Item::AcceptsClient, event.frame());
                true
            }
        }
    }

    /// It sends some other text: it may refuse the client.
    fn refuses(&mut self, event: &MessageEvent<'_>) {
        let Some(text) = words(event) else { return };
        let client = event.ends()[1];
        // In place of a list, whatever it says is a refusal, unless the list follows.
        let is_asked = self.lists.iter().any(|list| list.client == client);
        let is_refusal = described::is_refusal(&text);
        if !is_asked && !is_refusal {
            self.items.fact(Item::AcceptsClient).open(&causes::NOT_IN_CAPTURE, event.frame(), text);
            return;
        }
        let (cause, text) = match self.wrong_answer.is_some() {
            true => (&causes::masters::VALIDATE_REFUSED, format!("says \"{text}\"")),
            false => (&causes::answers::REFUSED_IN_WORDS, format!("\"{text}\"")),
        };
        let times = counted(self.items.fact(Item::AcceptsClient).run + 1, "time");
        let values: [(_, &dyn Display); 2] = [("times", &times), ("text", &text)];
        let why = Failure::with(cause, event.frame(), &values);
        self.fails_for(client.ip(), Item::AcceptsClient, why);
        self.requests.answered(client);
        if is_refusal {
            self.lists.retain(|list| list.client != client);
        }
    }

    /// Whether this client asks it.
    pub(super) fn knows(&self, client: SocketAddr) -> bool {
        self.clients.contains(&client) || self.lists.iter().any(|list| list.client == client)
    }

    /// Whether this client waits for a list.
    pub(super) fn is_awaited_by(&self, client: SocketAddr) -> bool {
        self.lists.iter().any(|list| list.client == client && list.waits.is_some())
    }

    /// Another address sends a client the list that it waits for.
    pub(super) fn is_answered_by(&mut self, event: &MessageEvent<'_>) {
        let [from, client] = event.ends();
        let text = format!("a list comes from {from}");
        let why = Failure::new(&causes::OTHER_ADDRESS, event.frame(), text);
        self.fails_for(client.ip(), Item::GivesList, why);
        self.lists.retain(|list| list.client != client);
        self.requests.answered(client);
        self.is_elsewhere = true;
    }

    /// The hosts that ask it, up to a maximum.
    pub(super) fn clients(&self) -> impl Iterator<Item = IpAddr> {
        self.clients.iter().map(SocketAddr::ip)
    }

    /// A list ended early. Where clients ask for each part over UDP, one request without an answer says little: what waits
    /// at the end is judged.
    pub(super) fn cut(&mut self, client: IpAddr, frame: u64, words: &str) {
        if self.is_paged() {
            return;
        }
        self.fails_for(client, Item::GivesWholeList, Failure::new(&causes::LIST_CUT, frame, words));
    }

    /// A client's connection to this address is refused.
    pub(super) fn is_closed(&mut self, address: SocketAddr, client: IpAddr, why: &Failure) {
        if address == self.address {
            self.cannot_be_reached(client, why.clone());
        }
    }

    /// A connection or a request of a client does not reach it.
    pub(super) fn cannot_be_reached(&mut self, client: IpAddr, why: Failure) {
        self.fails_for(client, Item::Reached, why);
    }

    /// Only clients do not reach it that never did, and others did meanwhile: that is a matter of these.
    fn is_reached_by_others(&mut self) -> bool {
        let never = |client: &IpAddr| !self.requests.are_answered_to(*client);
        let is_of_some = self.outcomes.of(Item::Reached).failing.iter().all(never);
        self.items.fact(Item::Reached).mended > 0 && is_of_some
    }

    /// Conclusions at the end.
    pub(super) fn conclude(&mut self, around: &Surroundings) {
        self.requests.finish(around.end, around.timeout, around.complete, around.has_dates);
        if self.is_reached_by_others() {
            self.items.fact(Item::Reached).fails_by(Vec::new());
        }
        let is_refused = self.items.fact(Item::Reached).run > 0;
        if is_refused || self.is_unheard(around) || self.never_speaks(around) {
            return;
        }
        let is_due = |list: &&List| {
            let sent = list.waits.map(|(_, sent, _)| sent);
            sent.is_some_and(|sent| around.complete || around.end.since(sent) >= around.timeout)
        };
        let waiting = Vec::from_iter(self.lists.iter().filter(is_due).copied());
        // It closes the connection without a word then.
        if let Some(frame) = self.wrong_answer
            && !self.has_right_answer
            && !self.items.is_met(Item::GivesList)
            && self.items.fact(Item::AcceptsClient).run == 0
            && !waiting.is_empty()
        {
            let values: [(_, &dyn Display); 1] = [("text", &"sends no list")];
            let why = Failure::with(&causes::masters::VALIDATE_REFUSED, frame, &values);
            self.items.fact(Item::AcceptsClient).fails(why);
        }
        if !around.is_lossy {
            self.waited_for(&waiting, around.complete);
        }
        let left = self.lists.iter().filter(|list| list.pages > 0).max_by_key(|list| list.pages);
        if let Some(list) = left.filter(|_| !self.items.fact(Item::GivesWholeList).is_known()) {
            let packets = counted(list.pages, "packet");
            let text = format!("{} servers in {packets}, and no end", grouped(list.servers));
            self.items.fact(Item::GivesWholeList).open(&causes::LIST_CUT, self.spoke, text);
        }
    }

    /// Whether it answers requests to this port that anybody sends between these times.
    pub(super) fn serves(&self, port: u16, span: [Time; 2]) -> bool {
        self.requests.are_answered(port, span)
    }

    /// Clients still wait for these lists, or for their next part.
    fn waited_for(&mut self, waiting: &[List], is_complete: bool) {
        let stopped = waiting.iter().filter(|list| list.pages > 0).max_by_key(|list| list.pages);
        let whole = Some(self.items.fact(Item::GivesWholeList)).filter(|it| it.run == 0);
        let whole = whole.map_or(0, |it| it.good);
        let counts = self.requests.counts();
        let all = counts.asked + self.next_pages;
        let unanswered = counts.missing();
        let is_share = counts.asked >= ENOUGH && is_too_much(unanswered, counts.asked);
        self.common = self.requests.common();
        // What is so for one client is said of that client.
        let is_apart = self.common.as_ref().is_some_and(|it| !it.is_of_client());
        let gives_some = self.items.is_met(Item::GivesList);
        if let Some(list) = stopped.filter(|_| is_no_accident(waiting, whole, all))
            && let Some((frame, _, times)) = list.waits
        {
            let values: [(_, &dyn Display); 3] = [
                ("servers", &grouped(list.servers)),
                ("pages", &counted(list.pages, "packet")),
                ("times", &counted(times, "request")),
            ];
            let why = Failure::with(&causes::masters::LIST_THROTTLED, frame, &values);
            let clients = waiting.iter().filter(|list| list.pages > 0).map(|it| it.client.ip());
            clients.for_each(|it| self.outcomes.of(Item::GivesWholeList).fails(it));
            self.items.fact(Item::GivesWholeList).fails_by(vec![why]);
        } else if (unanswered >= NO_ACCIDENT || is_complete && unanswered > 0)
            && (is_share || !gives_some || is_apart)
        {
            // Some may still be answered, and count as elsewhere.
            let (times, asked) = (grouped(unanswered), grouped(self.requests.begun()));
            let which = match gives_some {
                true => format!("{times} of {asked} requests"),
                false => "requests".to_owned(),
            };
            let pattern = self.common.as_ref().map_or("", |common| &common.text);
            let values: [(_, &dyn Display); 4] =
                [("which", &which), ("times", &times), ("asked", &asked), ("pattern", &pattern)];
            let frame = self.requests.first_missing().unwrap_or(self.first);
            let why = Failure::with(&causes::masters::LIST_UNANSWERED, frame, &values);
            self.items.fact(Item::GivesList).fails_by(vec![why]);
        }
    }
}
