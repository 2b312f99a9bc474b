//! The conditions for players to see a server.

use crate::kit::Role;

/// Declares the conditions, by group, each with its name for scripts and what the party does if it is met.
macro_rules! items {
    ($(
        $(#[doc = $about:literal])+
        $group:ident of $party:ident: $together:literal {
            $($(#[doc = $doc:literal])+ $item:ident = $name:literal: $does:literal,)+
        }
    )+) => {
        /// One condition. They are listed in the order in which they must be met.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Item {
            $($($(#[doc = $doc])+ $item,)+)+
        }

        /// Conditions that belong together.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ItemGroup {
            $($(#[doc = $about])+ $group,)+
        }

        impl Item {
            /// All of them, in order.
            pub const ALL: &[Item] = &[$($(Item::$item,)+)+];

            /// The name in scripts.
            pub const fn name(self) -> &'static str {
                match self { $($(Item::$item => $name,)+)+ }
            }

            /// What the party does if the condition is met, as after "it".
            pub const fn does(self) -> &'static str {
                match self { $($(Item::$item => $does,)+)+ }
            }

            /// The group it belongs to.
            pub const fn group(self) -> ItemGroup {
                match self { $($(Item::$item)|+ => ItemGroup::$group,)+ }
            }
        }

        impl ItemGroup {
            /// All of them, in order.
            pub const ALL: &[ItemGroup] = &[$(ItemGroup::$group,)+];

            /// What the party does if all of these conditions are met, as after "it".
            pub const fn does(self) -> &'static str {
                match self { $(ItemGroup::$group => $together,)+ }
            }

            /// The party whose conditions these are.
            pub const fn party(self) -> Role {
                match self { $(ItemGroup::$group => Role::$party,)+ }
            }
        }
    };
}

crate::named! {
    /// What another address of a server is.
    pub enum AddressRole {
        /// Clients query it there.
        Query = "query",
        /// Players join there: its responses announce the port.
        Game = "game",
        /// It joins masters from there.
        Join = "join",
        /// Its master probes it there.
        Probe = "probe",
        /// It has this address behind NAT.
        BehindNat = "nat",
    }
}

items! {
    /// Nobody attacks the server.
    Peace of Server: "is not attacked" {
        /// No attack is aimed at it, and it is not misused for one.
        NotAttacked = "attack.none": "is not under attack",
    }
    /// A master knows the server.
    Registration of Server: "registers with a master" {
        /// The server asks a master to list it.
        Join = "reg.join": "joins the master",
        /// The master challenges it.
        Challenged = "reg.challenged": "is challenged by the master",
        /// It answers that challenge correctly.
        Echo = "reg.echo": "answers the challenge correctly",
        /// Its info string is complete.
        Info = "reg.info": "sends a complete info string",
        /// The master probes its port.
        Probed = "reg.probed": "is probed by the master",
        /// The server answers the probe.
        ProbeBack = "reg.probe_back": "answers the probe",
        /// The master accepts it.
        Accepted = "reg.accepted": "is accepted by the master",
        /// It sends heartbeats often enough.
        Heartbeats = "reg.heartbeats": "sends heartbeats on time",
        /// It does not sign off.
        Stays = "reg.stays": "stays registered",
    }
    /// A master tells clients of the server.
    Lists of Server: "is in a master's list" {
        /// The master sends its list to the end.
        ListWhole = "list.whole": "the list is complete",
        /// The server is in the list.
        Listed = "list.listed": "is in the master's list",
        /// With an address that clients can reach.
        Address = "list.address": "is listed with an address that can be reached",
    }
    /// A master of another kind knows the server.
    Elsewhere of Server: "registers elsewhere" {
        /// It registers in a way that cannot be read here.
        Elsewhere = "reg.elsewhere": "registers with a master of another kind",
    }
    /// Clients get responses from the server.
    Queries of Server: "is seen by clients" {
        /// Clients ask it.
        Asked = "seen.asked": "is asked by clients",
        /// It challenges them, if the protocol has challenges.
        Challenges = "seen.challenged": "challenges clients",
        /// It responds to requests with its challenge.
        Verified = "seen.verified": "accepts its own challenge",
        /// It responds with the requested data.
        Answered = "seen.answered": "responds to clients",
        /// From the address and port that was asked.
        FromAsked = "seen.from_asked": "responds from the address asked",
        /// In time.
        InTime = "seen.in_time": "responds in time",
        /// With all parts.
        Whole = "seen.whole": "gets complete responses to clients",
        /// In a form that clients can read.
        Readable = "seen.readable": "sends responses that can be read",
        /// Its responses agree with each other.
        Believable = "seen.believable": "says the same in all responses",
    }
    /// Clients ask it where it answers.
    Play of Server: "is asked where it answers" {
        /// Clients ask its query port, not its game port.
        PlayPort = "play.port": "is asked at its query port",
        /// The game port that it announces is open.
        PlayOpen = "play.open": "lets players in at its game port",
    }
    /// A client asks as the protocol demands.
    Asking of Client: "asks correctly" {
        /// Its requests have the form that the protocol demands.
        WellFormed = "ask.wellformed": "sends requests of the right form",
        /// It returns challenges.
        ReturnsChallenge = "ask.challenge": "returns challenges",
        /// It speaks the protocol of the server.
        RightProtocol = "ask.protocol": "speaks the server's protocol",
        /// It gets responses.
        GetsAnswers = "ask.answered": "gets responses",
    }
    /// A master gives clients its list.
    Service of Master: "gives clients its list" {
        /// Clients reach it.
        Reached = "master.reached": "can be reached",
        /// It speaks first, where the protocol demands that.
        Greets = "master.greets": "greets clients",
        /// It accepts the client.
        AcceptsClient = "master.accepts": "accepts the client",
        /// It sends a list.
        GivesList = "master.lists": "answers with a list",
        /// It sends it to the end.
        GivesWholeList = "master.whole": "sends its whole list",
        /// It sends it in time.
        GivesListInTime = "master.in_time": "sends its list in time",
    }
}
