//! A sink that records everything, for tests.

use crate::kit::*;

/// One recorded message.
pub(crate) struct HeardMessage {
    pub(crate) name: &'static str,
    /// The role of its sender.
    pub(crate) speaker: Role,
    pub(crate) tree: Tree,
    pub(crate) bytes: Vec<u8>,
    pub(crate) pieces: Vec<Piece>,
    /// The fields, as `name=value`, lists and maps in brackets.
    pub(crate) fields: String,
    /// The packets of its bytes.
    pub(crate) frames: Vec<u64>,
    /// Every leaf: its name and its value as text.
    pub(crate) leaves: Vec<(&'static str, String)>,
    /// Its findings.
    pub(crate) findings: Vec<Finding>,
    /// The request that it answers.
    pub(crate) reply: Option<Reply>,
    /// How it relates to earlier requests.
    pub(crate) sending: Sending,
}

impl std::fmt::Debug for HeardMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.fields)
    }
}

impl HeardMessage {
    /// All values under this name.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        self.leaves.iter().filter(|leaf| leaf.0 == name).map(|leaf| leaf.1.as_str()).collect()
    }

    /// The value of the first leaf with this name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values(name).first().copied()
    }

    /// The codes of its findings, as [`code`] writes them.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.findings.iter().map(code).collect()
    }
}

/// A finding's code, in brackets if it is a note, with `?` if it is inconclusive.
pub(crate) fn code(finding: &Finding) -> String {
    match (finding.verdict, finding.severity) {
        (Verdict::Inconclusive, _) => format!("{}?", finding.rule.code),
        (_, Severity::Note) => format!("({})", finding.rule.code),
        _ => finding.rule.code.to_string(),
    }
}

/// Records everything, and checks that the tree covers every byte once and that findings are within
/// it.
#[derive(Default)]
pub(crate) struct TestRecorder {
    tree: Tree,
    pub(crate) results: RuleResults,
    pub(crate) heard: Vec<HeardMessage>,
    /// Events for rules that span flows.
    pub(crate) events: Vec<CrossFlowEvent>,
    /// Which requests were answered.
    pub(crate) replies: Vec<Reply>,
    reply: Option<Reply>,
    sending: Sending,
    /// The message that has begun, if the protocol reports it.
    begun: Option<&'static str>,
    /// The number of findings of earlier messages.
    placed: usize,
}

impl TestRecorder {
    /// Findings about earlier messages.
    pub(crate) fn recalled(&self) -> Vec<&Finding> {
        self.results.findings.iter().filter(|finding| finding.mark.is_some()).collect()
    }
}

impl Sink for TestRecorder {
    crate::forward_fields!(tree);
    crate::forward_verdicts!(results);
    fn begins(&mut self, message: &'static Message) -> bool {
        let before = self.begun.replace(message.name);
        assert_eq!(before, None, "{} begins inside another", message.name);
        true
    }
    fn cross_flow(&mut self, event: CrossFlowEvent, _: SeenMessage) {
        self.events.push(event);
    }
    fn unless_explained(
        &mut self,
        rule: &'static Rule,
        at: Option<Span>,
        event: CrossFlowEvent,
        seen: SeenMessage,
        detail: impl FnOnce() -> String,
    ) {
        self.events.push(event);
        match at {
            Some(at) => self.checked(rule, false, at, detail),
            None => self.recalled(rule, false, event.evidence(), &seen.mark, detail),
        }
    }
    fn answers(&mut self, reply: Reply) {
        self.replies.push(reply);
        self.reply = Some(reply);
    }
    fn sent(&mut self, sending: Sending) {
        self.sending = sending;
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        if let Some(begun) = self.begun.take() {
            assert_eq!(begun, message.name, "it ends as what it began as");
        }
        let tree = std::mem::take(&mut self.tree);
        covers(&tree, payload.bytes);
        listed(message, &tree);
        let new = &self.results.findings[self.placed..];
        let findings: Vec<_> = new.iter().filter(|it| it.mark.is_none()).cloned().collect();
        self.placed = self.results.findings.len();
        lie_within(&findings, payload);
        let mut frames: Vec<u64> = payload.pieces.iter().map(|piece| piece.frame).collect();
        frames.dedup();
        let leaves = tree.nodes().iter().filter(|node| node.descendants == 0);
        self.heard.push(HeardMessage {
            name: message.name,
            speaker: message.speaker,
            fields: project(&tree, None, payload.bytes),
            frames,
            leaves: leaves.map(|it| (it.field.name, text(&tree, it, payload.bytes))).collect(),
            findings,
            reply: self.reply.take(),
            sending: std::mem::take(&mut self.sending),
            bytes: payload.bytes.to_vec(),
            pieces: payload.pieces.to_vec(),
            tree,
        });
    }
}

