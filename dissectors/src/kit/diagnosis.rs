//! What must be so before players see a server, and which rules show that it is not.
//!
//! Each protocol declares which items concern its servers; a diagnosis goes by this.

use crate::kit::Rule;
use crate::named;

named! {
    /// One thing that must be so, in the order in which they must happen.
    pub enum Item {
        /// The server asks a master to list it.
        Join = "reg.join",
        /// The master challenges it.
        Challenged = "reg.challenged",
        /// It answers that challenge rightly.
        Echo = "reg.echo",
        /// What it says of itself is whole.
        Info = "reg.info",
        /// The master probes its port.
        Probed = "reg.probed",
        /// The server answers the probe.
        ProbeBack = "reg.probe_back",
        /// The master accepts it.
        Accepted = "reg.accepted",
        /// It shows often enough that it is still there.
        Heartbeats = "reg.heartbeats",
        /// It does not take leave.
        Stays = "reg.stays",
        /// The master gives its list to the end.
        ListWhole = "list.whole",
        /// The server is in the list.
        Listed = "list.listed",
        /// With an address that clients can reach.
        Address = "list.address",
        /// Clients ask it.
        Asked = "seen.asked",
        /// It challenges them, where the protocol has that.
        Challenges = "seen.challenged",
        /// It responds to requests that have its challenge.
        Verified = "seen.verified",
        /// It responds with what was asked for.
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
    /// Why something is not so, or why that is unknown.
    pub enum Cause {
        /// It never asked a master to list it.
        NeverJoined = "never_joined",
        /// The master did not react to that.
        JoinUnanswered = "join_unanswered",
        /// A host said that nobody listens on the port.
        IcmpPort = "icmp_port_unreachable",
        /// A router said that there is no way to the host.
        IcmpHost = "icmp_host_unreachable",
        /// A firewall said that it may not pass.
        IcmpProhibited = "icmp_admin_prohibited",
        /// A router said that a packet is too large.
        IcmpTooBig = "icmp_fragmentation_needed",
        /// A host refused the TCP connection.
        TcpRefused = "tcp_refused",
        /// The server did not answer the master's challenge.
        ChallengeUnanswered = "challenge_unanswered",
        /// It answered with another number.
        ChallengeNotEchoed = "challenge_not_echoed",
        /// It answered with the bytes of the number reversed.
        ChallengeByteswapped = "challenge_byteswapped",
        /// Its info string lacks keys.
        InfoKeysMissing = "info_keys_missing",
        /// Its info string cannot be read.
        InfoMalformed = "info_malformed",
        /// Its info string has more players than fit.
        InfoPlayersOverMax = "info_players_over_max",
        /// It shows too seldom that it is there.
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
        /// It is listed with an address that means everybody's own machine.
        ListedLoopback = "listed_loopback",
        /// It is listed with another port.
        ListedOtherPort = "listed_other_port",
        /// It responds to nothing.
        QueriesUnanswered = "queries_unanswered",
        /// It responds to nothing but the request for its name and map.
        OnlyInfoAnswered = "only_info_answered",
        /// It does not respond once its challenge is used.
        ChallengedRequestUnanswered = "challenged_request_unanswered",
        /// It answers each challenge with another one.
        ChallengeLoop = "challenge_loop",
        /// Its responses come from another host.
        OtherAddress = "answers_from_other_address",
        /// Its responses come from another port.
        OtherPort = "answers_from_other_port",
        /// Its responses come when clients have given up.
        AnsweredLate = "answered_late",
        /// A fragment of a response did not come.
        FragmentLost = "fragment_lost",
        /// A part of a response did not come.
        SplitPartMissing = "split_part_missing",
        /// Its responses break the form that clients read.
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
        /// The list was asked for with a filter.
        ListFiltered = "list_filtered",
        /// The list is enciphered.
        ListEnciphered = "list_enciphered",
        /// The capture has nothing of it.
        NotInCapture = "not_in_capture",
        /// No response comes to requests whose responses may be larger than those that do come.
        LargeMissing = "large_responses_missing",
        /// Large responses are sent, and clients ask for them again.
        LargeAskedAgain = "large_responses_asked_again",
        /// The request was wrong, and is owed no response.
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
    /// A part of the finding's words; empty for any. The first symptom that fits counts.
    pub words: &'static str,
    /// What is not so.
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

/// What there is to say of the servers of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Diagnosis {
    /// What must be so.
    pub items: &'static [Item],
    /// What shows that it is not.
    pub symptoms: &'static [Symptom],
    /// The rule that proves the response to a master's challenge right, where a secret key must be
    /// known for that; without it, a response that breaks no rule is right.
    pub proof: Option<&'static Rule>,
    /// Requests whose responses may be too large for a packet, each with how many players that takes.
    pub large: &'static [(&'static str, u64)],
    /// The protocol in which these servers register: its own, another's, or none.
    pub registers: Option<&'static str>,
}
