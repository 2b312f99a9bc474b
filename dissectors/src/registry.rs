//! Generates the code for all protocols from one list.

/// Generates `Id`, `Conversation`, `SharedStates`, `ProtocolSettings`, `GROUPS` and the dispatch
/// over them.
macro_rules! protocols {
    ($($name:ident => $module:ident :: $protocol:ident),+ $(,)?) => {
        mod listed {
            use $crate::kit::*;
            $(use $crate::$module::$protocol;)+

            /// A protocol, as its index in the list.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
            pub enum Id {
                $(
                    #[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                    $name
                ),+
            }

            /// The state of one flow, in the protocol it speaks.
            pub enum Conversation {
                $(
                    #[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                    $name(<$protocol as Protocol>::Conversation)
                ),+
            }

            /// The state that spans flows, of all protocols.
            #[derive(Default)]
            #[allow(non_snake_case, reason = "one field per protocol, by its name in the list")]
            pub struct SharedStates {
                $($name: <$protocol as Protocol>::SharedState),+
            }

            /// The settings of each protocol, by the name of its folder.
            #[derive(Clone, Debug, Default)]
            pub struct ProtocolSettings {
                $(
                    #[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                    pub $module: <$protocol as Protocol>::Settings
                ),+
            }

            /// The groups of rules, in the catalogue's order: those of the protocols, then those
            /// without a specification.
            pub const GROUPS: &[Group] = &[
                $(<$protocol as Protocol>::GROUP,)+
                $crate::abuse_rules::GROUP,
                $crate::net_rules::GROUP,
            ];

            impl Id {
                /// All protocols, in the list's order.
                pub const ALL: &'static [Id] = &[$(Id::$name),+];

                /// Its constant properties.
                pub fn info(self) -> &'static Info {
                    match self { $(Id::$name => const { &<$protocol as Protocol>::INFO }),+ }
                }

                /// The protocol with this name.
                pub fn named(name: &str) -> Option<Id> {
                    Id::ALL.iter().copied().find(|id| id.info().id == name)
                }

                /// The protocol with this rule, if the rule is of one.
                pub fn of_rule(rule: &Rule) -> Option<Id> {
                    let knows = |id: &Id| id.info().rules.iter().any(|other| *other == rule);
                    Id::ALL.iter().copied().find(knows)
                }

                /// See [`Protocol::claim`].
                #[inline]
                pub fn claim(self, bytes: &[u8], hint: Hint) -> Claim {
                    match self { $(Id::$name => $protocol::claim(bytes, hint)),+ }
                }

                /// See [`Protocol::claim_stream`].
                pub fn claim_stream(self, view: &StreamView<'_>, hint: Hint) -> Claim {
                    match self { $(Id::$name => $protocol::claim_stream(view, hint)),+ }
                }

                /// See [`Protocol::outline`].
                pub fn outline(self, bytes: &[u8]) -> Option<Outline> {
                    match self { $(Id::$name => $protocol::outline(bytes)),+ }
                }

                /// See [`Protocol::registered_ports`].
                #[inline]
                pub fn registered_ports(self, request: &[u8]) -> Option<[u16; 2]> {
                    match self { $(Id::$name => $protocol::registered_ports(request)),+ }
                }

                /// See [`Protocol::returns`].
                pub fn returns(self, challenge: TextChallenge, bytes: &[u8]) -> Option<bool> {
                    match self { $(Id::$name => $protocol::returns(challenge, bytes)),+ }
                }

                /// See [`Protocol::begins_known_word`].
                pub fn begins_known_word(self, text: &[u8]) -> bool {
                    match self { $(Id::$name => $protocol::begins_known_word(text)),+ }
                }

                /// See [`Protocol::is_known_word`].
                pub fn is_known_word(self, text: &[u8]) -> bool {
                    match self { $(Id::$name => $protocol::is_known_word(text)),+ }
                }

                /// See [`Protocol::is_word`].
                pub fn is_word(self, text: &[u8]) -> bool {
                    match self { $(Id::$name => $protocol::is_word(text)),+ }
                }

                /// See [`Protocol::part_header`].
                pub fn part_header(self, bytes: &[u8]) -> Option<&'static [(usize, Treatment)]> {
                    match self { $(Id::$name => $protocol::part_header(bytes)),+ }
                }

                /// See [`Protocol::renewed_code`].
                pub fn renewed_code(
                    self,
                    code: &[u8],
                    renew: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
                ) -> Option<Vec<u8>> {
                    match self { $(Id::$name => $protocol::renewed_code(code, renew)),+ }
                }

                /// See [`Protocol::opens`].
                pub fn opens(self, bytes: &[u8]) -> bool {
                    match self { $(Id::$name => $protocol::opens(bytes)),+ }
                }

                /// The state of a new flow.
                pub fn conversation(self) -> Conversation {
                    match self { $(Id::$name => Conversation::$name(Default::default())),+ }
                }
            }

            /// The parts of a [`Context`] that are the same for all protocols.
            pub struct ContextParts<'c> {
                /// The state that spans flows.
                pub shared: &'c mut SharedStates,
                /// The flow.
                pub flow: &'c FlowFacts,
                /// The user's settings.
                pub settings: &'c Settings,
                /// Memory for unfinished responses.
                pub budget: &'c mut Budget,
            }

            impl Conversation {
                /// Which protocol.
                pub fn id(&self) -> Id {
                    match self { $(Conversation::$name(_) => Id::$name),+ }
                }

                /// See [`Protocol::frame`].
                pub fn frame(
                    &mut self,
                    parts: ContextParts<'_>,
                    side: Side,
                    unread: &Unread<'_>,
                ) -> Framed {
                    match self {
                        $(Conversation::$name(it) => {
                            $protocol::frame(&mut $crate::registry::context!(parts, $name, it), side, unread)
                        }),+
                    }
                }

                /// See [`Protocol::closed`].
                pub fn closed<S: Sink>(
                    &mut self,
                    parts: ContextParts<'_>,
                    how: Closed,
                    payload: &Payload<'_>,
                    sink: &mut S,
                ) {
                    match self {
                        $(Conversation::$name(it) => {
                            $protocol::closed(&mut $crate::registry::context!(parts, $name, it), how, payload, sink)
                        }),+
                    }
                }

                /// See [`Protocol::message`].
                pub fn message<S: Sink>(
                    &mut self,
                    parts: ContextParts<'_>,
                    payload: &Payload<'_>,
                    sink: &mut S,
                ) {
                    match self {
                        $(Conversation::$name(it) => {
                            $protocol::message(&mut $crate::registry::context!(parts, $name, it), payload, sink)
                        }),+
                    }
                }

                /// See [`FlowState::refused`].
                pub fn refused(&mut self, frame: u64) {
                    match self { $(Conversation::$name(conversation) => conversation.refused(frame)),+ }
                }

                /// See [`Protocol::again`].
                pub fn again<S: Sink>(
                    &mut self,
                    parts: ContextParts<'_>,
                    payload: &Payload<'_>,
                    sink: &mut S,
                ) {
                    match self {
                        $(Conversation::$name(it) => {
                            $protocol::again(&mut $crate::registry::context!(parts, $name, it), payload, sink)
                        }),+
                    }
                }

                /// See [`FlowState::held`].
                pub fn held(&self) -> usize {
                    match self { $(Conversation::$name(conversation) => conversation.held()),+ }
                }

                /// See [`FlowState::deadline`].
                pub fn deadline(&self) -> Option<Time> {
                    match self { $(Conversation::$name(conversation) => conversation.deadline()),+ }
                }

                /// See [`Protocol::elapse`].
                pub fn elapse<S: Sink>(
                    &mut self,
                    parts: ContextParts<'_>,
                    now: Time,
                    end: bool,
                    sink: &mut S,
                ) {
                    match self {
                        $(Conversation::$name(it) => {
                            $protocol::elapse(&mut $crate::registry::context!(parts, $name, it), now, end, sink)
                        }),+
                    }
                }
            }

            impl SharedStates {
                /// The protocol that expects this datagram. See [`Protocol::expects`].
                pub fn expects(&mut self, payload: &Payload<'_>) -> Option<Id> {
                    $(if $protocol::expects(&mut self.$name, payload) { return Some(Id::$name) })+
                    None
                }

                /// Whether something was forgotten. See [`Protocol::forgot`].
                pub fn forgot(&self) -> bool {
                    $($protocol::forgot(&self.$name))||+
                }
            }

            #[cfg(test)]
            mod tests {
                use super::*;

                #[test]
                fn a_flow_with_one_message_is_small() {
                    let each = [$((stringify!($name), size_of::<<$protocol as Protocol>::Conversation>())),+];
                    assert!(size_of::<Conversation>() <= 56, "{each:?}");
                }
            }
        }
    };
}

/// The context of a conversation in a protocol.
macro_rules! context {
    ($parts:ident, $name:ident, $conversation:ident) => {
        Context {
            conversation: $conversation,
            shared: &mut $parts.shared.$name,
            flow: $parts.flow,
            settings: $parts.settings,
            budget: $parts.budget,
        }
    };
}

pub(crate) use {context, protocols};