/// A leaf's value as text.
fn text(tree: &Tree, node: &Node, bytes: &[u8]) -> String {
    match node.field.kind {
        Kind::Text => String::from_utf8_lossy(tree.bytes(node, bytes)).into_owned(),
        Kind::Signed => (node.value as i64).to_string(),
        Kind::Float => f32::from_bits(node.value as u32).to_string(),
        Kind::Char => char::from(node.value as u8).to_string(),
        _ => node.value.to_string(),
    }
}

/// What scripts see of a node's children.
fn project(tree: &Tree, at: Option<usize>, bytes: &[u8]) -> String {
    let shown = tree.children(at).filter(|(_, node)| node.field.place == Place::Fields);
    let text = |node: &Node| text(tree, node, bytes);
    let parts = shown.map(|(at, node)| {
        let name = node.field.name;
        match node.field.kind {
            Kind::List | Kind::Map => format!("{name}=[{}]", project(tree, Some(at), bytes)),
            Kind::Pair => {
                let (key, value) = tree.view().pair(at, bytes).unwrap();
                format!("{}:{}", String::from_utf8_lossy(key), String::from_utf8_lossy(value))
            }
            Kind::Endpoint => {
                let [.., a, b, c, d, high, low] = node.value.to_be_bytes();
                format!("{a}.{b}.{c}.{d}:{}", u16::from_be_bytes([high, low]))
            }
            Kind::Group => format!("{{{}}}", project(tree, Some(at), bytes)),
            Kind::Signed => format!("{name}={}", node.value as i64),
            Kind::Char => format!("{name}={:?}", node.value as u8 as char),
            Kind::Text if name == "address" => text(node),
            Kind::Text => format!("{name}={:?}", text(node)),
            _ => format!("{name}={}", node.value),
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Checks that no finding about the current message points beyond it.
pub(crate) fn lie_within(findings: &[Finding], payload: &Payload<'_>) {
    for finding in findings.iter().filter(|finding| finding.mark.is_none()) {
        let end = finding.span.end as usize;
        assert!(end <= payload.bytes.len(), "{:?}: {}", finding.rule, finding.detail);
    }
}

/// Checks that the message lists all fields that scripts see in it.
pub(crate) fn listed(message: &'static Message, tree: &Tree) {
    if let Some(path) = message.unlisted(&tree.view()) {
        panic!("{}: the field {path} is not in the message's list", message.name);
    }
}

/// Checks that every byte is in one leaf.
fn covers(tree: &Tree, bytes: &[u8]) {
    let mut next = 0;
    let is_leaf = |node: &&Node| {
        let group = matches!(node.field.kind, Kind::Group | Kind::List | Kind::Map | Kind::Pair);
        !group && node.descendants == 0 && !node.span.is_empty()
    };
    let mut leaves: Vec<_> = tree.nodes().iter().filter(is_leaf).collect();
    leaves.sort_by_key(|node| node.span.start);
    for node in leaves {
        assert_eq!(node.span.start, next, "{} of {}", node.field.name, bytes.escape_ascii());
        next = node.span.end;
    }
    assert_eq!(next as usize, bytes.len(), "the end of {}", bytes.escape_ascii());
}
