//! The conditions for players to see a server, and the rules that show which one is not met.
//!
//! Each protocol declares the conditions for its servers; `diagnose` checks these.

use crate::kit::Rule;
use crate::named;

named! {
    /// One condition. They are listed in the order in which they must be met.
    pub enum Item {
        /// The server asks a master to list it.
        Join = "reg.join",
        /// The master challenges it.
        Challenged = "reg.challenged",
        /// It answers that challenge correctly.
        Echo = "reg.echo",
        /// Its info string is complete.
        Info = "reg.info",
        /// The master probes its port.
        Probed = "reg.probed",
        /// The server answers the probe.
        ProbeBack = "reg.probe_back",
        /// The master accepts it.
        Accepted = "reg.accepted",
        /// It sends heartbeats often enough.
        Heartbeats = "reg.heartbeats",
        /// It does not sign off.
        Stays = "reg.stays",
        /// The master sends its list to the end.
        ListWhole = "list.whole",
        /// The server is in the list.
        Listed = "list.listed",
        /// With an address that clients can reach.
        Address = "list.address",
        /// Clients ask it.
        Asked = "seen.asked",
        /// It challenges them, if the protocol has challenges.
        Challenges = "seen.challenged",
        /// It responds to requests with its challenge.
        Verified = "seen.verified",
        /// It responds with the requested data.
        Answered = "seen.answered",
        /// From the address and port that was asked.
        FromAsked = "seen.from_asked",
        /// In time.
        InTime = "seen.in_time",
        /// With all parts.
        Whole = "seen.whole",
        /// In a form that clients can read.
        Readable = "seen.readable",
    }
}

named! {
    /// Why a condition is not met, or why that is unknown.
    pub enum Cause {
        /// It never asked a master to list it.
        NeverJoined = "never_joined",
        /// The master did not react to that.
        JoinUnanswered = "join_unanswered",
        /// An ICMP error: the port is closed.
        IcmpPort = "icmp_port_unreachable",
        /// An ICMP error: the host cannot be reached.
        IcmpHost = "icmp_host_unreachable",
        /// An ICMP error: a firewall rejects the packet.
        IcmpProhibited = "icmp_admin_prohibited",
        /// An ICMP error: the packet is too large.
        IcmpTooBig = "icmp_fragmentation_needed",
        /// A host refused the TCP connection.
        TcpRefused = "tcp_refused",
        /// The server did not answer the master's challenge.
        ChallengeUnanswered = "challenge_unanswered",
        /// It answered with another number.
        ChallengeNotEchoed = "challenge_not_echoed",
        /// It answered with the bytes in reverse order.
        ChallengeByteswapped = "challenge_byteswapped",
        /// Its info string lacks keys.
        InfoKeysMissing = "info_keys_missing",
        /// Its info string cannot be read.
        InfoMalformed = "info_malformed",
        /// Its info string has more players than the maximum.
        InfoPlayersOverMax = "info_players_over_max",
        /// Its heartbeats are too rare.
        HeartbeatRare = "heartbeat_rare",
        /// It announced to the master that it is gone.
        QuitSent = "quit_sent",
        /// The list does not have it.
        NotInList = "not_in_list",
        /// The master did not challenge it.
        NotChallenged = "not_challenged",
        /// It did not answer the secure challenge.
        SecureUnanswered = "secure_unanswered",
        /// It answered with a wrong code.
        ValidateWrong = "validate_wrong",
        /// The master refused to register it.
        RegistrationRefused = "registration_refused",
        /// The master does not know it.
        NotRegistered = "not_registered",
        /// The master did not answer the registration.
        RegistrationUnanswered = "registration_unanswered",
        /// The server did not answer the master's probe.
        ProbeUnanswered = "probe_unanswered",
        /// The server answered the master's probe from a port that was not probed.
        ProbeOtherPort = "probe_answered_from_other_port",
        /// The list ends early.
        ListCut = "list_cut",
        /// It is listed with an address of a private network.
        ListedPrivate = "listed_private_address",
        /// It is listed with a loopback address.
        ListedLoopback = "listed_loopback",
        /// It is listed with another port.
        ListedOtherPort = "listed_other_port",
        /// It responds to no request.
        QueriesUnanswered = "queries_unanswered",
        /// It responds only to the request for its name and map.
        OnlyInfoAnswered = "only_info_answered",
        /// It does not respond to requests with its challenge.
        ChallengedRequestUnanswered = "challenged_request_unanswered",
        /// It answers each challenge with another one.
        ChallengeLoop = "challenge_loop",
        /// Its responses come from another host.
        OtherAddress = "answers_from_other_address",
        /// Its responses come from another port.
        OtherPort = "answers_from_other_port",
        /// Its responses come after clients have stopped waiting.
        AnsweredLate = "answered_late",
        /// A fragment of a response is missing.
        FragmentLost = "fragment_lost",
        /// A part of a response is missing.
        SplitPartMissing = "split_part_missing",
        /// Its responses do not have the format that clients expect.
        HeaderBroken = "header_broken",
        /// Its challenge is not a number.
        ChallengeNotANumber = "challenge_not_a_number",
        /// The capture ends too early.
        CaptureTooShort = "capture_too_short",
        /// Only one direction was recorded.
        CaptureOneSided = "capture_one_sided",
        /// The capture begins too late.
        CaptureStartsLate = "capture_starts_late",
        /// The recorder lost packets.
        CaptureDrops = "capture_drops",
        /// The list was requested with a filter.
        ListFiltered = "list_filtered",
        /// The list is enciphered.
        ListEnciphered = "list_enciphered",
        /// The capture has no messages of this kind.
        NotInCapture = "not_in_capture",
        /// No response comes to requests whose responses may be larger than those that do come.
        LargeMissing = "large_responses_missing",
        /// Large responses are sent, and clients ask for them again.
        LargeAskedAgain = "large_responses_asked_again",
        /// The request was wrong, so no response is due.
        RequestWrong = "request_wrong",
        /// The game's secret key is not known.
        KeyUnknown = "key_unknown",
    }
}

/// What a finding about a server means for its players.
#[derive(Clone, Copy, Debug)]
pub struct Symptom {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// A part of the finding's text; empty matches any. The first matching symptom counts.
    pub words: &'static str,
    /// The condition that is not met.
    pub item: Item,
    /// Why.
    pub cause: Cause,
}

impl Symptom {
    /// Any finding of this rule.
    pub const fn of(rule: &'static Rule, item: Item, cause: Cause) -> Symptom {
        Symptom { rule, words: "", item, cause }
    }

    /// A finding of this rule with these words.
    pub const fn saying(
        rule: &'static Rule,
        words: &'static str,
        item: Item,
        cause: Cause,
    ) -> Symptom {
        Symptom { rule, words, item, cause }
    }
}

/// How servers of a protocol are diagnosed.
#[derive(Clone, Copy, Debug)]
pub struct Diagnosis {
    /// The conditions.
    pub items: &'static [Item],
    /// What shows that a condition is not met.
    pub symptoms: &'static [Symptom],
    /// The rule that proves that a response to a master's challenge is correct, if that needs a
    /// secret key. Without such a rule, a response that breaks no rule is correct.
    pub proof: Option<&'static Rule>,
    /// Requests whose responses may be too large for a packet, each with how many players that takes.
    pub large: &'static [(&'static str, u64)],
    /// The protocol in which these servers register: their own, another one, or none.
    pub registers: Option<&'static str>,
}
